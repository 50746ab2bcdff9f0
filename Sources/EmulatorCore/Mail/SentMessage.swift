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
    }

    /// What a relay did with a mail to one of its addresses, behind which somebody hides.
    package struct Relay: Codable, Sendable, Equatable {
        /// Whose relay it is, as people write it.
        package let title: String
        /// The address at the relay.
        package let address: String
        /// The person's own address, unless the relay refused the mail.
        package let forwardedTo: String?
        /// The relay's answer, or in words what it did.
        package let refusal: String?
        /// Why it was refused, and what to do.
        package let reason: String?

        package init(title: String, address: String, forwardedTo: String?, refusal: String?, reason: String?) {
            self.title = title
            self.address = address
            self.forwardedTo = forwardedTo
            self.refusal = refusal
            self.reason = reason
        }
    }

    package let kind: Kind
    /// For a text message, who it says that it is from; for a mail, an address.
    package let from: Mailbox
    package let to: Mailbox
    package var replyTo: Mailbox?
    /// A text message has none.
    package var subject: String?
    package var text: String?
    package var html: String?
    /// URLs that the person is to open.
    package var links: [String]
    /// What the person, or the page behind a link, is to enter.
    package var codes: [String]
    package var relay: Relay?
    /// The ID of the request for which it was sent.
    package let request: String?

    package init(
        _ kind: Kind, from: Mailbox, to: Mailbox, replyTo: Mailbox? = nil, subject: String? = nil, text: String?,
        html: String? = nil, links: [String] = [], codes: [String] = [], relay: Relay? = nil, request: String?
    ) {
        self.kind = kind
        self.from = from
        self.to = to
        self.replyTo = replyTo
        self.subject = subject
        self.text = text
        self.html = html
        self.links = links
        self.codes = codes
        self.relay = relay
        self.request = request
    }

    package var envelope: Envelope { Envelope(from: from.address, to: [to.address]) }

    /// About how many bytes it takes.
    package var size: Int {
        let texts = [subject, text, html, relay?.refusal, relay?.reason].compactMap { $0?.utf8.count }
        return 512 + (texts + links.map(\.utf8.count) + codes.map(\.utf8.count)).reduce(0, +)
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
        guard let mark = address.lastIndex(of: "@") else { return nil }
        let domain = address[mark...].dropFirst()
        let isPlain = domain.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
        }
        return isPlain && !domain.isEmpty ? String(domain) : nil
    }
}
