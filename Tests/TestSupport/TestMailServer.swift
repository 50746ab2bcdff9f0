import SMTPServer
import Synchronization

/// A mail server whose answers are chosen by a test.
package final class TestMailServer: MailReceiver {
    /// A message, with the known properties of its client.
    package struct Mail: Sendable {
        package let envelope: MailEnvelope
        package let client: SMTPSession.Client
        package let content: [UInt8]
    }

    /// Returns the answer to a command, by its verb; `.goOn` is the server's own answer.
    private let answer: @Sendable (String, SMTPSession) -> MailDecision
    private let received = Mutex<[Mail]>([])

    package init(_ answer: @escaping @Sendable (String, SMTPSession) -> MailDecision = { _, _ in .goOn }) {
        self.answer = answer
    }

    package var mails: [Mail] { received.withLock { $0 } }

    package func open(_ label: String?) -> any MailConversation { Conversation(self) }

    private final class Conversation: MailConversation {
        private let server: TestMailServer

        init(_ server: TestMailServer) { self.server = server }

        func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision {
            switch question {
            case .mail(let path): server.answer("MAIL \(path.address)", session)
            case .rcpt(let path): server.answer("RCPT \(path.address)", session)
            case .data: server.answer("DATA", session)
            case .auth(let user): server.answer("AUTH \(user)", session)
            case .connect, .hello, .startTLS: .goOn
            }
        }

        func receive(_ message: IncomingMessage, _ session: SMTPSession) -> MailDecision {
            let decision = server.answer("END", session)
            if case .usual = decision.answer {
                server.received.withLock {
                    $0.append(
                        Mail(envelope: message.envelope, client: session.client, content: message.content))
                }
            }
            return decision
        }

        func recordLine(_ line: ConversationLine) {}
        func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession) {}
        func end(_ session: SMTPSession, _ reason: ConversationEnd) {}
    }

    /// Serves on loopback, on a free port by default.
    package func serve(
        certificate: SMTPCertificate? = nil, host: String = "127.0.0.1", port: UInt16 = 0
    ) throws -> SMTPServer {
        var options = SMTPServer.Options()
        options.host = host
        options.certificate = { certificate }
        options.port = port
        return try SMTPServer(options, receiver: self)
    }
}
