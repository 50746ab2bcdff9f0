import Dispatch
import HTTPServer
import Synchronization

extension Dispatcher {
    /// Plays the scenarios with which worlds begin in the default world, and says in a line why one can't be played; `nil` when
    /// all can. Waits for it.
    package func prepareDefaultWorld() -> String? {
        let world = worlds.main
        guard !scenarios.isEmpty, !world.isPrepared, case .mine = world.preparation.take(then: {}) else { return nil }
        let isDone = DispatchSemaphore(value: 0)
        let outcome = StartOutcome()
        Task.atOnce(executorPreference: OperationExecutor.shared) { [self] in
            let failure = await prepare(world)
            outcome.failure.withLock { $0 = failure }
            isDone.signal()
        }
        isDone.wait()
        return outcome.failure.withLock { $0 }
    }

    /// Plays the scenarios in a world that begins, whose other requests wait for that; where another replica does, waits for it.
    /// Returns why those that can't be played can't.
    func prepare(_ world: World) async -> String? {
        defer { world.preparation.finish() }
        guard world.state.isShared else { return await play(in: world) }
        var preparation = SharedPreparation(world, by: worlds.archive?.replica ?? 0)
        while true {
            switch preparation.next() {
            case .done, .failed: return nil
            case .mine:
                let pulse = preparation.begin()
                let failure = await play(in: world)
                pulse.stop()
                preparation.finish()
                return failure
            case .wait:
                await withCheckedContinuation { continuation in
                    Timer.after(.milliseconds(50)) { continuation.resume() }
                }
            }
        }
    }

    private func play(in world: World) async -> String? {
        var failures: [String] = []
        for chosen in scenarios {
            do throws(Scenario.Failure) {
                try await chosen.scenario.play(in: world, with: chosen.values, by: self)
            } catch {
                failures.append("the scenario \"\(chosen.scenario.name)\" can't be played: \(error.description)")
            }
        }
        return failures.isEmpty ? nil : failures.joined(separator: "\n")
    }
}

/// What became of the scenarios of the start.
private final class StartOutcome: Sendable {
    let failure = Mutex<String?>(nil)
}
