import Control
import EmulatorCore
import HTTPServer

// The page /_understudy/inbox: the mails and text messages that were sent in the world, or would have been.

extension Inspector {
    var inboxEndpoints: [Endpoint] {
        [
            page("GET", "inbox") { await inbox($0) },
            page("GET", "inbox/:id") { await message($0) },
            page("GET", "inbox/:id/html") { await messageFrame($0) },
            form("inbox/:id/reply") { await reply($0, $1) },
            form("inbox/delete") { (exchange, _) in await delete("mail", exchange) },
            form("inbox/:id/delete") { (exchange, _) in
                await delete("mail/\(Inspector.segment(exchange.parameters["id"] ?? ""))", exchange)
            },
        ]
    }

    private func delete(_ call: String, _ exchange: Exchange) async -> Response {
        do throws(CallRefusal) { _ = try await self.call("DELETE", call, in: exchange) } catch {
            return noSuchMessage(exchange, error.message, status: error.status)
        }
        return changed(exchange, show: Area.inbox.path)
    }

    func noSuchMessage(_ exchange: Exchange, _ reason: String, status: Int = 404) -> Response {
        missing(exchange, .inbox, "No such message", reason, status: status, to: Area.inbox.path, "All messages")
    }

    private func inbox(_ exchange: Exchange) async -> Response {
        let query = InboxQuery(exchange.request)
        let world = exchange.world
        let found = await world.searchInbox { query.find(in: world) }
        let kinds: [Option] = [("", "Mails and texts"), ("mail", "Mails"), ("text", "Texts")]
        let gone =
            "The inbox keeps the last \(Inbox.countLimit) messages: \(found.dropped) older messages were deleted."
        return page(
            exchange, .inbox, title: "Inbox", scripts: query.before == nil ? ["follow"] : [],
            lead: [
                .of(
                    "span#inbox-delete", ["data-follow": true],
                    found.all == 0 ? nil : action(exchange, "inbox/delete", "Delete all", "danger.small"))
            ],
            [
                search(
                    exchange, "inbox-search", at: Area.inbox.path,
                    .field(
                        "Address or subject",
                        .input("search", query.search, type: "search", ["maxlength": "200"])),
                    .field("Kind", .select("kind", kinds, chosen: query.kind?.rawValue ?? ""))),
                // Only the first page is updated while it is open.
                .of(
                    "div#messages", ["data-follow": query.before == nil],
                    found.messages.isEmpty ? nothing(exchange, found) : list(exchange, query, found)),
                found.dropped > 0 ? .small(gone) : nil,
            ])
    }

    // MARK: - The list

    private func list(_ exchange: Exchange, _ query: InboxQuery, _ found: InboxQuery.Found) -> HTML {
        let rows = found.messages.map { row(exchange, control.summary($0)) }
        let links = [
            query.before.map { _ in exchange.link(query.address(before: nil), "Newest") },
            found.hasMore ? found.messages.last.map { exchange.link(query.address(before: $0), "Older") } : nil,
        ].compactMap { $0 }
        return .group([
            .table("stack.inbox-list", ["Message", "From", "To", "Sent", "State"], rows),
            links.isEmpty ? "" : .of("nav.row", ["aria-label": "Pages"], .group(links)),
        ])
    }

    private func nothing(_ exchange: Exchange, _ found: InboxQuery.Found) -> HTML {
        guard found.all == 0 else { return .of("p.empty", "No message matches the filter.") }
        return .of(
            "div.empty",
            .of(
                "p",
                "No messages yet. E-mails and texts that a provider or your app sends appear here: a link that verifies an address, a password reset, a code for signing in."
            ), .of("p", howToSend(exchange)))
    }

    private func howToSend(_ exchange: Exchange) -> HTML {
        guard let port = listeningPort("smtp") else {
            return .group([
                "To receive the app's mail here, start the daemon with ", .of("code", "--smtp-port 1025"), ".",
            ])
        }
        let host = Address.hostName(of: exchange.request.header("Host") ?? "localhost")
        let isUnnamed = exchange.world.name == control.worlds.unnamed
        return .group(
            ["The app's mail settings: SMTP at ", .of("code", ShownText.line("\(host):\(port)")), ", "]
                + (isUnnamed
                    ? ["no user name or password is needed."]
                    : ["with the user name ", .of("code", .text(exchange.world.name)), " and any password."]))
    }

    private func row(_ exchange: Exchange, _ row: InboxMessage) -> HTML.Row {
        let message = row.message
        let title = message.subject ?? message.text ?? ""
        let others = message.envelope.to.count - 1
        var badges: [HTML] = []
        if let relay = message.relay {
            badges.append(
                relay.forwardedTo != nil
                    ? .badge("forwarded", "good") : .badge(relay.refusal == nil ? "lost" : "refused", "bad"))
        }
        if !message.attachments.isEmpty {
            badges.append(.badge(Inspector.count(message.attachments.count, "file", "files")))
        }
        return HTML.Row(
            [
                "id": "message-\(row.id)",
                "data-spoken": ShownText.plain("For \(message.to.address): \(title)", limit: 400),
            ],
            .group([
                exchange.link(
                    "inbox/\(row.id)", ShownText.isolated(title.isEmpty ? "(without a subject)" : title)),
                " ", .badge(message.kind == .mail ? "mail" : "text"),
            ]), ShownText.isolated(message.from.address, limit: 80),
            .group([
                ShownText.isolated(message.to.address, limit: 80), others > 0 ? .soft(" and \(others) more") : "",
            ]), ShownText.time(row.time),
            badges.isEmpty ? .soft("–") : .group(badges.flatMap { [$0, " "] }))
    }
}

/// The conditions by which the inbox's page selects messages.
struct InboxQuery: Sendable {
    static let pageSize = 50

    /// The text that must occur in a message's addresses or subject, in upper or lower case.
    let search: String
    let kind: SentMessage.Kind?
    /// The number of a message. The page lists only older messages, which have smaller numbers. The value is `nil` for
    /// the first page.
    let before: Int?

    init(_ request: Request) {
        let form = request.queryForm
        search = String((form["search"] ?? "").prefix(200))
        kind = form["kind"].flatMap { SentMessage.Kind(rawValue: $0) }
        before = form["before"].flatMap { InboxMessage.number(of: $0) }
    }

    /// Returns the address of the inbox's page with the messages that match the search and are older than `message`. If
    /// `message` is `nil`, it is the page with the newest messages.
    func address(before message: InboxMessage?) -> String {
        let fields = [("search", search.isEmpty ? nil : search), ("kind", kind?.rawValue), ("before", message?.id)]
        return Inspector.address(Area.inbox.path, fields.compactMap { name, value in value.map { (name, $0) } })
    }

    struct Found: Sendable {
        /// The messages on the inbox's page, the newest first.
        let messages: [InboxMessage]
        let hasMore: Bool
        /// The number of all messages in the inbox, including those that don't match the search.
        let all: Int
        let dropped: Int
    }

    /// Returns the messages of the inbox that match the search. This examines each message, so don't call it on a
    /// server's worker thread.
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
