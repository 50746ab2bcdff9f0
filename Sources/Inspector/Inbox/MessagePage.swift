import Control
import EmulatorCore
import HTTPServer
import JSON

// The page /_understudy/inbox/ID: one message.

extension Inspector {
    func message(_ exchange: Exchange) async -> Response {
        guard let row = messageRow(exchange) else { return missing(exchange) }
        return await page(exchange, row)
    }

    /// Answers with the page. `refusal` says why the reply with the text `replying` couldn't be sent.
    func page(
        _ exchange: Exchange, _ row: InboxMessage, replying: String = "", refusal: String? = nil
    ) async -> Response {
        let status = refusal == nil ? 200 : 409
        return await exchange.world.searchInbox { [self] in
            let shown = control.shown(row, in: exchange.world)
            let isMail = row.message.kind == .mail
            let alert = refusal.map { HTML.tag("p", [("class", "note bad"), ("role", "alert")], ShownText.line($0)) }
            var content = [alert ?? .group([]), facts(exchange, shown.row)]
            content += shown.row.message.relay.map { [note($0)] } ?? []
            content += [actions(exchange, shown.row.message), attachments(exchange, shown.row)]
            content += [texts(exchange, shown)]
            content.append(forwardedForm(exchange, shown.row, shown.content))
            if !shown.content.headers.isEmpty { content.append(headers(shown.content)) }
            content.append(source(shown.row))
            if isMail { content.append(replyForm(exchange, row, text: replying)) }
            content.append(.tag("p", [], .link("All messages", to: exchange.inspector(Area.inbox.rawValue))))
            let answer = page(
                exchange, .inbox, title: Inspector.heading(shown.row), status: status,
                lead: lead(exchange, row), content)
            return refusal.map { answer.diagnosed(Diagnosis($0)) } ?? answer
        }
    }

    /// Returns the subject; for a text message, its recipient.
    private static func heading(_ row: InboxMessage) -> String {
        let message = row.message
        guard message.kind == .mail else { return ShownText.plain("Text message to \(message.to.address)") }
        let subject = ShownText.plain(message.subject ?? "")
        return subject.allSatisfy(\.isWhitespace) ? "Mail without a subject" : subject
    }

    private func lead(_ exchange: Exchange, _ row: InboxMessage) -> [HTML] {
        let raw = "\(exchange.address.ownBase)\(ControlAPI.root)/mail/\(row.id)/raw"
        let save = HTML.tag("a", [("class", "button quiet small"), ("href", raw)], "Save as .eml")
        return (row.message.kind == .mail ? [save] : []) + [deleteForm(exchange, "inbox/\(row.id)/delete", "Delete")]
    }

    /// Returns the message without masking.
    func messageRow(_ exchange: Exchange) -> InboxMessage? {
        exchange.world.read { $0.find(InboxMessage.self, exchange.parameters["id"] ?? "") }
    }

    func missing(_ exchange: Exchange) -> Response {
        let id = Diagnosis.quote(exchange.parameters["id"] ?? "")
        return noSuchMessage(
            exchange,
            "No message \(id) is in this world's inbox: it was deleted, made room for others, or went with a reset.")
    }

    // MARK: - Facts and outcome

    private func facts(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        let message = row.message
        var facts = [("From", ShownText.line(message.from.display))]
        if message.envelope.from != message.from.address {
            let sender = message.envelope.from.isEmpty ? "nobody: it is a report" : message.envelope.from
            facts.append(("Envelope from", ShownText.line(sender)))
        }
        facts.append(("To", recipients(message)))
        if !message.cc.isEmpty {
            facts.append(("Cc", ShownText.line(message.cc.prefix(10).map(\.display).joined(separator: ", "))))
        }
        if let replyTo = message.replyTo { facts.append(("Reply to", ShownText.line(replyTo.display))) }
        facts.append(("Sent", ShownText.time(row.time)))
        if let request = message.request {
            let label = message.received == nil && message.fields == nil ? "Sent for" : "Came by"
            facts.append((label, .link("request \(request)", to: exchange.inspector("requests/\(request)"))))
        }
        return .tag(
            "section", [("class", "card"), ("aria-label", "What it is")],
            .element(
                "dl", attributes: [(name: "class", value: "facts")],
                children: facts.flatMap { [.tag("dt", [], $0.0), .tag("dd", [], $0.1)] }))
    }

