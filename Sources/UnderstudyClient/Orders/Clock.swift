import Foundation

extension World {
    /// A world's clock, by which codes, tokens and sessions expire: `world.clock`.
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

        /// The world's time.
        ///
        /// - Throws: ``UnderstudyError``.
        public func now() async throws -> Date { try await reading().date }

        /// Whether time stands still.
        ///
        /// - Throws: ``UnderstudyError``.
        public func isFrozen() async throws -> Bool { try await reading().frozen }

        /// Moves time on, or back where `duration` is negative, to the millisecond.
        ///
        /// - Returns: The world's time then.
        /// - Throws: ``UnderstudyError``, where time would leave the years 1970 to 9999.
        @discardableResult
        public func advance(by duration: Duration) async throws -> Date {
            try await order(Order(advance: duration.wire))
        }

        /// Goes to a moment, to the millisecond; time runs on from there unless it stands still.
        ///
        /// - Returns: The world's time then.
        /// - Throws: ``UnderstudyError``, where the moment isn't within the years 1970 to 9999.
        @discardableResult
        public func set(to moment: Date) async throws -> Date {
            try await order(Order(set: moment.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
        }

        /// Has time stand still.
        ///
        /// - Throws: ``UnderstudyError``.
        public func freeze() async throws { _ = try await order(Order(freeze: true)) }

        /// Has time run on.
        ///
        /// - Throws: ``UnderstudyError``.
        public func unfreeze() async throws { _ = try await order(Order(freeze: false)) }

        /// Goes back to the machine's time, running.
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
