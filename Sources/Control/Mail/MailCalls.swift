import EmulatorCore
import HTTPServer
import JSON

// GET and DELETE /_understudy/v1/mail, GET and DELETE mail/ID, GET mail/ID/raw: what was sent to people, or would have been.
//
// Query: to, subject, kind, after and limit filter; wait (at most a minute) waits for a message to come. Accept:
// text/event-stream asks for one event a message.

extension ControlAPI {
    var mailOperations: [Operation] {
        [
            .control("GET", "mail") { await mail($0) },
            .control("DELETE", "mail") { deleteMail($0) },
            .control("GET", "mail/:id") { message($0) },
            .control("DELETE", "mail/:id") { deleteMessage($0) },
            .control("GET", "mail/:id/raw") { rawMessage($0) },
        ]
    }

    private func mail(_ exchange: Exchange) async -> Response {
        let query: MailQuery
        do { query = try MailQuery(exchange.request) } catch { return error.response }
        let world = exchange.world
        if exchange.request.header("Accept")?.contains("text/event-stream") ?? false {
            guard let lease = listen(exchange) else { return tooManyListeners() }
            return mailStream(exchange, query, lease)
        }
        guard let wait = query.wait else {
            return await world.recording.search { [self] in answer(query.find(in: world), query, world) }
        }
        guard let lease = listen(exchange) else { return tooManyListeners() }
        let found = await MailWaiter(world, query, lease).found(within: wait.duration)
        return answer(found, query, world)
    }

    /// How many bytes one answer holds, about. A client asks for the rest with `after`.
    private static let mailPageSize = 2 << 20

    private func answer(_ found: [InboxMessage], _ query: MailQuery, _ world: World) -> Response {
        var size = 0
        let page = found.prefix { row in
            defer { size += row.message.size }
            return size < ControlAPI.mailPageSize
        }
        var object = JSONObject([("messages", .array(page.map { MailDocument(row: shown($0)).json }))])
        object["last"] = page.last.map { .string($0.id) }
        if page.count < found.count { object["more"] = true }
        let dropped = world.read { $0.inbox.dropped }
        if dropped > 0 { object["dropped"] = .integer(Int64(dropped)) }
        return ControlAnswer.ok(.object(object))
    }

    private func message(_ exchange: Exchange) -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        return ControlAnswer.ok(MailDocument(row: shown(row)).json)
    }

    private func rawMessage(_ exchange: Exchange) -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        guard row.message.kind == .mail else {
            return ControlAnswer.error(404, "notMail", "\(row.id) is a text message: only an e-mail has a raw form")
        }
        return Response(
            status: 200,
            headers: [
                (name: "Content-Type", value: "message/rfc822"), (name: "X-Content-Type-Options", value: "nosniff"),
                (name: "Content-Disposition", value: "attachment; filename=\"\(row.id).eml\""),
            ], body: shown(row).raw)
    }

    private func deleteMessage(_ exchange: Exchange) -> Response {
        guard exchange.world.deleteMessage(exchange.parameters["id"] ?? "") else { return noSuchMessage(exchange) }
        return Response(status: 204)
    }

    private func deleteMail(_ exchange: Exchange) -> Response {
        exchange.world.deleteMessages()
        return Response(status: 204)
    }

    private func row(_ exchange: Exchange) -> InboxMessage? {
        exchange.world.read { $0.find(InboxMessage.self, exchange.parameters["id"] ?? "") }
    }

    private func noSuchMessage(_ exchange: Exchange) -> Response {
        let id = Diagnosis.quote(exchange.parameters["id"] ?? "")
        return ControlAnswer.error(
            404, "noSuchMessage",
            "no message \(id) is in this world's inbox: it holds the last \(Inbox.countLimit) at most"
        )
    }
}
