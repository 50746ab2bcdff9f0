import Foundation

extension World {
    /// The clock of a test world: `world.clock`. Codes, tokens and sessions in the world expire by this clock.
    ///
    ///     try await world.clock.advance(by: .minutes(6))
    public struct Clock: Sendable, Hashable {
        let world: World

        private struct Reading: Decodable {
            let milliseconds: Int64
            let frozen: Bool
            var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
        }

        private struct Order: Encodable {
            var advance: String?
            var set: String?
            var freeze: Bool?
            var reset: Bool?
        }

        /// Returns the time of this test world's clock.
        ///
        /// - Throws: ``UnderstudyError``.
        public func now() async throws -> Date { try await reading().date }

        /// Returns whether the test world's clock is stopped.
        ///
        /// - Throws: ``UnderstudyError``.
        public func isFrozen() async throws -> Bool { try await reading().frozen }

        /// Moves the test world's clock forward, or back if `duration` is negative. The clock's precision is a
        /// millisecond.
        ///
        /// - Returns: The world's new time.
        /// - Throws: ``UnderstudyError``, also if the time would leave the years 1970 to 9999.
        @discardableResult
        public func advance(by duration: Duration) async throws -> Date {
            try await order(Order(advance: duration.wire))
        }

        /// Sets the test world's clock to a moment, to the millisecond. The clock runs on from there unless it is
        /// stopped.
        ///
        /// - Returns: The world's new time.
        /// - Throws: ``UnderstudyError``, also if the moment isn't within the years 1970 to 9999.
        @discardableResult
        public func set(to moment: Date) async throws -> Date {
            try await order(Order(set: moment.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
        }

        /// Stops the test world's clock.
        ///
        /// - Throws: ``UnderstudyError``.
        public func freeze() async throws { _ = try await order(Order(freeze: true)) }

        /// Lets the test world's stopped clock run on.
        ///
        /// - Throws: ``UnderstudyError``.
        public func unfreeze() async throws { _ = try await order(Order(freeze: false)) }

        /// Sets the test world's clock to the machine's time, and lets it run.
        ///
        /// - Throws: ``UnderstudyError``.
        public func reset() async throws { _ = try await order(Order(reset: true)) }

        private func reading() async throws -> Reading { try await world.call("GET", "clock") }

        private func order(_ order: Order) async throws -> Date {
            try await (world.call("POST", "clock", order) as Reading).date
        }
    }
}

extension World {
    /// The clock of this test world. Codes, tokens and sessions in the world expire by it.
    public var clock: Clock { Clock(world: self) }
}
