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

    /// Answers with the page of a message. If a reply to the message couldn't be sent, `refusal` says why, and
    /// `replying` is the reply's text.
    private func page(
        _ exchange: Exchange, _ row: InboxMessage, replying: String = "", refusal: String? = nil
    ) async -> Response {
        await exchange.world.searchInbox { [self] in
            let shown = control.shown(row, in: exchange.world)
            let (message, content) = (shown.row.message, shown.content)
            let isMail = message.kind == .mail
            let subject = ShownText.plain(message.subject ?? "")
            let title =
                isMail
                ? subject.allSatisfy(\.isWhitespace) ? "Mail without a subject" : subject
                : ShownText.plain("Text message to \(message.to.address)")
            let headers = content.headers.prefix(200).map { field -> HTML.Row in
                [ShownText.line(field.name), ShownText.line(field.value)]
            }
            let answer = page(
                exchange, .inbox, title: title, status: refusal == nil ? 200 : 409,
                lead: [
                    isMail ? save(exchange, row, "raw", "Save as .eml") : "",
                    action(exchange, "inbox/\(row.id)/delete", "Delete", "danger.small"),
                ],
                [
                    refusal.map { .note("bad", ShownText.line($0)) },
                    .of("section.card", ["aria-label": "What it is"], facts(exchange, shown.row)),
                    message.relay.map { note($0) }, actions(exchange, message), attachments(exchange, shown.row),
                    .group(content.notes.map { .note("warn", ShownText.line($0)) }),
                    content.text.map { text in
                        .group([.of("h2", "Text"), block(text, "Text", size: text.utf8.count)])
                    },
                    content.html.map { _ in
                        .group([
                            .of("h2", "HTML"),
                            .of(
                                "iframe.inbox-frame",
                                [
                                    "title": "The mail as HTML", "sandbox": "", "loading": "lazy",
                                    "src": exchange.inspector("inbox/\(row.id)/html"),
                                ]),
                            .small(
                                "No script of the mail runs here, and nothing is loaded from elsewhere: the mail's links are listed above."
                            ),
                        ])
                    }, forwardedForm(exchange, shown.row, content),
                    headers.isEmpty
                        ? nil
                        : .of(
                            "details.inbox-headers", .of("summary", "Headers"),
                            .table("", [], headed: true, headers)),
                    isMail ? source(shown.row) : nil, isMail ? replyForm(exchange, row, text: replying) : nil,
                    .of("p", exchange.link(Area.inbox.path, "All messages")),
                ])
            return refusal.map { answer.diagnosed(Diagnosis($0)) } ?? answer
        }
    }

    /// Returns a link by which the browser saves a part of a mail, such as an attachment, from the control API.
    private func save(
        _ exchange: Exchange, _ row: InboxMessage, _ file: String, _ words: String, of name: String? = nil
    ) -> HTML {
        .of(
            "a.button.quiet.small",
            ["href": "\(exchange.address.ownBase)\(ControlAPI.root)/mail/\(row.id)/\(file)"], .text(words),
            name.map { .of("span.spoken", " ", ShownText.isolated($0)) })
    }

    /// Returns the message that the page's URL names, with its secrets unmasked; `nil` if there is none.
    private func messageRow(_ exchange: Exchange) -> InboxMessage? {
        exchange.world.read { $0.find(InboxMessage.self, exchange.parameters["id"] ?? "") }
    }

    private func missing(_ exchange: Exchange) -> Response {
        let id = Diagnosis.quote(exchange.parameters["id"] ?? "")
        return noSuchMessage(
            exchange,
            "No message \(id) is in this world's inbox: it was deleted, dropped for newer messages, or removed by a reset."
        )
    }

    // MARK: - Facts and outcome

    private func facts(_ exchange: Exchange, _ row: InboxMessage) -> HTML? {
        let message = row.message
        let (sender, others) = (message.envelope.from, message.envelope.to.dropFirst())
        let recipients = ([message.to.display] + others.prefix(9)).joined(separator: ", ")
        let more = others.count > 9 ? " and \(others.count - 9) more" : ""
        let facts: [(String, HTML?)] = [
            ("From", ShownText.line(message.from.display)),
            (
                "Envelope from",
                sender == message.from.address
                    ? nil : ShownText.line(sender.isEmpty ? "no sender: the mail is a delivery report" : sender)
            ), ("To", .group([ShownText.isolated(recipients, limit: 2_000), .text(more)])),
            (
                "Cc",
                message.cc.isEmpty
                    ? nil : ShownText.line(message.cc.prefix(10).map(\.display).joined(separator: ", "))
            ), ("Reply to", message.replyTo.map { ShownText.line($0.display) }), ("Sent", ShownText.time(row.time)),
            (
                message.received == nil && message.fields == nil ? "Sent for" : "Came by",
                message.request.map { exchange.link("requests/\($0)", "request \($0)") }
            ),
        ]
        return .facts(facts.compactMap { name, value in value.map { (name, $0) } })
    }

    private func note(_ relay: SentMessage.Relay) -> HTML {
        let address = ShownText.line(relay.address)
        if let forwarded = relay.forwardedTo {
            return .note(
                "good", "\(relay.title) forwarded the mail from ", address, " to ", ShownText.line(forwarded),
                relay.sender.map { .group([", as a mail from ", ShownText.line($0)]) }, ".")
        }
        let refused = relay.refusal.map { refusal -> [HTML] in
            ["\(relay.title) refused the mail for ", address, ": ", ShownText.line(refusal)]
        }
        return .of(
            "div.note.bad.inbox-relay",
            .of(
                "p",
                .group(refused ?? ["\(relay.title) accepted the mail for ", address, ", but delivers it to nobody."])),
            relay.reason.map { .of("p", ShownText.isolated($0, limit: 1_000)) })
    }

    // MARK: - Links, codes and attachments

    /// The page of a message shows at most this many links, this many one-time codes, and this many attachments.
    private static let listLimit = 50

    private func actions(_ exchange: Exchange, _ message: SentMessage) -> HTML {
        let links = message.links.prefix(Inspector.listLimit).map { link -> HTML in
            // This browser may not reach a provider's host by the name that the app under test uses.
            let target = exchange.reachable(link)
            let isWeb = ["http://", "https://"].contains { target.lowercased().hasPrefix($0) }
            let open = HTML.of(
                "a.button.small", ["href": target, "target": "_blank", "rel": "noreferrer noopener"], "Open",
                .spoken(" \(BoundedText.shortened(link, to: 80))"))
            return .of(
                "li", ShownText.code(link), .of("div.row", isWeb ? open : nil, copy(link, "Copy the link")))
        }
        let codes = message.codes.prefix(Inspector.listLimit).map { code in
            HTML.of("li.row", .of("code", ShownText.line(code)), copy(code, "Copy the code"))
        }
        return .group([list("Links", links) ?? "", list("Codes", codes) ?? ""])
    }

    private func list(_ title: String, _ items: [HTML]) -> HTML? {
        items.isEmpty ? nil : .group([.of("h2", .text(title)), .of("ul.inbox-actions", .group(items))])
    }

    private func copy(_ text: String, _ label: String) -> HTML {
        .button(label, "quiet.small.needs-script", ["type": "button", "data-copy": text])
    }

    private func attachments(_ exchange: Exchange, _ row: InboxMessage) -> HTML {
        let attachments = row.message.attachments
        let items = attachments.prefix(Inspector.listLimit).enumerated().map { index, attachment in
            let name = attachment.name ?? "without a name"
            return HTML.of(
                "li.row", ShownText.line(name),
                .of("span.soft.small", ShownText.isolated("\(attachment.type), \(size(attachment.size))")),
                control.masksSecrets
                    ? .badge("withheld") : save(exchange, row, "attachments/\(index + 1)", "Save", of: name))
        }
        return .group([list("Attachments", items) ?? "", .more(attachments.count - items.count) ?? ""])
    }

    private func size(_ bytes: Int) -> String {
        if bytes < 1_000 { return "\(bytes) bytes" }
        return bytes < 1_000_000 ? "\(bytes / 1_000) kB" : "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
    }

    // MARK: - The forwarded mail, the source and the reply

    private func forwardedForm(_ exchange: Exchange, _ row: InboxMessage, _ content: MessageContent) -> HTML? {
        guard let relay = row.message.relay, relay.forwardedTo != nil, !relay.fields.isEmpty else { return nil }
        let rows = relay.fields.prefix(50).map { field -> HTML.Row in
            let before = content.headers.first { $0.name.lowercased() == field.name.lowercased() }?.value
            return [
                ShownText.line(field.name), before.map { ShownText.line($0) } ?? "–",
                field.value.isEmpty ? "taken out" : ShownText.line(field.value),
            ]
        }
        return .group([
            .of("h2", "The mail as the recipient gets it"),
            .table("stack.inbox-rewritten", ["Field", "As sent", "As received"], headed: true, rows),
            .of("p", save(exchange, row, "raw?as=forwarded", "Save the mail as the recipient gets it (.eml)")),
        ])
    }

    private func block(_ text: String, _ label: String, size: Int) -> HTML {
        .group([
            .source(text, label: label, limit: ShownText.blockLimit),
            size > ShownText.blockLimit ? .small("The mail is cut here: save the mail to see all of it.") : "",
        ])
    }

    private func source(_ row: InboxMessage) -> HTML {
        let raw = row.raw
        let text = String(decoding: raw.prefix(ShownText.blockLimit), as: UTF8.self)
        return .of(
            "details.inbox-headers", .of("summary", "Source"),
            block(text.replacing("\r\n", with: "\n"), "Source", size: raw.count))
    }

    private func replyForm(_ exchange: Exchange, _ row: InboxMessage, text: String) -> HTML? {
        // Nobody reads replies to a report.
        guard let (answerer, sender) = row.correspondents(in: exchange.world), !row.message.envelope.from.isEmpty else {
            return nil
        }
        return .group([
            .of("h2", "Answer"),
            .of(
                "p.soft.small", "As ", ShownText.line(answerer.address), ", to ", ShownText.line(sender.address),
                ". It is delivered like any mail that is sent to this daemon."),
            form(
                to: "inbox/\(row.id)/reply", exchange, ["class": "inbox-reply"],
                .field("Text", .textarea("text", text, rows: 4, ["required": true, "maxlength": "100000"])),
                .button("Send the answer")),
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
                    refusal: wasTaken
                        ? "The mail server accepted your reply, and then lost it because of a requested fault."
                        : refusal)
            }
            return changed(exchange, show: "inbox/\(id)")
        } catch {
            return await page(exchange, row, replying: text, refusal: error.message)
        }
    }
}

