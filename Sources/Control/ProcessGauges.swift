import HTTPServer
import Synchronization

/// What the parts of the process around the worlds count, for `health`. The parts are made after the control API, and are
/// asked only while they exist.
package final class ProcessGauges: Sendable {
    package typealias Connections = @Sendable () -> ServerCounters?

    private let servers = Mutex<[(name: String, counters: Connections)]>([])
    /// Lines of the log that nobody read in time, since the start; `nil` where the log isn't ours.
    let droppedLogLines: (@Sendable () -> Int)?

    package init(droppedLogLines: (@Sendable () -> Int)? = nil) { self.droppedLogLines = droppedLogLines }

    /// Adds a server under the name that `health` shows: `http`, `https`.
    package func add(_ name: String, _ counters: @escaping Connections) {
        servers.withLock { $0.append((name: name, counters: counters)) }
    }

    var connections: [(name: String, counters: ServerCounters)] {
        servers.withLock { $0 }.compactMap { server in
            server.counters().map { (name: server.name, counters: $0) }
        }
    }
}
