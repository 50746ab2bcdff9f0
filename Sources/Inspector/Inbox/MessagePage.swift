import Control
import EmulatorCore
import HTTPServer
import JSON

// /_understudy/inbox/ID: one message.

extension Inspector {
    func message(_ exchange: Exchange) -> Response {
        guard let row = messageRow(exchange) else { return missing(exchange) }
        let message = row.message
        var lead: [HTML] = []
        if message.kind == .mail {
            let raw = "\(exchange.address.ownBase)\(ControlAPI.root)/mail/\(row.id)/raw"
            lead.append(.tag("a", [("class", "button quiet small"), ("href", raw)], "Save as .eml"))
        }
        lead.append(deleteForm(exchange, "inbox/\(row.id)/delete", "Delete"))
        var content = [facts(exchange, row)]
        if let relay = message.relay { content.append(note(relay)) }
        content += [actions(exchange, message), texts(exchange, row)]
        if !row.headers.isEmpty { content.append(headers(row)) }
        content.append(.tag("p", [], .link("All messages", to: exchange.inspector(Area.inbox.rawValue))))
        let title = message.kind == .mail ? "Mail \(row.id)" : "Text message \(row.id)"
        return page(exchange, .inbox, title: title, lead: lead, content)
    }

    private func messageRow(_ exchange: Exchange) -> InboxMessage? {
        exchange.world.read { $0.find(InboxMessage.self, exchange.parameters["id"] ?? "") }.map { control.shown($0) }
    }

    private func missing(_ exchange: Exchange) -> Response {
        let id = Diagnosis.quote(exchange.parameters["id"] ?? "")
        return noSuchMessage(
            exchange,
            "No message \(id) is in this world's inbox: it was deleted, made room for others, or went with a reset.")
    }

    // MARK: - What it is, and what became of it

    private func facts(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        let message = row.message
        var facts: [(String, HTML)] = [
            ("From", ShownText.line(message.from.display)), ("To", ShownText.line(message.to.display)),
        ]
        if let subject = message.subject { facts.append(("Subject", ShownText.line(subject))) }
        facts.append(("Sent", ShownText.time(row.time)))
        if let request = message.request {
            facts.append(("Sent for", .link("request \(request)", to: exchange.inspector("requests/\(request)"))))
        }
        return .tag(
            "section", [("class", "card"), ("aria-label", "What it is")],
            .element(
                "dl", attributes: [(name: "class", value: "facts")],
                children: facts.flatMap { [.tag("dt", [], $0.0), .tag("dd", [], $0.1)] }))
    }

    private func note(_ relay: SentMessage.Relay) -> HTML {
        if let address = relay.forwardedTo {
            return .tag(
                "p", [("class", "note good")],
                .text("\(relay.title) forwarded it from "), ShownText.line(relay.address), .text(" to "),
                ShownText.line(address), .text("."))
        }
        return .tag(
            "div", [("class", "note bad inbox-relay")],
            .tag(
                "p", [], .text("\(relay.title) refused it for "), ShownText.line(relay.address), .text(": "),
                ShownText.line(relay.refusal ?? "refused")),
            relay.reason.map { .tag("p", [], ShownText.isolated($0, limit: 1_000)) } ?? .group([]))
    }

    // MARK: - Links and codes

    /// How many links or codes a page shows.
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
        // Where the app under test reaches a provider's host by its own name, this browser may not.
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

    // MARK: - What it says

    private func texts(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        var parts: [HTML] = []
        if let text = row.message.text {
            parts += [.tag("h2", [], "Text"), ShownText.block(text)]
            if text.utf8.count > ShownText.blockLimit {
                parts.append(.tag("p", [("class", "soft small")], "Cut here; the saved mail has all of it."))
            }
        }
        if row.message.html != nil {
            parts += [
                .tag("h2", [], "HTML"),
                .tag(
                    "iframe",
                    [
                        ("class", "inbox-frame"), ("title", "The mail as HTML"), ("sandbox", ""), ("loading", "lazy"),
                        ("src", exchange.inspector("inbox/\(row.id)/html")),
                    ]),
                .tag(
                    "p", [("class", "soft small")],
                    "Nothing runs in here, and nothing is loaded from elsewhere: the links are above."),
            ]
        }
        return .group(parts)
    }

    private func headers(_ row: InboxMessage) -> HTML {
        let rows = row.headers.map { field -> HTML in
            .tag(
                "tr", [], .tag("th", [("scope", "row")], ShownText.line(field.name)),
                .tag("td", [], ShownText.line(field.value)))
        }
        return .tag(
            "details", [("class", "inbox-headers")], .tag("summary", [], "Headers"),
            .tag("table", [], .element("tbody", attributes: [], children: rows)))
    }

    // MARK: - The frame

    /// The mail's HTML is a stranger's. The frame's own policy holds wherever the address is opened, also by itself: no script, no
    /// form, nothing from elsewhere, so that opening a mail tells nobody. Styles and pictures that are part of the mail are shown.
    /// `sandbox` without permissions makes it a document of no origin.
    static let framePolicy =
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'self'"

    func messageFrame(_ exchange: Exchange) -> Response {
        guard let html = messageRow(exchange)?.message.html else { return missing(exchange) }
        // Links would open within the frame, where nothing can be done. As new windows, which a sandbox forbids, they don't open.
        let frame = "<!DOCTYPE html>\n<base target=\"_blank\">\n"
        return Response(
            status: 200, contentType: "text/html;charset=UTF-8",
            headers: [
                (name: "Content-Security-Policy", value: Inspector.framePolicy),
                (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
                (name: "Referrer-Policy", value: "no-referrer"),
                (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
            ], body: frame + html)
    }
}
