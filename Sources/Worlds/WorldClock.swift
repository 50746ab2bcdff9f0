import Time

/// The clock of a test world: the machine's time, moved or frozen. It never leaves the years 1970 to 9999.
package struct WorldClock: WorldValue {
    package static let name = "clock"

    private var offset = TimeSpan.zero
    private var frozenAt: Instant?

    /// Makes a test world's clock that shows the machine's time.
    package init() {}

    package var isFrozen: Bool { frozenAt != nil }

    package var now: Instant { frozenAt ?? MachineClock.now + offset }

    /// Moves the test world's clock forward by `span`, or back if that is negative. Returns `false`, and changes
    /// nothing, if the clock would leave the years 1970 to 9999.
    package mutating func advance(by span: TimeSpan) -> Bool {
        guard let time = now.advanced(by: span) else { return false }
        if isFrozen { frozenAt = time } else { offset = offset + span }
        return true
    }

    /// Returns how far the clock was moved since `other`, an earlier copy of the clock, was made.
    package func distance(from other: WorldClock) -> TimeSpan {
        if let frozenAt, let before = other.frozenAt { return frozenAt - before }
        return offset - other.offset
    }

    package mutating func set(_ time: Instant) {
        if isFrozen { frozenAt = time }
        offset = time - MachineClock.now
    }

    package mutating func freeze(_ freeze: Bool) {
        if freeze {
            frozenAt = now
        } else if let time = frozenAt {
            frozenAt = nil
            offset = time - MachineClock.now
        }
    }

    /// Sets the test world's clock to the machine's time, and lets it run.
    package mutating func reset() {
        offset = .zero
        frozenAt = nil
    }
}
