import EmulatorCore
import HTTPServer
import JSON
import Recordings
import Synchronization
import Time

// The calls GET and DELETE /_understudy/v1/requests, GET /_understudy/v1/requests/ID
//
// With the parameter world, they are about all worlds of that name, else about the request's own.
//
// Query: after, host, path, method, client, status, flow, refused and limit filter; wait (at most a minute) and count
// wait for exchanges to come; format=har, also for one exchange, asks for a HAR file. Accept: text/event-stream asks
// for one event for each exchange.

private enum RecordingFormat: String, CaseIterable {
    case json
    case har

    static let about = "The response format: the control API's own, or an HTTP archive."
}

extension Rule where Self == SpanRule {
    /// The rule for the parameter `wait`, the longest time that a call waits for a matching request or message.
    static var wait: SpanRule {
        .duration(
            TextRule(
                about: "a duration of at most a minute, such as \"500ms\" or \"10s\"", pattern: "^[0-9]+(ms|s|m|h|d)$"
            ) { text in TimeSpan(text).map { (.zero ... .minutes(1)).contains($0) } ?? false })
    }
}

extension ControlAPI {
    /// The query of `GET requests`, with the conditions that recorded requests must meet.
    struct Query: SchemaObject {
        let criteria: Criteria
        private(set) var after: String?
        let limit: Int?
        let wait: TimeSpan?
        let count: Int
        let isHAR: Bool
        /// The pattern for the names of the test worlds whose requests are listed; `nil` means only the world to which
        /// the call is addressed.
        let worlds: Glob?

        init(_ fields: inout Fields) {
            criteria = Criteria(query: &fields)
            after = fields.optional("after", .text(Query.id), "List requests after the one with this ID.")
            limit = fields.optional(
                "limit", .integer(1...Recording.countLimit),
                "The most requests to list. Without `after`, the latest are listed.")
            wait = fields.optional("wait", .wait, "How long to wait for more requests.")
            count = fields(
                "count", .integer(1...Recording.countLimit), default: 1, "The number of requests to wait for.")
            isHAR = fields("format", .choice(RecordingFormat.self), default: .json, RecordingFormat.about) == .har
            worlds = fields.optional(
                "world", .text(.pattern), "Requests of worlds with this name; \"*\" matches any characters."
            ).map { Glob($0) }
        }

        /// Returns the query with `after` set to `header`, the `Last-Event-ID` of a client that resumes an event
        /// stream. A query that has `after` already is returned unchanged.
        func resumed(_ header: String?) throws(ControlRefusal) -> Query {
            guard after == nil, let header else { return self }
            guard Query.id.holds(header) else {
                throw ControlRefusal(
                    ControlAnswer.error(
                        400, "invalidQuery", "found \(Diagnosis.quote(header)), expected \(Query.id.about)",
                        path: "$.after"))
            }
            var query = self
            query.after = header
            return query
        }

        func matches(_ known: KnownExchange) -> Bool { criteria.differences(known).isEmpty }

