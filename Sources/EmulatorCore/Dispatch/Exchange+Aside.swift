import Platform

extension Exchange {
    /// Runs `body`, which takes long, on a thread of its own, so that neither a worker nor a task's thread is busy with it.
    package func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            WorkThreads.shared.run {
                continuation.resume(returning: StoreCall.within(storeCall, body))
            }
        }
    }
}
