import ClientConnection
import Dispatch
import EmulatorCore
import Platform
import SMTPClient
import Synchronization

/// Hands on to a mail server what is put into inboxes, as its recipients get it: `serve --smtp-forward`. One thread does, over one
/// connection as long as there is work.
package final class MailQueue: MailForwarding {
    package struct Options: Sendable {
        package let destination: MailServerAddress
        /// How long a message waits after its first attempt, its second…, and the queue after failures to connect.
        package var pauses = [1, 2, 4, 8, 16, 32, 60].map { Duration.seconds($0) }
        /// How long it is tried.
        package var lifetime = Duration.seconds(3_600)
        /// How many messages wait at most, and how many bytes of them.
        package var limit = (messages: 10_000, bytes: 64 << 20)
        package var patience = SMTPConnection.Patience()
        /// How long a connection is kept when nothing is due.
        package var idle = Duration.seconds(1)
        /// What is tried when the daemon stops, and for how long.
        package var farewell = Duration.seconds(1)

        package init(to destination: MailServerAddress) { self.destination = destination }
    }

    struct State {
        var queue: RetryQueue
        var results = HandedOnResults()
        /// Messages and bytes that wait, the one that is being sent included.
        var messages = 0
        var bytes = 0
        /// Of each inbox.
        var messagesOfInbox: [Int: Int] = [:]
        /// What is being sent; `nil` also when it isn't wanted any more.
        var current: QueuedMail.Key?
        var forwarded = 0
        var failed = 0
        var lastError: String?
        /// Why there is no connection, how often in a row there was none, and until when none is tried.
        var connectionError: String?
        var connectionFailures = 0
        var nextConnection: ContinuousClock.Instant?
        var socket: ClientSocket?
        var hasThread = false
        /// Until when what waits is tried, once the daemon stops.
        var end: ContinuousClock.Instant?
        /// Messages that nobody will get, because the daemon stops.
        var lost = 0
    }

    let options: Options
    let notices: Notices
    package let trace: MailTrace
    let state: Mutex<State>
    let wake = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)

    package init(_ options: Options, notices: Notices, trace: MailTrace = MailTrace()) {
        self.trace = trace
        self.options = options
        self.notices = notices
        state = Mutex(State(queue: RetryQueue(pauses: options.pauses)))
    }

    // MARK: - What comes in

    package func didDeliver(_ row: InboxMessage, in world: World) {
        guard row.message.kind == .mail, !row.message.isUndelivered else { return }
        let key = QueuedMail.Key(inbox: world.inboxNumber, message: row.number)
        let now = ContinuousClock.now
        let mail = QueuedMail(key: key, row: row, recipients: row.handOnRecipients, since: now, due: now)
        let (obstacle, needsThread) = state.withLock { state -> (String?, Bool) in
            if let obstacle = self.obstacle(to: mail, &state) {
                state.fail(key, obstacle)
                if state.end != nil { state.lost += 1 }
                return (obstacle, false)
            }
            state.count(mail, 1)
            state.queue.add(mail, now: now)
            defer { state.hasThread = true }
            return (nil, !state.hasThread)
        }
        if let obstacle {
            return notices.tell(.mailQueue, "mail \(row.id) isn't handed on to \(options.destination): \(obstacle)")
        }
        // Its world may have been reset since it was put into the inbox.
        if world.inboxNumber != key.inbox { forget(key.inbox) }
        if needsThread { start() }
        wake.signal()
    }

    package func isLoop(_ message: [UInt8]) -> Bool { trace.isLoop(message) }

    private func obstacle(to mail: QueuedMail, _ state: inout State) -> String? {
        if state.end != nil { return "the daemon stops" }
        guard state.messages < options.limit.messages, state.bytes + mail.size <= options.limit.bytes else {
            return "the queue is full, with \(state.messages) messages of \(state.bytes) bytes"
        }
        return nil
    }

    private func start() {
        // The stack holds TLS.
        guard !WorkThread.start(stack: 512 << 10, { [self] in work() }) else { return }
        state.withLock { $0.hasThread = false }
        notices.tell(.mailQueue, "the system gives no thread for handing on mail: the next mail asks again")
    }

    package func forget(_ inbox: Int) {
        state.withLock { state in
            guard state.messagesOfInbox[inbox] != nil else { return }
            for mail in state.queue.remove(where: { $0.key.inbox == inbox }) { state.count(mail, -1) }
            if state.current?.inbox == inbox { state.current = nil }
        }
    }

    // MARK: - What is told

    package func handedOn(_ id: String, in world: World) -> HandedOn? {
        guard let number = InboxMessage.number(of: id) else { return nil }
        let key = QueuedMail.Key(inbox: world.inboxNumber, message: number)
        return state.withLock { state in
            guard let result = state.results[key] else { return nil }
            guard result.state == .queued, result.error == nil else { return result }
            return HandedOn(.queued, error: state.connectionError)
        }
    }

    package var status: ForwardingStatus {
        state.withLock { state in
            let oldest = state.queue.oldest.map { Int(clamping: $0.duration(to: .now).components.seconds) }
            return ForwardingStatus(
                to: "\(options.destination)", queued: state.messages, oldest: state.messages == 0 ? nil : oldest ?? 0,
                lastError: state.lastError, forwarded: state.forwarded, failed: state.failed)
        }
    }

    /// Tries for a moment to hand on what waits, and says how much nobody will get.
    package func stop() {
        let (isFirst, hasThread) = state.withLock { state -> (Bool, Bool) in
            guard state.end == nil else { return (false, false) }
            state.end = .now.advanced(by: options.farewell)
            state.queue.makeAllDue(.now)
            state.nextConnection = nil
            return (true, state.hasThread)
        }
        guard isFirst else { return }
        if hasThread {
            wake.signal()
            let seconds = options.farewell / .seconds(1)
            if hasEnded.wait(timeout: .now() + seconds) == .timedOut { state.withLock { $0.socket?.shutDown() } }
        }
        let (lost, reason) = state.withLock { ($0.lost + $0.messages, $0.lastError) }
        guard lost > 0 else { return }
        notices.warn(
            "\(lost) \(lost == 1 ? "mail was" : "mails were") never handed on to \(options.destination)"
                + (reason.map { ": \($0)" } ?? ""))
    }
}

