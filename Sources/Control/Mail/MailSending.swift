import EmulatorCore
import HTTPServer
import JSON

// The calls POST /_understudy/v1/mail and POST mail/ID/replies send mails by JSON in place of SMTP. The mails are
// treated as if by SMTP: a relay judges them, and they go to the inbox.

struct NewMail: SchemaObject {
    static let schemaName: String? = "NewMail"

    let from: String
    let to: [String]
    let cc: [String]
    let replyTo: String?
    let subject: String
    let text: String?
    let html: String?

    init(_ fields: inout Fields) {
        from = fields("from", .text(.mailAddress), "The mail's sender, in envelope and header.")
        to = fields.sequence("to", of: .text(.mailAddress), "The recipients: at most 100, including cc.")
        cc = fields.sequence("cc", of: .text(.mailAddress), "The recipients of copies.")
        replyTo = fields.optional("replyTo", .text(.mailAddress), "The reply address; by default the sender's.")
        subject = fields("subject", .text(.any), default: "", "The subject.")
        text = fields.optional("text", .text(.any), "The plain text.")
        html = fields.optional("html", .text(.any), "The HTML.")
    }
}

struct NewReply: SchemaObject {
    static let schemaName: String? = "NewReply"

    let from: String?
    let text: String?
    let html: String?

    init(_ fields: inout Fields) {
        from = fields.optional(
            "from", .text(.mailAddress), "The reply's sender; by default the mail's recipient.")
        text = fields.optional("text", .text(.any), "The reply mail's text.")
        html = fields.optional("html", .text(.any), "The reply mail's HTML.")
    }
}

extension ControlAPI {
    private static let recipientLimit = 100

    /// The answers that the control API can give when a client submits a mail.
    static let submitted = [
        CallAnswer.json("The reply that an SMTP client would get.", submissionSchema),
        .refusal(503, "noMail", "The daemon is stopping."),
    ]

    private static let replySchema = Schema.members(
        "SMTPReply",
        [
            .required("code", .integer(200...599), "The reply's code."),
            .optional("status", .string, "The enhanced status code."), .required("text", .string, "The reply's text."),
        ])

    private static let submissionSchema = Schema.members(
        "SubmittedMail",
        [
            .required("smtp", replySchema, "The SMTP reply to the mail."),
            .required("messages", .sequence(of: MailDocument.schema), "Inbox messages made of this mail."),
            .optional(
                "refused",
                .sequence(
                    of: .members([
                        .required("to", .string, "The recipient."),
                        .required("smtp", replySchema, "SMTP reply for the recipient."),
                        .required("reason", .string, "The reason."),
                    ])), "The recipients who were refused."),
        ])

    func sendMail(_ exchange: Exchange, _ order: NewMail) async throws -> Response {
        let recipients = order.to + order.cc
        guard !order.to.isEmpty, recipients.count <= ControlAPI.recipientLimit else {
            return ControlAnswer.error(
                400, "invalidBody",
                "\"to\" has \(order.to.count) recipients and \"cc\" has \(order.cc.count): \"to\" must have at least 1, and both "
                    + "together at most \(ControlAPI.recipientLimit)", path: "$.to")
        }
        var mail = ComposedMail(
            from: Mailbox(order.from), to: order.to.map { Mailbox($0) }, subject: order.subject,
            text: order.html == nil ? order.text ?? "" : order.text, html: order.html)
        mail.cc = order.cc.map { Mailbox($0) }
        mail.replyTo = order.replyTo.map { Mailbox($0) }
        return try await submit(mail, to: recipients, exchange)
    }

    /// Replies to a mail of the inbox, by default in the name of the person to whom the mail was sent.
    func reply(_ exchange: Exchange, _ order: NewReply) async throws -> Response {
        guard let row = row(exchange) else { return noSuchMessage(exchange) }
        guard row.message.kind == .mail else { return notMail(row, "only an e-mail can be answered") }
        guard order.text != nil || order.html != nil else {
            return ControlAnswer.error(400, "invalidBody", "the reply needs a text, or HTML", path: "$.text")
        }
        let mail = await exchange.world.searchInbox { () -> ComposedMail? in
            guard let (answerer, sender) = row.correspondents(in: exchange.world) else { return nil }
            return row.answer(
                in: exchange.world, from: order.from.map { Mailbox($0) } ?? answerer, to: sender, text: order.text,
                html: order.html)
        }
        guard let mail else {
            let reason =
                row.message.isUndelivered
                ? "the mail \(row.id) reached no recipient who could reply"
                : "the mail \(row.id) names no sender to reply to"
            return ControlAnswer.error(409, "unanswerable", reason)
        }
        return try await submit(mail, to: mail.to.map(\.address), exchange)
    }

    private func submit(_ mail: ComposedMail, to recipients: [String], _ exchange: Exchange) async throws -> Response {
        guard let submission = worlds.budget.mailRoutes.submission else {
            return ControlAnswer.error(503, "noMail", "the daemon is stopping, and accepts no more mail")
        }
        let world = exchange.world
        let (response, delay) = try await world.searchInbox { [self] in
            // The recording has no request for this mail: calls of the control API aren't recorded.
            let result = try submission.submit(
                try world.write(mail), from: mail.from.address, to: recipients, in: world, request: nil)
            return (answer(result, recipients, exchange), result.delay)
        }
        if delay > .zero { try? await Task.sleep(for: delay.duration) }
        return response
    }

    /// Answers the submission of a mail with the reply that an SMTP client would get, the resulting messages in the
    /// inbox, and the refused recipients.
    private func answer(_ result: SubmittedMail, _ recipients: [String], _ exchange: Exchange) -> Response {
        let ids = result.messages.map(\.id).joined(separator: ", ")
        // A fault may make the server accept a mail and lose it.
        let text = ids.isEmpty ? "ok" : "ok: queued as \(ids)"
        var reply: JSONValue = ["code": 250, "status": "2.0.0", "text": .string(text)]
        if result.refusals.count >= recipients.count, let first = result.refusals.first {
            reply = ControlAPI.json(first.refusal)
        }
        var object = JSONObject([
            ("smtp", reply),
            ("messages", .array(result.messages.map { document($0, exchange, isListed: true).json })),
        ])
        if !result.refusals.isEmpty {
            object["refused"] = .array(
                result.refusals.map { recipient, refusal in
                    [
                        "to": .string(recipient), "smtp": ControlAPI.json(refusal),
                        "reason": .string(refusal.diagnosis.line),
                    ]
                })
        }
        let answer = ControlAnswer.ok(.object(object))
        return result.refusals.first.map { answer.diagnosed($0.refusal.diagnosis) } ?? answer
    }

    private static func json(_ refusal: MailRefusal) -> JSONValue {
        var object = JSONObject([("code", .integer(Int64(refusal.code)))])
        object["status"] = refusal.status.map { .string($0) }
        object["text"] = .string(refusal.text)
        return .object(object)
    }
}
