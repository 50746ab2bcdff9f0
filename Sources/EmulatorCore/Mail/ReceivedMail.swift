import JOSE

/// A mail as it came, byte for byte. What is read from it is read again when it is shown, so that it is kept only once.
package struct ReceivedMail: Codable, Sendable, Equatable {
    /// Lines ended by CR LF.
    package let raw: [UInt8]

    package init(_ raw: [UInt8]) { self.raw = raw }

    /// What is kept beside the mail is to be small, whatever stands in it.
    fileprivate static let copiesLimit = 100

    static func summary(_ text: String) -> String {
        text.utf8.count <= 1_000 ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(1_000)))
    }

    /// Base64, a third of the length of a list of numbers.
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
    /// A mail that the app under test sent. `sender` and `recipients` are the envelope's; a mail to several lies in the inbox once,
    /// except for those whose addresses are a relay's.
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
