import HTTPServer
import JSON
import Synchronization
import Time
import Worlds

/// The changes that a scenario has made to a test world and that can be undone: faults, requested sign-in results, and
/// a changed clock.
package struct ScenarioOrders: Codable, Sendable {
    /// The IDs of the faults that the scenario has requested, including those that are used up.
    package fileprivate(set) var faults: [String] = []
    package fileprivate(set) var outcomes: [String] = []
    /// The amount of time by which the scenario has moved the test world's clock.
    package fileprivate(set) var advance = TimeSpan.zero
}

/// The changes (faults, requested sign-in results, changed clocks) that running scenarios have made to a test world, by
/// the scenario's name, so that they can be undone.
struct PlayedScenarios: WorldValue {
    static let name = "scenarios"

    fileprivate var orders: [String: ScenarioOrders] = [:]

    init() {}
}

extension World {
    /// For each scenario that is running in this test world, by its name, the changes that it has made.
    package var scenarioOrders: [String: ScenarioOrders] { read { $0.value(PlayedScenarios.self).orders } }
}

/// Lets scenarios in a test world start and end one at a time, in the order of the calls. Otherwise, two starts of a
/// scenario at the same time would both add its faults and sign-in results. This applies only to calls at this daemon,
/// not at other daemons that share the test world.
final class ScenarioTurns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Runs `operation` after all operations of earlier calls have ended.
    func run<Success>(_ operation: () async throws -> Success) async rethrows -> Success {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                defer { state.isTaken = true }
                if state.isTaken { state.waiting.append(continuation) }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard !state.waiting.isEmpty else {
                    state.isTaken = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            next?.resume()
        }
        return try await operation()
    }
}

extension Scenario {
    /// Undoes the scenario's changes to `world`: faults, requested sign-in results, and a changed clock. If scenarios
    /// are being started in `world`, this waits for them first. Returns `false` if there was nothing to undo.
    package func end(in world: World) async throws -> Bool {
        try await world.state.scenarioTurns.run { try withdraw(from: world) }
    }

    /// Removes the faults and the sign-in results that the scenario has requested in `world`, and moves the clock back
    /// by as much as the scenario has moved it. The results of the scenario's other calls, such as a user that was
    /// made, stay. Returns `false` when there is nothing to undo.
    @discardableResult
    func withdraw(from world: World) throws(StoreFailure) -> Bool {
        try world.update { tables in
            guard let orders = tables[PlayedScenarios.self].orders.removeValue(forKey: name) else { return false }
            for fault in orders.faults { _ = tables.faults.remove(fault) }
            for outcome in orders.outcomes { tables.outcomes.remove(outcome) }
            _ = tables.clock.advance(by: TimeSpan.zero - orders.advance)
            return true
        }
    }

    /// Notes the change that a call of the scenario has made to `world`, so that it can be undone: a fault, a requested
    /// sign-in result, or a changed clock.
    func recordChange(
        by call: Call, _ response: Response, from clock: WorldClock, in world: World
    ) throws(StoreFailure) {
        guard call.method == "POST", ["faults", "outcomes", "clock"].contains(call.target) else { return }
        let id = (try? JSONValue(parsing: response.body, limits: .answer))?["id"]?.string
        try world.update { tables in
            var orders = tables[PlayedScenarios.self].orders[name] ?? ScenarioOrders()
            switch call.target {
            case "faults": orders.faults += id.map { [$0] } ?? []
            case "outcomes": orders.outcomes += id.map { [$0] } ?? []
            default: orders.advance = orders.advance + tables.clock.distance(from: clock)
            }
            tables[PlayedScenarios.self].orders[name] = orders
        }
    }
}

package struct ChosenScenario: Sendable {
    package let scenario: Scenario
    package let values: JSONObject

    package init(_ scenario: Scenario, values: JSONObject) throws(Scenario.Failure) {
        try scenario.check(values)
        self.scenario = scenario
        self.values = values
    }
}
