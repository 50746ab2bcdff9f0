import Synchronization

/// An e-mail or a text message that was sent to a person, or that a real provider would have sent.
package struct SentMessage: Codable, Sendable, Equatable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case mail
        case text
    }

    /// The envelope of a mail: the sender and recipients that servers exchange by SMTP, whatever the header fields say.
    /// <https://www.rfc-editor.org/rfc/rfc5321#section-2.3.1>
    package struct Envelope: Codable, Sendable, Equatable {
        package let from: String
        package let to: [String]

        package init(from: String, to: [String]) {
            self.from = from
            self.to = to
        }
    }

    /// The handling of a mail by a relay, which hides a person's real e-mail address behind a private relay address.
    package struct Relay: Codable, Sendable, Equatable {
        /// The name of the mail relay, as people write it.
        package let title: String
        /// The private relay e-mail address to which the mail was sent.
        package let address: String
        /// The person's real address, to which the relay forwarded the mail; `nil` if the relay refused or lost the
        /// mail.
        package let forwardedTo: String?
        /// The sender in the envelope of the mail that the relay forwarded.
        package let sender: String?
        /// The header fields that the relay has put in place of the mail's fields of the same names.
        package let fields: [InboxMessage.HeaderField]
        /// The relay's refusal of the mail: its SMTP reply, or a description if there was no reply. `nil` if the relay
        /// didn't refuse the mail.
        package let refusal: String?
        /// The reason why the relay delivered the mail to nobody, and advice on what to do.
        package let reason: String?

        package init(
            title: String, address: String, forwardedTo: String?, sender: String? = nil,
            fields: [InboxMessage.HeaderField] = [], refusal: String?, reason: String?
        ) {
            self.title = title
            self.address = address
            self.forwardedTo = forwardedTo
            self.sender = sender
            self.fields = fields
            self.refusal = refusal
            self.reason = reason
        }

        package init(title: String, address: String, forwarded mail: ForwardedMail) {
            self.init(
                title: title, address: address, forwardedTo: mail.recipient, sender: mail.sender, fields: mail.fields,
                refusal: nil, reason: nil)
        }

        package init(title: String, address: String, refused refusal: MailRefusal) {
            let answer = [String(refusal.code), refusal.status, refusal.text].compactMap { $0 }.joined(separator: " ")
            self.init(
                title: title, address: address, forwardedTo: nil, refusal: answer, reason: refusal.diagnosis.line)
        }

        /// Describes a mail that the relay accepted but forwarded to nobody.
        package init(title: String, address: String, lost diagnosis: Diagnosis) {
            self.init(title: title, address: address, forwardedTo: nil, refusal: nil, reason: diagnosis.line)
        }
    }

    package let kind: Kind
    /// The message's sender: a mailbox for a mail, and the name or number of a sender for a text message.
    package var from: Mailbox
    /// The first recipient of the message.
    package var to: Mailbox
    package var envelope: Envelope
    /// The mailboxes of the mail's Cc field.
    package var cc: [Mailbox] = []
    package var replyTo: Mailbox?
    /// The mail's subject; `nil` for a text message.
    package var subject: String?
    package var text: String?
    package var html: String?
    /// The URLs that the message asks the recipient to open.
    package var links: [String]
    /// The one-time codes that the recipient is asked to enter. For a message that the daemon writes, also the codes
    /// within links.
    package var codes: [String]
    package var attachments: [ReadMail.Attachment] = []
    package var relay: Relay?
    /// The mail as it came from outside the daemon; `nil` for a mail that the daemon writes from this message's other
    /// properties.
    package var received: ReceivedMail?
    /// The header fields of a changed copy of a received mail, for example one with masked secrets; `nil` for all other
    /// mails.
    package var fields: [InboxMessage.HeaderField]?
    /// The ID of the HTTP request for which the message was sent.
    package let request: String?

    package init(
        _ kind: Kind, from: Mailbox, to: Mailbox, replyTo: Mailbox? = nil, subject: String? = nil, text: String?,
        html: String? = nil, links: [String] = [], codes: [String] = [], relay: Relay? = nil, request: String?
    ) {
        self.kind = kind
        self.from = from
        self.to = to
        envelope = Envelope(from: from.address, to: [to.address])
        self.replyTo = replyTo
        self.subject = subject
        self.text = text
        self.html = html
        self.links = links
        self.codes = codes
        self.relay = relay
        self.request = request
    }

    /// Whether a relay refused the mail, or accepted it and forwarded it to nobody.
    package var isUndelivered: Bool { relay.map { $0.forwardedTo == nil } ?? false }

    /// The approximate number of bytes that the message takes in memory.
    package var size: Int {
        let people = [from, to] + cc
        let texts =
            [subject, text, html, relay?.refusal, relay?.reason, envelope.from] + people.map(\.name)
            + people.map { $0.address } + attachments.flatMap { [$0.name, $0.type, $0.contentID] }
            + (relay?.fields ?? []).map { $0.value }
        let counts = texts.compactMap { $0?.utf8.count } + (links + codes + envelope.to).map { $0.utf8.count + 16 }
        return 512 + (received?.raw.count ?? 0) + counts.reduce(0, +)
    }
}

