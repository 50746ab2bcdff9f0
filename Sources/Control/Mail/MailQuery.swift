import EmulatorCore
import HTTPServer
import JSON
import Time

/// Which messages `GET mail` is about.
struct MailQuery: Sendable {
    /// In lower case; `*` stands for any characters.
    let recipient: String?
    /// In lower case.
    let subject: String?
    let kind: SentMessage.Kind?
    /// The number of the message after which to begin.
    let after: Int?
    let limit: Int?
    let wait: TimeSpan?

    private static let waitLimit = TimeSpan.minutes(1)

    private struct Parameters: SchemaObject {
        let to: String?
        let subject: String?
        let kind: SentMessage.Kind?
        let after: String?
        let limit: String?
        let wait: TimeSpan?

        init(_ fields: inout Fields) {
            to = fields.optional(
                "to", .text(.nonEmpty), "An address or a phone number; \"*\" stands for any characters.")
            subject = fields.optional("subject", .text(.nonEmpty), "What the subject contains, in any case.")
            kind = fields.optional("kind", .choice(SentMessage.Kind.self), "E-mails or text messages.")
            after = fields.optional("after", .text(.nonEmpty), "The ID of the message after which to begin.")
            limit = fields.optional("limit", .text(.any), "How many at most.")
            wait = fields.optional("wait", .duration, "How long to wait for a message that is still to come.")
        }
    }

    /// - Throws: What is wrong with the query.
    init(_ request: Request) throws(ControlRefusal) {
        let form = JSONObject(request.queryForm.fields.map { ($0.name, .string($0.value)) })
        let parameters: Parameters
        do throws(Issues) { parameters = try Parameters(checking: LocatedJSON(.object(form), file: "query")) } catch {
            throw ControlRefusal(ControlAnswer.error(error.all))
        }
        // A plus sign that isn't encoded comes as a space, and neither addresses nor numbers have spaces.
        recipient = parameters.to.map { $0.replacing(" ", with: "+").lowercased() }
        subject = parameters.subject?.lowercased()
        kind = parameters.kind
        limit = try ControlAPI.count("limit", parameters.limit, upTo: Inbox.countLimit)
        wait = parameters.wait
        if let wait, wait > MailQuery.waitLimit {
            throw MailQuery.refusal("a minute is the longest wait", "$.wait")
        }
        let id = parameters.after ?? request.header("Last-Event-ID")
        after = id.flatMap { InboxMessage.number(of: $0) }
        if let id, after == nil {
            throw MailQuery.refusal(
                "found \(Diagnosis.quote(id)), expected the ID of a message, such as \"m12\"", "$.after")
        }
    }

    private static func refusal(_ message: String, _ path: String) -> ControlRefusal {
        ControlRefusal(ControlAnswer.error(400, "invalidQuery", message, path: path))
    }

    func matches(_ row: InboxMessage) -> Bool {
        if let kind, row.message.kind != kind { return false }
        if let subject, !(row.message.subject?.lowercased().contains(subject) ?? false) { return false }
        guard let recipient else { return true }
        return row.recipients.contains { Glob.matches(recipient, $0) }
    }

    /// The messages that it asks for, the oldest first. With `limit` these are the latest ones; with `limit` and `after`, the next
    /// ones, so that a client can read page by page.
    func find(in world: World) -> [InboxMessage] {
        let found = candidates(in: world).filter { matches($0) }
        guard let limit else { return found }
        return Array(after == nil ? found.suffix(limit) : found.prefix(limit))
    }

    private func candidates(in world: World) -> [InboxMessage] {
        let after = after ?? 0
        guard let recipient, !recipient.contains("*") else { return world.read { $0.messages(after: after) } }
        return world.read { $0.messages(to: recipient) }.filter { $0.number > after }
    }
}
