import Dispatch
import Synchronization

/// A pool of threads for many short pieces of work that may block. If all its threads are busy, the pool starts a
/// further thread, up to its limit, and keeps it.
///
/// Dispatch's concurrent queues aren't used, because they start too few threads while the work blocks.
package final class WorkThreads: Sendable {
    /// The threads for requests that wait for a database.
    package static let shared = WorkThreads(limit: 64)
    /// The threads for requests that wait for a file on this machine. Two are enough: while one request waits for the
    /// file, another can compute. With four threads, a GitHub sign-in takes 1.6 times the processor time.
    package static let local = WorkThreads(limit: 2)
    /// The threads for requests that take long, such as seeds and snapshots. There are few, because each of these
    /// requests may take a hundred megabytes.
    package static let large = WorkThreads(limit: 4)
    /// The threads that compare passwords with their hashes. Each comparison may take a second and 64 megabytes.
    package static let hashing = WorkThreads(limit: 2)

    private struct State {
        /// The work that hasn't been started. Started work must not be kept, because it refers to other objects, such as
        /// a request's body and its world's seed.
        var works = Queue<@Sendable () -> Void>()
        /// For each owner whose work is running or among `works`, the owner's further work.
        var owners: [String: Queue<@Sendable () -> Void>] = [:]
        var threads = 0
        /// The number of the pool's threads that have no work. A thread that was started or woken for new work counts
        /// until it takes the work.
        var idle = 0
    }

    private let limit: Int
    private let state = Mutex(State())
    private let waiting = DispatchSemaphore(value: 0)

    package init(limit: Int) { self.limit = limit }

    /// Runs `work` on one of the pool's threads, in order of arrival. If the system can't provide any thread, `work`
    /// runs on the calling thread.
    package func run(_ work: @escaping @Sendable () -> Void) {
        let needsThread = state.withLock { state in
            state.works.append(work)
            guard state.works.count > state.idle, state.threads < limit else { return false }
            state.threads += 1
            state.idle += 1
            return true
        }
        if needsThread, !WorkThread.start(stack: 2 << 20, { [self] in serve() }) {
            let work = state.withLock { state in
                state.threads -= 1
                state.idle -= 1
                return state.threads == 0 ? state.works.popFirst() : nil
            }
            if let work { return work() }
        }
        waiting.signal()
    }

    /// Runs `work` on one of the pool's threads. One piece of an owner's work runs at a time, and the owners take turns,
    /// so that nobody waits for all the work of another owner.
    package func run(for owner: String, _ work: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            guard state.owners[owner] == nil else {
                state.owners[owner]?.append(work)
                return false
            }
            state.owners[owner] = Queue()
            return true
        }
        if isFirst { begin(work, of: owner) }
    }

    /// Returns the result of `body`, which runs as `run(for:_:)` says. If the task is cancelled before it is `body`'s turn,
    /// this throws a `CancellationError` at once, and keeps nothing to which `body` refers.
    package func value<Value: Sendable>(
        for owner: String, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let waiting = WaitingWork<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard waiting.wait(continuation, for: body) else { return }
                run(for: owner) { waiting.run() }
            }
        } onCancel: {
            waiting.cancel()
        }
    }

    private func begin(_ work: @escaping @Sendable () -> Void, of owner: String) {
        run { [self] in
            work()
            let next = state.withLock { state in
                let next = state.owners[owner]?.popFirst()
                if next == nil { state.owners[owner] = nil }
                return next
            }
            if let next { begin(next, of: owner) }
        }
    }

    private func serve() {
        while true {
            waiting.wait()
            let work = state.withLock { state in
                let work = state.works.popFirst()
                if work != nil { state.idle -= 1 }
                return work
            }
            guard let work else { continue }
            work()
            state.withLock { $0.idle += 1 }
        }
    }
}

/// Work that waits for its turn, and for whose result a task waits.
private final class WaitingWork<Value: Sendable>: Sendable {
    private struct State {
        var work: (continuation: CheckedContinuation<Value, any Error>, body: @Sendable () throws -> Value)?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Keeps work until its turn. If it is cancelled already, this resumes the continuation, and returns `false`.
    func wait(
        _ continuation: CheckedContinuation<Value, any Error>, for body: @escaping @Sendable () throws -> Value
    ) -> Bool {
        let isWanted = state.withLock { state in
            if !state.isCancelled { state.work = (continuation, body) }
            return !state.isCancelled
        }
        if !isWanted { continuation.resume(throwing: CancellationError()) }
        return isWanted
    }

    func run() {
        let work = state.withLock { $0.work.take() }
        if let work { work.continuation.resume(with: Result(catching: work.body)) }
    }

    func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work.take()
        }
        work?.continuation.resume(throwing: CancellationError())
    }
}