// The document /_understudy/inbox/ID/html: a mail's HTML, for the frame on its page.

extension Inspector {
    /// The Content-Security-Policy of the document with a mail's HTML, which can't be trusted. Wherever the document is
    /// opened, the policy forbids scripts, forms and requests to other hosts, so that no sender learns that a mail was
    /// opened. Styles and embedded pictures are shown. `sandbox` without permissions means that the document has no
    /// origin, and can't navigate by itself.
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

/// The HTML of a mail, prepared for display in a frame.
struct MailHTML {
    private let html: [UInt8]
    private let images: [String: (type: String, bytes: [UInt8])]

    /// The greatest number of bytes of a mail's HTML together with its embedded images.
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

    /// The beginnings of the names of elements that get the prefix `x-` in a mail's HTML, so that browsers ignore them.
    /// `link` makes browsers open connections (`preconnect`) in spite of any policy, and `meta` and `base` override
    /// settings of the page. Mails need no element whose name begins with one of these.
    private static let forbidden = ["link", "meta", "base"].map { Array($0.utf8) }

    private func isForbidden(at place: Int) -> Bool {
        let name = html[place...].prefix(4).map { $0 | 0x20 }
        return MailHTML.forbidden.contains(name)
    }

    /// Returns the data URL of an image that is embedded in the mail and referred to by `cid:…`, and the index after
    /// that reference.
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
