import EmulatorCore
import HTTPServer
import Synchronization

/// Waits for exchanges that match. It examines each exchange once, on the store's queue.
final class Waiter: Sendable {
    private struct State {
        var isSettled = false
        /// The function that gets the exchanges that were found.
        var done: (@Sendable ([KnownExchange]) -> Void)?
        var number: Int?
        /// The position of the next exchange to examine.
        var next = 0
        var count = 0
        /// The waiting request's lease, released when the wait ends.
        var lease: Allowance.Lease?
    }

    private let recording: Recording
    private let wanted: Int
    private let matches: @Sendable (KnownExchange) -> Bool
    private let find: @Sendable () -> [KnownExchange]
    private let state: Mutex<State>

    init(
        _ recording: Recording, lease: Allowance.Lease, count: Int,
        matches: @escaping @Sendable (KnownExchange) -> Bool, find: @escaping @Sendable () -> [KnownExchange]
    ) {
        self.recording = recording
        wanted = count
        self.matches = matches
        self.find = find
        state = Mutex(State(lease: lease))
    }

    /// Returns the matching exchanges after the exchange `id`, as soon as there are enough; when the time is up or the
    /// task is cancelled, those that there are.
    func found(after id: String?, within limit: Duration) async -> [KnownExchange] {
        let timer = Timer.after(limit) { [self] in recording.store.queue.async { [self] in settle() } }
        let found = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                recording.store.queue.async { [self] in begin(after: id) { continuation.resume(returning: $0) } }
            }
        } onCancel: {
            timer.fireNow()
        }
        // The timer would keep a reference to the recording, and so to a world that is removed.
        timer.cancel()
        return found
    }

    private func begin(after id: String?, _ done: @escaping @Sendable ([KnownExchange]) -> Void) {
        let number = recording.listen { [self] in look() }
        let known = recording.known()
        let next = known.first + place(after: id, in: known.exchanges)
        let isSettled = state.withLock { state in
            state.number = number
            state.next = next
            state.done = done
            return state.isSettled
        }
        guard !isSettled else {
            recording.stopListening(number)
            return done(find())
        }
        look()
    }

    private func look() {
        let next = state.withLock { $0.isSettled ? nil : $0.next }
        guard let next else { return }
        let fresh = recording.known(from: next)
        let more = fresh.exchanges.filter(matches).count
        let count = state.withLock { state in
            state.next = fresh.first + fresh.exchanges.count
            state.count += more
            return state.count
        }
        // Exchanges that were counted may have been dropped from the recording, or belong to another flow by now.
        if more > 0, count >= wanted, find().count >= wanted { settle() }
    }

    private func settle() {
        let (number, done) = state.withLock { state in
            defer {
                state.isSettled = true
                state.lease = nil
                state.done = nil
            }
            return (state.number, state.done)
        }
        guard let done else { return }
        if let number { recording.stopListening(number) }
        done(find())
    }
}
