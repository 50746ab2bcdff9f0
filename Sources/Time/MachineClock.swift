import Platform

/// The machine's own clocks.
package enum MachineClock {
    /// The machine's time, from which a world's clock starts.
    package static var now: Instant { Instant.first + .milliseconds(microseconds / 1000) }

    /// The microseconds since 1970.
    package static var microseconds: Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The seconds of a clock that is never set.
    package static var uptime: Int { read(CLOCK_MONOTONIC).tv_sec }

    /// The nanoseconds of a clock that is never set, and that continues while the machine sleeps.
    package static var nanoseconds: Int64 {
        #if os(Linux)
            let time = read(CLOCK_BOOTTIME)
        #else
            let time = read(CLOCK_MONOTONIC)
        #endif
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