    private func recipients(_ message: SentMessage) -> HTML {
        let others = message.envelope.to.dropFirst()
        let shown = [message.to.display] + others.prefix(9)
        let more = others.count > 9 ? " and \(others.count - 9) more" : ""
        return .group([ShownText.isolated(shown.joined(separator: ", "), limit: 2_000), .text(more)])
    }

    // MARK: - Links and codes

    /// The greatest number of links or codes on a page.
    private static let listLimit = 50

    private func actions(_ exchange: Exchange, _ message: SentMessage) -> HTML {
        let links = message.links.prefix(Inspector.listLimit).map { link(exchange, $0) }
        let codes = message.codes.prefix(Inspector.listLimit).map { code -> HTML in
            .tag("li", [("class", "row")], .tag("code", [], ShownText.line(code)), copy(code, "Copy the code"))
        }
        var parts: [HTML] = []
        for (title, items) in [("Links", links), ("Codes", codes)] where !items.isEmpty {
            parts.append(.tag("h2", [], title))
            parts.append(.element("ul", attributes: [(name: "class", value: "inbox-actions")], children: items))
        }
        return .group(parts)
    }

    private func link(_ exchange: Exchange, _ link: String) -> HTML {
        // This browser may not reach a provider's host by the name that the app under test uses.
        let target = exchange.reachable(link)
        let isWeb = ["http://", "https://"].contains { target.lowercased().hasPrefix($0) }
        let open = HTML.tag(
            "a", [("class", "button small"), ("href", target), ("target", "_blank"), ("rel", "noreferrer noopener")],
            .text("Open"), .tag("span", [("class", "spoken")], " \(Place.shortened(link, to: 80))"))
        return .tag(
            "li", [], .tag("code", [("class", "text")], ShownText.isolated(link, limit: 2_000)),
            .tag("div", [("class", "row")], isWeb ? open : .group([]), copy(link, "Copy the link")))
    }

    private func copy(_ text: String, _ label: String) -> HTML {
        .tag(
            "button", [("type", "button"), ("class", "quiet small needs-script"), ("data-copy", text)], label)
    }

    // MARK: - Texts

    private func texts(_ exchange: Exchange, _ message: ShownMessage) -> HTML {
        var parts = message.content.notes.map { HTML.tag("p", [("class", "note warn")], ShownText.line($0)) }
        if let text = message.content.text {
            parts += [.tag("h2", [], "Text"), block(text, "Text")]
            if text.utf8.count > ShownText.blockLimit {
                parts.append(.tag("p", [("class", "soft small")], "Cut here; the saved mail has all of it."))
            }
        }
        if message.content.html != nil {
            parts += [
                .tag("h2", [], "HTML"),
                .tag(
                    "iframe",
                    [
                        ("class", "inbox-frame"), ("title", "The mail as HTML"), ("sandbox", ""), ("loading", "lazy"),
                        ("src", exchange.inspector("inbox/\(message.row.id)/html")),
                    ]),
                .tag(
                    "p", [("class", "soft small")],
                    "Nothing runs in here, and nothing is loaded from elsewhere: the links are above."),
            ]
        }
        return .group(parts)
    }

    private func headers(_ content: MessageContent) -> HTML {
        let rows = content.headers.prefix(200).map { field -> HTML in
            .tag(
                "tr", [], .tag("th", [("scope", "row")], ShownText.line(field.name)),
                .tag("td", [], ShownText.line(field.value)))
        }
        return .tag(
            "details", [("class", "inbox-headers")], .tag("summary", [], "Headers"),
            .tag("table", [], .element("tbody", attributes: [], children: rows)))
    }
}
