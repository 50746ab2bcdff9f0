import JOSE

/// A mail as it came, byte for byte. It is parsed again when it is shown, so that it is stored only once.
package struct ReceivedMail: Codable, Sendable, Equatable {
    /// The bytes, with CR LF at the ends of lines.
    package let raw: [UInt8]

    package init(_ raw: [UInt8]) { self.raw = raw }

    /// The number of elements that are kept of each list beside the mail, so that they stay small for any mail.
    fileprivate static let copiesLimit = 100

    static func summary(_ text: String) -> String {
        text.utf8.count <= 1_000 ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(1_000)))
    }

    /// Decodes Base64, which is a third of the length of a list of numbers.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        raw = TransferEncoding.base64(Array(text.utf8)[...])
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64.encode(raw))
    }
}

extension SentMessage {
    /// Makes a message of a mail that the app under test sent. `sender` and `recipients` are the envelope's. A mail to
    /// several recipients is one message in the inbox, except for those at a relay's addresses.
    package init(
        received content: ReceivedContent, from sender: String, to recipients: [String], relay: Relay? = nil,
        request: String?
    ) {
        let read = content.read
        let recipient = recipients.first ?? ""
        let author = read.from.first { $0.address.contains("@") } ?? read.from.first
        let named = (read.to + read.cc).first { $0.address.lowercased() == recipient.lowercased() }
        self.init(
            .mail, from: (author ?? Mailbox(sender)).summary,
            to: Mailbox(recipient, name: named?.name).summary, replyTo: read.replyTo.first?.summary,
            subject: content.subject, text: nil, links: content.links, codes: content.codes, relay: relay,
            request: request)
        envelope = Envelope(from: sender, to: recipients)
        cc = read.cc.prefix(ReceivedMail.copiesLimit).map(\.summary)
        attachments = read.attachments
        received = ReceivedMail(content.raw)
    }
}

extension Mailbox {
    fileprivate var summary: Mailbox {
        Mailbox(ReceivedMail.summary(address), name: name.map { ReceivedMail.summary($0) })
    }
}
