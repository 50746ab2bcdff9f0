import Foundation

extension World {
    /// A mail or a text message, as it lies in a world's inbox.
    public struct MailMessage: Sendable, Hashable, Decodable, Identifiable {
        /// What a message is.
        public enum Kind: String, Sendable, Hashable, Decodable {
            /// An e-mail.
            case mail
            /// A text message to a phone.
            case text
        }

        /// Who sent a mail and who gets it, as mail servers were told.
        public struct Envelope: Sendable, Hashable, Decodable {
            /// The sender.
            public let from: String
            /// The recipients.
            public let to: [String]
        }

        /// A file in a mail.
        public struct Attachment: Sendable, Hashable, Decodable {
            /// The file's name.
            public let name: String?
            /// The media type.
            public let type: String
            /// The size in bytes.
            public let size: Int
            /// Where it can be fetched; `nil` where secrets are masked.
            public let url: String?
            /// Its ID, where the HTML shows it.
            public let contentId: String?
        }

        /// What a relay did with a mail.
        public struct Relay: Sendable, Hashable, Decodable {
            /// The hidden address.
            public let address: String
            /// Which relay.
            public let title: String
            /// The person's own address, to which it went.
            public let forwardedTo: String?
            /// The address that the person sees as the sender's.
            public let sender: String?
            /// What the relay said when it refused the mail.
            public let refusal: String?
            /// Why it refused it.
            public let reason: String?
        }

        /// Its ID, such as `m1`.
        public let id: String
        /// An e-mail, or a text message.
        public let kind: Kind
        /// Whose address or number stands in it as the sender's.
        public let from: String
        /// Whose address or number it is for.
        public let to: String
        /// Who sent it and who gets it, as mail servers were told.
        public let envelope: Envelope
        /// Who gets a copy.
        public let cc: [String]?
        /// The subject.
        public let subject: String?
        /// What it says, as plain text.
        public let text: String?
        /// What it says, as HTML.
        public let html: String?
        /// The addresses of pages in it.
        public let links: [String]
        /// The codes in it that a person would type.
        public let codes: [String]
        /// The files in it.
        public let attachments: [Attachment]?
        /// What a relay did with it.
        public let relay: Relay?
        /// When it was sent, by the world's clock.
        public let time: Date
        /// The ID of the exchange with which it was sent.
        public let request: String?
    }
}

extension World.MailMessage: CustomStringConvertible {
    /// `m1 to ada@example.com: Welcome`
    public var description: String { "\(id) to \(to): \(subject ?? text ?? "")" }
}

extension World {
    /// What became of a mail that was sent by ``World/sendMail(from:to:cc:replyTo:subject:text:html:)``.
    public struct SentMail: Sendable, Hashable, Decodable {
        /// What an SMTP client would have been told.
        public struct Reply: Sendable, Hashable, Decodable {
            /// The code, such as 250.
            public let code: Int
            /// The text after it.
            public let text: String
        }

        /// Somebody who doesn't get it.
        public struct Refusal: Sendable, Hashable, Decodable {
            /// The recipient.
            public let to: String
            /// What an SMTP client would have been told.
            public let smtp: Reply
            /// Why.
            public let reason: String
        }

        /// What an SMTP client would have been told.
        public let smtp: Reply
        /// What lies in the inbox.
        public let messages: [MailMessage]
        /// Who doesn't get it.
        public let refused: [Refusal]?
    }
}
