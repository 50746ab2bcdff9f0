import HTTPServer
import JSON
import EmulatorCore
import Time

// GET and DELETE /_understudy/v1/requests, GET /_understudy/v1/requests/ID
//
// Query: after, host, path, method, client, status, flow, refused, limit filter; wait (at most a minute) and count wait for
// exchanges that are still to come; format=har is a HAR file. Accept: text/event-stream brings them one by one.

extension ControlAPI {
    struct Query: Sendable {
        var criteria = Criteria([:])
        var after: String?
        var limit: Int?
        var wait: TimeSpan?
        var count = 1
        var isHAR = false

        func matches(_ known: KnownExchange) -> Bool { criteria.differences(known).isEmpty }
    }

    private static let waitLimit = TimeSpan.minutes(1)

    func requests(_ exchange: Exchange) async -> Response {
        let query: Query
        do { query = try read(exchange.request) } catch { return error.response }
        let recording = exchange.world.recording
        if exchange.request.header("Accept")?.contains("text/event-stream") ?? false {
            guard let lease = listen(exchange) else { return tooManyListeners() }
            return stream(exchange, query, lease)
        }
        guard let wait = query.wait else {
            return await recording.search { [self] in answer(find(query, in: recording), query, recording) }
        }
        guard let lease = listen(exchange) else { return tooManyListeners() }
        let waiter = Waiter(
            recording, lease: lease, count: query.count, matches: { query.matches($0) },
            find: { [self] in find(query, in: recording) })
        return answer(await waiter.found(after: query.after, within: wait.duration), query, recording)
    }

    func request(_ exchange: Exchange) async -> Response {
        let id = exchange.parameters["id"] ?? ""
        let recording = exchange.world.recording
        return await recording.search { [self] in
            guard let known = recording.known().exchanges.first(where: { $0.exchange.id == id }) else {
                let message =
                    "no request \(Diagnosis.quote(id)) is in this world's recording: it holds the last "
                    + "\(Recording.countLimit) at most"
                return ControlAnswer.error(404, "noSuchRequest", message)
            }
            return ControlAnswer.ok(ExchangeDocument(known, masksSecrets: masksSecrets).json)
        }
    }

    /// One more event stream or waiting request; `nil` when there are too many.
    private func listen(_ exchange: Exchange) -> Allowance.Lease? {
        let lease = worlds.budget.listeners.take()
        if lease == nil {
            worlds.budget.notices.tell(
                .listeners, "more than \(worlds.budget.listeners.limit) event streams and waiting requests: refused")
        }
        return lease
    }

    private func tooManyListeners() -> Response {
        ControlAnswer.error(
            503, "tooManyListeners",
            "there are \(worlds.budget.listeners.limit) event streams and waiting requests already: close some of them")
    }

    func removeRequests(_ exchange: Exchange) -> Response {
        exchange.world.recording.clear()
        return Response(status: 204)
    }

    // MARK: -

    private static let parameters = Shape.object(
        Criteria.fields.filter { !["fields", "status", "refused"].contains($0.name) } + [
            .optional("status", .text(.any), ""), .optional("refused", .choice(["true", "false"]), ""),
            .optional("after", .text(.nonEmpty), ""), .optional("limit", .text(.any), ""),
            .optional("wait", .text(.duration), ""), .optional("count", .text(.any), ""),
            .optional("format", .choice(["json", "har"]), ""),
        ])

    private func read(_ request: Request) throws(ControlRefusal) -> Query {
        let form = request.queryForm
        var object = JSONObject(form.fields.map { ($0.name, .string($0.value)) })
        let faults = ControlAPI.parameters.faults(in: SeedNode(.object(object), file: "query"))
        guard faults.isEmpty else { throw ControlRefusal(ControlAnswer.error(faults)) }
        func number(_ name: String, _ range: ClosedRange<Int>) throws(ControlRefusal) -> Int? {
            guard let text = form[name] else { return nil }
            guard let number = Int(text), range.contains(number) else {
                let message =
                    "found \(Diagnosis.quote(text)), expected a number from \(range.lowerBound) to \(range.upperBound)"
                throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.\(name)"))
            }
            return number
        }
        object["refused"] = form["refused"].map { .bool($0 == "true") }
        var query = Query()
        query.criteria = Criteria(.object(object))
        query.after = form["after"] ?? request.header("Last-Event-ID")
        query.limit = try number("limit", 1...Recording.countLimit)
        query.count = try number("count", 1...Recording.countLimit) ?? 1
        query.wait = form["wait"].flatMap { TimeSpan($0) }
        query.isHAR = form["format"] == "har"
        if let wait = query.wait, wait > ControlAPI.waitLimit {
            let message = "a minute is the longest wait"
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.wait"))
        }
        if let status = form["status"] {
            let shape = Shape.object(Criteria.fields)
            let value: JSONValue = ["status": .string(status)]
            let faults = shape.faults(in: SeedNode(value, file: "query"))
            guard faults.isEmpty else { throw ControlRefusal(ControlAnswer.error(faults)) }
        }
        if let after = query.after, RecordedExchange.number(of: after) == nil {
            let message = "found \(Diagnosis.quote(after)), expected the ID of a request, such as \"r12\""
            throw ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: "$.after"))
        }
        return query
    }

    /// Those that the query asks for, the oldest first. With `limit`, the latest; with `after`, too, those that come next, so
    /// that a client can go on page by page.
    private func find(_ query: Query, in recording: Recording) -> [KnownExchange] {
        var known = recording.known().exchanges
        known.removeFirst(place(after: query.after, in: known))
        known.removeAll { !query.matches($0) }
        guard let limit = query.limit, query.after == nil else { return known }
        return Array(known.suffix(limit))
    }

    /// Bytes of bodies that one answer shows; those who ask for more go on after the last exchange of it.
    private static let pageSize = 2 << 20

    private func answer(_ found: [KnownExchange], _ query: Query, _ recording: Recording) -> Response {
        var size = 0
        let page = found.prefix { known in
            defer { size += known.exchange.request.body.count + known.exchange.response.body.count }
            return size < ControlAPI.pageSize
        }.prefix(query.limit ?? .max)
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

/// How many of `known`, in a row from the first, aren't after the exchange with this ID.
func place(after id: String?, in known: [KnownExchange]) -> Int {
    guard let id else { return 0 }
    if let place = known.firstIndex(where: { $0.exchange.id == id }) { return place + 1 }
    // It has been let go: IDs count up.
    let number = RecordedExchange.number(of: id) ?? 0
    return known.prefix { (RecordedExchange.number(of: $0.exchange.id) ?? 0) <= number }.count
}
