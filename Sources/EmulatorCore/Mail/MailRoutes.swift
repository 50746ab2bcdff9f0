import Synchronization
import Time

/// What a daemon does with mail beside keeping it. Whoever does it belongs to the daemon, and is known here only as long as it is
/// there.
package final class MailRoutes: Sendable {
    private struct Routes {
        weak var submission: (any MailSubmission)?
        weak var forwarding: (any MailForwarding)?
    }

    private let routes = Mutex(Routes())

    init() {}

    /// Takes mails as an SMTP server would, whether or not there is a port for SMTP.
    package var submission: (any MailSubmission)? {
        get { routes.withLock { $0.submission } }
        set { routes.withLock { $0.submission = newValue } }
    }

    /// Hands mails on to another server; `nil` where none was named.
    package var forwarding: (any MailForwarding)? {
        get { routes.withLock { $0.forwarding } }
        set { routes.withLock { $0.forwarding = newValue } }
    }
}

/// Takes mails without a connection.
package protocol MailSubmission: AnyObject, Sendable {
    /// Judges a mail and puts it into the inbox, as at the end of its data. `raw` has lines ended by CR LF. `request` is the ID of
    /// the request that brought it.
    func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) -> SubmittedMail
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

/// Hands what lies in inboxes on to another server.
package protocol MailForwarding: AnyObject, Sendable {
    /// A message was just put into an inbox.
    func didDeliver(_ row: InboxMessage, in world: World)
    /// What became of a message; `nil` for one that isn't handed on.
    func handedOn(_ id: String, in world: World) -> HandedOn?
    /// Whether a message that comes in has been handed on before.
    func isLoop(_ message: [UInt8]) -> Bool
    /// A world was reset or removed: what still waits of its inbox, which is `World.inboxNumber`, is forgotten.
    func forget(_ inbox: Int)
    /// For `health`.
    var status: ForwardingStatus { get }
}

/// How handing on goes.
package struct ForwardingStatus: Sendable, Equatable {
    /// Host and port of the server.
    package let destination: String
    /// How many messages wait.
    package let queued: Int
    /// For how many seconds the oldest of them has waited.
    package let oldest: Int?
    /// Why something wasn't taken last.
    package let lastError: String?
    /// Messages since the start.
    package let forwarded: Int
    package let failed: Int

    package init(
        to destination: String, queued: Int, oldest: Int?, lastError: String?, forwarded: Int, failed: Int
    ) {
        self.destination = destination
        self.queued = queued
        self.oldest = oldest
        self.lastError = lastError
        self.forwarded = forwarded
        self.failed = failed
    }
}

/// What became of a message that is handed on to another server.
package struct HandedOn: Sendable, Equatable {
    package enum State: String, Sendable {
        case queued
        case sent
        case failed
    }

    package let state: State
    /// Why it is still waiting, or will never be sent.
    package let error: String?

    package init(_ state: State, error: String? = nil) {
        self.state = state
        self.error = error
    }
}
