import EmulatorCore
import HTTPServer

/// The conditions on the messages of the inbox's page.
struct InboxQuery: Sendable {
    /// The number of messages on a page.
    static let pageSize = 50

    /// The text to find in addresses or the subject, as it was typed.
    let search: String
    let kind: SentMessage.Kind?
    /// The number of the message before which the page begins; `nil` for the first page.
    let before: Int?

    init(_ request: Request) {
        let form = request.queryForm
        search = String((form["search"] ?? "").prefix(200))
        kind = form["kind"].flatMap { SentMessage.Kind(rawValue: $0) }
        before = form["before"].flatMap { InboxMessage.number(of: $0) }
    }

    /// Returns the address of the same search, from another message on.
    func address(before message: InboxMessage?) -> String {
        var fields: [Form.Field] = []
        if !search.isEmpty { fields.append(Form.Field(name: "search", value: search)) }
        if let kind { fields.append(Form.Field(name: "kind", value: kind.rawValue)) }
        if let message { fields.append(Form.Field(name: "before", value: message.id)) }
        return Area.inbox.rawValue + (fields.isEmpty ? "" : "?\(Form(fields: fields).encoded)")
    }

    struct Found: Sendable {
        /// The messages, newest first.
        let messages: [InboxMessage]
        let hasMore: Bool
        /// The number of all messages in the inbox.
        let all: Int
        let dropped: Int
    }

    /// Examines each message, so don't call it on a worker.
    func find(in world: World) -> Found {
        let (rows, inbox) = world.read { ($0.messages(), $0.inbox) }
        let wanted = TextSearch(search)
        var found: [InboxMessage] = []
        for row in rows.reversed() where found.count <= InboxQuery.pageSize {
            guard before.map({ row.number < $0 }) ?? true, kind.map({ $0 == row.message.kind }) ?? true else {
                continue
            }
            if search.isEmpty || holds(wanted, row) { found.append(row) }
        }
        return Found(
            messages: Array(found.prefix(InboxQuery.pageSize)), hasMore: found.count > InboxQuery.pageSize,
            all: rows.count, dropped: inbox.dropped)
    }

    private func holds(_ wanted: TextSearch, _ row: InboxMessage) -> Bool {
        let message = row.message
        let texts = row.recipients + [message.from.display, message.envelope.from, message.subject ?? ""]
        return texts.contains { wanted.isFound(in: $0) }
    }
}
