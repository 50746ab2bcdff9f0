import Foundation

extension World {
    /// A mail or a text message in a world's inbox.
    public struct MailMessage: Sendable, Hashable, Decodable, Identifiable {
        /// The kind of a message.
        public enum Kind: String, Sendable, Hashable, Decodable {
            /// An e-mail.
            case mail
            /// A text message to a phone.
            case text
        }

        /// The sender and the recipients of a mail, as SMTP carries them.
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
            /// The URL of the attachment's content; `nil` if secrets are masked.
            public let url: String?
            /// The ID by which the HTML refers to it.
            public let contentId: String?
        }

        /// A relay's treatment of a mail.
        public struct Relay: Sendable, Hashable, Decodable {
            /// The hidden address.
            public let address: String
            /// The relay's name.
            public let title: String
            /// The person's own address, to which the mail was forwarded.
            public let forwardedTo: String?
            /// The sender's address that the person sees.
            public let sender: String?
            /// The relay's reply if it refused the mail.
            public let refusal: String?
            /// The reason for the refusal.
            public let reason: String?
        }

        /// The message's ID, such as `m1`.
        public let id: String
        /// An e-mail, or a text message.
        public let kind: Kind
        /// The sender's address or phone number.
        public let from: String
        /// The recipient's address or phone number.
        public let to: String
        /// The sender and the recipients of a mail, as SMTP carries them.
        public let envelope: Envelope
        /// The recipients of copies.
        public let cc: [String]?
        /// The subject.
        public let subject: String?
        /// The plain text.
        public let text: String?
        /// The HTML.
        public let html: String?
        /// The addresses of web pages in the message.
        public let links: [String]
        /// The codes in the message that a person would type in.
        public let codes: [String]
        /// The attached files.
        public let attachments: [Attachment]?
        /// The relay's treatment of the mail.
        public let relay: Relay?
        /// The time at which it was sent, by the world's clock.
        public let time: Date
        /// The ID of the exchange that sent it.
        public let request: String?
    }
}

extension World.MailMessage: CustomStringConvertible {
    /// `m1 to ada@example.com: Welcome`
    public var description: String { "\(id) to \(to): \(subject ?? text ?? "")" }
}

extension World {
    /// The result of sending a mail by ``World/sendMail(from:to:cc:replyTo:subject:text:html:)``.
    public struct SentMail: Sendable, Hashable, Decodable {
        /// A reply of the SMTP server.
        public struct Reply: Sendable, Hashable, Decodable {
            /// The code, such as 250.
            public let code: Int
            /// The text after the code.
            public let text: String
        }

        /// A recipient for whom the mail was refused.
        public struct Refusal: Sendable, Hashable, Decodable {
            /// The recipient.
            public let to: String
            /// The SMTP reply for this recipient.
            public let smtp: Reply
            /// The reason.
            public let reason: String
        }

        /// The SMTP reply to the whole mail.
        public let smtp: Reply
        /// The messages that are now in the inbox.
        public let messages: [MailMessage]
        /// The recipients for whom the mail was refused.
        public let refused: [Refusal]?
    }
}
