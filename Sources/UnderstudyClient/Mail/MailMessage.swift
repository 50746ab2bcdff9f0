import Foundation

extension World {
    /// A mail or a text message that was caught in the inbox of a test world instead of being delivered.
    public struct MailMessage: Sendable, Hashable, Decodable, Identifiable {
        /// The kind of a caught message: an e-mail or a text message.
        public enum Kind: String, Sendable, Hashable, Decodable {
            /// The message in the inbox is an e-mail.
            case mail
            /// The message in the inbox is a text message to a phone.
            case text
        }

        /// The sender and the recipients in a mail's SMTP envelope.
        public struct Envelope: Sendable, Hashable, Decodable {
            /// The sender's address in a mail's SMTP envelope.
            public let from: String
            /// The recipients' addresses in a mail's SMTP envelope.
            public let to: [String]
        }

        /// A file that is attached to a mail.
        public struct Attachment: Sendable, Hashable, Decodable {
            /// The name of a file that is attached to a mail.
            public let name: String?
            /// The media type of a file that is attached to a mail.
            public let type: String
            /// The size of a file that is attached to a mail, in bytes.
            public let size: Int
            /// The URL of the attached file's content; `nil` if the daemon masks secrets (`--mask-secrets`).
            public let url: String?
            /// The content ID by which the HTML of a mail refers to the attached file.
            public let contentId: String?
        }

        /// The treatment of a mail by a relay, such as Apple's private relay, which forwards mail to users who hide
        /// their addresses.
        public struct Relay: Sendable, Hashable, Decodable {
            /// The address to which a relayed mail was sent. It hides the recipient's own e-mail address.
            public let address: String
            /// The name of the relay, such as Apple's private relay, that treated the mail.
            public let title: String
            /// The recipient's own e-mail address, to which the relay forwarded the mail.
            public let forwardedTo: String?
            /// The sender in the SMTP envelope of the mail that the relay forwarded.
            public let sender: String?
            /// The SMTP reply with which the relay refused the mail; `nil` if the relay accepted the mail.
            public let refusal: String?
            /// The reason why the relay forwarded the mail to nobody; `nil` if the relay forwarded it.
            public let reason: String?
        }

        /// The ID of a message in the inbox, such as `m1`.
        public let id: String
        /// The kind of the message: an e-mail or a text message.
        public let kind: Kind
        /// The address of a mail's sender, or the phone number of a text message's sender.
        public let from: String
        /// The address of a mail's first recipient, or the phone number of a text message's recipient.
        public let to: String
        /// The sender and the recipients in a mail's SMTP envelope.
        public let envelope: Envelope
        /// The addresses in the mail's header `Cc`.
        public let cc: [String]?
        /// The subject of a mail.
        public let subject: String?
        /// The content of a mail or a text message, as plain text. In a list of messages, long content is cut:
        /// ``World/message(_:)`` returns it whole.
        public let text: String?
        /// The content of a mail, as HTML. In a list of messages, long content is cut: ``World/message(_:)`` returns it
        /// whole.
        public let html: String?
        /// The URLs of web pages that the mail or text message contains.
        public let links: [String]
        /// The codes, such as `123456`, that a user would copy from the mail or text message.
        public let codes: [String]
        /// The files attached to the mail.
        public let attachments: [Attachment]?
        /// The treatment of the mail by a relay, such as Apple's private relay; `nil` if no relay took part.
        public let relay: Relay?
        /// The time at which the message was sent, by the test world's clock.
        public let time: Date
        /// The ID of the recorded request that caused the message.
        public let request: String?
    }
}

extension World.MailMessage: CustomStringConvertible {
    /// A line about a message in the inbox, such as `m1 to ada@example.com: Welcome`.
    public var description: String { "\(id) to \(to): \(subject ?? text ?? "")" }
}

extension World {
    /// The result of sending a mail by ``World/sendMail(from:to:cc:replyTo:subject:text:html:)``.
    public struct SentMail: Sendable, Hashable, Decodable {
        /// An SMTP server's reply to a mail.
        public struct Reply: Sendable, Hashable, Decodable {
            /// The code of an SMTP reply, such as 250.
            public let code: Int
            /// The text after the code of an SMTP reply.
            public let text: String
        }

        /// A recipient for whom a sent mail was refused.
        public struct Refusal: Sendable, Hashable, Decodable {
            /// The address of a recipient for whom the mail was refused.
            public let to: String
            /// The SMTP reply that refuses the mail for a recipient.
            public let smtp: Reply
            /// The reason why the mail was refused for a recipient.
            public let reason: String
        }

        /// The SMTP reply to the whole mail. If every recipient was refused, it is the reply for the first recipient.
        public let smtp: Reply
        /// The messages that the sent mail has put into the inbox.
        public let messages: [MailMessage]
        /// The recipients for whom the sent mail was refused.
        public let refused: [Refusal]?
    }
}
