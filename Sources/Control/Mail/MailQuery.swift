import EmulatorCore
import HTTPServer
import JSON
import Time

/// The conditions on messages in the query of `GET mail`.
struct MailQuery: Sendable {
    /// The e-mail address or phone number of a recipient, in lower case. `*` stands for any characters.
    let recipient: Glob?
    /// The address of a sender in the mail's header or envelope, in lower case. `*` stands for any characters.
    let sender: Glob?
    let subject: TextSearch?
    /// A text that must occur in the mail's text or HTML.
    let text: TextSearch?
    let kind: SentMessage.Kind?
    /// The number of the message after which the list begins.
    let after: Int?
    let limit: Int?
    let wait: TimeSpan?
    /// Whether messages are shown without their secrets. If they are, a query can't search for secrets either.
    private let isMasked: Bool

    struct Parameters: SchemaObject {
        let to: String?
        let from: String?
        let subject: String?
        let text: String?
        let kind: SentMessage.Kind?
        let after: String?
        let limit: Int?
        let wait: TimeSpan?

        init(_ fields: inout Fields) {
            to = fields.optional(
                "to", .text(.pattern), "Recipient's address or number; \"*\" matches any text.")
            from = fields.optional("from", .text(.pattern), "The sender, likewise.")
            text = fields.optional("text", .text(.nonEmpty), "Text in the mail's body, in upper or lower case.")
            subject = fields.optional("subject", .text(.nonEmpty), "Text in the subject, in upper or lower case.")
            kind = fields.optional("kind", .choice(SentMessage.Kind.self), "E-mails or text messages.")
            after = fields.optional("after", .text(MailQuery.id), "List messages after the one with this ID.")
            limit = fields.optional(
                "limit", .integer(1...Inbox.countLimit),
                "The maximum number of messages. Without `after`, the latest are listed.")
            wait = fields.optional("wait", .wait, "How long to wait for a message.")
        }
    }

    static let id = TextRule(about: "the ID of a message, such as \"m12\"", pattern: "^m[0-9]{1,15}$") {
        InboxMessage.number(of: $0) != nil
    }

    /// Reads the query of `GET mail`. `header` is the `Last-Event-ID` with which a client resumes an event stream.
    ///
    /// - Throws: A refusal if the header isn't the ID of a message.
    init(_ parameters: Parameters, resumedAfter header: String?, isMasked: Bool) throws(ControlRefusal) {
        self.isMasked = isMasked
        // A plus sign that isn't encoded comes as a space, and neither addresses nor numbers have spaces.
        recipient = parameters.to.map { Glob($0.replacing(" ", with: "+").lowercased()) }
        sender = parameters.from.map { Glob($0.replacing(" ", with: "+").lowercased()) }
        subject = parameters.subject.map { TextSearch($0) }
        text = parameters.text.map { TextSearch($0) }
        kind = parameters.kind
        limit = parameters.limit
        wait = parameters.wait
        let id = parameters.after ?? header
        after = id.flatMap { InboxMessage.number(of: $0) }
        if let id, after == nil {
            throw ControlRefusal(
                ControlAnswer.error(
                    400, "invalidQuery", "found \(Diagnosis.quote(id)), expected \(MailQuery.id.about)", path: "$.after"
                ))
        }
    }

    /// Whether a message meets the query's conditions. If the query has a text, this parses the mail, so don't call it
    /// while the test world is locked.
    func matches(_ row: InboxMessage, in world: World) -> Bool {
        if let kind, row.message.kind != kind { return false }
        let mask = isMasked && (subject != nil || text != nil) ? Mask(row.message) : nil
        func holds(_ text: String?, _ wanted: TextSearch) -> Bool {
            guard let text else { return false }
            return wanted.isFound(in: mask?.apply(to: text) ?? text)
        }
        if let subject, !holds(row.message.subject, subject) { return false }
        if let recipient, !row.recipients.contains(where: { recipient.matches($0) }) { return false }
        if let sender {
            let senders = [row.message.from.address, row.message.envelope.from].map { $0.lowercased() }
            guard senders.contains(where: { sender.matches($0) }) else { return false }
        }
        guard let text else { return true }
        let content = row.content(in: world)
        return holds(content.text, text) || holds(content.html, text)
    }

    /// Returns at most `limit` messages that match the query, the oldest first. With `after`, the list begins after the
    /// message with that number. Without it, the list has the latest messages.
    func find(in world: World) -> [InboxMessage] {
        let found = candidates(in: world).filter { matches($0, in: world) }
        guard let limit else { return found }
        return Array(after == nil ? found.suffix(limit) : found.prefix(limit))
    }

    private func candidates(in world: World) -> [InboxMessage] {
        let after = after ?? 0
        guard let recipient, !recipient.isPattern else { return world.read { $0.messages(after: after) } }
        return world.read { $0.messages(to: recipient.text) }.filter { $0.number > after }
    }
}
