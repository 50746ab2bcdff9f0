import EmulatorCore
import HTTPServer

/// A message as it is shown: read, and with `--mask-secrets` without its secrets.
package struct ShownMessage: Sendable {
    /// Masked, it is written anew from what was read of the mail: its raw form isn't the one that came.
    package let row: InboxMessage
    package let content: MessageContent
    /// What attachments hold isn't shown then.
    package let isMasked: Bool
}

extension ControlAPI {
    /// Reads a mail that came from outside, which takes a moment where it is large: not for a worker.
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

    /// What is shown of a message without reading it: all but its header, and the text and HTML of a mail that came from outside.
    package func summary(_ row: InboxMessage) -> InboxMessage {
        guard masksSecrets else { return row }
        var row = row
        row.message = Mask(row.message).summary(row.message)
        return row
    }
}

extension Mask {
    /// The secrets of a message: its codes, and what its links carry.
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

    /// Whether a part of an address looks like something that nobody can guess. Links of web frameworks carry theirs in the path, or
    /// in fields of any name.
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

    /// An address stays: tests look for messages by it.
    private func apply(to mailbox: Mailbox) -> Mailbox {
        Mailbox(mailbox.address, name: mailbox.name.map { apply(to: $0) })
    }
}
