extension World {
    /// A ready-made situation: a named set of outcomes, faults and clock changes.
    public struct Scenario: Sendable, Hashable, Decodable {
        /// The scenario's name, such as `provider-outage`.
        public let name: String
        /// The name in words.
        public let title: String
        /// A description of the situation.
        public let happens: String
        /// Whether the scenario is active in this world.
        public let isPlayed: Bool

        private enum CodingKeys: String, CodingKey {
            case name, title, happens
            case isPlayed = "played"
        }
    }
}

extension World {
    /// The ready-made situations: `world.scenarios`.
    ///
    ///     try await world.scenarios.play("provider-outage")
    public struct Scenarios: Sendable, Hashable {
        let world: World

        /// Lists the scenarios.
        ///
        /// - Throws: ``UnderstudyError``.
        public func list() async throws -> [Scenario] {
            struct Answer: Decodable { let scenarios: [Scenario] }
            return try await (world.call("GET", "scenarios") as Answer).scenarios
        }

        /// Starts a scenario.
        ///
        /// - Parameters:
        ///   - name: the scenario's name.
        ///   - parameters: the values of its parameters.
        /// - Throws: ``UnderstudyError``, such as `noSuchScenario`.
        public func play(_ name: String, _ parameters: [String: JSONValue] = [:]) async throws {
            try await world.send("POST", "scenarios/\(Address.segment(name))", parameters)
        }

        /// Ends a scenario: removes its faults and outcomes, and sets the clock back. Its other changes stay.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchScenario`.
        public func end(_ name: String) async throws {
            try await world.send("DELETE", "scenarios/\(Address.segment(name))")
        }
    }
}

extension World {
    /// The world's ready-made situations.
    public var scenarios: Scenarios { Scenarios(world: self) }
}
