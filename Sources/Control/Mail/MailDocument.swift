import EmulatorCore
import HTTPServer
import JSON

/// A message of the inbox as the control API's JSON.
struct MailDocument {
    let message: ShownMessage
    /// Whether the message is shown in a list. In a list, its long texts are cut, so that the answer's length is
    /// bounded.
    var isListed = false
    /// The URL below which a message's files, such as its source, are available by the message's ID.
    let base: String

    private var row: InboxMessage { message.row }

    var json: JSONValue {
        let (mail, content) = (row.message, message.content)
        var cut = Cut(left: isListed ? MailDocument.listLimit : .max)
        var object = JSONObject([
            ("id", .string(row.id)), ("kind", .string(mail.kind.rawValue)),
            ("from", .string(mail.from.address)), ("to", .string(mail.to.address)),
            ("envelope", ["from": .string(mail.envelope.from), "to": MailDocument.list(mail.envelope.to)]),
        ])
        if !mail.cc.isEmpty { object["cc"] = MailDocument.list(mail.cc.map(\.address)) }
        object["subject"] = mail.subject.map { .string($0) }
        object["text"] = content.text.map { .string(cut.shorten($0)) }
        object["html"] = content.html.map { .string(cut.shorten($0)) }
        object["links"] = MailDocument.list(cut.shorten(mail.links))
        object["codes"] = MailDocument.list(mail.codes)
        if !mail.attachments.isEmpty { object["attachments"] = attachments }
        if let relay = mail.relay { object["relay"] = MailDocument.json(relay) }
        object["time"] = .string(row.time.text)
        object["request"] = mail.request.map { .string($0) }
        if !content.headers.isEmpty {
            object["headers"] = .array(
                content.headers.prefix(isListed ? 100 : .max).map { field in
                    ["name": .string(cut.shorten(field.name)), "value": .string(cut.shorten(field.value))]
                })
        }
        if !content.notes.isEmpty { object["notes"] = MailDocument.list(content.notes) }
        if cut.isCut || (isListed && content.headers.count > 100) { object["cut"] = true }
        return .object(object)
    }

    private var attachments: JSONValue {
        .array(
            row.message.attachments.enumerated().map { index, attachment in
                var object = JSONObject()
                object["name"] = attachment.name.map { .string($0) }
                object["type"] = .string(attachment.type)
                object["size"] = .integer(Int64(attachment.size))
                object["contentId"] = attachment.contentID.map { .string($0) }
                if message.isMasked {
                    object["withheld"] = true
                } else {
                    object["url"] = .string("\(base)/\(row.id)/attachments/\(index + 1)")
                }
                return .object(object)
            })
    }

    private static func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    private static func json(_ relay: SentMessage.Relay) -> JSONValue {
        var object = JSONObject([("address", .string(relay.address)), ("title", .string(relay.title))])
        object["forwardedTo"] = relay.forwardedTo.map { .string($0) }
        object["sender"] = relay.sender.map { .string($0) }
        object["refusal"] = relay.refusal.map { .string($0) }
        object["reason"] = relay.reason.map { .string($0) }
        return .object(object)
    }

    /// The greatest number of bytes that a list shows of a message's texts.
    static let listLimit = 128 << 10
}

/// Cuts a message's texts as soon as all of them together exceed a limit.
private struct Cut {
    var left: Int
    private(set) var isCut = false

    init(left: Int) { self.left = left }

    mutating func shorten(_ text: String) -> String {
        guard text.utf8.count > left else {
            left -= text.utf8.count
            return text
        }
        isCut = true
        var end = text.utf8.index(text.startIndex, offsetBy: left)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        left = 0
        return String(text[..<end])
    }

    /// Returns as many of the texts as fit into the limit, without cutting any of them.
    mutating func shorten(_ texts: [String]) -> [String] {
        var taken: [String] = []
        for text in texts {
            guard text.utf8.count <= left else {
                isCut = true
                break
            }
            left -= text.utf8.count
            taken.append(text)
        }
        return taken
    }
}

extension MailDocument {
    static let schema = Schema.members(
        "Message",
        [
            .required("id", .string, "The message's ID."),
            .required("kind", .choice(SentMessage.Kind.allCases.map(\.rawValue)), "An e-mail or a text message."),
            .required("from", .string, "The sender (From field)."),
            .required("to", .string, "The recipients (To field)."),
            .required(
                "envelope",
                .members([
                    .required("from", .string, "The sender."), .required("to", .strings(), "The recipients."),
                ]), "The envelope."),
            .optional("cc", .strings(), "The recipients of copies."), .optional("subject", .string, "The subject."),
            .optional("text", .string, "Plain text."), .optional("html", .string, "HTML text."),
            .required("links", .strings(), "Links in the message."),
            .required("codes", .strings(), "Codes in the message."),
            .optional("attachments", .sequence(of: attachmentSchema), "The attachments."),
            .optional("relay", relaySchema, "How a relay treated the mail."),
            .required("time", .time, "Arrival, by world's clock."),
            .optional("request", .string, "The request that sent the message."),
            .optional(
                "headers",
                .sequence(
                    of: .members([
                        .required("name", .string, "The field's name."),
                        .required("value", .string, "The field's value."),
                    ])),
                "The header fields."), .optional("notes", .strings(), "Notes on problems of the mail."),
            .optional("cut", .boolean, "true: the message lacks parts here; get it by its ID."),
        ])

