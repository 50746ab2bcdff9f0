import Logging
import Synchronization
import Time

/// Warnings that would otherwise be repeated: each kind is logged once a minute at most.
package final class Notices: Sendable {
    private static let interval = 60
    private let logger: Logger
    /// When each kind was logged last, on the machine's monotonic clock, in seconds.
    private let told = Mutex<[Kind: Int]>([:])

    package enum Kind: Hashable, Sendable {
        case recordings
        case streams
        case listeners
        case worlds
        case projects
        case keys
    }

    package init(_ logger: Logger) { self.logger = logger }

    package func tell(_ kind: Kind, _ message: @autoclosure () -> String) {
        let now = MachineClock.uptime
        let isDue = told.withLock { told in
            if let last = told[kind], now - last < Notices.interval { return false }
            told[kind] = now
            return true
        }
        if isDue { logger.warning("\(message())") }
    }
}
