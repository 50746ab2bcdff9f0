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

    package var milliseconds: Int64 { frozenAt ?? WorldClock.machine + offset }

    /// Whole seconds, as tokens carry them.
    package var seconds: Int64 { milliseconds / 1000 }

    package mutating func advance(by duration: Int64) {
        if let time = frozenAt { frozenAt = time + duration } else { offset += duration }
    }

    package mutating func set(_ time: Int64) {
        if isFrozen { frozenAt = time }
        offset = time - WorldClock.machine
    }

    package mutating func freeze(_ freeze: Bool) {
        if freeze {
            frozenAt = milliseconds
        } else if let time = frozenAt {
            frozenAt = nil
            offset = time - WorldClock.machine
        }
    }

    /// Back to the machine's time.
    package mutating func reset() {
        offset = 0
        frozenAt = nil
    }

    private static var machine: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
