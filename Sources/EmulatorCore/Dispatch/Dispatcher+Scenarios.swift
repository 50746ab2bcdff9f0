import Dispatch
import HTTPServer
import Synchronization

extension Dispatcher {
    /// Runs the daemon's initial scenarios (prepared situations) in the default test world, unless they have been run
    /// there, and blocks the thread meanwhile. Returns the reasons why scenarios can't be run; otherwise `nil`.
    package func prepareDefaultWorld() throws -> String? {
        let world = worlds.main
        guard !scenarios.isEmpty, !world.isPrepared, case .mine = world.preparation.requestTurn(then: {}) else {
            return nil
        }
        return try waitUntilPrepared(world)
    }

    /// Runs the daemon's initial scenarios (prepared situations) in a new test world, and blocks the thread meanwhile.
    /// Returns the reasons why scenarios can't be run; `nil` when all can.
    func waitUntilPrepared(_ world: World) throws -> String? {
        let isDone = DispatchSemaphore(value: 0)
        let outcome = PreparationOutcome()
        Task.atOnce(executorPreference: OperationExecutor.shared) { [self] in
            do {
                let failure = try await prepare(world)
                outcome.result.withLock { $0 = .success(failure) }
            } catch {
                outcome.result.withLock { $0 = .failure(error) }
            }
            isDone.signal()
        }
        isDone.wait()
        return try outcome.result.withLock { $0 }.get()
    }

    /// Runs the daemon's initial scenarios (prepared situations) in a new test world. Other requests to this world wait
    /// meanwhile. If another daemon that shares the world is running the scenarios, waits for that daemon. Returns the
    /// reasons why scenarios can't be run; `nil` when all can, or when another daemon has run them.
    func prepare(_ world: World) async throws -> String? {
        defer { world.preparation.finish() }
        var preparation = SharedPreparation(world, by: worlds.archive?.replica ?? 0)
        var plays = 0
        while true {
            switch try preparation.next() {
            case .done: return nil
            case .mine:
                let pulse = preparation.begin()
                defer { pulse.stop() }
                let failure = try await play(in: world)
                plays += 1
                // If the world was reset meanwhile, the scenarios are run again, but only once, because a scenario may
                // be what resets the world.
                if try preparation.finish(evenIfReset: plays > 1) { return failure }
            case .wait:
                await withCheckedContinuation { continuation in
                    Timer.after(.milliseconds(50)) { continuation.resume() }
                }
            }
        }
    }

    private func play(in world: World) async throws -> String? {
        var failures: [String] = []
        for chosen in scenarios {
            do {
                try await chosen.scenario.play(in: world, with: chosen.values, by: self)
            } catch let error as Scenario.Failure {
                failures.append("the scenario \"\(chosen.scenario.name)\" can't be run: \(error.description)")
            }
        }
        return failures.isEmpty ? nil : failures.joined(separator: "\n")
    }
}

/// The result of running the daemon's initial scenarios (prepared situations) in a new test world: `nil` if all were
/// run, the reasons why some can't be run, or an error.
private final class PreparationOutcome: Sendable {
    let result = Mutex<Result<String?, any Error>>(.success(nil))
}
