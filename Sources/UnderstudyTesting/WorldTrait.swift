import Testing
import UnderstudyClient

/// Gives each test, and each of its arguments, a world: ``UnderstudyClient/World/current``. The world is deleted after
/// the test. If the test failed, its refused requests are attached to it. If a test has several of these traits, the
/// innermost makes the world.
public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the tests of a suite have worlds: always.
    public let isRecursive = true

    let source: DaemonSource?
    let seed: JSONValue?

    /// Makes the world, runs the test and deletes the world.
    ///
    /// - Throws: The test's error; ``UnderstudyClient/UnderstudyError`` if the daemon can't be reached.
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

    /// Reports on the world if the test failed, and deletes it. This runs in a new task, because the task of a test
    /// that has exceeded its time limit is cancelled and can't send requests.
    private func end(_ world: World, of test: Test, tells: Bool) async {
        await Task {
            if tells { await TestAccount(of: world).attach(at: test.sourceLocation) }
            await world.leave()
        }.value
    }
}

extension Trait where Self == WorldTrait {
    /// Gives each test a world, in the daemon of the trait around it, or else at `UNDERSTUDY_URL`, or else at
    /// `http://localhost:9099`.
    public static var world: Self { .world() }

    /// Gives each test a world.
    ///
    ///     @Suite(.world(seed: ["accounts": [["id": "max", "email": "max@example.org"]]]))
    ///     struct SignInTests { … }
    ///
    /// - Parameters:
    ///   - source: the daemon; `nil` means the one of the trait around it, or else ``DaemonSource/environment``.
    ///   - seed: the seed that is merged into the daemon's and those of the traits around it.
    public static func world(at source: DaemonSource? = nil, seed: JSONValue? = nil) -> Self {
        WorldTrait(source: source, seed: seed)
    }
}

extension World {
    /// Deletes a test's world. An unreachable daemon isn't reported here, because the test has already failed.
    func leave() async { try? await delete() }
}
