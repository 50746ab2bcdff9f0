import HTTPServer
import JSON
import EmulatorCore
import Time

// GET and DELETE /_understudy/v1/requests, GET /_understudy/v1/requests/ID
//
// With world, this is about all worlds of that name (RequestCalls+AllWorlds.swift), else about the request's own.
//
// Query: after, host, path, method, client, status, flow, refused and limit filter; wait (at most a minute) and count wait for
// exchanges to come; format=har, also of one exchange, asks for a HAR file. Accept: text/event-stream asks for one event an exchange.

extension ControlAPI {
    struct Query: Sendable {
        let criteria: Criteria
        let after: String?
        let limit: Int?
        let wait: TimeSpan?
        let count: Int
        let isHAR: Bool
        /// Which worlds; `nil` is the request's own.
        let worlds: String?

        func matches(_ known: KnownExchange) -> Bool { criteria.differences(known).isEmpty }
    }

    private static let waitLimit = TimeSpan.minutes(1)

    func requests(_ exchange: Exchange) async -> Response {
        let query: Query
        do { query = try read(exchange.request) } catch { return error.response }
        if let worlds = query.worlds {
            return await exchange.world.budget.recordings.searchAll { [self] in answer(query, of: worlds) }
        }
        let recording = exchange.world.recording
        if exchange.request.header("Accept")?.contains("text/event-stream") ?? false {
            guard let lease = listenerLease() else { return tooManyListeners() }
            await recording.refresh()
            return stream(exchange, query, lease)
        }
        guard let wait = query.wait else {
            return await recording.search { [self] in answer(find(query, in: recording), query, recording) }
        }
        guard let lease = listenerLease() else { return tooManyListeners() }
        await recording.refresh()
        let waiter = Waiter(
            recording, lease: lease, count: query.count, matches: { query.matches($0) },
            find: { [self] in find(query, in: recording) })
        return answer(await waiter.found(after: query.after, within: wait.duration), query, recording)
    }

    func request(_ exchange: Exchange) async -> Response {
        let id = exchange.parameters["id"] ?? ""
        let format: String
        do { format = try self.format(of: exchange.request) } catch { return error.response }
        let isHAR = format == "har"
        let recording = exchange.world.recording
        return await recording.search { [self] in
            guard let known = recording.known().exchanges.first(where: { $0.exchange.id == id }) else {
                let message =
                    "no request \(Diagnosis.quote(id)) is in this world's recording: it holds the last "
                    + "\(Recording.countLimit) at most"
                return ControlAnswer.error(404, "noSuchRequest", message)
            }
            let document = ExchangeDocument(known, masksSecrets: masksSecrets)
            guard isHAR else { return ControlAnswer.ok(document.json) }
            return ControlAnswer.ok(ExchangeDocument.har([document], version: version, goesOnAfter: nil))
        }
    }

    private struct OneParameters: SchemaObject {
        let format: String?

        init(_ fields: inout Fields) {
            format = fields.optional("format", .choice(["json", "har"]), "What the answer is written in.")
        }
    }

    private func format(of request: Request) throws(ControlRefusal) -> String {
        let form = JSONObject(request.queryForm.fields.map { ($0.name, .string($0.value)) })
        do throws(Issues) {
            return try OneParameters(checking: LocatedJSON(.object(form), file: "query")).format ?? "json"
        } catch {
            throw ControlRefusal(ControlAnswer.error(error.all))
        }
    }

    /// A place among the event streams and waiting requests; `nil` when all are taken.
    package func listenerLease() -> Allowance.Lease? {
        let lease = worlds.budget.listeners.take()
        if lease == nil {
            worlds.budget.notices.tell(
                .listeners, "more than \(worlds.budget.listeners.limit) event streams and waiting requests: refused")
        }
        return lease
    }

    package func tooManyListeners() -> Response {
        ControlAnswer.error(
            503, "tooManyListeners",
            "there are \(worlds.budget.listeners.limit) event streams and waiting requests already: close some of them")
    }

    /// Empties the recording, with `world` those of all worlds of that name.
    func removeRequests(_ exchange: Exchange) -> Response {
        let query: Query
        do { query = try read(exchange.request) } catch { return error.response }
        guard let pattern = query.worlds else {
            exchange.world.recording.clear(forgetting: true)
            return Response(status: 204)
        }
        guard !exchange.world.recording.isShared else {
            worlds.budget.recordings.clearShared(forgetting: true) { Glob.matches(pattern, $0) }
            if pattern == "*" { worlds.budget.recordings.forgetGoneWorlds() }
            return Response(status: 204)
        }
        for entry in worlds.all where Glob.matches(pattern, entry.world.name) {
            entry.world.recording.clear(forgetting: true)
        }
        if pattern == "*" { worlds.budget.recordings.forgetGoneWorlds() }
        return Response(status: 204)
    }

