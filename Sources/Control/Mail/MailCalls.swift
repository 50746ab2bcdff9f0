import EmulatorCore
import HTTPServer
import JSON

// The calls for mails and texts that were sent or would have been: GET and DELETE /_understudy/v1/mail, GET and DELETE
// mail/ID, GET mail/ID/raw, GET mail/ID/attachments/N

extension ControlAPI {
    var mailCalls: [Endpoint] {
        let gone = CallAnswer.refusal(404, "noSuchMessage", "No message has this ID.")
        let isText = CallAnswer.refusal(404, "notMail", "The message isn't an e-mail.")
        let path = ["The message's ID."]
        return [
            .control(
                "GET", "mail",
                "Lists e-mails and text messages sent to users, or waits for them. Clients that accept text/event-stream get an event stream.",
                reads: .query(
                    MailQuery.Parameters.self,
                    headers: [
                        .optional(
                            "Last-Event-ID", .text(MailQuery.id), "The ID of the last received event.")
                    ]),
                answers: [
                    .json("The messages, the oldest first.", MailDocument.listSchema),
                    .other("Events: `message` for new mail, or `deleted`.", "text/event-stream"),
                    .refusal(503, "tooManyListeners", "Too many event streams and waiting requests."),
                ]
            ) { await mail($0, $1) },
            .control(
                "POST", "mail", "Sends a mail, as if by SMTP.", reads: .body(NewMail.self),
                answers: ControlAPI.submitted
            ) { try await sendMail($0, $1) },
            .control(
                "DELETE", "mail", "Empties the inbox.", reads: .noQuery, answers: [.empty("The inbox is empty.")]
            ) { try deleteMail($0) },
            .control(
                "GET", "mail/:id", "Shows one message, whole.", path: path,
                answers: [.json("The message.", MailDocument.schema), gone]
            ) { await message($0) },
            .control(
                "DELETE", "mail/:id", "Deletes a message.", path: path,
                answers: [.empty("The message is deleted."), gone]
            ) { try deleteMessage($0) },
            .control(
                "GET", "mail/:id/raw", "Returns a mail as it was sent, or as a relay forwarded it.", path: path,
                reads: .query(RawQuery.self),
                answers: [
                    .other("The mail.", "message/rfc822"), gone, isText,
                    .refusal(404, "notForwarded", "No relay has forwarded the mail."),
                ]
            ) { await rawMessage($0, $1) },
            .control(
                "GET", "mail/:id/attachments/:number", "Returns a mail attachment.",
                path: ["The message's ID.", "The number of the attachment, from 1."],
                answers: [
                    .other("The attachment; unsafe types as application/octet-stream.", "*/*"), gone,
                    .refusal(403, "masked", "The daemon hides attachments, since it masks secrets."),
                    .refusal(404, "noSuchAttachment", "The mail has no such attachment."),
                ]
            ) { await attachment($0) },
            .control(
                "POST", "mail/:id/replies", "Replies to a mail as its recipient.", path: path,
                reads: .body(NewReply.self),
                answers: ControlAPI.submitted + [
                    gone, isText, .refusal(409, "unanswerable", "The mail has no recipient, or no sender."),
                ]
            ) { try await reply($0, $1) },
        ]
    }

    private struct RawQuery: SchemaObject {
        enum Form: String, CaseIterable {
            case sent
            case forwarded
        }

        let form: Form

        init(_ fields: inout Fields) {
            form = fields(
                "as", .choice(Form.self), default: .sent,
                "The form of the mail: as it was sent, or as a relay forwarded it.")
        }
    }

    private func mail(_ exchange: Exchange, _ parameters: MailQuery.Parameters) async -> Response {
        let query: MailQuery
        do throws(ControlRefusal) {
            query = try MailQuery(
                parameters, resumedAfter: exchange.request.header("Last-Event-ID"), isMasked: masksSecrets)
        } catch { return error.response }
        let world = exchange.world
        if exchange.request.header("Accept")?.contains("text/event-stream") ?? false {
            guard let lease = listenerLease() else { return tooManyListeners() }
            return mailStream(exchange, query, lease)
        }
        guard let wait = query.wait else {
            return await world.searchInbox { [self] in answer(query.find(in: world), query, exchange) }
        }
        guard let lease = listenerLease() else { return tooManyListeners() }
        let waiter = Waiter(inboxOf: world, lease, after: query.after ?? 0) { query.matches($0, in: world) }
        guard await waiter.wait(atMost: wait.duration) else { return Waiter.unread }
        return await world.searchInbox { [self] in answer(query.find(in: world), query, exchange) }
    }

    /// The approximate maximum number of bytes in one answer of `GET mail`. A client gets further messages with the
    /// parameter `after`.
    private static let mailPageSize = 2 << 20

