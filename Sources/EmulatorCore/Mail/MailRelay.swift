import Synchronization
import Time

/// A mail to one recipient, for the verdict of a provider that relays mail to people who hide their address.
package struct MailInTransit: Sendable {
    package let world: World
    /// The envelope's sender; empty for a bounce.
    package let sender: String
    /// The envelope's recipient.
    package let recipient: String
    /// The content; `nil` when only the envelope is known, because the sender's server asks for each recipient before
    /// it sends the mail.
    package let content: ReceivedContent?

    package init(in world: World, from sender: String, to recipient: String, content: ReceivedContent? = nil) {
        self.world = world
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}

/// The content of a mail, as bytes and parsed.
package struct ReceivedContent: Sendable {
    /// The bytes, with CR LF at the ends of lines.
    package let raw: [UInt8]
    package let read: ReadMail
    /// The parts that a message has beside the mail. They are found once for all recipients.
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

/// The verdict of a relay on a mail.
package enum RelayVerdict: Sendable {
    /// The envelope is accepted; the content is judged when it is there.
    case accepted
    case forwarded(ForwardedMail)
    /// The mail is refused, and the sender is told.
    case refused(MailRefusal)
    /// Nobody gets the mail, and the sender isn't told.
    case lost(Diagnosis)
}

/// The changes that a relay makes to a forwarded mail.
package struct ForwardedMail: Sendable, Equatable {
    /// The address to which the mail is forwarded.
    package let recipient: String
    /// The sender in the forwarded mail's envelope.
    package let sender: String
    /// Header fields that replace those of the same name.
    package let fields: [InboxMessage.HeaderField]

    package init(to recipient: String, from sender: String, fields: [InboxMessage.HeaderField]) {
        self.recipient = recipient
        self.sender = sender
        self.fields = fields
    }
}

extension InboxMessage.HeaderField {
    /// Makes a field of mailboxes, such as `From`, with names in quotes:
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

/// The reply to a refused mail: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct MailRefusal: Sendable {
    /// The reply's code, such as 550.
    package let code: Int
    /// The enhanced status code, such as `5.1.1`; `nil` without one: <https://www.rfc-editor.org/rfc/rfc3463>.
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

/// The daemon's services for mail, beside the inbox. They belong to the daemon, and this refers to them weakly.
package final class MailRoutes: Sendable {
    private struct Routes {
        weak var submission: (any MailSubmission)?
    }

    private let routes = Mutex(Routes())

    init() {}

    /// The service that takes mails like an SMTP server, whether or not there is a port for SMTP.
    package var submission: (any MailSubmission)? {
        get { routes.withLock { $0.submission } }
        set { routes.withLock { $0.submission = newValue } }
    }
}

/// Accepts mails without a connection.
package protocol MailSubmission: AnyObject, Sendable {
    /// Judges a mail and puts it into the inbox, as at the end of its data. `raw` has lines ended by CR LF. `request`
    /// is the ID of the request with the mail.
    func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> SubmittedMail
}

/// The outcome of a mail for all its recipients.
package struct SubmittedMail: Sendable {
    /// The messages that the mail has added to the inbox, including a mail that a relay refused.
    package let messages: [InboxMessage]
    /// The recipients who don't get it, each with the refusal.
    package let refusals: [(recipient: String, refusal: MailRefusal)]
    /// The time by which the answer to the sender is delayed.
    package var delay = TimeSpan.zero

    package init(_ messages: [InboxMessage], refusals: [(recipient: String, refusal: MailRefusal)] = []) {
        self.messages = messages
        self.refusals = refusals
    }
}
