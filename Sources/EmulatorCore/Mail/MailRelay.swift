import Synchronization
import Time

/// A mail on its way to one recipient, as a mail relay sees it. The relay hides people's e-mail addresses, and decides
/// whether it forwards the mail.
package struct MailInTransit: Sendable {
    package let world: World
    /// The sender in the mail's envelope; empty for a bounce.
    package let sender: String
    /// The recipient in the mail's envelope.
    package let recipient: String
    /// The mail's content; `nil` while only the envelope is known, because in SMTP each recipient is accepted or
    /// refused before the content is sent.
    package let content: ReceivedContent?

    package init(in world: World, from sender: String, to recipient: String, content: ReceivedContent? = nil) {
        self.world = world
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}

/// The content of a mail, both as bytes and parsed.
package struct ReceivedContent: Sendable {
    /// The bytes of a mail, with CR LF at the ends of lines.
    package let raw: [UInt8]
    package let read: ReadMail
    /// The mail's subject, as it is stored with the inbox message of each recipient.
    package let subject: String?
    package let links: [String]
    package let codes: [String]

    package init(_ raw: [UInt8]) {
        self.raw = raw
        read = ReadMail(raw)
        subject = read.header("Subject").map { ReceivedMail.summary($0) }
        links = MailLinks.find(text: read.text, html: read.html)
        codes = MailCodes.find(subject: subject ?? "", text: read.text ?? read.html.map { HTMLText.plain($0) } ?? "")
    }
}

/// A mail relay's decision about a mail: whether the relay forwards, refuses or loses the mail.
package enum RelayVerdict: Sendable {
    /// The relay accepts the mail's envelope, and will decide about the content when it arrives.
    case accepted
    case forwarded(ForwardedMail)
    /// The relay refuses the mail, and the sender is told.
    case refused(MailRefusal)
    /// The relay accepts the mail but delivers it to nobody, and the sender isn't told.
    case lost(Diagnosis)
}

/// The changes that a mail relay makes to a mail that it forwards.
package struct ForwardedMail: Sendable, Equatable {
    /// The address to which the relay forwards the mail.
    package let recipient: String
    /// The sender in the envelope of the mail that the relay forwards.
    package let sender: String
    /// The header fields that the relay puts in place of the mail's fields of the same names.
    package let fields: [InboxMessage.HeaderField]

    package init(to recipient: String, from sender: String, fields: [InboxMessage.HeaderField]) {
        self.recipient = recipient
        self.sender = sender
        self.fields = fields
    }
}

extension InboxMessage.HeaderField {
    /// Makes a mail's header field that holds mailboxes, such as `From`, with names in quotes:
    /// <https://www.rfc-editor.org/rfc/rfc5322#section-3.4>.
    package init(name: String, mailboxes: [Mailbox]) {
        let written = mailboxes.map { mailbox in
            guard let name = mailbox.name, !name.isEmpty else { return mailbox.address }
            var quoted = ""
            for character in name.unicodeScalars {
                if character == "\"" || character == "\\" { quoted.unicodeScalars.append("\\") }
                quoted.unicodeScalars.append(character)
            }
            return "\"\(quoted)\" <\(mailbox.address)>"
        }
        self.init(name: name, value: written.joined(separator: ", "))
    }
}

/// The SMTP reply to a refused mail: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct MailRefusal: Sendable {
    /// The code of the SMTP reply, such as 550.
    package let code: Int
    /// The enhanced status code of the SMTP reply, such as `5.1.1`; `nil` without one:
    /// <https://www.rfc-editor.org/rfc/rfc3463>.
    package let status: String?
    package let text: String
    package let diagnosis: Diagnosis

    package init(_ code: Int, _ status: String?, _ text: String, _ diagnosis: Diagnosis) {
        self.code = code
        self.status = status
        self.text = text
        self.diagnosis = diagnosis
    }
}

/// A weak reference to the daemon's service that accepts mails. The daemon owns the service.
package final class MailRoutes: Sendable {
    private struct Routes {
        weak var submission: (any MailSubmission)?
    }

    private let routes = Mutex(Routes())

    init() {}

    /// The service that accepts mails as an SMTP server would, whether or not the daemon listens on an SMTP port.
    package var submission: (any MailSubmission)? {
        get { routes.withLock { $0.submission } }
        set { routes.withLock { $0.submission = newValue } }
    }
}

/// A service that accepts mails without an SMTP connection.
package protocol MailSubmission: AnyObject, Sendable {
    /// Handles a mail from an HTTP request in the way in which an SMTP server handles a mail that it has read
    /// completely. `raw` is the mail, with lines ended by CR LF. `request` is the HTTP request's ID.
    func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> SubmittedMail
}

/// The result of submitting a mail, for all its recipients.
package struct SubmittedMail: Sendable {
    /// The messages that the submitted mail has added to the inbox. A mail that a relay refused is added, too.
    package let messages: [InboxMessage]
    /// The recipients for whom the submitted mail was refused, each with the refusal.
    package let refusals: [(recipient: String, refusal: MailRefusal)]
    /// The length of time by which a fault delays the response about the submitted mail.
    package var delay = TimeSpan.zero

    package init(_ messages: [InboxMessage], refusals: [(recipient: String, refusal: MailRefusal)] = []) {
        self.messages = messages
        self.refusals = refusals
    }
}