    private func answer(_ found: [InboxMessage], _ query: MailQuery, _ exchange: Exchange) -> Response {
        var size = 0
        let page = found.prefix { row in
            // A text is longer as JSON.
            defer { size += min(row.message.size, 2 * MailDocument.listLimit) }
            return size < ControlAPI.mailPageSize
        }
        var object = JSONObject([("messages", .array(page.map { document($0, exchange, isListed: true).json }))])
        object["last"] = page.last.map { .string($0.id) }
        if page.count < found.count { object["more"] = true }
        let dropped = exchange.world.read { $0.inbox.dropped }
        if dropped > 0 { object["dropped"] = .integer(Int64(dropped)) }
        return ControlAnswer.ok(.object(object))
    }

    func document(_ row: InboxMessage, _ exchange: Exchange, isListed: Bool) -> MailDocument {
        MailDocument(
            message: shown(row, in: exchange.world), isListed: isListed,
            base: "\(exchange.address.ownBase)\(ControlAPI.root)/mail")
    }

    private func message(_ exchange: Exchange) async -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        return await exchange.world.searchInbox { [self] in
            ControlAnswer.ok(document(row, exchange, isListed: false).json)
        }
    }

    private func rawMessage(_ exchange: Exchange, _ query: RawQuery) async -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        guard row.message.kind == .mail else { return notMail(row, "only an e-mail has a raw form") }
        let wantsForwarded = query.form == .forwarded
        guard !wantsForwarded || row.message.relay?.forwardedTo != nil else {
            return ControlAnswer.error(
                404, "notForwarded", "no relay forwarded the mail \(row.id), so only as=sent is available")
        }
        let body = await exchange.world.searchInbox { [self] in
            let shown = masksSecrets ? shown(row, in: exchange.world).row : row
            return wantsForwarded ? shown.forwarded ?? [] : shown.raw
        }
        return ControlAPI.file(body, type: "message/rfc822", name: "\(row.id).eml")
    }

    private func attachment(_ exchange: Exchange) async -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        guard !masksSecrets else {
            return ControlAnswer.error(
                403, "masked", "attachments aren't shown, because the daemon runs with --mask-secrets")
        }
        let number = exchange.parameters["number"].flatMap { Int($0) } ?? 0
        let found = await exchange.world.searchInbox { row.attachment(number, in: exchange.world) }
        guard let (attachment, bytes) = found else {
            return ControlAnswer.error(
                404, "noSuchAttachment", "\(row.id) has \(row.message.attachments.count) attachments, counted from 1")
        }
        let name = attachment.name ?? "\(row.id)-\(number)"
        return ControlAPI.file(bytes, type: ControlAPI.harmless(attachment.type), name: name)
    }

    /// Returns the media type of an attachment if a browser can open it without harm, or else
    /// `application/octet-stream`, which browsers only save.
    private static func harmless(_ type: String) -> String {
        let known: Set<String> = [
            "application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "message/rfc822", "text/calendar",
            "text/csv", "text/plain",
        ]
        return known.contains(type) ? type : "application/octet-stream"
    }

    /// Answers with a file for the browser to save, so that no part of a mail is opened as a page of the daemon's site.
    private static func file(_ bytes: [UInt8], type: String, name: String) -> Response {
        let plain = String(
            decoding: name.unicodeScalars.map { scalar -> UInt8 in
                let isPlain = (0x20..<0x7F).contains(scalar.value) && !"\"\\/%".unicodeScalars.contains(scalar)
                return isPlain ? UInt8(scalar.value) : UInt8(ascii: "_")
            }, as: UTF8.self)
        // The name in UTF-8: https://www.rfc-editor.org/rfc/rfc6266#section-4.3
        let whole = plain == name ? "" : "; filename*=UTF-8''\(PercentCoding.encode(Array(name.utf8)))"
        return Response(
            status: 200,
            headers: [
                (name: "Content-Type", value: type), (name: "X-Content-Type-Options", value: "nosniff"),
                (name: "Content-Security-Policy", value: "default-src 'none'; sandbox"),
                (name: "Content-Disposition", value: "attachment; filename=\"\(plain)\"\(whole)"),
            ], body: bytes)
    }

    private func deleteMessage(_ exchange: Exchange) throws -> Response {
        guard try exchange.world.deleteMessage(exchange.parameters["id"] ?? "") else { return noSuchMessage(exchange) }
        return Response(status: 204)
    }

    private func deleteMail(_ exchange: Exchange) throws -> Response {
        try exchange.world.deleteMessages()
        return Response(status: 204)
    }

    func row(_ exchange: Exchange) -> InboxMessage? {
        exchange.world.read { $0.find(InboxMessage.self, exchange.parameters["id"] ?? "") }
    }

    func notMail(_ row: InboxMessage, _ what: String) -> Response {
        ControlAnswer.error(404, "notMail", "the message \(row.id) is a text message, not an e-mail: \(what)")
    }

    func noSuchMessage(_ exchange: Exchange) -> Response {
        let id = Diagnosis.quote(exchange.parameters["id"] ?? "")
        return ControlAnswer.error(
            404, "noSuchMessage",
            "no message \(id) is in this world's inbox, which keeps only the last \(Inbox.countLimit) messages"
        )
    }
}
