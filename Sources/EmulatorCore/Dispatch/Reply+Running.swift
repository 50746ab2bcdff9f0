import Dispatch
import HTTPServer
import Synchronization

extension Reply {
    /// Makes a reply by running `body`. Until `body` first waits for something, it runs on the calling thread (on
    /// macOS, only since version 26). It is cancelled when nobody waits for the reply any more.
    static func running(_ body: @escaping @Sendable () async -> Response) -> Reply {
        let pending = PendingResponse()
        let task = Task.atOnce(executorPreference: OperationExecutor.shared) { pending.resolve(with: await body()) }
        if let response = pending.settled { return .now(response) }
        return .later { done in
            done.whenAbandoned { task.cancel() }
            pending.whenSettled { done($0) }
        }
    }

    /// The HTTP response, which is awaited if it isn't ready yet.
    var response: Response {
        get async {
            switch self {
            case .now(let response): response
            case .later(let start):
                await withCheckedContinuation { continuation in
                    start(Completion { continuation.resume(returning: $0) })
                }
            }
        }
    }
}

extension Task where Success == Void, Failure == Never {
    /// Starts a task on the calling thread by `Task.immediate`. On macOS before version 26, which lacks
    /// `Task.immediate`, the task starts on a thread of the executor.
    @discardableResult
    static func atOnce(executorPreference: any TaskExecutor, _ body: @escaping @Sendable () async -> Void) -> Task {
        if #available(macOS 26, *) {
            Task.immediate(executorPreference: executorPreference, operation: body)
        } else {
            Task(executorPreference: executorPreference, operation: body)
        }
    }
}

/// Runs Swift tasks on threads of the Dispatch library, and not in Swift's own thread pool. The pool is small, and a
/// program that embeds the server may keep it busy with tasks that block.
final class OperationExecutor: TaskExecutor {
    static let shared = OperationExecutor()

    private let queue = DispatchQueue(label: "understudy.operations", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// A response that may not be ready yet, with the callback that waits for it.
private final class PendingResponse: Sendable {
    private struct State {
        var response: Response?
        var waiting: (@Sendable (Response) -> Void)?
    }

    private let state = Mutex(State())

    var settled: Response? { state.withLock { $0.response } }

    func resolve(with response: Response) {
        let waiting = state.withLock { state in
            state.response = response
            return state.waiting
        }
        waiting?(response)
    }

    func whenSettled(_ done: @escaping @Sendable (Response) -> Void) {
        let response = state.withLock { state in
            if state.response == nil { state.waiting = done }
            return state.response
        }
        if let response { done(response) }
    }
}
