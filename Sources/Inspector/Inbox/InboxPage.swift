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
                await delete("mail/\(PercentCoding.encode(Array((exchange.parameters["id"] ?? "").utf8)))", exchange)
            },
        ]
    }

    private func delete(_ call: String, _ exchange: Exchange) async -> Response {
        do throws(CallRefusal) { _ = try await self.call("DELETE", call, in: exchange) } catch {
            return noSuchMessage(exchange, error.message, status: error.status)
        }
        return changed(exchange, show: Area.inbox.rawValue)
    }

    func noSuchMessage(_ exchange: Exchange, _ reason: String, status: Int = 404) -> Response {
        page(
            exchange, .inbox, title: "No such message", status: status,
            [
                .tag("p", [("class", "note bad"), ("role", "alert")], ShownText.line(reason)),
                .tag("p", [], .link("All messages", to: exchange.inspector(Area.inbox.rawValue))),
            ]
        ).diagnosed(Diagnosis(reason))
    }

    private func inbox(_ exchange: Exchange) async -> Response {
        let query = InboxQuery(exchange.request)
        let world = exchange.world
        let found = await world.searchInbox { query.find(in: world) }
        var content = [searchForm(exchange, query), list(exchange, query, found)]
        if found.dropped > 0 {
            let text = "The inbox keeps the last \(Inbox.countLimit) messages: \(found.dropped) older ones are gone."
            content.append(.tag("p", [("class", "soft small")], text))
        }
        return page(
            exchange, .inbox, title: "Inbox", scripts: query.before == nil ? ["follow"] : [],
            lead: [
                .tag(
                    "span", [("id", "inbox-delete"), ("data-follow", nil)],
                    found.all == 0 ? .group([]) : deleteForm(exchange, "inbox/delete", "Delete all"))
            ], content)
    }

    func deleteForm(_ exchange: Exchange, _ path: String, _ label: String) -> HTML {
        form(
            to: path, exchange, [("class", "inline")],
            [.tag("button", [("class", "danger small"), ("type", "submit")], label)])
    }

    private func searchForm(_ exchange: Exchange, _ query: InboxQuery) -> HTML {
        let kinds: [(String, String)] = [("", "Mails and texts"), ("mail", "Mails"), ("text", "Texts")]
        let options = kinds.map { value, label -> HTML in
            let isChosen = (query.kind?.rawValue ?? "") == value
            return .tag("option", [("value", value)] + (isChosen ? [("selected", nil)] : []), label)
        }
        return .tag(
            "form",
            [
                ("class", "inbox-search"), ("method", "get"), ("role", "search"),
                ("action", exchange.inspector(Area.inbox.rawValue)),
            ],
            .tag(
                "label", [], .text("Address or subject"),
                .tag("input", [("type", "search"), ("name", "search"), ("value", query.search), ("maxlength", "200")])),
            .tag(
                "label", [], .text("Kind"),
                .element("select", attributes: [(name: "name", value: "kind")], children: options)),
            .tag("button", [("class", "quiet"), ("type", "submit")], "Search"))
    }

    // MARK: - The list

    private func list(_ exchange: Exchange, _ query: InboxQuery, _ found: InboxQuery.Found) -> HTML {
        var attributes: [(String, String?)] = [("id", "messages")]
        // Only the first page is updated while it is open.
        if query.before == nil { attributes.append(("data-follow", nil)) }
        guard !found.messages.isEmpty else { return .tag("div", attributes, empty(exchange, found)) }
        let names = ["Message", "From", "To", "Sent", "State"].map { HTML.tag("th", [("scope", "col")], $0) }
        let rows = found.messages.map { row(exchange, control.summary($0)) }
        let table = HTML.tag(
            "table", [("class", "stack inbox-list")],
            .tag("thead", [], .element("tr", attributes: [], children: names)),
            .element("tbody", attributes: [], children: rows))
        return .tag("div", attributes, table, turning(exchange, query, found))
    }

    private func empty(_ exchange: Exchange, _ found: InboxQuery.Found) -> HTML {
        guard found.all == 0 else { return .tag("p", [("class", "empty")], "No message is like this.") }
        let nothing =
            "No messages yet. E-mails and texts that a provider or your app sends appear here: a link that verifies an address, "
            + "a password reset, a code for signing in."
        return .tag("div", [("class", "empty")], .tag("p", [], nothing), howToSend(exchange))
    }

    /// Explains how the app under test sends its mail here.
    private func howToSend(_ exchange: Exchange) -> HTML {
        guard let port = control.gauges.listening.first(where: { $0.name == "smtp" })?.port else {
            return .tag(
                "p", [], .text("To take the app's mail, start the daemon with "),
                .tag("code", [], "--smtp-port 1025"), .text("."))
        }
        let host = Address.hostName(of: exchange.request.header("Host") ?? "localhost")
        let isUnnamed = exchange.world.name == control.worlds.main.name
        return .tag(
            "p", [], .text("The app's mail settings: SMTP at "),
            .tag("code", [], ShownText.line("\(host):\(port)")), .text(", "),
            isUnnamed
                ? .text("no user name or password is needed.")
                : .group([
                    .text("with the user name "), .tag("code", [], exchange.world.name), .text(" and any password."),
                ]))
    }

    private func turning(_ exchange: Exchange, _ query: InboxQuery, _ found: InboxQuery.Found) -> HTML {
        var links: [HTML] = []
        if query.before != nil {
            links.append(.link("Newest", to: exchange.inspector(query.address(before: nil))))
        }
        if found.hasMore, let last = found.messages.last {
            links.append(.link("Older", to: exchange.inspector(query.address(before: last))))
        }
        guard !links.isEmpty else { return .group([]) }
        return .element(
            "nav", attributes: [(name: "class", value: "row"), (name: "aria-label", value: "Pages")], children: links)
    }

    private func row(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        let message = row.message
        let title = message.subject ?? message.text ?? ""
        let kind = message.kind == .mail ? "mail" : "text"
        return .tag(
            "tr",
            [
                ("id", "message-\(row.id)"),
                ("data-spoken", ShownText.plain("For \(message.to.address): \(title)", limit: 400)),
            ],
            .tag(
                "td", [("class", "inbox-subject")],
                .tag(
                    "a", [("href", exchange.inspector("inbox/\(row.id)"))],
                    ShownText.isolated(title.isEmpty ? "(without a subject)" : title, limit: 160)), .text(" "),
                .tag("span", [("class", "badge")], kind)),
            .tag("td", [("data-label", "From")], ShownText.isolated(message.from.address, limit: 80)),
            .tag("td", [("data-label", "To")], recipients(message)),
            .tag("td", [("data-label", "Sent"), ("class", "inbox-time")], ShownText.time(row.time)),
            state(message))
    }

    private func recipients(_ message: SentMessage) -> HTML {
        let others = message.envelope.to.count - 1
        let address = ShownText.isolated(message.to.address, limit: 80)
        guard others > 0 else { return address }
        return .group([address, .tag("span", [("class", "soft")], " and \(others) more")])
    }

    private func state(_ message: SentMessage) -> HTML {
        var badges: [HTML] = []
        if let relay = message.relay {
            let isForwarded = relay.forwardedTo != nil
            let word = isForwarded ? "forwarded" : relay.refusal == nil ? "lost" : "refused"
            badges.append(.tag("span", [("class", isForwarded ? "badge good" : "badge bad")], word))
        }
        if !message.attachments.isEmpty {
            let count = message.attachments.count
            badges.append(.tag("span", [("class", "badge")], count == 1 ? "1 file" : "\(count) files"))
        }
        guard !badges.isEmpty else {
            return .tag(
                "td", [("data-label", "State"), ("class", "inbox-none")], .tag("span", [("class", "soft")], "–"))
        }
        return .element(
            "td", attributes: [(name: "data-label", value: "State")], children: badges.flatMap { [$0, .text(" ")] })
    }
}

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
