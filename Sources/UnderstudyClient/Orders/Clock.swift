import Foundation

extension World {
    /// A world's clock: `world.clock`. Codes, tokens and sessions expire by it.
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

        /// Returns the world's time.
        ///
        /// - Throws: ``UnderstudyError``.
        public func now() async throws -> Date { try await reading().date }

        /// Returns whether the clock is stopped.
        ///
        /// - Throws: ``UnderstudyError``.
        public func isFrozen() async throws -> Bool { try await reading().frozen }

        /// Moves the clock forward, or back if `duration` is negative. Its precision is a millisecond.
        ///
        /// - Returns: The world's new time.
        /// - Throws: ``UnderstudyError``, also if the time would leave the years 1970 to 9999.
        @discardableResult
        public func advance(by duration: Duration) async throws -> Date {
            try await order(Order(advance: duration.wire))
        }

        /// Sets the clock to a moment, to the millisecond. The clock runs on from there unless it is stopped.
        ///
        /// - Returns: The world's new time.
        /// - Throws: ``UnderstudyError``, also if the moment isn't within the years 1970 to 9999.
        @discardableResult
        public func set(to moment: Date) async throws -> Date {
            try await order(Order(set: moment.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
        }

        /// Stops the clock.
        ///
        /// - Throws: ``UnderstudyError``.
        public func freeze() async throws { _ = try await order(Order(freeze: true)) }

        /// Lets a stopped clock run on.
        ///
        /// - Throws: ``UnderstudyError``.
        public func unfreeze() async throws { _ = try await order(Order(freeze: false)) }

        /// Sets the clock to the machine's time, and lets it run.
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
    /// The world's clock.
    public var clock: Clock { Clock(world: self) }
}
