import Synchronization
import Time

/// A world's time: the machine's, moved, or standing still. It never leaves the years 1970 to 9999.
package struct WorldClock: WorldValue {
    package static let name = "clock"

    private var offset = TimeSpan.zero
    private var frozenAt: Instant?

    package init(_ seed: Seed) {
        // Frozen first, so that not a millisecond goes by after the time is set.
        if seed.clock.freeze { freeze(true) }
        if let time = seed.clock.set { set(time) }
    }

    package var isFrozen: Bool { frozenAt != nil }

    package var now: Instant { frozenAt ?? MachineClock.now + offset }

    /// `false`, with the clock as it was, when it would leave the years 1970 to 9999.
    package mutating func advance(by span: TimeSpan) -> Bool {
        guard let time = now.advanced(by: span) else { return false }
        if isFrozen { frozenAt = time } else { offset = offset + span }
        return true
    }

    /// How far it was moved since it was as `other`.
    func distance(from other: WorldClock) -> TimeSpan {
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

    /// Back to the machine's time.
    package mutating func reset() {
        offset = .zero
        frozenAt = nil
    }
}

/// A copy of a world's clock, which is read without the world's lock.
package final class LastClock: Sendable {
    /// The time at which the clock stands still, or how far it is moved, in milliseconds; in the lowest bit, whether it stands still.
    private let packed = Atomic<Int64>(LastClock.unknown)
    private static let unknown = Int64.min

    func note(_ clock: WorldClock) {
        let value = clock.packed
        // Workers share it: what is the same isn't written again.
        if packed.load(ordering: .relaxed) != value { packed.store(value, ordering: .relaxed) }
    }

    /// The world begins afresh, or is read again: its clock isn't known until it is next noted.
    func forget() { packed.store(LastClock.unknown, ordering: .relaxed) }

    /// The world's time; `nil` where the clock isn't known.
    var now: Instant? {
        let value = packed.load(ordering: .relaxed)
        return value == LastClock.unknown ? nil : WorldClock.now(packed: value)
    }
}

extension WorldClock {
    // Both numbers are less than 4e14, so that nothing is lost by the shift.

    fileprivate var packed: Int64 { frozenAt.map { $0.milliseconds << 1 | 1 } ?? offset.milliseconds << 1 }

    fileprivate static func now(packed: Int64) -> Instant? {
        packed & 1 == 1 ? Instant(milliseconds: packed >> 1) : MachineClock.now + .milliseconds(packed >> 1)
    }
}
