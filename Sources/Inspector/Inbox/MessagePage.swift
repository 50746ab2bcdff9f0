import Control
import EmulatorCore
import HTTPServer
import JOSE
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

// The document /_understudy/inbox/ID/html: a mail's HTML, for the frame on its page.

extension Inspector {
    /// The policy of the frame, because a mail's HTML can't be trusted. It holds wherever the address is opened: no
    /// scripts, no forms, and no requests to elsewhere, so that no sender learns that a mail was opened. Styles and
    /// pictures that are part of the mail are shown. `sandbox` without permissions makes it a document without an
    /// origin, which can't navigate by itself.
    static let framePolicy =
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'self'"

    func messageFrame(_ exchange: Exchange) async -> Response {
        guard let row = messageRow(exchange) else { return missing(exchange) }
        let html = await exchange.world.searchInbox { [control] () -> String? in
            let shown = control.shown(row, in: exchange.world)
            return shown.content.html.map {
                MailHTML($0, images: shown.isMasked ? [:] : row.inlineImages(in: exchange.world)).document
            }
        }
        guard let html else { return missing(exchange) }
        return Response(
            status: 200, contentType: "text/html;charset=UTF-8",
            headers: [
                (name: "Content-Security-Policy", value: Inspector.framePolicy),
                (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
                (name: "Referrer-Policy", value: "no-referrer"), (name: "X-DNS-Prefetch-Control", value: "off"),
                (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
            ], body: html)
    }
}

/// The HTML of a mail, prepared for the frame.
struct MailHTML {
    private let html: [UInt8]
    private let images: [String: (type: String, bytes: [UInt8])]

    /// The greatest number of bytes with the images in it.
    private static let limit = 24 << 20

    init(_ html: String, images: [String: (type: String, bytes: [UInt8])]) {
        self.html = Array(html.utf8)
        self.images = images
    }

    var document: String {
        // Links would open within the frame, where they are of no use. As new windows, which a sandbox forbids, they
        // don't open.
        var output = Array("<!DOCTYPE html>\n<base target=\"_blank\">\n".utf8)
        var place = 0
        while place < html.count {
            let byte = html[place]
            if byte == UInt8(ascii: "<"), isForbidden(at: place + 1) {
                output += Array("<x-".utf8)
                place += 1
            } else if byte | 0x20 == UInt8(ascii: "c"), let (image, end) = image(at: place, output.count) {
                output += image
                place = end
            } else {
                output.append(byte)
                place += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The names of elements in a document's head that make a browser look up names and open connections
    /// (`preconnect`), which no policy forbids, or that change what was set above. A mail needs no other elements whose
    /// names begin so.
    private static let forbidden = ["link", "meta", "base"].map { Array($0.utf8) }

    private func isForbidden(at place: Int) -> Bool {
        let name = html[place...].prefix(4).map { $0 | 0x20 }
        return MailHTML.forbidden.contains(name)
    }

    /// Returns a picture that is part of the mail, `cid:…`, as a data URL, and the index after its name.
    private func image(at place: Int, _ length: Int) -> (url: [UInt8], end: Int)? {
        guard !images.isEmpty, html[place...].prefix(4).map({ $0 | 0x20 }) == Array("cid:".utf8) else { return nil }
        let name = html[(place + 4)...].prefix(256).prefix { byte in
            byte > 0x20 && !"\"'<>()\\".utf8.contains(byte)
        }
        let id = String(decoding: PercentCoding.decode(name, plusIsSpace: false), as: UTF8.self)
        guard let (type, bytes) = images[id], length + bytes.count * 2 < MailHTML.limit else { return nil }
        return (Array("data:\(type);base64,\(Base64.encode(bytes))".utf8), name.endIndex)
    }
}