extension MailQueue.State {
    /// Counts a message that waits from now on (1), or doesn't any more (-1).
    mutating func count(_ mail: QueuedMail, _ change: Int) {
        messages += change
        bytes += change * mail.size
        let left = messagesOfInbox[mail.key.inbox, default: 0] + change
        messagesOfInbox[mail.key.inbox] = left > 0 ? left : nil
        if change > 0 { results[mail.key] = HandedOn(.queued) } else { results.forget(mail.key) }
    }

    mutating func fail(_ key: QueuedMail.Key, _ error: String) {
        results.finish(key, HandedOn(.failed, error: error))
        failed += 1
        lastError = error
    }

    mutating func succeed(_ key: QueuedMail.Key) {
        results.finish(key, HandedOn(.sent))
        forwarded += 1
    }
}

/// What became of messages: of all that wait, and of the last ones that don't any more.
struct HandedOnResults {
    private static let limit = 10_000
    private var states: [QueuedMail.Key: HandedOn] = [:]
    private var finished = FIFO<QueuedMail.Key>()

    subscript(key: QueuedMail.Key) -> HandedOn? {
        get { states[key] }
        set { states[key] = newValue }
    }

    mutating func forget(_ key: QueuedMail.Key) { states[key] = nil }

    mutating func finish(_ key: QueuedMail.Key, _ result: HandedOn) {
        states[key] = result
        finished.append(key)
        if finished.count > HandedOnResults.limit, let oldest = finished.popFirst() { states[oldest] = nil }
    }
}
