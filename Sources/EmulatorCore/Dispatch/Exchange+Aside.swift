import Dispatch
import Platform

extension Exchange {
    /// Runs `body`, which takes long, on a thread of its own, so that it blocks neither a worker nor a task's thread.
    package func aside<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            WorkThreads.shared.run { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}

extension DispatchQueue {
    /// Runs `body` on the queue, without blocking the caller's thread.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
