import Dispatch
import EmulatorCore
import SMTPClient
import Time

// What the queue's thread does.

extension MailQueue {
    private enum Step {
        case send(QueuedMail)
        case wait(until: ContinuousClock.Instant?)
        case end
    }

    /// What a connection's failure says of the message that it was about.
    private enum Fate {
        /// The server may have closed a connection that was open before: the message is tried over another one at once.
        case again
        case later(String)
        case over(refusals: [String])
    }

    func work() {
        var connection: SMTPConnection?
        while true {
            switch nextStep() {
            case .send(let mail):
                if connection == nil { connection = connect(for: mail) }
                if let open = connection, !send(mail, over: open) {
                    connection = nil
                    state.withLock { $0.socket = nil }
                }
            case .wait(let due):
                let idleEnd = ContinuousClock.now.advanced(by: options.idle)
                let end = connection == nil ? due : min(due ?? idleEnd, idleEnd)
                guard !wait(until: end), let open = connection, end == idleEnd else { continue }
                open.quit()
                connection = nil
                state.withLock { $0.socket = nil }
            case .end:
                connection?.quit()
                state.withLock { $0.socket = nil }
                hasEnded.signal()
                return
            }
        }
    }

    private func nextStep() -> Step {
        let now = ContinuousClock.now
        return state.withLock { state in
            if let end = state.end, end <= now || state.messages == 0 { return .end }
            if let next = state.nextConnection, next > now { return .wait(until: next) }
            guard let mail = state.queue.next(now: now) else { return .wait(until: state.queue.nextDue) }
            state.current = mail.key
            return .send(mail)
        }
    }

    /// `false` when the time was over.
    private func wait(until end: ContinuousClock.Instant?) -> Bool {
        guard let end else {
            wake.wait()
            return true
        }
        let milliseconds = max(0, ContinuousClock.now.duration(to: end) / .milliseconds(1)).rounded(.up)
        return wake.wait(timeout: .now() + .milliseconds(Int(milliseconds))) == .success
    }

    // MARK: - Sending

    /// `nil` when there is no connection now; then the message waits where it was.
    private func connect(for mail: QueuedMail) -> SMTPConnection? {
        var patience = options.patience
        if let end = state.withLock({ $0.end }) {
            patience.connecting = min(patience.connecting, ContinuousClock.now.duration(to: end))
        }
        do throws(SMTPFailure) {
            return try SMTPConnection.open(to: options.destination, patience: patience) { socket in
                state.withLock { $0.socket = socket }
            }
        } catch {
            finish(mail, .again)
            pause(error.description)
            return nil
        }
    }

    /// Nothing is tried for a while, the longer the oftener there was no connection. What has waited too long is given up.
    private func pause(_ error: String) {
        let now = ContinuousClock.now
        let (given, waiting) = state.withLock { state in
            let pause = options.pauses[min(state.connectionFailures, options.pauses.count - 1)]
            state.connectionFailures += 1
            state.connectionError = error
            state.lastError = error
            state.nextConnection = state.end == nil ? now.advanced(by: pause) : nil
            let isLast = state.end != nil
            let given = state.queue.remove { isLast || $0.since.advanced(by: options.lifetime) <= now }
            for mail in given {
                state.count(mail, -1)
                state.fail(mail.key, mail.error ?? error)
                if isLast { state.lost += 1 }
            }
            return (given, state.messages)
        }
        notices.tell(
            .mailServer,
            "mail can't be handed on: \(error); \(waiting) wait"
                + (given.isEmpty ? "" : ", \(given.count) are given up"))
    }

    /// `false` when the connection can't be used any more.
    private func send(_ mail: QueuedMail, over connection: SMTPConnection) -> Bool {
        let wasUsed = connection.count > 0
        do throws(SMTPFailure) {
            let refused = try connection.send(mail.outgoing(trace))
            didSpeak()
            let now = refused.filter { !$0.reply.isTemporary }.map { "\($0.recipient): \($0.reply.text)" }
            let later = refused.filter { $0.reply.isTemporary }
            var mail = mail
            mail.refusals += now
            guard let first = later.first else {
                finish(mail, .over(refusals: []))
                return true
            }
            mail.recipients = later.map(\.recipient)
            finish(mail, .later(first.reply.text))
            return true
        } catch {
            switch error {
            case .refused(let reply):
                didSpeak()
                finish(mail, reply.isTemporary ? .later(reply.text) : .over(refusals: [reply.text]))
                return true
            case .impossible(let reason):
                finish(mail, .over(refusals: [reason]))
                return true
            case .connection(let reason, let mayHaveArrived):
                let isWorthAnother = wasUsed && !mayHaveArrived
                finish(mail, isWorthAnother ? .again : .later(reason))
                if !isWorthAnother { pause(reason) }
                return false
            }
        }
    }

    /// The server does its work.
    private func didSpeak() {
        state.withLock { state in
            state.connectionFailures = 0
            state.connectionError = nil
            state.nextConnection = nil
        }
    }

    private func finish(_ mail: QueuedMail, _ fate: Fate) {
        let now = ContinuousClock.now
        let failure = state.withLock { state -> String? in
            var failure: String?
            // Its world was reset meanwhile.
            let isForgotten = state.current == nil
            state.current = nil
            switch fate {
            case .again where !isForgotten:
                state.queue.putBack(mail)
                return nil
            case .later(let error) where !isForgotten:
                state.lastError = error
                guard state.end == nil, mail.since.advanced(by: options.lifetime) > now else {
                    failure = error
                    if state.end != nil { state.lost += 1 }
                    break
                }
                var mail = mail
                mail.attempts += 1
                mail.error = error
                state.results[mail.key] = HandedOn(.queued, error: error)
                state.queue.add(mail, now: now)
                return nil
            case .over(let refusals):
                let all = mail.refusals + refusals
                if !all.isEmpty { failure = all.joined(separator: "; ") }
            default: break
            }
            state.count(mail, -1)
            if isForgotten { return nil }
            if let failure { state.fail(mail.key, failure) } else { state.succeed(mail.key) }
            return failure
        }
        if let failure {
            notices.tell(
                .refusedMail,
                "mail \(mail.row.id) to \(mail.row.handOnRecipients.joined(separator: ", ")) isn't handed on to "
                    + "\(options.destination): \(failure)")
        }
    }
}

extension QueuedMail {
    /// As its recipients get it.
    func outgoing(_ trace: MailTrace) -> OutgoingMail {
        OutgoingMail(
            from: row.handOnSender, to: recipients, trace: trace.line(row.id, MachineClock.now),
            content: row.handOnContent)
    }
}
