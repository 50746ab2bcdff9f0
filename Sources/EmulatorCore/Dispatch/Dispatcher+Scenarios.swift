import Dispatch
import Synchronization

extension Dispatcher {
    /// Plays the scenarios with which worlds begin in the default world, and says in a line why one can't be played; `nil` when
    /// all can. Waits for it.
    package func prepareDefaultWorld() -> String? {
        guard !scenarios.isEmpty, case .mine = worlds.main.preparation.take(then: {}) else { return nil }
        let isDone = DispatchSemaphore(value: 0)
        let outcome = StartOutcome()
        Task.atOnce(executorPreference: OperationExecutor.shared) { [self] in
            let failure = await play(scenarios, in: worlds.main)
            outcome.failure.withLock { $0 = failure }
            isDone.signal()
        }
        isDone.wait()
        return outcome.failure.withLock { $0 }
    }

    /// Plays scenarios in a world that begins, whose other requests wait for that. Returns why those that can't be played
    /// can't.
    func play(_ scenarios: [ChosenScenario], in world: World) async -> String? {
        var failures: [String] = []
        for chosen in scenarios {
            do throws(Scenario.Failure) {
                try await chosen.scenario.play(in: world, with: chosen.values, by: self)
            } catch {
                failures.append("the scenario \"\(chosen.scenario.name)\" can't be played: \(error.description)")
            }
        }
        world.preparation.finish()
        return failures.isEmpty ? nil : failures.joined(separator: "\n")
    }
}

/// What became of the scenarios of the start.
private final class StartOutcome: Sendable {
    let failure = Mutex<String?>(nil)
}
