import Synchronization
import Time

/// What a daemon does with mail beside keeping it. Whoever does it belongs to the daemon, and is known here only as long as it is
/// there.
package final class MailRoutes: Sendable {
    private struct Routes {
        weak var submission: (any MailSubmission)?
    }

    private let routes = Mutex(Routes())

    init() {}

    /// Takes mails as an SMTP server would, whether or not there is a port for SMTP.
    package var submission: (any MailSubmission)? {
        get { routes.withLock { $0.submission } }
        set { routes.withLock { $0.submission = newValue } }
    }
}

/// Takes mails without a connection.
package protocol MailSubmission: AnyObject, Sendable {
    /// Judges a mail and puts it into the inbox, as at the end of its data. `raw` has lines ended by CR LF. `request` is the ID of
    /// the request that brought it.
    func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> SubmittedMail
}

/// What became of a mail for all its recipients.
package struct SubmittedMail: Sendable {
    /// What lies in the inbox because of it; a mail that a relay refused does, too.
    package let messages: [InboxMessage]
    /// Who doesn't get it, and why.
    package let refusals: [(recipient: String, refusal: MailRefusal)]
    /// How much later whoever sends it is to be answered.
    package var delay = TimeSpan.zero

    package init(_ messages: [InboxMessage], refusals: [(recipient: String, refusal: MailRefusal)] = []) {
        self.messages = messages
        self.refusals = refusals
    }
}
