import Control
import EmulatorCore
import HTTPServer

// The parts of the page of a mail from outside beside its text.

extension Inspector {
    // MARK: - Outcome

    func note(_ relay: SentMessage.Relay) -> HTML {
        if let address = relay.forwardedTo {
            var parts: [HTML] = [
                .text("\(relay.title) forwarded it from "), ShownText.line(relay.address), .text(" to "),
                ShownText.line(address),
            ]
            if let sender = relay.sender { parts += [.text(", as a mail from "), ShownText.line(sender)] }
            return .element("p", attributes: [(name: "class", value: "note good")], children: parts + [.text(".")])
        }
        let reason = relay.reason.map { HTML.tag("p", [], ShownText.isolated($0, limit: 1_000)) } ?? .group([])
        let refusal = relay.refusal.map { refusal -> HTML in
            .group([
                .text("\(relay.title) refused it for "), ShownText.line(relay.address), .text(": "),
                ShownText.line(refusal),
            ])
        }
        let lost = HTML.group([
            .text("\(relay.title) took it for "), ShownText.line(relay.address), .text(", and nobody gets it."),
        ])
        return .tag("div", [("class", "note bad inbox-relay")], .tag("p", [], refusal ?? lost), reason)
    }

    // MARK: - Attachments

    /// The greatest number of attachments on a page.
    private static let attachmentLimit = 50

    func attachments(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        let attachments = row.message.attachments
        guard !attachments.isEmpty else { return .group([]) }
        let items = attachments.prefix(Inspector.attachmentLimit).enumerated().map { index, attachment -> HTML in
            let name = attachment.name ?? "without a name"
            let address = "\(exchange.address.ownBase)\(ControlAPI.root)/mail/\(row.id)/attachments/\(index + 1)"
            let save = HTML.tag(
                "a", [("class", "button quiet small"), ("href", address)], .text("Save"),
                .tag("span", [("class", "spoken")], .text(" "), ShownText.isolated(name)))
            return .tag(
                "li", [("class", "row")], ShownText.line(name),
                .tag(
                    "span", [("class", "soft small")],
                    ShownText.isolated("\(attachment.type), \(size(attachment.size))")),
                control.masksSecrets ? .tag("span", [("class", "badge")], "withheld") : save)
        }
        let more = attachments.count - items.count
        return .group([
            .tag("h2", [], "Attachments"),
            .element("ul", attributes: [(name: "class", value: "inbox-actions")], children: items),
            more > 0 ? .tag("p", [("class", "soft small")], "\(more) more aren't shown.") : .group([]),
        ])
    }

    private func size(_ bytes: Int) -> String {
        if bytes < 1_000 { return "\(bytes) bytes" }
        return bytes < 1_000_000 ? "\(bytes / 1_000) kB" : "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
    }

    // MARK: - The forwarded mail

    func forwardedForm(_ exchange: Exchange, _ row: InboxMessage, _ content: MessageContent) -> HTML {
        guard let relay = row.message.relay, relay.forwardedTo != nil, !relay.fields.isEmpty else { return .group([]) }
        let rows = relay.fields.prefix(50).map { field -> HTML in
            let name = field.name.lowercased()
            let before = content.headers.first { $0.name.lowercased() == name }?.value
            return .tag(
                "tr", [], .tag("th", [("scope", "row")], ShownText.line(field.name)),
                .tag("td", [("data-label", "As sent")], before.map { ShownText.line($0) } ?? .text("–")),
                .tag(
                    "td", [("data-label", "As the person gets it")],
                    field.value.isEmpty ? .text("taken out") : ShownText.line(field.value)))
        }
        let names = ["Field", "As sent", "As the person gets it"].map { HTML.tag("th", [("scope", "col")], $0) }
        let raw = "\(exchange.address.ownBase)\(ControlAPI.root)/mail/\(row.id)/raw?as=forwarded"
        return .group([
            .tag("h2", [], "As the person gets it"),
            .tag(
                "table", [("class", "stack inbox-rewritten")],
                .tag("thead", [], .element("tr", attributes: [], children: names)),
                .element("tbody", attributes: [], children: rows)),
            .tag(
                "p", [],
                .tag("a", [("class", "button quiet small"), ("href", raw)], "Save as .eml as the person gets it")),
        ])
    }

    // MARK: - The source

    /// Returns a block of text. A long one scrolls, which must be possible with a keyboard, too.
    func block(_ text: String, _ label: String) -> HTML {
        .tag(
            "pre", [("tabindex", "0"), ("aria-label", label)],
            ShownText.source(text, limit: ShownText.blockLimit))
    }

    func source(_ row: InboxMessage) -> HTML {
        guard row.message.kind == .mail else { return .group([]) }
        let raw = row.raw
        let text = String(decoding: raw.prefix(ShownText.blockLimit), as: UTF8.self)
        let cut = HTML.tag("p", [("class", "soft small")], "Cut here; the saved mail has all of it.")
        return .tag(
            "details", [("class", "inbox-headers")], .tag("summary", [], "Source"),
            block(text.replacing("\r\n", with: "\n"), "Source"),
            raw.count > ShownText.blockLimit ? cut : .group([]))
    }

    // MARK: - Replies

    func replyForm(_ exchange: Exchange, _ row: InboxMessage, text: String = "") -> HTML {
        // Nobody reads replies to a report.
        guard let (answerer, sender) = row.correspondents(in: exchange.world), !row.message.envelope.from.isEmpty else {
            return .group([])
        }
        let field = HTML.tag(
            "label", [], .text("Text"),
            .tag(
                "textarea", [("name", "text"), ("rows", "4"), ("required", nil), ("maxlength", "100000")], "\n\(text)"))
        return .group([
            .tag("h2", [], "Answer"),
            .tag(
                "p", [("class", "soft small")], .text("As "), ShownText.line(answerer.address), .text(", to "),
                ShownText.line(sender.address), .text(". It goes the way of any mail that is sent here.")),
            form(
                to: "inbox/\(row.id)/reply", exchange, [("class", "inbox-reply")],
                [field, .tag("button", [("type", "submit")], "Send the answer")]),
        ])
    }

    func reply(_ exchange: Exchange, _ form: Form) async -> Response {
        guard let row = messageRow(exchange) else { return missing(exchange) }
        let text = form["text"] ?? ""
        do throws(CallRefusal) {
            let answer = try await call("POST", "mail/\(row.id)/replies", ["text": .string(text)], in: exchange)
            // A reply that a relay refuses is in the inbox, too, and its page says why.
            guard let id = answer["messages"]?.array?.first?["id"]?.string else {
                let wasTaken = answer["smtp"]?["code"]?.integer == 250
                let refusal = answer["smtp"]?["text"]?.string ?? "refused"
                return await page(
                    exchange, row, replying: text,
                    refusal: wasTaken ? "The answer was taken and lost, as a fault orders." : refusal)
            }
            return changed(exchange, show: "inbox/\(id)")
        } catch {
            return await page(exchange, row, replying: text, refusal: error.message)
        }
    }
}