/// A mailbox: an e-mail address or phone number, with an optional name.
package struct Mailbox: Codable, Sendable, Equatable {
    package let name: String?
    /// The mailbox's e-mail address, or the phone number for a text message.
    package let address: String

    package init(_ address: String, name: String? = nil) {
        self.address = address
        self.name = name
    }

    /// The mailbox as mail programs show it to people: `Example <noreply@example.com>`.
    package var display: String { name.map { "\($0) <\(address)>" } ?? address }

    /// The domain of the mailbox's e-mail address, after the `@`; `nil` if it has other characters than letters,
    /// digits, hyphens and dots.
    var domain: String? {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let domain = address.utf8[mark...].dropFirst()
        let isPlain = domain.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
        }
        return isPlain && !domain.isEmpty ? String(Substring(domain)) : nil
    }
}

/// The content of an inbox message in decoded form, as it is shown to people.
package struct MessageContent: Sendable {
    /// The decoded header fields of an inbox message; empty for a text message.
    package var headers: [InboxMessage.HeaderField]
    package var text: String?
    package var html: String?
    /// Remarks for the message's reader about how the message is shown, for example that parts of it were left out.
    package var notes: [String]
}

extension InboxMessage {
    /// Returns the content of this inbox message in decoded form.
    package func content(in world: World) -> MessageContent {
        guard message.received != nil else {
            return MessageContent(headers: headers, text: message.text, html: message.html, notes: [])
        }
        let mail = world.mail(self)
        return MessageContent(headers: mail.headers, text: mail.text, html: mail.html, notes: mail.notes)
    }

    /// Returns the attachment of this inbox message at the position `number` of `message.attachments`, counted from 1;
    /// `nil` when there is none.
    package func attachment(
        _ number: Int, in world: World
    ) -> (description: ReadMail.Attachment, bytes: [UInt8])? {
        guard message.received != nil, message.attachments.indices.contains(number - 1) else { return nil }
        let mail = world.mail(self)
        guard mail.attachments.indices.contains(number - 1) else { return nil }
        return (message.attachments[number - 1], mail.content(of: number - 1))
    }

    /// Returns the attached images that the mail's HTML can show, by the content IDs by which the HTML can refer to
    /// them.
    package func inlineImages(in world: World) -> [String: (type: String, bytes: [UInt8])] {
        guard message.received != nil else { return [:] }
        let mail = world.mail(self)
        var images: [String: (type: String, bytes: [UInt8])] = [:]
        for (index, attachment) in mail.attachments.enumerated() {
            let isImage = ["image/gif", "image/jpeg", "image/png", "image/webp"].contains(attachment.type)
            guard isImage, let id = attachment.contentID, images[id] == nil else { continue }
            images[id] = (attachment.type, mail.content(of: index))
        }
        return images
    }

    /// The mail's bytes as a relay forwarded them to a person; `nil` when no relay forwarded the mail.
    package var forwarded: [UInt8]? {
        guard message.kind == .mail, let relay = message.relay, relay.forwardedTo != nil else { return nil }
        return HeaderRewriting.replace(raw, with: relay.fields)
    }
}

/// Counts the bytes of all test worlds' inboxes together.
package final class MailBudget: Sendable {
    /// The largest number of bytes that all test worlds' inboxes should have together.
    package let limit: Int
    private let held = Atomic<Int>(0)

    package init(limit: Int = 128 << 20) { self.limit = limit }

    package var bytes: Int { held.load(ordering: .relaxed) }

    /// The largest number of bytes that an inbox may have after a message is added. This number is much smaller while
    /// all inboxes together have more than `limit` bytes.
    fileprivate var limitOfInbox: Int { bytes > limit ? MailBudget.leastOfInbox : Inbox.sizeLimit }

    /// The number of bytes that an inbox keeps even if all inboxes together have too many bytes.
    private static let leastOfInbox = 64 << 10

    /// The number of bytes of one test world's inbox, which counts toward the bytes of all inboxes.
    final class Part: Sendable {
        private let budget: MailBudget
        private let held = Atomic<Int>(0)

        init(of budget: MailBudget) { self.budget = budget }

        deinit { set(0) }

        var limit: Int { budget.limitOfInbox }

        /// Returns whether this inbox can accept a mail of `bytes` bytes. It can always accept a small mail. The
        /// inbox's present messages don't count, because they can be dropped to make room.
        func hasRoom(for bytes: Int) -> Bool {
            let others = budget.bytes - held.load(ordering: .relaxed)
            return bytes <= Inbox.sizeLimit / 128 || others <= 2 * budget.limit - min(bytes, budget.limit)
        }

        /// Sets the present size of the test world's inbox. If two threads do this at the same time, the size may be
        /// wrong until the next call.
        func set(_ bytes: Int) {
            let before = held.exchange(bytes, ordering: .relaxed)
            budget.held.wrappingAdd(bytes - before, ordering: .relaxed)
        }
    }
}
