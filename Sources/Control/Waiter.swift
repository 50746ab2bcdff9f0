import Dispatch
import EmulatorCore
import HTTPServer
import Recordings
import Synchronization

/// Waits until a recorded request or a message in an inbox meets a condition.
final class Waiter: Sendable {
    /// A placeholder for the answer to a client that has disconnected, and so won't read it.
    static let unread = Response(status: 204)

    private struct State {
        var isSettled = false
        var done: (@Sendable () -> Void)?
        /// The number with which the waiting call stops listening for new requests or messages; `nil` if it hasn't
        /// begun to listen.
        var number: Int?
        /// Counts the waiting call against the limit on calls that wait at once. It is released when the call stops
        /// waiting.
        var lease: Allowance.Lease?
    }

    private let world: World
    private let queue: DispatchQueue
    private let listen: @Sendable (@escaping @Sendable () -> Void) -> Int
    private let stopListening: @Sendable (Int) -> Void
    /// Examines the requests or messages after a position, moves the position behind them, and returns whether the
    /// wanted one is among them.
    private let isThere: @Sendable (inout Int?) -> Bool
    private let position = Mutex<Int?>(nil)
    private let state: Mutex<State>

    /// Makes a waiter for recorded requests. The closure `isThere` is called with new requests until it returns `true`,
    /// which ends the wait. Its first call gets the requests that were recorded after the request `id`. Each later call
    /// gets the requests that were recorded since the previous call.
    init(
        for world: World, _ lease: Allowance.Lease, after id: String?,
        until isThere: @escaping @Sendable ([KnownExchange]) -> Bool
    ) {
        let recording = world.recording
        self.world = world
        queue = recording.queue
        listen = { recording.listen($0) }
        stopListening = { recording.stopListening($0) }
        self.isThere = { position in
            let known = recording.known(from: position ?? 0)
            let fresh = known.exchanges.dropFirst(position == nil ? place(after: id, in: known.exchanges) : 0)
            position = known.first + known.exchanges.count
            return !fresh.isEmpty && isThere(Array(fresh))
        }
        state = Mutex(State(lease: lease))
    }

    /// Makes a waiter for messages in an inbox. The closure `isThere` is called with each new message until it returns
    /// `true`, which ends the wait. The first of the new messages is the one after the message `number`.
    init(
        inboxOf world: World, _ lease: Allowance.Lease, after number: Int,
        until isThere: @escaping @Sendable (InboxMessage) -> Bool
    ) {
        self.world = world
        queue = world.inboxQueue
        listen = { world.inboxListeners.listen($0) }
        stopListening = { world.inboxListeners.stopListening($0) }
        self.isThere = { position in
            let seen = position ?? number
            let (fresh, last) = world.read { ($0.messages(after: seen), $0.inbox.last) }
            // A reset starts the numbers again.
            position = max(min(seen, last), fresh.last?.number ?? 0)
            return fresh.contains(where: isThere)
        }
        state = Mutex(State(lease: lease))
    }

    /// Returns `true` when the wanted request or message is there, the time is up, or the test world is removed.
    /// Returns `false` when the client has disconnected and needs no answer.
    func wait(atMost limit: Duration) async -> Bool {
        // It doesn't wait for the queue, in which hundreds of requests may look: its lease is free at once.
        let timer = Timer.after(limit) { [self] in finish() }
        let number = world.streams.whenEnded { timer.fireNow() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { [self] in begin { continuation.resume() } }
            }
        } onCancel: {
            timer.fireNow()
        }
        // The timer would keep a reference to the recording, and so to a world that is removed.
        timer.cancel()
        world.streams.forget(number)
        return !Task.isCancelled
    }

    private func begin(_ done: @escaping @Sendable () -> Void) {
        let number = listen { [self] in finishIfThere() }
        let isSettled = state.withLock { state in
            (state.number, state.done) = (number, done)
            return state.isSettled
        }
        guard !isSettled else {
            stopListening(number)
            return done()
        }
        finishIfThere()
    }

    private func finishIfThere() {
        guard !state.withLock({ $0.isSettled }) else { return }
        if position.withLock({ isThere(&$0) }) { finish() }
    }

    private func finish() {
        let (number, done) = state.withLock { state in
            defer { (state.isSettled, state.done, state.lease) = (true, nil, nil) }
            return (state.number, state.done)
        }
        guard let done else { return }
        if let number { stopListening(number) }
        done()
    }
}
