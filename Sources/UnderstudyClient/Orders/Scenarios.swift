extension World {
    /// A ready-made situation.
    public struct Scenario: Sendable, Hashable, Decodable {
        /// Its name, such as `provider-outage`.
        public let name: String
        /// The same in words.
        public let title: String
        /// What happens in it.
        public let happens: String
        /// Whether it is on in this world.
        public let isPlayed: Bool

        private enum CodingKeys: String, CodingKey {
            case name, title, happens
            case isPlayed = "played"
        }
    }
}

extension World {
    /// A world's ready-made situations: `world.scenarios`.
    public struct Scenarios: Sendable, Hashable {
        let world: World

        /// The scenarios that there are.
        ///
        /// - Throws: ``UnderstudyError``.
        public func list() async throws -> [Scenario] {
            struct Answer: Decodable { let scenarios: [Scenario] }
            return try await (world.call("GET", "scenarios") as Answer).scenarios
        }

        /// Begins a scenario.
        ///
        /// - Parameters:
        ///   - name: the scenario's name.
        ///   - parameters: values of its parameters.
        /// - Throws: ``UnderstudyError``, such as `noSuchScenario`.
        public func play(_ name: String, _ parameters: [String: JSONValue] = [:]) async throws {
            try await world.send("POST", "scenarios/\(Address.segment(name))", parameters)
        }

        /// Ends a scenario: its faults and outcomes go, the clock goes back. What else it did stays.
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
