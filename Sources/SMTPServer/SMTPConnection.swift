import Platform

/// The connection of one SMTP client. It reads the client's lines and sends the replies. The session checks each
/// command, and the `MailConversation` decides whether to accept valid commands and mails.
struct SMTPConnection: ~Copyable {
    private let stream: SMTPStream
    private let server: SMTPServer.Shared
    private let conversation: any MailConversation
    private var session: SMTPSession

    init(_ descriptor: Int32, label: String?, _ server: SMTPServer.Shared) {
        stream = SMTPStream(descriptor, patience: max(1, min(10, server.options.silence)))
        self.server = server
        conversation = server.receiver.open(label)
        session = SMTPSession(host: server.options.name, offersTLS: server.options.certificate() != nil)
    }

    mutating func run() {
        let reason: ConversationEnd
        do throws(SMTPStream.End) {
            reason = try converse()
        } catch {
            switch error {
            case .closed where server.isStopping:
                say(SMTPReply(421, "4.3.2", "the server stops"))
                reason = .serverStopped
            case .closed: reason = .closedByClient
            case .silent:
                say(SMTPReply(421, "4.4.2", "the client sent nothing for too long"))
                reason = .silence
            }
        }
        stream.flush()
        conversation.end(session, reason)
    }

    private var silence: ContinuousClock.Instant { .now + .seconds(server.options.silence) }

    private func say(_ reply: SMTPReply) {
        conversation.recordLine(.server(reply))
        stream.write(reply.text)
    }

    private mutating func converse() throws(SMTPStream.End) -> ConversationEnd {
        let receiver = conversation
        guard send(session.greeting { receiver.decide($0, $1) }) else { return .closedByServer }
        while true {
            let line = try stream.line(limit: SMTPSession.lineLimit, until: silence)
            let turn = session.receive(line) { receiver.decide($0, $1) }
            conversation.recordLine(.client(turn.shown))
            let isOpen = send(turn)
            if let verb = turn.refused, let reply = turn.step.reply { conversation.didRefuse(verb, reply, session) }
            guard isOpen else { return turn.isLeave ? .quit : .closedByServer }
            switch turn.step {
            case .reply, .close: break
            case .startTLS: guard startTLS() else { return .handshakeFailed }
            case .data: guard try readMessage() else { return .closedByServer }
            }
        }
    }

    /// Sends the reply to an SMTP command. Returns `false` if the connection must be closed.
    private func send(_ turn: SMTPSession.Turn) -> Bool {
        if turn.delay > .zero { stream.wait(turn.delay) { !server.isStopping } }
        if let reply = turn.step.reply { say(reply) }
        guard case .close = turn.step else { return true }
        return false
    }

    private mutating func startTLS() -> Bool {
        guard let certificate = server.options.certificate(), stream.startTLS(certificate, until: silence) else {
            return false
        }
        session.didStartTLS()
        return true
    }

    private mutating func readMessage() throws(SMTPStream.End) -> Bool {
        var data = MessageData(limit: SMTPSession.messageLimit)
        let part = MessageRoom.Part(of: server.room)
        // A client that sends an octet now and then must not hold the connection for ever.
        let end = ContinuousClock.now + .seconds(2 * server.options.silence)
        while !data.isComplete {
            try stream.use(data.consume(stream.read(until: min(end, silence))))
            if !data.isDropped, !part.grow(to: data.bytes.count) { data.drop() }
        }
        let refusal = refusal(of: data)
        let decision =
            refusal.map { .reply($0) }
            ?? conversation.receive(IncomingMessage(session.envelope, data.bytes), session)
        defer {
            if let refusal { conversation.didRefuse("MESSAGE", refusal, session) }
            session.didTakeMessage()
        }
        if decision.delay > .zero { stream.wait(decision.delay) { !server.isStopping } }
        switch decision.answer {
        case .usual: say(SMTPReply(250, "2.0.0", "ok"))
        case .reply(let reply):
            say(reply)
            return reply.code != 421
        case .disconnect: return false
        }
        return true
    }

    /// Returns the refusal of a mail that was too long, or whose data were discarded because too many mails arrive at
    /// once; `nil` if the mail was kept.
    private func refusal(of data: MessageData) -> SMTPReply? {
        if data.isTooLong { return SMTPSession.tooLong }
        guard data.isDropped else { return nil }
        return SMTPReply(452, "4.3.1", "too many messages arrive at once: try again later")
    }
}

extension SMTPSession.Turn {
    fileprivate var isLeave: Bool { step.reply?.code == 221 }
}
