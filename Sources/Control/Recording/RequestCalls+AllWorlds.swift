import EmulatorCore
import HTTPServer
import JSON

// The call GET /_understudy/v1/requests?world=*: the exchanges of all worlds, in the order in which they were answered.
//
// The parameter after is the ID of an exchange in any of the worlds, since IDs are used once: exchanges that were
// answered later follow. If no recording has that exchange any more, those with a higher ID follow, which came later.

/// The exchanges that several worlds have recorded.
struct RecordingAccount {
    /// The exchanges, in the order in which they were answered.
    let exchanges: [KnownExchange]
    /// The IDs of the exchanges whose world has been removed or reset since: only refused ones are kept.
    let gone: Set<String>

    /// Searches the exchanges that weren't searched before. That takes time, so don't call it on a worker.
    init(_ worlds: WorldRegistry, named pattern: String = "*") {
        let gone = worlds.budget.recordings.refusedByGoneWorlds.filter { Glob.matches(pattern, $0.world) }
        var all = gone.map { KnownExchange(exchange: $0, flow: $0.id, client: $0.client) }
        self.gone = Set(gone.map(\.id))
        for recording in worlds.recordings(named: pattern) { all += recording.known().exchanges }
        // The recording may have been emptied in between.
        var seen: Set<String> = []
        let isShared = worlds.budget.recordings.sharedRecordings != nil
        exchanges = all.filter { seen.insert($0.exchange.id).inserted }.sorted {
            isShared ? $0.exchange.answered < $1.exchange.answered : $0.exchange.order < $1.exchange.order
        }
    }
}

extension WorldRegistry {
    /// Returns the recordings of the worlds whose names match.
    fileprivate func recordings(named pattern: String) -> [Recording] {
        if let shared = budget.recordings.sharedRecordings {
            return shared.filter { Glob.matches(pattern, $0.world) }
        }
        return all.map(\.world).filter { Glob.matches(pattern, $0.name) }.map(\.recording)
    }
}

extension ControlAPI {
    func answer(_ query: Query, of names: String) -> Response {
        let account = RecordingAccount(worlds, named: names)
        let found = find(query, in: account.exchanges)
        let page = page(found, query)
        let documents = page.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        if query.isHAR {
            let more = page.count < found.count ? page.last?.exchange.id : nil
            return ControlAnswer.ok(
                ExchangeDocument.har(documents, version: version, goesOnAfter: more, worlds: true))
        }
        let requests = documents.map { document -> JSONValue in
            guard case .object(var object) = document.json else { return document.json }
            object["world"] = .string(document.known.exchange.world)
            if account.gone.contains(document.known.exchange.id) { object["gone"] = true }
            return .object(object)
        }
        var object = JSONObject([("requests", .array(requests))])
        object["last"] = page.last.map { .string($0.exchange.id) }
        if page.count < found.count { object["more"] = true }
        let dropped = worlds.recordings(named: names).reduce(0) { $0 + $1.dropped }
        if dropped > 0 { object["dropped"] = .integer(Int64(dropped)) }
        return ControlAnswer.ok(.object(object))
    }

    private func find(_ query: Query, in all: [KnownExchange]) -> [KnownExchange] {
        var rest = all
        if let after = query.after {
            if let place = all.firstIndex(where: { $0.exchange.id == after }) {
                rest.removeFirst(place + 1)
            } else {
                let number = RecordedExchange.number(of: after) ?? 0
                rest.removeAll { RecordedExchange.number(of: $0.exchange.id) ?? 0 <= number }
            }
        }
        rest.removeAll { !query.matches($0) }
        guard let limit = query.limit, query.after == nil else { return rest }
        return Array(rest.suffix(limit))
    }
}
