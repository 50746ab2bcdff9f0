import HTTPServer
import JSON
import Time
import Worlds

/// The orders of a scenario that was played.
package struct ScenarioOrders: Codable, Sendable {
    /// The IDs of the faults, including those that are used up.
    package fileprivate(set) var faults: [String] = []
    package fileprivate(set) var outcomes: [String] = []
    /// The time by which the clock was moved.
    package fileprivate(set) var advance = TimeSpan.zero
}

/// The orders of the scenarios that were played in a world, which can be withdrawn, by the scenario's name.
struct PlayedScenarios: WorldValue {
    static let name = "scenarios"

    fileprivate var orders: [String: ScenarioOrders] = [:]

    init() {}
}

extension World {
    /// The orders of the scenarios that were played here and not withdrawn, by the scenarios' names.
    package var scenarioOrders: [String: ScenarioOrders] { read { $0.value(PlayedScenarios.self).orders } }
}

extension Scenario {
    /// Withdraws the faults and outcomes that the scenario has ordered in `world`, and moves the clock back by as much
    /// as it has moved it. The results of its other calls, such as a user that was made, stay. Returns `false` when
    /// there is nothing to withdraw.
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

    /// Adds an order that one of its calls has made.
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