    private static let attachmentSchema = Schema.members([
        .optional("name", .string, "The file's name."), .required("type", .string, "The media type."),
        .required("size", .count, "The size in bytes."),
        .optional("contentId", .string, "The attachment's ID in the HTML."),
        .optional("url", .string, "The URL of the attachment."),
        .optional("withheld", .boolean, "Whether masking of secrets hides the content."),
    ])

    private static let relaySchema = Schema.members([
        .required("address", .string, "The hidden address."), .required("title", .string, "The relay's name."),
        .optional("forwardedTo", .string, "The address to which the relay forwarded the mail."),
        .optional("sender", .string, "The forwarded mail's MAIL FROM."),
        .optional("refusal", .string, "The reply with which the relay refused the mail."),
        .optional("reason", .string, "The reason."),
    ])

    static let listSchema = Schema.members(
        "Messages",
        [
            .required("messages", .sequence(of: schema), "The messages, the oldest first."),
            .optional("last", .string, "Last listed message's ID."),
            .optional("more", .boolean, "Whether more messages follow after `last`."),
            .optional("dropped", .count, "The number of messages that were dropped because the inbox was full."),
        ])
}

/// A message of the inbox for display. Its mail is parsed and, with `--mask-secrets`, its secrets are masked.
package struct ShownMessage: Sendable {
    /// The message. If secrets are masked, the mail's source isn't the original, but written anew from the parsed mail.
    package let row: InboxMessage
    package let content: MessageContent
    /// Whether the message's secrets are masked. If they are, the contents of attachments aren't shown.
    package let isMasked: Bool
}

extension ControlAPI {
    /// Returns a message for display. A mail that came by SMTP is parsed, which takes time if it is large, so don't
    /// call this on a server's worker thread.
    package func shown(_ row: InboxMessage, in world: World) -> ShownMessage {
        guard masksSecrets else { return ShownMessage(row: row, content: row.content(in: world), isMasked: false) }
        let mask = Mask(row.message)
        var masked = row
        masked.message = mask.summary(row.message)
        if row.message.received != nil {
            let content = row.content(in: world)
            masked.message.received = nil
            masked.message.text = content.text.map { mask.apply(to: $0) }
            masked.message.html = content.html.map { mask.apply(to: $0) }
            masked.message.fields = content.headers.map {
                InboxMessage.HeaderField(name: $0.name, value: mask.apply(to: $0.value))
            }
        }
        return ShownMessage(row: masked, content: masked.content(in: world), isMasked: true)
    }

    /// Returns a message for a list of messages. Mail isn't parsed for a list, so the returned message has no header
    /// fields. If the message came by SMTP, it has no text and no HTML either.
    package func summary(_ row: InboxMessage) -> InboxMessage {
        guard masksSecrets else { return row }
        var row = row
        row.message = Mask(row.message).summary(row.message)
        return row
    }
}

extension Mask {
    /// Collects the secrets of a message: its codes, and the secrets in its links.
    init(_ message: SentMessage) {
        var values = Set(message.codes)
        for link in message.links {
            let path = link.prefix { $0 != "?" && $0 != "#" }
            values.formUnion(path.split(separator: "/").dropFirst().filter { Mask.isToken($0) }.map(String.init))
            guard let mark = link.firstIndex(of: "?") else { continue }
            let query = link[mark...].dropFirst().prefix { $0 != "#" }
            for field in Form(parsing: Array(query.utf8)).fields
            where Mask.isSecret(field.name) || Mask.isToken(field.value[...]) {
                values.insert(field.value)
            }
        }
        self.init(values)
    }

    /// Whether a part of a link looks like a secret that nobody can guess. Web frameworks put such secrets into the
    /// path, or into parameters of any name.
    private static func isToken(_ text: Substring) -> Bool {
        text.utf8.count >= 16 && text.utf8.contains { (0x30...0x39).contains($0) }
            && text.utf8.contains { (0x61...0x7A).contains($0 | 0x20) }
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || [0x2D, 0x2E, 0x3D, 0x5F].contains(byte)
            }
    }

    fileprivate func summary(_ message: SentMessage) -> SentMessage {
        var message = message
        message.from = apply(to: message.from)
        message.to = apply(to: message.to)
        message.cc = message.cc.map { apply(to: $0) }
        message.replyTo = message.replyTo.map { apply(to: $0) }
        message.subject = message.subject.map { apply(to: $0) }
        message.text = message.text.map { apply(to: $0) }
        message.html = message.html.map { apply(to: $0) }
        message.links = message.links.map { apply(toEncoded: $0) }
        message.codes = message.codes.map { apply(to: $0) }
        for place in message.attachments.indices {
            message.attachments[place].name = message.attachments[place].name.map { apply(to: $0) }
        }
        return message
    }

    /// Masks the display name of a mailbox. The e-mail address stays, because tests look for messages by it.
    private func apply(to mailbox: Mailbox) -> Mailbox {
        Mailbox(mailbox.address, name: mailbox.name.map { apply(to: $0) })
    }
}
