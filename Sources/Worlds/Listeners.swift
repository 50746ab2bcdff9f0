import Dispatch
import Synchronization

/// The closures to be called when something happens in a test world: a request was recorded, or a mail arrived.
package final class Listeners: Sendable {
    private struct State {
        var all: [Int: @Sendable () -> Void] = [:]
        var last = 0
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let hasAny = Atomic<Bool>(false)
    private let isTelling = Atomic<Bool>(false)

    /// Makes an empty list of listeners to a test world. They are called on `queue`, so that they don't block the
    /// server's threads.
    package init(on queue: DispatchQueue) { self.queue = queue }

    package var isListenedTo: Bool { hasAny.load(ordering: .relaxed) }

    /// Calls `listener` after each change of a test world's recording or inbox, until `stopListening` is called with
    /// the number that this method returns.
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

    /// Calls each listener of a test world once, even if this method is called several times before the listeners run.
    package func notify() {
        guard hasAny.load(ordering: .acquiring), !isTelling.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        queue.async { [self] in
            isTelling.store(false, ordering: .releasing)
            for listener in state.withLock({ Array($0.all.values) }) { listener() }
        }
    }
}