    // MARK: -

    /// The query's parameters, as they are written.
    private struct Parameters: SchemaObject {
        let criteria: Criteria
        let after: String?
        let limit: String?
        let wait: TimeSpan?
        let count: String?
        let format: String?
        let world: String?

        init(_ fields: inout Fields) {
            criteria = Criteria(query: &fields)
            after = fields.optional("after", .text(.nonEmpty), "The ID of the exchange after which to begin.")
            limit = fields.optional("limit", .text(.any), "How many at most.")
            wait = fields.optional("wait", .duration, "How long to wait for exchanges that are still to come.")
            count = fields.optional("count", .text(.any), "How many to wait for.")
            format = fields.optional("format", .choice(["json", "har"]), "What the answer is written in.")
            world = fields.optional(
                "world", .text(.nonEmpty), "Exchanges of all worlds of this name; \"*\" stands for any characters.")
        }
    }

    private func read(_ request: Request) throws(ControlRefusal) -> Query {
        let form = JSONObject(request.queryForm.fields.map { ($0.name, .string($0.value)) })
        let parameters: Parameters
        do throws(Issues) { parameters = try Parameters(checking: LocatedJSON(.object(form), file: "query")) } catch {
            throw ControlRefusal(ControlAnswer.error(error.all))
        }
        let query = Query(
            criteria: parameters.criteria, after: parameters.after ?? request.header("Last-Event-ID"),
            limit: try ControlAPI.count("limit", parameters.limit), wait: parameters.wait,
            count: try ControlAPI.count("count", parameters.count) ?? 1, isHAR: parameters.format == "har",
            worlds: parameters.world)
        if let wait = query.wait, wait > ControlAPI.waitLimit {
            let message = "a minute is the longest wait"
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.wait"))
        }
        let isStream = request.header("Accept")?.contains("text/event-stream") ?? false
        if query.worlds != nil, query.wait != nil || isStream {
            let message = "only one world's exchanges can be waited for or streamed: ask under the world's address"
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.world"))
        }
        if let status = parameters.criteria.status {
            let issues = Criteria.schema.issues(in: LocatedJSON(["status": .string(status)], file: "query"))
            guard issues.isEmpty else { throw ControlRefusal(ControlAnswer.error(issues)) }
        }
        if let after = query.after, RecordedExchange.number(of: after) == nil {
            let message = "found \(Diagnosis.quote(after)), expected the ID of a request, such as \"r12\""
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.after"))
        }
        return query
    }

    /// A number in the query, from 1 on; `nil` without one.
    static func count(
        _ name: String, _ text: String?, upTo limit: Int = Recording.countLimit
    ) throws(ControlRefusal) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), (1...limit).contains(number) else {
            let message = "found \(Diagnosis.quote(text)), expected a number from 1 to \(limit)"
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.\(name)"))
        }
        return number
    }

    /// The exchanges that the query asks for, the oldest first. With `limit` these are the latest ones; with `limit` and
    /// `after`, the next ones, so that a client can read page by page.
    private func find(_ query: Query, in recording: Recording) -> [KnownExchange] {
        var known = recording.known().exchanges
        known.removeFirst(place(after: query.after, in: known))
        known.removeAll { !query.matches($0) }
        guard let limit = query.limit, query.after == nil else { return known }
        return Array(known.suffix(limit))
    }

    /// How many bytes of bodies one answer holds. A client asks for the rest with `after`.
    private static let pageSize = 2 << 20

    /// The first of `found` that fit one answer.
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

/// How many exchanges at the beginning of `known` aren't later than the one with this ID.
func place(after id: String?, in known: [KnownExchange]) -> Int {
    guard let id else { return 0 }
    if let place = known.firstIndex(where: { $0.exchange.id == id }) { return place + 1 }
    // The recording doesn't hold it any more; but IDs count up.
    let number = RecordedExchange.number(of: id) ?? 0
    return known.prefix { (RecordedExchange.number(of: $0.exchange.id) ?? 0) <= number }.count
}
