extension SMTPSession {
    /// The connection's next step.
    package enum Step: Sendable {
        case reply(SMTPReply)
        /// Reply, and read the message's data.
        case data(SMTPReply)
        /// Reply, and begin TLS; the session continues with `didStartTLS`.
        case startTLS(SMTPReply)
        /// Reply, if there is a reply, and close the connection.
        case close(SMTPReply?)

        package var reply: SMTPReply? {
            switch self {
            case .reply(let reply), .data(let reply), .startTLS(let reply): reply
            case .close(let reply): reply
            }
        }
    }

    /// The result of a line.
    package struct Turn: Sendable {
        package let step: Step
        /// The delay before the answer is sent.
        package internal(set) var delay = Duration.zero
        /// The line without secrets.
        package internal(set) var shown = ""
        /// The verb of a command that the session refused by itself.
        package internal(set) var refused: String?

        init(_ step: Step) { self.step = step }

        static func reply(_ code: Int, _ status: String?, _ line: String) -> Turn {
            Turn(.reply(SMTPReply(code, status, line)))
        }
    }
}

extension SMTPSession.Turn {
    func showing(_ line: String) -> Self {
        guard shown.isEmpty else { return self }
        var turn = self
        turn.shown = line
        return turn
    }
}
