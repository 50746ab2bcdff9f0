import Dispatch
import Synchronization

/// Carries calls out: in the order in which they come, and beside that the ones that wait for something.
final class CallQueue: Sendable {
    /// How many calls may be under way or in the queue.
    static let limit = 100
    /// How many may wait for something at the same time: each holds a thread.
    static let waitingLimit = 16

    private let inOrder = DispatchQueue(label: "calls")
    private let aside = DispatchQueue(label: "waiting calls", attributes: .concurrent)
    private let group = DispatchGroup()
    private let counts = Mutex((all: 0, waiting: 0))

    /// `false` when there are too many; then `work` isn't carried out.
    func add(waits: Bool, _ work: @escaping @Sendable () -> Void) -> Bool {
        let hasRoom = counts.withLock { counts in
            guard counts.all < CallQueue.limit, !waits || counts.waiting < CallQueue.waitingLimit else { return false }
            counts.all += 1
            if waits { counts.waiting += 1 }
            return true
        }
        guard hasRoom else { return false }
        (waits ? aside : inOrder).async(group: group) { [self] in
            work()
            counts.withLock { counts in
                counts.all -= 1
                if waits { counts.waiting -= 1 }
            }
        }
        return true
    }

    /// Waits until all have ended, at most so many seconds.
    func finish(within seconds: Int) { _ = group.wait(timeout: .now() + .seconds(seconds)) }
}
