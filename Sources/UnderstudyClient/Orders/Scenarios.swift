extension World {
    /// A ready-made situation for tests, such as a provider's outage. It consists of preset sign-in results, injected
    /// faults and clock changes.
    public struct Scenario: Sendable, Hashable, Decodable {
        /// The name of the scenario (a ready-made situation), such as `provider-outage`.
        public let name: String
        /// The scenario's title for people, in words.
        public let title: String
        /// A description of the situation that the scenario makes.
        public let happens: String
        /// Whether the scenario has been started in this test world and hasn't been ended.
        public let isPlayed: Bool

        private enum CodingKeys: String, CodingKey {
            case name, title, happens
            case isPlayed = "played"
        }
    }
}

extension World {
    /// Starts and ends scenarios, which are ready-made situations such as a provider's outage: `world.scenarios`.
    ///
    ///     try await world.scenarios.play("provider-outage")
    public struct Scenarios: Sendable, Hashable {
        let world: World

        /// Lists the scenarios, which are ready-made situations such as a provider's outage.
        ///
        /// - Throws: ``UnderstudyError``.
        public func list() async throws -> [Scenario] {
            struct DaemonAnswer: Decodable { let scenarios: [Scenario] }
            return try await (world.call("GET", "scenarios") as DaemonAnswer).scenarios
        }

        /// Starts a scenario, a ready-made situation such as a provider's outage.
        ///
        /// - Parameters:
        ///   - name: the scenario's name.
        ///   - parameters: the values of the scenario's parameters.
        /// - Throws: ``UnderstudyError``, such as `noSuchScenario`.
        public func play(_ name: String, _ parameters: [String: JSONValue] = [:]) async throws {
            try await world.send("POST", "scenarios/\(Address.segment(name))", parameters)
        }

        /// Ends a scenario (a ready-made situation). The faults that the scenario injected and the sign-in results that
        /// it set are removed, and its clock changes are undone. Other changes, such as a new user, stay.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchScenario`.
        public func end(_ name: String) async throws {
            try await world.send("DELETE", "scenarios/\(Address.segment(name))")
        }
    }
}

extension World {
    /// The ready-made situations, such as a provider's outage, that can be started in this test world.
    public var scenarios: Scenarios { Scenarios(world: self) }
}
