import EmulatorCore
import HTTPServer

/// A message for display: parsed, and with `--mask-secrets` without its secrets.
package struct ShownMessage: Sendable {
    /// The message. If it is masked, its raw form is written from the parsed mail, and isn't the original.
    package let row: InboxMessage
    package let content: MessageContent
    /// Whether secrets are masked. Then the contents of attachments aren't shown.
    package let isMasked: Bool
}

extension ControlAPI {
    /// Parses a mail from outside. That takes time if it is large, so don't call it on a worker.
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

    /// Returns a message for display without parsing it: without its header, and without the text and HTML of a mail
    /// from outside.
    package func summary(_ row: InboxMessage) -> InboxMessage {
        guard masksSecrets else { return row }
        var row = row
        row.message = Mask(row.message).summary(row.message)
        return row
    }
}

extension Mask {
    /// Collects the secrets of a message: its codes, and those in its links.
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

    /// Whether a part of a URL looks like a secret that nobody can guess. Links of web frameworks have theirs in the
    /// path, or in fields of any name.
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

    /// Masks a mailbox's name. The address stays: tests look for messages by it.
    private func apply(to mailbox: Mailbox) -> Mailbox {
        Mailbox(mailbox.address, name: mailbox.name.map { apply(to: $0) })
    }
}
