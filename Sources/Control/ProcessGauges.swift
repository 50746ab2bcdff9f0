import HTTPServer
import Synchronization

/// Counters of the servers and the log, for `health`. The servers are made after the control API, which therefore refers to
/// them weakly.
package final class ProcessGauges: Sendable {
    package typealias Connections = @Sendable () -> ServerCounters?

    /// A closure that is itself a mutex's value is wrapped once more each time it is read, and each call then goes through all of the
    /// wrappers; as a member of a structure it is kept as it is.
    private struct MailServer {
        let connections: @Sendable () -> (open: Int, limit: Int)?
    }

    private let servers = Mutex<[(name: String, counters: Connections)]>([])
    private let mail = Mutex<MailServer?>(nil)
    private let ports = Mutex<[(name: String, port: UInt16)]>([])
    /// How many lines of the log were dropped since the start; `nil` when the log isn't written by this program.
    let droppedLogLines: (@Sendable () -> Int)?
    /// Whether the daemon is about to stop.
    private let ending = Atomic<Bool>(false)

    package init(droppedLogLines: (@Sendable () -> Int)? = nil) { self.droppedLogLines = droppedLogLines }

    package var isEnding: Bool { ending.load(ordering: .relaxed) }

    /// From now on `health` has balancers send requests elsewhere.
    package func announceEnd() { ending.store(true, ordering: .relaxed) }

    /// Adds a server under the name that `health` shows: `http`, `https`.
    package func add(_ name: String, _ counters: @escaping Connections) {
        servers.withLock { $0.append((name: name, counters: counters)) }
    }

    /// Adds the server of mail by SMTP: how many connections it has, of how many.
    package func addMail(_ connections: @escaping @Sendable () -> (open: Int, limit: Int)?) {
        mail.withLock { $0 = MailServer(connections: connections) }
    }

    var mailConnections: (open: Int, limit: Int)? { mail.withLock { $0 }?.connections() }

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
