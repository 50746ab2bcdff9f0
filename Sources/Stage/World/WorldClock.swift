import Glibc

/// A world's time: the machine's, moved, or standing still. Milliseconds since 1970 throughout.
package struct WorldClock: Sendable {
    private var offset: Int64 = 0
    private var frozenAt: Int64?

    init(_ seed: Seed.ClockSeed) {
        if let time = seed.set.flatMap(Timestamps.milliseconds) { set(time) }
        if seed.freeze { freeze(true) }
    }

    package var isFrozen: Bool { frozenAt != nil }

    package var milliseconds: Int64 { frozenAt ?? MachineClock.milliseconds + offset }

    /// Whole seconds, as tokens carry them.
    package var seconds: Int64 { milliseconds / 1000 }

    package mutating func advance(by duration: Int64) {
        if let time = frozenAt { frozenAt = time + duration } else { offset += duration }
    }

    package mutating func set(_ time: Int64) {
        if isFrozen { frozenAt = time }
        offset = time - MachineClock.milliseconds
    }

    package mutating func freeze(_ freeze: Bool) {
        if freeze {
            frozenAt = milliseconds
        } else if let time = frozenAt {
            frozenAt = nil
            offset = time - MachineClock.milliseconds
        }
    }

    /// Back to the machine's time.
    package mutating func reset() {
        offset = 0
        frozenAt = nil
    }
}

/// The machine's own clocks.
package enum MachineClock {
    /// Since 1970.
    package static var milliseconds: Int64 { microseconds / 1000 }

    /// Since 1970.
    package static var microseconds: Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Seconds on a clock that nobody sets.
    package static var uptime: Int { read(CLOCK_MONOTONIC).tv_sec }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
