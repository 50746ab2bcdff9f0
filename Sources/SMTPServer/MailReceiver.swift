/// What decides about mail.
package protocol MailReceiver: Sendable {
    /// A client has connected. `label` is that of the port: the world that all its mail is for.
    func open(_ label: String?) -> any MailConversation
}

/// What decides about one client's mail. Only the connection's thread uses it, and may wait in it.
package protocol MailConversation: AnyObject {
    /// Before the session carries a command out that it would take.
    func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision
    /// At the end of a message's data.
    func take(_ message: IncomingMessage, _ session: SMTPSession) -> MailDecision
    /// A line that the client sent, or a reply. Nothing secret is in it.
    func note(_ line: ConversationLine)
    /// The server has answered for itself, with a refusal: the command was out of order, say, or can't be read. `verb` is the
    /// command's, if it is known.
    func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession)
    /// The connection is over.
    func end(_ session: SMTPSession, _ reason: ConversationEnd)
}

/// Why a connection is over.
package enum ConversationEnd: Sendable {
    /// The client has said QUIT.
    case quit
    /// The client has closed the connection.
    case closedByClient
    /// The receiver or the session decided so.
    case closedByServer
    /// Nothing came for too long.
    case silence
    case handshakeFailed
    case serverStopped
}

/// What a receiver is asked.
package enum MailQuestion: Sendable {
    case connect
    case hello(String)
    case startTLS
    /// Any user name and password are taken, unless the receiver decides otherwise.
    case auth(user: String)
    case mail(MailPath)
    case rcpt(MailPath)
    case data
}

package enum ConversationLine: Sendable {
    case client(String)
    case server(SMTPReply)
}

/// What becomes of a command or a message.
package struct MailDecision: Sendable {
    package enum Answer: Sendable {
        /// The session's own.
        case usual
        /// In place of it. Where this is a refusal, the command isn't carried out.
        case reply(SMTPReply)
        /// The connection is closed without a reply.
        case disconnect
    }

    package let answer: Answer
    /// How much later the answer is sent.
    package let delay: Duration

    package init(_ answer: Answer, after delay: Duration = .zero) {
        self.answer = answer
        self.delay = delay
    }

    package static let goOn = MailDecision(.usual)
    package static let disconnect = MailDecision(.disconnect)
    package static func reply(_ reply: SMTPReply) -> MailDecision { MailDecision(.reply(reply)) }
}

/// A message as it came in, with its envelope.
package struct IncomingMessage: Sendable {
    package let envelope: MailEnvelope
    /// As it was sent, lines ended by CR LF.
    package let content: [UInt8]

    package init(_ envelope: MailEnvelope, _ content: [UInt8]) {
        self.envelope = envelope
        self.content = content
    }
}
