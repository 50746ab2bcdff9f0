import Testing
import UnderstudyClient

/// Gives each test, and each of its arguments, a world of its own: ``UnderstudyClient/World/current``. When the test is over, the world
/// goes; when it failed, what was refused there is attached to it.
public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the tests of a suite have worlds, which is so.
    public let isRecursive = true

    let source: DaemonSource
    let seed: JSONValue?

    /// Makes the world, has the test run, and lets the world go.
    ///
    /// - Throws: What the test throws; ``UnderstudyClient/UnderstudyError``, where the daemon can't be reached.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let world = try source.daemon().world(Understudy.uniqueWorldName(from: test.displayName ?? test.name))
        if let seed { try await world.seed(seed) }
        let failure = FailureFlag()
        let watch = IssueHandlingTrait.compactMapIssues { issue in
            if issue.isFailure { failure.raise() }
            return issue
        }
        do {
            try await World.$ofTest.withValue(world) {
                try await watch.provideScope(for: test, testCase: testCase, performing: body)
            }
        } catch {
            await TestAccount(of: world).attach(at: test.sourceLocation)
            await world.leave()
            throw error
        }
        if failure.isRaised { await TestAccount(of: world).attach(at: test.sourceLocation) }
        await world.leave()
    }
}

extension Trait where Self == WorldTrait {
    /// A world for each test, in the daemon at `UNDERSTUDY_URL`, else at `http://localhost:9099`.
    public static var world: Self { .world() }

    /// A world for each test.
    ///
    /// - Parameters:
    ///   - source: in which daemon.
    ///   - seed: what each world's seed has beside the daemon's.
    public static func world(at source: DaemonSource = .environment, seed: JSONValue? = nil) -> Self {
        WorldTrait(source: source, seed: seed)
    }
}

extension World {
    /// Lets a test's world go. A daemon that doesn't answer any more has been told of before.
    func leave() async { try? await delete() }
}
