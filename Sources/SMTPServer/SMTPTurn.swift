extension SMTPSession {
    /// What the connection does next.
    package enum Step: Sendable {
        case reply(SMTPReply)
        /// Replies, and reads the message's data.
        case data(SMTPReply)
        /// Replies, and begins TLS; the session goes on by `didStartTLS`.
        case startTLS(SMTPReply)
        /// Without a reply when there is none.
        case close(SMTPReply?)

        package var reply: SMTPReply? {
            switch self {
            case .reply(let reply), .data(let reply), .startTLS(let reply): reply
            case .close(let reply): reply
            }
        }
    }

    /// A line that has been answered.
    package struct Turn: Sendable {
        package let step: Step
        /// How much later it is to be answered.
        package internal(set) var delay = Duration.zero
        /// The line without what is secret in it.
        package internal(set) var shown = ""
        /// The command that the session refused by itself.
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
