import Synchronization

/// An e-mail or a text message that was sent to a person, or would have been.
package struct SentMessage: Codable, Sendable, Equatable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case mail
        case text
    }

    /// The envelope of a mail, which servers exchange whatever the headers say:
    /// <https://www.rfc-editor.org/rfc/rfc5321#section-2.3.1>.
    package struct Envelope: Codable, Sendable, Equatable {
        package let from: String
        package let to: [String]

        package init(from: String, to: [String]) {
            self.from = from
            self.to = to
        }
    }

    /// The treatment of a mail by a relay, at whose address somebody hides.
    package struct Relay: Codable, Sendable, Equatable {
        /// The relay's name, as people write it.
        package let title: String
        /// The address at the relay.
        package let address: String
        /// The address to which the relay forwarded it; `nil` if the relay refused the mail, or lost it.
        package let forwardedTo: String?
        /// The sender in the forwarded mail's envelope.
        package let sender: String?
        /// Header fields that the relay has put in place of those of the same name.
        package let fields: [InboxMessage.HeaderField]
        /// The relay's reply, or what it did in words. `nil` if the sender wasn't told anything.
        package let refusal: String?
        /// The reason why nobody gets it, and what to do.
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

        /// A mail that was accepted, and forwarded to nobody.
        package init(title: String, address: String, lost diagnosis: Diagnosis) {
            self.init(title: title, address: address, forwardedTo: nil, refusal: nil, reason: diagnosis.line)
        }
    }

    package let kind: Kind
    /// The sender: an address for a mail, the name of a sender for a text message.
    package var from: Mailbox
    /// The first recipient of the message.
    package var to: Mailbox
    package var envelope: Envelope
    /// The mailboxes of the mail's Cc field.
    package var cc: [Mailbox] = []
    package var replyTo: Mailbox?
    /// The subject; `nil` for a text message.
    package var subject: String?
    package var text: String?
    package var html: String?
    /// The URLs that the person is asked to open.
    package var links: [String]
    /// The codes that the person, or the page behind a link, is asked to enter.
    package var codes: [String]
    package var attachments: [ReadMail.Attachment] = []
    package var relay: Relay?
    /// The bytes of a mail from outside; `nil` for one that is written from the other properties.
    package var received: ReceivedMail?
    /// The header fields of a mail that is written from another parsed one; `nil` for all others.
    package var fields: [InboxMessage.HeaderField]?
    /// The ID of the request for which the message was sent.
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

    /// Whether a relay forwarded it to nobody.
    package var isUndelivered: Bool { relay.map { $0.forwardedTo == nil } ?? false }

    /// The approximate number of bytes that the message takes.
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

/// An address with a name.
package struct Mailbox: Codable, Sendable, Equatable {
    package let name: String?
    /// An e-mail address, or a phone number.
    package let address: String

    package init(_ address: String, name: String? = nil) {
        self.address = address
        self.name = name
    }

    /// The mailbox in the form for people: `Example <noreply@example.com>`.
    package var display: String { name.map { "\($0) <\(address)>" } ?? address }

    /// The part behind the `@`, if it has only letters, digits, hyphens and points.
    var domain: String? {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let domain = address.utf8[mark...].dropFirst()
        let isPlain = domain.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
        }
        return isPlain && !domain.isEmpty ? String(Substring(domain)) : nil
    }
}

/// The content of a message, as people read it.
package struct MessageContent: Sendable {
    /// The header fields; empty for a text message.
    package var headers: [InboxMessage.HeaderField]
    package var text: String?
    package var html: String?
    /// Notes for the reader about how it is shown.
    package var notes: [String]
}

extension InboxMessage {
    /// Returns the content. A mail that came from outside is read like by `World.mail`.
    package func content(in world: World) -> MessageContent {
        guard message.received != nil else {
            return MessageContent(headers: headers, text: message.text, html: message.html, notes: [])
        }
        let mail = world.mail(self)
        return MessageContent(headers: mail.headers, text: mail.text, html: mail.html, notes: mail.notes)
    }

    /// Returns the content of an attachment, by its number in `message.attachments`, from 1; `nil` when there is none.
    package func attachment(
        _ number: Int, in world: World
    ) -> (description: ReadMail.Attachment, bytes: [UInt8])? {
        guard message.received != nil, message.attachments.indices.contains(number - 1) else { return nil }
        let mail = world.mail(self)
        guard mail.attachments.indices.contains(number - 1) else { return nil }
        return (message.attachments[number - 1], mail.content(of: number - 1))
    }

    /// Returns the images in the mail that its HTML shows, by the identifiers by which it names them.
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

    /// The mail as the person behind the relay gets it; `nil` when no relay forwarded it.
    package var forwarded: [UInt8]? {
        guard message.kind == .mail, let relay = message.relay, relay.forwardedTo != nil else { return nil }
        return HeaderRewriting.replace(raw, with: relay.fields)
    }
}

/// Counts the bytes of all worlds' inboxes.
package final class MailBudget: Sendable {
    /// The number of bytes that all inboxes may have together.
    package let limit: Int
    private let held = Atomic<Int>(0)

    package init(limit: Int = 128 << 20) { self.limit = limit }

    package var bytes: Int { held.load(ordering: .relaxed) }

    /// The number of bytes that an inbox may have when it gets a message now.
    fileprivate var limitOfInbox: Int { bytes > limit ? MailBudget.leastOfInbox : Inbox.sizeLimit }

    /// The number of bytes that an inbox keeps even if all together have too many.
    private static let leastOfInbox = 64 << 10

    /// The bytes of one world's inbox.
    final class Part: Sendable {
        private let budget: MailBudget
        private let held = Atomic<Int>(0)

        init(of budget: MailBudget) { self.budget = budget }

        deinit { set(0) }

        var limit: Int { budget.limitOfInbox }

        /// Returns whether an inbox can take this many more bytes; a small mail always fits. The inbox's present
        /// messages don't count, since they can be dropped.
        func hasRoom(for bytes: Int) -> Bool {
            let others = budget.bytes - held.load(ordering: .relaxed)
            return bytes <= Inbox.sizeLimit / 128 || others <= 2 * budget.limit - min(bytes, budget.limit)
        }

        /// Sets the present size of the world's inbox. If two threads do so at once, the next one corrects it.
        func set(_ bytes: Int) {
            let before = held.exchange(bytes, ordering: .relaxed)
            budget.held.wrappingAdd(bytes - before, ordering: .relaxed)
        }
    }
}
