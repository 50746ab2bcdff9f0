import EmulatorCore
import Recordings
import SMTPServer

/// An SMTP command, with the mail's sender and the recipients that the command concerns. These data decide whether a
/// requested fault applies to the command.
struct Asked {
    let step: SMTPStep
    private(set) var sender: String?
    private(set) var recipients: [String] = []
    private var user: String?

    init(_ question: MailQuestion, _ session: SMTPSession) {
        user = session.client.user
        switch question {
        case .connect: step = .connect
        case .hello: step = .hello
        case .startTLS: step = .startTLS
        case .auth(let name):
            step = .auth
            user = name
        case .mail(let path):
            step = .mail
            sender = path.address
        case .rcpt(let path):
            step = .recipient
            sender = session.envelope.sender
            recipients = [path.address]
        case .data:
            step = .data
            sender = session.envelope.sender
            recipients = session.envelope.recipients
        }
    }

    func mail(_ session: SMTPSession) -> RecordedMail {
        RecordedMail(
            sender: sender, recipients: recipients, user: user, isSecure: session.client.isSecure, messages: [])
    }
}

extension RecordedMail {
    func with(messages: [String]) -> RecordedMail {
        RecordedMail(sender: sender, recipients: recipients, user: user, isSecure: isSecure, messages: messages)
    }
}

extension FaultEffect {
    var replacesAnswer: Bool { reply != nil || disconnect != nil }

    /// The reply, or the closing of the connection, with which the fault replaces the mail server's own reply.
    var answerToMail: MailDecision.Answer {
        guard let reply else { return disconnect == nil ? .usual : .disconnect }
        return .reply(SMTPReply(reply.code, reply.status, reply.text))
    }
}
