import Foundation

extension World {
    private struct MailPage: Decodable {
        let messages: [MailMessage]
        let last: String?
        let more: Bool?
    }

    /// Returns the mails and text messages in this test world's inbox that meet all conditions, the oldest first. No
    /// message leaves the machine, unless the daemon is set up to forward mail.
    ///
    ///     let mail = try await world.mail(to: "ada@example.com", wait: .seconds(5))
    ///     let code = mail.last?.codes.first
    ///
    /// - Parameters:
    ///   - recipient: the recipient's address or phone number; `*` stands for any characters.
    ///   - sender: the sender's address or phone number; `*` stands for any characters.
    ///   - subject: a part of the subject, in upper or lower case.
    ///   - text: a part of the text or the HTML, in upper or lower case.
    ///   - kind: mails or text messages; `nil` means both.
    ///   - id: the ID of a message; only later ones are returned.
    ///   - wait: the time to wait for a matching message, a minute at most.
    /// - Throws: ``UnderstudyError``. If `wait` is given and no matching message comes in that time, the code is
    ///   `noMail`, and the error lists the last 20 messages in the inbox.
    public func mail(
        to recipient: String? = nil, from sender: String? = nil, subject: String? = nil, text: String? = nil,
        kind: MailMessage.Kind? = nil, after id: String? = nil, wait: Duration? = nil
    ) async throws -> [MailMessage] {
        let conditions = [
            ("to", recipient), ("from", sender), ("subject", subject), ("text", text), ("kind", kind?.rawValue),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
        let found = try await messages(conditions, after: id, wait: wait)
        guard found.isEmpty, let wait else { return found }
        let others = try await messages([], after: nil, wait: nil).suffix(20).map { "\($0)" }
        let wanted = conditions.map { "\($0.name) \"\($0.value)\"" }.joined(separator: ", ")
        throw UnderstudyError(
            call: "GET mail", code: "noMail",
            message: "no message\(wanted.isEmpty ? "" : " with \(wanted)") came within \(wait); "
                + (others.isEmpty ? "the inbox is empty" : "the inbox has: \(others.joined(separator: "; "))"))
    }

    private func messages(
        _ conditions: [(name: String, value: String)], after id: String?, wait: Duration?
    ) async throws -> [MailMessage] {
        var (found, after, wait) = ([MailMessage](), id, wait)
        while true {
            let query =
                conditions
                + [("after", after), ("wait", wait?.wire)].compactMap { name, value in
                    value.map { (name: name, value: $0) }
                }
            let page: MailPage = try await call(
                Call(method: "GET", path: "mail", query: query, wait: wait ?? .zero))
            found += page.messages
            guard page.more == true, let last = page.last else { return found }
            (after, wait) = (last, nil)
        }
    }

    /// Returns a mail or text message from the inbox by its ID.
    ///
    /// - Throws: ``UnderstudyError``, such as `noSuchMessage`.
    public func message(_ id: String) async throws -> MailMessage {
        try await call("GET", "mail/\(Address.segment(id))")
    }

    /// Returns the source text of a mail in the inbox.
    ///
    /// - Parameters:
    ///   - id: the message's ID.
    ///   - isForwarded: `true` returns the mail as a relay forwarded it, `false` as it was sent.
    /// - Throws: ``UnderstudyError``, such as `notForwarded`.
    public func rawMail(_ id: String, forwarded isForwarded: Bool = false) async throws -> Data {
        try await send(
            "GET", "mail/\(Address.segment(id))/raw", query: isForwarded ? [("as", "forwarded")] : [])
    }

    /// Returns a file attached to a mail.
    ///
    /// - Parameters:
    ///   - number: the file's position in ``MailMessage/attachments``; the first is 1.
    ///   - id: the message's ID.
    /// - Throws: ``UnderstudyError``, such as `noSuchAttachment`.
    public func attachment(_ number: Int, ofMail id: String) async throws -> Data {
        try await send("GET", "mail/\(Address.segment(id))/attachments/\(number)")
    }

    private struct NewMail: Encodable {
        let from: String
        let to: [String]
        let cc: [String]
        let replyTo: String?
        let subject: String
        let text: String?
        let html: String?
    }

    private struct NewReply: Encodable {
        let from: String?
        let text: String?
        let html: String?
    }

    /// Sends a mail to the test world's inbox, as if by SMTP. If a recipient's address belongs to a mail relay, such as
    /// Apple's private relay, the stand-in for the relay checks the mail.
    ///
    /// - Parameters:
    ///   - sender: the sender, in the envelope and in the header.
    ///   - recipients: the recipients, a hundred at most together with `cc`.
    ///   - cc: the recipients of copies.
    ///   - replyTo: the address for answers, by default the sender.
    ///   - subject: the subject.
    ///   - text: the content as plain text.
    ///   - html: the content as HTML.
    /// - Throws: ``UnderstudyError``. A mail that is refused for every recipient is not an error: see
    ///   ``SentMail/refused``.
    @discardableResult
    public func sendMail(
        from sender: String, to recipients: [String], cc: [String] = [], replyTo: String? = nil, subject: String = "",
        text: String? = nil, html: String? = nil
    ) async throws -> SentMail {
        let mail = NewMail(
            from: sender, to: recipients, cc: cc, replyTo: replyTo, subject: subject, text: text, html: html)
        return try await call("POST", "mail", mail)
    }

    /// Answers a mail in the inbox, as if the mail's recipient did.
    ///
    /// - Parameters:
    ///   - id: the mail's ID.
    ///   - sender: the address that answers, by default the recipient's.
    ///   - text: the answer, as plain text.
    ///   - html: the answer, as HTML.
    /// - Throws: ``UnderstudyError``, such as `unanswerable`.
    @discardableResult
    public func reply(
        toMail id: String, from sender: String? = nil, text: String? = nil, html: String? = nil
    ) async throws -> SentMail {
        try await call(
            "POST", "mail/\(Address.segment(id))/replies", NewReply(from: sender, text: text, html: html))
    }

    /// Deletes one message from the inbox, or empties the inbox.
    ///
    /// - Parameter id: the message's ID; `nil` deletes all messages.
    /// - Throws: ``UnderstudyError``, such as `noSuchMessage`.
    public func deleteMail(_ id: String? = nil) async throws {
        try await send("DELETE", id.map { "mail/\(Address.segment($0))" } ?? "mail")
    }

    /// Returns host and port of an SMTP server that puts all mail into this test world's inbox.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSMTP` if the daemon accepts no mail.
    public func smtp() async throws -> (host: String, port: Int) {
        struct Order: Encodable {
            let name: String
            let smtp: Int
        }
        struct DaemonAnswer: Decodable { let smtp: String }
        let answer: DaemonAnswer = try await daemon.call("POST", "worlds", Order(name: try await knownName(), smtp: 0))
        let parts = answer.smtp.split(separator: ":")
        guard let port = parts.last.flatMap({ Int($0) }) else {
            throw UnderstudyError(call: "POST worlds", code: "unexpectedAnswer", message: answer.smtp)
        }
        return (answer.smtp.dropLast(String(port).count + 1).description, port)
    }
}
