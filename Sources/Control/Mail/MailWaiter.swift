import EmulatorCore
import HTTPServer
import Synchronization

/// Waits for a message that matches. It works on the inbox's queue.
final class MailWaiter: Sendable {
    private struct State {
        var isSettled = false
        var done: (@Sendable () -> Void)?
        var number: Int?
        /// The number of the last message that was examined.
        var seen: Int
        /// The waiting request's lease, released when the wait ends.
        var lease: Allowance.Lease?
    }

    private let world: World
    private let query: MailQuery
    private let state: Mutex<State>

    init(_ world: World, _ query: MailQuery, _ lease: Allowance.Lease) {
        self.world = world
        self.query = query
        state = Mutex(State(seen: query.after ?? 0, lease: lease))
    }

    /// Returns the matching messages as soon as there is one; when the time is up or the task is cancelled, those that
    /// there are.
    func found(within limit: Duration) async -> [InboxMessage] {
        let queue = world.inboxQueue
        let timer = Timer.after(limit) { [self] in queue.async { [self] in settle() } }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { [self] in begin { continuation.resume() } }
            }
        } onCancel: {
            timer.fireNow()
        }
        timer.cancel()
        // This is outside of `begin`, so that a failure of the store reaches the request.
        return await world.searchInbox { [self] in query.find(in: world) }
    }

    private func begin(_ done: @escaping @Sendable () -> Void) {
        let number = world.inboxListeners.listen { [self] in look() }
        let isSettled = state.withLock { state in
            (state.number, state.done) = (number, done)
            return state.isSettled
        }
        guard !isSettled else {
            world.inboxListeners.stopListening(number)
            return done()
        }
        look()
    }

    private func look() {
        let seen = state.withLock { $0.isSettled ? nil : $0.seen }
        guard let seen else { return }
        let (fresh, last) = world.read { ($0.messages(after: seen), $0.inbox.last) }
        // A reset starts the numbers again.
        state.withLock { $0.seen = max(min(seen, last), fresh.last?.number ?? 0) }
        if fresh.contains(where: { query.matches($0, in: world) }) { settle() }
    }

    private func settle() {
        let (number, done) = state.withLock { state in
            defer { (state.isSettled, state.lease, state.done) = (true, nil, nil) }
            return (state.number, state.done)
        }
        guard let done else { return }
        if let number { world.inboxListeners.stopListening(number) }
        done()
    }
}
