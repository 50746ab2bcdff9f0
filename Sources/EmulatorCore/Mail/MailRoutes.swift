import Synchronization
import Time

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
