/// The counters of a server's connections.
package struct ServerCounters: Sendable, Equatable {
    /// The number of open connections.
    package var open = 0
    /// The number of open connections that wait for a delayed answer or read a stream.
    package var held = 0
    /// The bytes of request bodies in memory.
    package var bodyBytes = 0
    /// The refusals by a limit since the start: connections, requests that would have had to wait, and bodies for which
    /// there was no memory.
    package var refused: UInt64 = 0
    /// The connections closed in favour of others, while the client was still sending or reading.
    package var evicted: UInt64 = 0
    /// The connections closed because the client took too long to send or to read.
    package var expired: UInt64 = 0
    /// The answers that weren't sent because the client had gone.
    package var abandoned: UInt64 = 0

    package init() {}

    /// Returns the sum of two servers' counters.
    package static func + (left: ServerCounters, right: ServerCounters) -> ServerCounters {
        var sum = left
        sum.open += right.open
        sum.held += right.held
        sum.bodyBytes += right.bodyBytes
        sum.refused &+= right.refused
        sum.evicted &+= right.evicted
        sum.expired &+= right.expired
        sum.abandoned &+= right.abandoned
        return sum
    }
}
