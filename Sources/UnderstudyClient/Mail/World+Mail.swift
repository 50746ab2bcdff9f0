import Foundation

extension World {
    private struct MailPage: Decodable {
        let messages: [MailMessage]
        let last: String?
        let more: Bool?
    }

    /// What was or would have been mailed and texted in this world, the oldest first: what meets all conditions.
    ///
    /// - Parameters:
    ///   - recipient: an address or a phone number; `*` stands for any characters.
    ///   - sender: the same for who sent it.
    ///   - subject: what the subject contains, in any case.
    ///   - text: what the text or the HTML contains, in any case.
    ///   - kind: mails or text messages; `nil` is both.
    ///   - id: only those after the one with this ID.
    ///   - wait: how long to wait, a minute at most, until there is one.
    /// - Throws: ``UnderstudyError``; with `wait`, one with the code `noMail` that lists what came instead.
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

    /// One message, whole.
    ///
    /// - Throws: ``UnderstudyError``, such as `noSuchMessage`.
    public func message(_ id: String) async throws -> MailMessage {
        try await call("GET", "mail/\(Address.segment(id))")
    }

    /// A mail as it was sent.
    ///
    /// - Parameters:
    ///   - id: the message's ID.
    ///   - isForwarded: whether it is wanted as a relay handed it on.
    /// - Throws: ``UnderstudyError``, such as `notForwarded`.
    public func rawMail(_ id: String, forwarded isForwarded: Bool = false) async throws -> Data {
        try await send(
            "GET", "mail/\(Address.segment(id))/raw", query: isForwarded ? [("as", "forwarded")] : [])
    }

    /// A file of a mail.
    ///
    /// - Parameters:
    ///   - number: its place in ``MailMessage/attachments``, from 1 on.
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

    /// Sends a mail as if by SMTP: a relay judges it, and it lies in the inbox.
    ///
    /// - Parameters:
    ///   - sender: the envelope's sender, and the header's.
    ///   - recipients: who gets it, a hundred at most with those of `cc`.
    ///   - cc: who gets a copy.
    ///   - replyTo: who gets answers; by default the sender.
    ///   - subject: the subject.
    ///   - text: what it says, as plain text.
    ///   - html: what it says, as HTML.
    /// - Throws: ``UnderstudyError``. A mail that nobody gets isn't an error: ``SentMail/refused`` says so.
    @discardableResult
    public func sendMail(
        from sender: String, to recipients: [String], cc: [String] = [], replyTo: String? = nil, subject: String = "",
        text: String? = nil, html: String? = nil
    ) async throws -> SentMail {
        let mail = NewMail(
            from: sender, to: recipients, cc: cc, replyTo: replyTo, subject: subject, text: text, html: html)
        return try await call("POST", "mail", mail)
    }

    /// The person who got a mail answers it.
    ///
    /// - Parameters:
    ///   - id: the mail's ID.
    ///   - sender: who answers; by default who got it.
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

    /// Deletes one message, or empties the inbox.
    ///
    /// - Parameter id: the message's ID; `nil` is all of them.
    /// - Throws: ``UnderstudyError``, such as `noSuchMessage`.
    public func deleteMail(_ id: String? = nil) async throws {
        try await send("DELETE", id.map { "mail/\(Address.segment($0))" } ?? "mail")
    }

    /// Host and port for mail by SMTP to this world, at a port of its own.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSMTP` where the daemon takes no mail.
    public func smtp() async throws -> (host: String, port: Int) {
        struct Order: Encodable {
            let name: String
            let smtp: Int
        }
        struct Answer: Decodable { let smtp: String }
        let answer: Answer = try await daemon.call("POST", "worlds", Order(name: try await knownName(), smtp: 0))
        let parts = answer.smtp.split(separator: ":")
        guard let port = parts.last.flatMap({ Int($0) }) else {
            throw UnderstudyError(call: "POST worlds", code: "unexpectedAnswer", message: answer.smtp)
        }
        return (answer.smtp.dropLast(String(port).count + 1).description, port)
    }
}