        static let id = TextRule(about: "the ID of a request, such as \"r12\"", pattern: "^r[0-9]{1,18}$") { text in
            let digits = text.utf8.dropFirst()
            return text.hasPrefix("r") && (1...18).contains(digits.count)
                && digits.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

    private struct OneQuery: SchemaObject {
        let isHAR: Bool

        init(_ fields: inout Fields) {
            isHAR = fields("format", .choice(RecordingFormat.self), default: .json, RecordingFormat.about) == .har
        }
    }

    private struct RemovalQuery: SchemaObject {
        let worlds: Glob?

        init(_ fields: inout Fields) {
            worlds = fields.optional(
                "world", .text(.pattern), "Recordings of worlds with this name; \"*\" matches any characters."
            ).map { Glob($0) }
        }
    }

    var requestCalls: [Endpoint] {
        [
            .control(
                "GET", "requests",
                "Lists recorded requests, or waits for them. Clients that accept text/event-stream get a stream.",
                reads: .query(
                    Query.self,
                    headers: [
                        .optional("Last-Event-ID", .text(Query.id), "The ID of the last received event.")
                    ]),
                answers: [
                    .json(
                        "The requests, the oldest first.",
                        .either(ExchangeDocument.listSchema, ExchangeDocument.harSchema)),
                    .other("Events: `exchange` for each.", "text/event-stream"),
                    .refusal(503, "tooManyListeners", "Too many event streams and waiting requests."),
                ]
            ) { try await requests($0, $1) },
            .control(
                "DELETE", "requests", "Empties the recording.", reads: .query(RemovalQuery.self),
                answers: [.empty("The recording is empty.")]
            ) { try removeRequests($0, $1) },
            .control(
                "GET", "requests/:id", "Shows one request.", path: ["The request's ID."],
                reads: .query(OneQuery.self),
                answers: [
                    .json("The exchange.", .either(ExchangeDocument.schema, ExchangeDocument.harSchema)),
                    .refusal(404, "noSuchRequest", "No recorded request has this ID."),
                ]
            ) { try await request($0, $1) },
        ]
    }

    private func requests(_ exchange: Exchange, _ asked: Query) async throws -> Response {
        let query: Query
        do throws(ControlRefusal) { query = try asked.resumed(exchange.request.header("Last-Event-ID")) } catch {
            return error.response
        }
        let isStream = exchange.request.header("Accept")?.contains("text/event-stream") ?? false
        if query.worlds != nil, query.wait != nil || isStream {
            let message = "a call for several worlds can neither wait nor stream: use one world's address"
            return ControlAnswer.error(400, "invalidQuery", message, path: "$.world")
        }
        if let worlds = query.worlds {
            return try await exchange.world.budget.recordings.searchAll { [self] in answer(query, of: worlds) }
        }
        let recording = exchange.world.recording
        if isStream {
            guard let lease = listenerLease() else { return tooManyListeners() }
            try await recording.refresh()
            return stream(exchange, query, lease)
        }
        guard let wait = query.wait else {
            return try await recording.search { [self] in answer(find(query, in: recording), query, recording) }
        }
        guard let lease = listenerLease() else { return tooManyListeners() }
        try await recording.refresh()
        let matches = Mutex(0)
        let waiter = Waiter(for: exchange.world, lease, after: query.after) { [self] fresh in
            let new = fresh.count { query.matches($0) }
            return matches.withLock { matches in
                matches += new
                // Requests may join a flow after they were recorded.
                guard new > 0, matches >= query.count || query.criteria.flow != nil else { return false }
                // The recording may have dropped requests that were counted.
                matches = find(query, in: recording).count
                return matches >= query.count
            }
        }
        guard await waiter.wait(atMost: wait.duration) else { return Waiter.unread }
        return try await recording.search { [self] in answer(find(query, in: recording), query, recording) }
    }

    private func request(_ exchange: Exchange, _ query: OneQuery) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let recording = exchange.world.recording
        return try await recording.search { [self] in
            guard let known = recording.known().exchanges.first(where: { $0.exchange.id == id }) else {
                let message =
                    "no request \(Diagnosis.quote(id)) is in this world's recording, which keeps only the last "
                    + "\(Recording.countLimit) requests"
                return ControlAnswer.error(404, "noSuchRequest", message)
            }
            let document = ExchangeDocument(known, masksSecrets: masksSecrets)
            guard query.isHAR else { return ControlAnswer.ok(document.json) }
            return ControlAnswer.ok(ExchangeDocument.har([document], version: version, goesOnAfter: nil))
        }
    }

    /// Reserves a place for an event stream or a waiting call. Returns `nil` if all places are taken.
    package func listenerLease() -> Allowance.Lease? {
        let lease = worlds.budget.listeners.acquire()
        if lease == nil {
            worlds.budget.notices.warnOncePerMinute(
                .listeners,
                "more than \(worlds.budget.listeners.limit) event streams and waiting requests: new ones are refused")
        }
        return lease
    }

    package func tooManyListeners() -> Response {
        ControlAnswer.error(
            503, "tooManyListeners",
            "there are already \(worlds.budget.listeners.limit) event streams and waiting requests, the maximum: close some first"
        )
    }

    /// Deletes the recorded requests of one test world. With the parameter `world`, deletes those of all test worlds
    /// whose names match this pattern.
    private func removeRequests(_ exchange: Exchange, _ query: RemovalQuery) throws -> Response {
        guard let pattern = query.worlds else {
            try exchange.world.recording.clear(forgetting: true)
            return Response(status: 204)
        }
        try worlds.budget.recordings.clear(worlds.all.map { ($0.world.name, $0.world.recording) }) {
            pattern.matches($0)
        }
        if pattern.text == "*" { try worlds.budget.recordings.forgetGoneWorlds() }
        return Response(status: 204)
    }

