/// Receives the mail of a server, and decides about it.
package protocol MailReceiver: Sendable {
    /// Begins a conversation with a client that has connected. `label` is the label of the port, which names the world that all mail to this port is for.
    func open(_ label: String?) -> any MailConversation
}

/// Decides about the mail of one client. Only the connection's thread calls it, and it may block that thread.
package protocol MailConversation: AnyObject {
    /// Decides about a command before the session carries it out.
    func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision
    /// Receives a message at the end of its data.
    func take(_ message: IncomingMessage, _ session: SMTPSession) -> MailDecision
    /// Records a line that the client sent, or a reply. Secrets have been removed.
    func note(_ line: ConversationLine)
    /// Records a refusal by the server itself: for example, the command was out of order or couldn't be read. `verb` is
    /// the command's, if it is known.
    func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession)
    /// Ends the conversation.
    func end(_ session: SMTPSession, _ reason: ConversationEnd)
}

/// The reason why a connection ended.
package enum ConversationEnd: Sendable {
    /// The client has sent QUIT.
    case quit
    /// The client has closed the connection.
    case closedByClient
    /// The receiver or the session has closed the connection.
    case closedByServer
    /// The client was silent for too long.
    case silence
    case handshakeFailed
    case serverStopped
}

/// A command that a receiver decides about.
package enum MailQuestion: Sendable {
    case connect
    case hello(String)
    case startTLS
    /// A log-in. Any user name and password are accepted, unless the receiver decides otherwise.
    case auth(user: String)
    case mail(MailPath)
    case rcpt(MailPath)
    case data
}

package enum ConversationLine: Sendable {
    case client(String)
    case server(SMTPReply)
}

/// The decision about a command or a message.
package struct MailDecision: Sendable {
    package enum Answer: Sendable {
        /// The session's usual answer.
        case usual
        /// This reply instead. If it is a refusal, the command isn't carried out.
        case reply(SMTPReply)
        /// The connection is closed without a reply.
        case disconnect
    }

    package let answer: Answer
    /// The delay before the answer is sent.
    package let delay: Duration

    package init(_ answer: Answer, after delay: Duration = .zero) {
        self.answer = answer
        self.delay = delay
    }

    package static let goOn = MailDecision(.usual)
    package static let disconnect = MailDecision(.disconnect)
    package static func reply(_ reply: SMTPReply) -> MailDecision { MailDecision(.reply(reply)) }
}

/// A received message, with its envelope.
package struct IncomingMessage: Sendable {
    package let envelope: MailEnvelope
    /// The bytes of the message, unchanged, with CR LF at the end of each line.
    package let content: [UInt8]

    package init(_ envelope: MailEnvelope, _ content: [UInt8]) {
        self.envelope = envelope
        self.content = content
    }
}
