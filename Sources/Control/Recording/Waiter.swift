import EmulatorCore
import Synchronization

/// Somebody who waits for exchanges. It looks at each exchange once, on the store's queue; only the first `settle` counts.
final class Waiter: Sendable {
    private struct State {
        var isSettled = false
        var number: Int?
        /// The position of the next exchange to look at.
        var next = 0
        var count = 0
        /// Held until it is settled.
        var lease: Allowance.Lease?
    }

    private let recording: Recording
    private let wanted: Int
    private let matches: @Sendable (KnownExchange) -> Bool
    private let find: @Sendable () -> [KnownExchange]
    private let done: @Sendable ([KnownExchange]) -> Void
    private let state: Mutex<State>

    init(
        _ recording: Recording, lease: Allowance.Lease, count: Int,
        matches: @escaping @Sendable (KnownExchange) -> Bool, find: @escaping @Sendable () -> [KnownExchange],
        done: @escaping @Sendable ([KnownExchange]) -> Void
    ) {
        self.recording = recording
        wanted = count
        self.matches = matches
        self.find = find
        self.done = done
        state = Mutex(State(lease: lease))
    }

    func begin(after id: String?) {
        let number = recording.listen { [self] in look() }
        let known = recording.known()
        let next = known.first + place(after: id, in: known.exchanges)
        state.withLock { state in
            state.number = number
            state.next = next
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
        // What was counted may have been let go since, or its flow was seen differently then.
        if more > 0, count >= wanted, find().count >= wanted { settle() }
    }

    func settle() {
        let (isFirst, number) = state.withLock { state in
            defer {
                state.isSettled = true
                state.lease = nil
            }
            return (!state.isSettled, state.number)
        }
        guard isFirst else { return }
        if let number { recording.stopListening(number) }
        done(find())
    }
}