    // MARK: -

    /// Returns the recorded requests that match the query, the oldest first. With `after`, these are all requests after
    /// the one with that ID. With `limit` alone, they are the latest ones, at most `limit`.
    private func find(_ query: Query, in recording: Recording) -> [KnownExchange] {
        var known = recording.known().exchanges
        known.removeFirst(place(after: query.after, in: known))
        known.removeAll { !query.matches($0) }
        guard let limit = query.limit, query.after == nil else { return known }
        return Array(known.suffix(limit))
    }

    /// One answer of the call `GET requests` lists no further requests when the bodies of the listed requests and
    /// responses have at least this number of bytes together. A client gets the further requests with the parameter
    /// `after`.
    private static let pageSize = 2 << 20

    /// Returns the beginning of a list of found requests: as many requests as fit into one answer of `GET requests`.
    func page(_ found: [KnownExchange], _ query: Query) -> ArraySlice<KnownExchange> {
        var size = 0
        return found.prefix { known in
            defer { size += known.exchange.request.body.count + known.exchange.response.body.count }
            return size < ControlAPI.pageSize
        }.prefix(query.limit ?? .max)
    }

    private func answer(_ found: [KnownExchange], _ query: Query, _ recording: Recording) -> Response {
        let page = page(found, query)
        let documents = page.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        if query.isHAR {
            let more = page.count < found.count ? page.last?.exchange.id : nil
            return ControlAnswer.ok(ExchangeDocument.har(documents, version: version, goesOnAfter: more))
        }
        var object = JSONObject([("requests", .array(documents.map(\.json)))])
        object["last"] = page.last.map { .string($0.exchange.id) }
        if page.count < found.count { object["more"] = true }
        if recording.dropped > 0 { object["dropped"] = .integer(Int64(recording.dropped)) }
        return ControlAnswer.ok(.object(object))
    }
}

/// Returns how many requests at the beginning of `known` were recorded no later than the request with the ID `id`.
func place(after id: String?, in known: [KnownExchange]) -> Int {
    guard let id else { return 0 }
    if let place = known.firstIndex(where: { $0.exchange.id == id }) { return place + 1 }
    // The recording doesn't have it any more; but IDs count up.
    let number = RecordedExchange.number(of: id) ?? 0
    return known.prefix { (RecordedExchange.number(of: $0.exchange.id) ?? 0) <= number }.count
}

// The call GET /_understudy/v1/requests?world=*: the exchanges of all worlds, in the order in which they were answered.
//
// The parameter after is the ID of an exchange in any of the worlds, since IDs are used once: exchanges that were
// answered later follow. If no recording has that exchange any more, those with a higher ID follow, which came later.

/// All recorded requests of several test worlds, with their responses.
struct RecordingAccount {
    /// The recorded requests of all chosen test worlds, in the order in which they were answered.
    let exchanges: [KnownExchange]
    /// The IDs of the requests whose test world has since been removed or reset. Only refused requests are kept of such
    /// a world.
    let gone: Set<String>

    /// Reads the recorded requests of the test worlds whose names match `pattern`. Reading a request for the first time
    /// takes some time, so don't call this on a server's worker thread.
    init(_ worlds: WorldRegistry, named pattern: Glob = Glob("*")) {
        let gone = worlds.budget.recordings.refusedByGoneWorlds.filter { pattern.matches($0.world) }
        var all = gone.map { KnownExchange(exchange: $0, flow: $0.id, client: $0.client) }
        self.gone = Set(gone.map(\.id))
        for recording in worlds.recordings(named: pattern) { all += recording.known().exchanges }
        // The recording may have been emptied in between.
        var seen: Set<String> = []
        exchanges = all.filter { seen.insert($0.exchange.id).inserted }.sorted {
            worlds.budget.recordings.isBefore($0.exchange, $1.exchange)
        }
    }
}

extension WorldRegistry {
    fileprivate func recordings(named pattern: Glob) -> [Recording] {
        if let shared = budget.recordings.sharedRecordings {
            return shared.filter { pattern.matches($0.world) }
        }
        return all.map(\.world).filter { pattern.matches($0.name) }.map(\.recording)
    }
}

extension ControlAPI {
    func answer(_ query: Query, of names: Glob) -> Response {
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
