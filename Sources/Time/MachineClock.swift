import Platform

/// The clocks of the machine on which the program runs.
package enum MachineClock {
    /// The machine's present time, from which the clock of a test world starts.
    package static var now: Instant { Instant.first + .milliseconds(microseconds / 1000) }

    /// The number of microseconds since 1970, by the machine's clock.
    package static var microseconds: Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The seconds of the machine's monotonic clock, which is never set to a different time.
    package static var uptime: Int { read(CLOCK_MONOTONIC).tv_sec }

    /// The nanoseconds of a machine clock that is never set to a different time, and that goes on while the machine
    /// sleeps.
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
