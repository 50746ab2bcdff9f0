/// An e-mail or a text message that was sent to a person, or would have been.
package struct SentMessage: Codable, Sendable, Equatable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case mail
        case text
    }

    /// What mail servers tell each other, whatever the headers say: <https://www.rfc-editor.org/rfc/rfc5321#section-2.3.1>.
    package struct Envelope: Codable, Sendable, Equatable {
        package let from: String
        package let to: [String]

        package init(from: String, to: [String]) {
            self.from = from
            self.to = to
        }
    }

    /// What a relay did with a mail to one of its addresses, behind which somebody hides.
    package struct Relay: Codable, Sendable, Equatable {
        /// Whose relay it is, as people write it.
        package let title: String
        /// The address at the relay.
        package let address: String
        /// Who gets it from the relay; `nil` where the relay refused the mail, or lost it.
        package let forwardedTo: String?
        /// The envelope's sender from the relay on.
        package let sender: String?
        /// Header fields that the relay put in the place of those of the same name.
        package let fields: [InboxMessage.HeaderField]
        /// The relay's answer, or in words what it did. `nil` where the sender wasn't told anything.
        package let refusal: String?
        /// Why nobody gets it, and what to do.
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

        /// Taken, and given to nobody.
        package init(title: String, address: String, lost diagnosis: Diagnosis) {
            self.init(title: title, address: address, forwardedTo: nil, refusal: nil, reason: diagnosis.line)
        }
    }

    package let kind: Kind
    /// For a text message, who it says that it is from; for a mail, an address.
    package var from: Mailbox
    /// The first recipient.
    package var to: Mailbox
    package var envelope: Envelope
    /// Who the mail says gets a copy.
    package var cc: [Mailbox] = []
    package var replyTo: Mailbox?
    /// A text message has none.
    package var subject: String?
    package var text: String?
    package var html: String?
    /// URLs that the person is to open.
    package var links: [String]
    /// What the person, or the page behind a link, is to enter.
    package var codes: [String]
    package var attachments: [ReadMail.Attachment] = []
    package var relay: Relay?
    /// The mail as it came; `nil` for one that is written from the other properties.
    package var received: ReceivedMail?
    /// The header fields of a mail that is written from what was read of another; `nil` for all others.
    package var fields: [InboxMessage.HeaderField]?
    /// The ID of the request for which it was sent.
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

    /// Whether a relay gave it to nobody.
    package var isUndelivered: Bool { relay.map { $0.forwardedTo == nil } ?? false }

    /// About how many bytes it takes.
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

/// An address, and the name that stands with it.
package struct Mailbox: Codable, Sendable, Equatable {
    package let name: String?
    /// An e-mail address, or a phone number.
    package let address: String

    package init(_ address: String, name: String? = nil) {
        self.address = address
        self.name = name
    }

    /// For people: `Example <noreply@example.com>`.
    package var display: String { name.map { "\($0) <\(address)>" } ?? address }

    /// What stands behind the `@`, if only letters, digits, hyphens and points do.
    var domain: String? {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let domain = address.utf8[mark...].dropFirst()
        let isPlain = domain.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
        }
        return isPlain && !domain.isEmpty ? String(Substring(domain)) : nil
    }
}
