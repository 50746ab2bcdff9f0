import Dispatch
import Synchronization

/// Those who wait for what happens in a world: for exchanges, or for messages. As long as there are none, it costs no more than
/// asking whether there are.
package final class Listeners: Sendable {
    private struct State {
        var all: [Int: @Sendable () -> Void] = [:]
        var last = 0
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let hasAny = Atomic<Bool>(false)
    private let isTelling = Atomic<Bool>(false)

    /// Listeners are called on `queue`, so that they don't run on workers.
    init(on queue: DispatchQueue) { self.queue = queue }

    package var isListenedTo: Bool { hasAny.load(ordering: .relaxed) }

    /// Calls `listener` when something has come or gone, until `stopListening` with the number that is returned.
    package func listen(_ listener: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.all[state.last] = listener
            hasAny.store(true, ordering: .sequentiallyConsistent)
            return state.last
        }
    }

    package func stopListening(_ number: Int) {
        state.withLock { state in
            state.all[number] = nil
            if state.all.isEmpty { hasAny.store(false, ordering: .sequentiallyConsistent) }
        }
    }

    /// Calls each of them once, however often it is told before they have been.
    func tell() {
        guard hasAny.load(ordering: .acquiring), !isTelling.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        queue.async { [self] in
            isTelling.store(false, ordering: .releasing)
            for listener in state.withLock({ Array($0.all.values) }) { listener() }
        }
    }
}
