import Dispatch
import Synchronization

/// Carries calls out in the order of their arrival, and calls that wait for something beside them.
final class CallQueue: Sendable {
    /// The most calls that are running or in the queue.
    static let limit = 100
    /// The most calls that wait at the same time. Each of them occupies a thread.
    static let waitingLimit = 16

    private let inOrder = DispatchQueue(label: "calls")
    private let aside = DispatchQueue(label: "waiting calls", attributes: .concurrent)
    private let group = DispatchGroup()
    private let counts = Mutex((all: 0, waiting: 0))

    /// Adds a call. Returns `false` if there are too many; then `work` doesn't run.
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

    /// Waits until all calls have ended, or until this time is over.
    func finish(within seconds: Int) { _ = group.wait(timeout: .now() + .seconds(seconds)) }
}
