/// What a server counts about its connections.
package struct ServerCounters: Sendable, Equatable {
    /// Connections that are open now.
    package var open = 0
    /// Of those, how many wait for a delayed answer or read a stream.
    package var held = 0
    /// Bytes of request bodies in memory now.
    package var bodyBytes = 0
    /// Refused because of a limit, since the start: connections, and requests that would have had to wait or whose body
    /// had no room.
    package var refused: UInt64 = 0
    /// Closed to make room for others while the client was still sending or reading.
    package var evicted: UInt64 = 0
    /// Closed because the client took too long to send or to read.
    package var expired: UInt64 = 0
    /// Answers that weren't sent because the client had gone.
    package var abandoned: UInt64 = 0

    package init() {}

    /// The counts of two servers together.
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
