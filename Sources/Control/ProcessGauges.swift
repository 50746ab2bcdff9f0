import HTTPServer
import Synchronization

/// Counters of the servers and the log, for `health`. The servers are made after the control API, which therefore refers to
/// them weakly.
package final class ProcessGauges: Sendable {
    package typealias Connections = @Sendable () -> ServerCounters?

    private let servers = Mutex<[(name: String, counters: Connections)]>([])
    private let ports = Mutex<[(name: String, port: UInt16)]>([])
    /// How many lines of the log were dropped since the start; `nil` when the log isn't written by this program.
    let droppedLogLines: (@Sendable () -> Int)?

    package init(droppedLogLines: (@Sendable () -> Int)? = nil) { self.droppedLogLines = droppedLogLines }

    /// Adds a server under the name that `health` shows: `http`, `https`.
    package func add(_ name: String, _ counters: @escaping Connections) {
        servers.withLock { $0.append((name: name, counters: counters)) }
    }

    /// Notes what is listened on: `http`, `https`, `proxy`.
    package func note(_ name: String, port: UInt16) { ports.withLock { $0.append((name: name, port: port)) } }

    /// What is listened on, by name, beside worlds' own ports.
    package var listening: [(name: String, port: UInt16)] { ports.withLock { $0 } }

    var connections: [(name: String, counters: ServerCounters)] {
        servers.withLock { $0 }.compactMap { server in
            server.counters().map { (name: server.name, counters: $0) }
        }
    }
}
