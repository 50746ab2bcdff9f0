import Testing

/// Marks tests about a single process: their daemons never have replicas.
package struct OneProcess: TestTrait, SuiteTrait, TestScoping {
    @TaskLocal static var isRequired = false

    package let isRecursive = true

    /// The reason why two replicas behind a balancer can't show it.
    let reason: Comment

    package var comments: [Comment] { [reason] }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        try await OneProcess.$isRequired.withValue(true, operation: body)
    }
}

extension Trait where Self == OneProcess {
    package static func oneProcess(_ reason: Comment) -> Self { OneProcess(reason: reason) }
}
