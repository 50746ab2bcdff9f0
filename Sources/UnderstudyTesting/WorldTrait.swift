import Testing
import UnderstudyClient

/// Gives each test, and each argument of a parameterized test, a test world in Understudy's daemon:
/// ``UnderstudyClient/World/current``. The world is deleted after the test. If the test failed, a report on its
/// requests is attached to the test. If several of these traits apply to a test, it uses the world of the trait nearest
/// to it.
public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether a trait for a suite gives a test world to each test in the suite: always `true`.
    public let isRecursive = true

    let source: DaemonSource?
    let seed: JSONValue?

    /// Makes a test world for the test, runs the test and deletes the world.
    ///
    /// - Throws: The test's error, or the error of the daemon's start; ``UnderstudyClient/UnderstudyError`` if the
    ///   daemon can't be reached or refuses a seed (test data).
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

    /// Deletes the world of a test. If `tells` is true, reports on the requests in the world first. This runs in a new
    /// task, because the task of a test that has exceeded its time limit is cancelled and can't send requests.
    private func end(_ world: World, of test: Test, tells: Bool) async {
        await Task {
            if tells { await TestAccount(of: world).attach(at: test.sourceLocation) }
            await world.leave()
        }.value
    }
}

extension Trait where Self == WorldTrait {
    /// Gives each test a test world in the daemon that the trait of a suite names. If no suite's trait names a daemon,
    /// it is the one at `UNDERSTUDY_URL`, or at `http://localhost:9099` if that isn't set.
    public static var world: Self { .world() }

    /// Gives each test a test world, with additional test data if `seed` is given.
    ///
    ///     @Suite(.world(seed: ["accounts": [["id": "max", "email": "max@example.org"]]]))
    ///     struct SignInTests { … }
    ///
    /// - Parameters:
    ///   - source: the daemon; `nil` means the daemon of the suite's trait, or else ``DaemonSource/environment``.
    ///   - seed: the seed (test data) that is merged into the seeds of the daemon and of the suite's traits.
    public static func world(at source: DaemonSource? = nil, seed: JSONValue? = nil) -> Self {
        WorldTrait(source: source, seed: seed)
    }
}

extension World {
    /// Deletes the world of a test. An error, such as an unreachable daemon, isn't reported.
    func leave() async { try? await delete() }
}
