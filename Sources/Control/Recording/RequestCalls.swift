import HTTPServer
import JOSE
import Stage
import Synchronization
import Time

// GET and DELETE /_understudy/v1/requests, GET /_understudy/v1/requests/ID
//
// Query: after, host, path, method, client, status, flow, refused, limit filter; wait (at most a minute) and count wait for
// exchanges that are still to come; format=har is a HAR file. Accept: text/event-stream brings them one by one.

extension ControlAPI {
    private struct Query: Sendable {
        var criteria = Criteria([:])
        var after: String?
        var limit: Int?
        var wait: TimeSpan?
        var count = 1
        var isHAR = false
    }

    private static let waitLimit = TimeSpan.minutes(1)

    func requests(_ exchange: Exchange) -> Reply {
        let query: Query
        do { query = try read(exchange.request) } catch { return .now(error.response) }
        if exchange.request.header("Accept")?.contains("text/event-stream") ?? false {
            return .now(stream(exchange, query))
        }
        let found = find(query, in: exchange.world.recording.exchanges)
        guard let wait = query.wait, found.count < query.count else { return .now(answer(found, query)) }
        let recording = exchange.world.recording
        return .later { [self] done in
            let waiter = Waiter { [self] exchanges in done(answer(find(query, in: exchanges), query)) }
            let (already, number) = recording.listen { [self] new in
                guard query.criteria.mayTake(new) else { return }
                if find(query, in: recording.exchanges).count >= query.count { waiter.settle(recording) }
            }
            waiter.listens(as: number, to: recording)
            if find(query, in: already).count >= query.count { waiter.settle(recording) }
            let timer = Timer.after(wait.duration) { waiter.settle(recording) }
            done.whenAbandoned { timer.hurry() }
        }
    }

    func request(_ exchange: Exchange) -> Response {
        let id = exchange.parameters["id"] ?? ""
        let known = KnownExchange.all(exchange.world.recording.exchanges).first { $0.exchange.id == id }
        guard let known else {
            return ControlAnswer.error(
                404, "noSuchRequest",
                "no request \(Diagnosis.quote(id)) is in this world's recording: it holds the last \(Recording.countLimit)"
            )
        }
        return ControlAnswer.ok(ExchangeDocument(known, masksSecrets: masksSecrets).json)
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

    /// Those that the query asks for, the oldest first.
    private func find(_ query: Query, in exchanges: [RecordedExchange]) -> [KnownExchange] {
        var known = KnownExchange.all(exchanges)
        if let after = query.after {
            if let place = known.firstIndex(where: { $0.exchange.id == after }) {
                known.removeFirst(place + 1)
            } else if let number = RecordedExchange.number(of: after) {
                // It has been let go: IDs count up.
                known.removeAll { (RecordedExchange.number(of: $0.exchange.id) ?? 0) <= number }
            }
        }
        known.removeAll { !query.criteria.differences($0).isEmpty }
        return query.limit.map { Array(known.suffix($0)) } ?? known
    }

    private func answer(_ found: [KnownExchange], _ query: Query) -> Response {
        let documents = found.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        if query.isHAR { return ControlAnswer.ok(ExchangeDocument.har(documents, version: version)) }
        var object = JSONObject([("requests", .array(documents.map(\.json)))])
        object["last"] = found.last.map { .string($0.exchange.id) }
        return ControlAnswer.ok(.object(object))
    }

    // MARK: - The stream

    /// Server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>
    private func stream(_ exchange: Exchange, _ query: Query) -> Response {
        let stream = EventStream()
        let recording = exchange.world.recording
        // Of what has been sent; every event is sent under its lock, so that they come in order.
        let sent = Mutex(query)
        let flush: @Sendable () -> Void = { [self] in
            sent.withLock { query in
                for known in find(query, in: recording.exchanges) {
                    let document = ExchangeDocument(known, masksSecrets: masksSecrets).json
                    stream.send("id: \(known.exchange.id)\nevent: exchange\ndata: \(document.text)\n\n")
                    query.after = known.exchange.id
                }
            }
        }
        let (_, number) = recording.listen { if query.criteria.mayTake($0) { flush() } }
        stream.whenClosed { recording.stopListening(number) }
        flush()
        RequestStream.keepAlive(stream)
        var response = Response(
            status: 200, contentType: "text/event-stream", headers: [(name: "Cache-Control", value: "no-store")],
            body: "")
        response.delivery = .stream(stream)
        return response
    }
}

private enum RequestStream {
    /// A suspended connection notices that its reader has gone only when something is sent.
    static func keepAlive(_ stream: EventStream) {
        guard stream.send(Array(":\n\n".utf8)) else { return }
        Timer.after(.seconds(15)) { keepAlive(stream) }
    }
}

/// Somebody who waits for exchanges. Only the first `settle` counts.
private final class Waiter: Sendable {
    private struct State {
        var isSettled = false
        var number: Int?
    }

    private let state = Mutex(State())
    private let done: @Sendable ([RecordedExchange]) -> Void

    init(_ done: @escaping @Sendable ([RecordedExchange]) -> Void) { self.done = done }

    func listens(as number: Int, to recording: Recording) {
        let isSettled = state.withLock { state in
            state.number = number
            return state.isSettled
        }
        if isSettled { recording.stopListening(number) }
    }

    func settle(_ recording: Recording) {
        let (isFirst, number) = state.withLock { state in
            defer { state.isSettled = true }
            return (!state.isSettled, state.number)
        }
        guard isFirst else { return }
        if let number { recording.stopListening(number) }
        done(recording.exchanges)
    }
}
