import Dispatch
import Synchronization

/// Something that a thread waits for, and that is done together with what others wait for.
class BatchItem: @unchecked Sendable {
    fileprivate let semaphore = DispatchSemaphore(value: 0)
    /// Written before the semaphore is signalled.
    fileprivate var isDone = false
}

/// Does together what many threads want at the same time: one of them does it for all that wait when it begins.
final class Batches<Item: BatchItem>: Sendable {
    private struct State {
        var waiting: [Item] = []
        var isLed = false
    }

    private let state = Mutex(State())

    /// Returns when the item is done: by `work` on this thread, with those that wait, or by another thread's. What is done with it
    /// has begun after this was called.
    func run(_ item: Item, atMost limit: Int, _ work: ([Item]) -> Void) {
        let leads = state.withLock { state in
            state.waiting.append(item)
            defer { state.isLed = true }
            return !state.isLed
        }
        if !leads {
            item.semaphore.wait()
            guard !item.isDone else { return }
        }
        let batch = state.withLock { state in
            defer { state.waiting.removeFirst(min(limit, state.waiting.count)) }
            return Array(state.waiting.prefix(limit))
        }
        work(batch)
        for other in batch where other !== item {
            other.isDone = true
            other.semaphore.signal()
        }
        // Whoever waits first is next.
        let next = state.withLock { state in
            state.isLed = !state.waiting.isEmpty
            return state.waiting.first
        }
        next?.semaphore.signal()
    }
}
