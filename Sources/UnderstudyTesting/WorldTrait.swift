import Testing
import UnderstudyClient

/// Gives each test, and each of its arguments, a world of its own: ``UnderstudyClient/World/current``. When the test is over, the world
/// goes; when it failed, what was refused there is attached to it. Of several around a test, the innermost gives it its world.
public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the tests of a suite have worlds, which is so.
    public let isRecursive = true

    let source: DaemonSource?
    let seed: JSONValue?

    /// Makes the world, has the test run, and lets the world go.
    ///
    /// - Throws: What the test throws; ``UnderstudyClient/UnderstudyError``, where the daemon can't be reached.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let scope = WorldScope(self, within: WorldScope.current)
        WorldScope.current?.isReplaced.raise()
        let world = try await scope.world(for: test.displayName ?? test.name)
        let failure = Flag()
        let watch = IssueHandlingTrait.compactMapIssues { issue in
            if issue.isFailure { failure.raise() }
            return issue
        }
        do {
            try await WorldScope.$current.withValue(scope) {
                try await World.$ofTest.withValue(world) {
                    try await watch.provideScope(for: test, testCase: testCase, performing: body)
                }
            }
        } catch {
            await end(world, of: test, tells: !scope.isReplaced.isRaised)
            throw error
        }
        await end(world, of: test, tells: failure.isRaised && !scope.isReplaced.isRaised)
    }

    /// Says what happened in the world, and lets it go, in a task of its own: that of a test whose time is over is cancelled, and asks
    /// nobody any more.
    private func end(_ world: World, of test: Test, tells: Bool) async {
        await Task {
            if tells { await TestAccount(of: world).attach(at: test.sourceLocation) }
            await world.leave()
        }.value
    }
}

extension Trait where Self == WorldTrait {
    /// A world for each test, in the daemon of the trait around it, else at `UNDERSTUDY_URL`, else at `http://localhost:9099`.
    public static var world: Self { .world() }

    /// A world for each test.
    ///
    /// - Parameters:
    ///   - source: in which daemon; `nil` is that of the trait around it, as a suite's around its tests', else ``DaemonSource/environment``.
    ///   - seed: what each world's seed has beside the daemon's, and beside what traits around it add.
    public static func world(at source: DaemonSource? = nil, seed: JSONValue? = nil) -> Self {
        WorldTrait(source: source, seed: seed)
    }
}

extension World {
    /// Lets a test's world go. A daemon that doesn't answer any more has been told of before.
    func leave() async { try? await delete() }
}
