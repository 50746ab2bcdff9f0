/// The part of an SMTP server that begins the conversations in which mails are accepted and stored.
package protocol MailReceiver: Sendable {
    /// Begins a conversation with an SMTP client that has connected. `label` names the test world to which the port
    /// belongs; `nil` means that the port serves all test worlds.
    func open(_ label: String?) -> any MailConversation
}

/// Decides which commands and mails of one SMTP client are accepted. Only the thread of the client's connection calls
/// these functions, so they may block.
package protocol MailConversation: AnyObject {
    /// Decides whether an SMTP command is carried out. The command can be refused, or the client can be disconnected.
    func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision
    /// Receives a mail after the end of its data, and decides whether to accept it.
    func receive(_ message: IncomingMessage, _ session: SMTPSession) -> MailDecision
    /// Records a line that the client or the server has sent. Secrets have been removed from it.
    func recordLine(_ line: ConversationLine)
    /// Records that the SMTP server itself refused a command, for example because the command was malformed or out of
    /// order. `verb` is the command's name, `COMMAND` for an unknown command, or `MESSAGE` for the data of a mail.
    func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession)
    func end(_ session: SMTPSession, _ reason: ConversationEnd)
}

/// The reason why an SMTP connection ended.
package enum ConversationEnd: Sendable {
    case quit
    /// The client has closed the connection without QUIT.
    case closedByClient
    case closedByServer
    case silence
    case handshakeFailed
    case serverStopped
}

/// An SMTP command, or a new connection, that a `MailConversation` can refuse.
package enum MailQuestion: Sendable {
    case connect
    case hello(String)
    case startTLS
    /// A log-in by AUTH. Any user name and password are accepted, unless the `MailConversation` refuses the command.
    case auth(user: String)
    case mail(MailPath)
    case rcpt(MailPath)
    case data
}

package enum ConversationLine: Sendable {
    case client(String)
    case server(SMTPReply)
}

/// The decision whether to accept an SMTP command or a mail.
package struct MailDecision: Sendable {
    package enum Answer: Sendable {
        /// The server replies as it does by default.
        case usual
        /// The server sends this reply instead of its own. If the reply is an error, the command isn't carried out.
        case reply(SMTPReply)
        /// The server closes the connection without a reply.
        case disconnect
    }

    package let answer: Answer
    /// The time that the server waits before it replies.
    package let delay: Duration

    package init(_ answer: Answer, after delay: Duration = .zero) {
        self.answer = answer
        self.delay = delay
    }

    package static let goOn = MailDecision(.usual)
    package static let disconnect = MailDecision(.disconnect)
    package static func reply(_ reply: SMTPReply) -> MailDecision { MailDecision(.reply(reply)) }
}

/// A received mail with its envelope.
package struct IncomingMessage: Sendable {
    package let envelope: MailEnvelope
    /// The bytes of the received mail, without the dots that the client has added for SMTP. CR LF ends each line.
    package let content: [UInt8]

    package init(_ envelope: MailEnvelope, _ content: [UInt8]) {
        self.envelope = envelope
        self.content = content
    }
}
