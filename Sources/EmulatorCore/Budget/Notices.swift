import Logging
import Synchronization
import Time

/// What would otherwise be repeated in the log: each kind of warning is logged once a minute at most, what is said once a
/// single time.
package final class Notices: Sendable {
    private static let interval = 60
    private let logger: Logger
    /// When each kind was logged last, on the machine's monotonic clock, in seconds.
    private let told = Mutex<[Kind: Int]>([:])
    /// What has been said once, as far as it is remembered.
    private let said = Mutex<Set<String>>([])
    private static let saidLimit = 200

    package enum Kind: Hashable, Sendable {
        case recordings
        case streams
        case listeners
        case worlds
        case projects
        case keys
        case stores
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

    /// Says something that can't be repeated.
    package func warn(_ message: String) { logger.warning("\(message)") }

    /// Says something a single time while the process runs. Of ever new messages, those after the first 200 aren't said.
    package func tellOnce(_ message: String) {
        let isNew = said.withLock { $0.count < Notices.saidLimit && $0.insert(message).inserted }
        if isNew { logger.notice("\(message)") }
    }
}
