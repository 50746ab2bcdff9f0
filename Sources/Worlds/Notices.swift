import Logging
import Synchronization
import Time

/// Logs warnings without flooding the log: each kind of warning at most once a minute, and some messages only once.
package final class Notices: Sendable {
    private static let interval = 60
    private let logger: Logger
    /// The time when each kind of warning was last logged, in seconds of the machine's monotonic clock.
    private let told = Mutex<[Kind: Int]>([:])
    /// The messages that must not be logged a second time, because they have been logged already.
    private let said = Mutex<Set<String>>([])
    private static let saidLimit = 200

    package enum Kind: Hashable, Sendable {
        case recordings
        case streams
        case listeners
        case messages
        case worlds
        case projects
        case keys
        case stores
    }

    package init(_ logger: Logger) { self.logger = logger }

    package func warnOncePerMinute(_ kind: Kind, _ message: @autoclosure () -> String) {
        let now = MachineClock.uptime
        let isDue = told.withLock { told in
            if let last = told[kind], now - last < Notices.interval { return false }
            told[kind] = now
            return true
        }
        if isDue { logger.warning("\(message())") }
    }

    /// Logs a warning, even if the same warning was just logged. This method is only for rare events.
    package func warn(_ message: String) { logger.warning("\(message)") }

    /// Logs a message only once while the process runs. After 200 different messages, new ones aren't logged.
    package func logOnce(_ message: String) {
        let isNew = said.withLock { $0.count < Notices.saidLimit && $0.insert(message).inserted }
        if isNew { logger.notice("\(message)") }
    }
}
