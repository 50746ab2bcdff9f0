import HTTPServer
import Synchronization

/// Counters of the servers and the log, for `health`. The servers are made after the control API, so it refers to them
/// weakly.
package final class ProcessGauges: Sendable {
    package typealias Connections = @Sendable () -> ServerCounters?

    /// Holds the closure of the mail server. A closure that is itself a mutex's value is wrapped once more at each
    /// reading, and calls go through all the wrappers; a structure's member isn't.
    private struct MailServer {
        let connections: @Sendable () -> (open: Int, limit: Int)?
    }

    private let servers = Mutex<[(name: String, counters: Connections)]>([])
    private let mail = Mutex<MailServer?>(nil)
    private let ports = Mutex<[(name: String, port: UInt16)]>([])
    /// The number of the log's lines that were dropped since the start; `nil` if this program doesn't write the log.
    let droppedLogLines: (@Sendable () -> Int)?
    /// Whether the daemon is about to stop.
    private let ending = Atomic<Bool>(false)

    package init(droppedLogLines: (@Sendable () -> Int)? = nil) { self.droppedLogLines = droppedLogLines }

    package var isEnding: Bool { ending.load(ordering: .relaxed) }

    /// Makes `health` tell balancers from now on that the daemon is about to stop.
    package func announceEnd() { ending.store(true, ordering: .relaxed) }

    /// Adds a server under its name in `health`: `http`, `https`.
    package func add(_ name: String, _ counters: @escaping Connections) {
        servers.withLock { $0.append((name: name, counters: counters)) }
    }

    /// Adds the SMTP server, which counts its open connections and has a limit of them.
    package func addMail(_ connections: @escaping @Sendable () -> (open: Int, limit: Int)?) {
        mail.withLock { $0 = MailServer(connections: connections) }
    }

    var mailConnections: (open: Int, limit: Int)? { mail.withLock { $0 }?.connections() }

    /// Records a port on which the daemon listens: `http`, `https`, `proxy`.
    package func note(_ name: String, port: UInt16) { ports.withLock { $0.append((name: name, port: port)) } }

    /// The ports on which the daemon listens, by name, without worlds' own ports.
    package var listening: [(name: String, port: UInt16)] { ports.withLock { $0 } }

    var connections: [(name: String, counters: ServerCounters)] {
        servers.withLock { $0 }.compactMap { server in
            server.counters().map { (name: server.name, counters: $0) }
        }
    }
}
