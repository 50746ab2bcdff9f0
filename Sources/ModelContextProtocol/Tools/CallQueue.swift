import Dispatch
import Synchronization

/// Carries out tool calls one after the other, in the order of their arrival. Only calls that wait for something run at
/// the same time as other calls.
final class CallQueue: Sendable {
    /// The greatest number of tool calls that are running or queued.
    static let limit = 100
    /// The greatest number of tool calls that wait for something at the same time. Each of them occupies a thread.
    static let waitingLimit = 16

    private let inOrder = DispatchQueue(label: "calls")
    private let aside = DispatchQueue(label: "waiting calls", attributes: .concurrent)
    private let group = DispatchGroup()
    private let counts = Mutex((all: 0, waiting: 0))

    /// Adds a tool call to the queue. Returns `false`, without running `work`, if there are too many calls.
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

    func finish(within seconds: Int) { _ = group.wait(timeout: .now() + .seconds(seconds)) }
}
