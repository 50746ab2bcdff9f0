import HTTPServer
import JSON
import Time

/// What a scenario that was played has ordered.
package struct ScenarioOrders: Codable, Sendable {
    /// Faults' IDs, those that are spent by now included.
    package fileprivate(set) var faults: [String] = []
    package fileprivate(set) var outcomes: [String] = []
    /// How far the clock was moved.
    package fileprivate(set) var advance = TimeSpan.zero
}

/// What the scenarios that were played in a world have ordered and can be taken back: by the scenario's name.
struct PlayedScenarios: WorldValue {
    static let name = "scenarios"

    fileprivate var orders: [String: ScenarioOrders] = [:]

    init(_ seed: Seed) {}
}

extension World {
    /// What the scenarios that were played here, and not ended, have ordered: by their names.
    package var scenarioOrders: [String: ScenarioOrders] { read { $0.value(PlayedScenarios.self).orders } }
}

extension Scenario {
    /// Withdraws the faults and outcomes that it has ordered in `world`, and moves the clock back as far as it has moved it.
    /// What its other calls did, such as a user that was made, stays. `false` when there is nothing to withdraw.
    @discardableResult
    package func withdraw(from world: World) throws(StoreFailure) -> Bool {
        try world.update { tables in
            guard let orders = tables[PlayedScenarios.self].orders.removeValue(forKey: name) else { return false }
            for fault in orders.faults { _ = tables.faults.remove(fault) }
            for outcome in orders.outcomes { tables.outcomes.remove(outcome) }
            _ = tables.clock.advance(by: TimeSpan.zero - orders.advance)
            return true
        }
    }

    /// Remembers what one of its calls has ordered.
    func note(
        _ call: Call, _ response: Response, from clock: WorldClock, in world: World
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

/// A scenario with values for its parameters.
package struct ChosenScenario: Sendable {
    package let scenario: Scenario
    package let values: JSONObject

    package init(_ scenario: Scenario, values: JSONObject) throws(Scenario.Failure) {
        try scenario.check(values)
        self.scenario = scenario
        self.values = values
    }
}
