import Dispatch
import EmulatorCore
import HTTPServer
import Recordings
import Synchronization

/// Waits for something that comes with news: with the exchanges of a recording, or the messages of an inbox. It looks
/// again after each of them, on their queue.
final class Waiter: Sendable {
    /// The answer that no client reads.
    static let unread = Response(status: 204)

    private struct State {
        var isSettled = false
        var done: (@Sendable () -> Void)?
        /// The number under which the waiter listens for news, to stop listening by it.
        var number: Int?
        /// The waiting request's lease, released when the wait ends.
        var lease: Allowance.Lease?
    }

    private let world: World
    private let queue: DispatchQueue
    private let listen: @Sendable (@escaping @Sendable () -> Void) -> Int
    private let stopListening: @Sendable (Int) -> Void
    /// Examines what has come since the position, and moves the position.
    private let isThere: @Sendable (inout Int?) -> Bool
    private let position = Mutex<Int?>(nil)
    private let state: Mutex<State>

    /// Makes a waiter for exchanges. `isThere` gets those that have come since it was last called, at first those after
    /// the exchange `id`.
    init(
        for world: World, _ lease: Allowance.Lease, after id: String?,
        until isThere: @escaping @Sendable ([KnownExchange]) -> Bool
    ) {
        let recording = world.recording
        self.world = world
        queue = recording.store.queue
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

    /// Makes a waiter for a message. `isThere` gets each one that has come since it was last called, at first those
    /// after the message `number`.
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

    /// Waits until the wanted exchange or message is there, the time is up, the world is removed, or the client has
    /// disconnected. Returns `false` if the client has disconnected, so that nothing is looked up for it.
    func wait(atMost limit: Duration) async -> Bool {
        // It doesn't wait for the queue, in which hundreds of requests may look: its lease is free at once.
        let timer = Timer.after(limit) { [self] in settle() }
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
        let number = listen { [self] in look() }
        let isSettled = state.withLock { state in
            (state.number, state.done) = (number, done)
            return state.isSettled
        }
        guard !isSettled else {
            stopListening(number)
            return done()
        }
        look()
    }

    private func look() {
        guard !state.withLock({ $0.isSettled }) else { return }
        if position.withLock({ isThere(&$0) }) { settle() }
    }

    private func settle() {
        let (number, done) = state.withLock { state in
            defer { (state.isSettled, state.done, state.lease) = (true, nil, nil) }
            return (state.number, state.done)
        }
        guard let done else { return }
        if let number { stopListening(number) }
        done()
    }
}
