import Dispatch
import Synchronization

/// The listeners to a world's exchanges, or to its messages. While there are none, a notification costs one atomic
/// read.
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
    package init(on queue: DispatchQueue) { self.queue = queue }

    package var isListenedTo: Bool { hasAny.load(ordering: .relaxed) }

    /// Calls `listener` after each change, until `stopListening` is called with the number that this returns.
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

    /// Notifies each listener once, even if called several times before they have run.
    package func tell() {
        guard hasAny.load(ordering: .acquiring), !isTelling.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        queue.async { [self] in
            isTelling.store(false, ordering: .releasing)
            for listener in state.withLock({ Array($0.all.values) }) { listener() }
        }
    }
}
