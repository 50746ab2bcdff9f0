import HTTPClient
import JSON
import Synchronization
import Understudy

/// The daemon that the tools of coding assistants use: one that answers at an address or, if none does, one that this
/// process starts and stops.
package final class DaemonSupply: Sendable {
    package typealias Start = @Sendable () throws -> RunningServer

    private let url: String
    private let world: String?
    private let token: String?
    private let start: Start?
    private let started = Mutex<RunningServer?>(nil)

    /// Describes the daemon to use. Nothing is sent or started yet.
    ///
    /// - Parameters:
    ///   - url: the daemon's address.
    ///   - world: the test world for calls that don't name one; `nil` is the daemon's default world.
    ///   - token: the daemon's control token, if it has one.
    ///   - start: starts a daemon if none answers; with `nil`, none is started.
    package init(url: String, world: String?, token: String?, start: Start? = nil) {
        self.url = url
        self.world = world
        self.token = token
        self.start = start
    }

    /// Starts a daemon if none answers at the address and this process may start one.
    package func prepare() throws {
        guard let start else { return }
        try started.withLock { server in
            guard server == nil, !isAnswering else { return }
            do { server = try start() } catch {
                // Another process may have started one on the same port just now.
                guard isAnswering else { throw error }
            }
        }
    }

    /// Stops the daemon that this process has started, then calls `body`, which may still read the daemon's data. Does
    /// nothing if this process has started no daemon.
    package func end(_ body: (RunningServer) -> Void = { _ in }) {
        let server = started.withLock { server in
            defer { server = nil }
            return server
        }
        guard let server else { return }
        server.stop()
        body(server)
        server.end()
    }

    /// The subject of a call of the control API: a test world, or all of them.
    enum Subject {
        /// The call is about a test world. `nil` means the world for calls that don't name one.
        case world(String?)
        /// The call is about all test worlds. It creates no world.
        case daemon
    }

    /// Returns a client of the daemon, for calls about a test world or about all worlds.
    func client(_ subject: Subject) -> DaemonClient {
        let server = started.withLock { $0 }
        let name: String? =
            switch subject {
            case .world(let name): name ?? world
            case .daemon: nil
            }
        return DaemonClient(
            url: server?.url ?? url, world: name, token: server == nil ? token : server?.controlToken)
    }

    /// Sends a request to the daemon and returns its answer. If no daemon answers, this process starts one if it may
    /// and hasn't started one yet.
    func ask(
        _ method: String, _ path: String, body: [UInt8], about subject: Subject
    ) throws(ConnectionProblem) -> OutgoingRequest.Answer {
        do throws(OutgoingRequest.Failure) {
            return try client(subject).ask(method, path, body: body)
        } catch {
            guard start != nil, started.withLock({ $0 == nil }) else {
                throw ConnectionProblem(url: client(.daemon).base, reason: error.description)
            }
        }
        do { try prepare() } catch {
            throw ConnectionProblem(url: url, reason: "and no daemon can be started there: \(error)")
        }
        do throws(OutgoingRequest.Failure) {
            return try client(subject).ask(method, path, body: body)
        } catch {
            throw ConnectionProblem(url: client(.daemon).base, reason: error.description)
        }
    }

    /// Whether a daemon answers at the address. It is `false` if a different program answers, or none.
    private var isAnswering: Bool {
        guard let answer = try? DaemonClient(url: url, token: token).ask("GET", "health") else { return false }
        return (try? JSONValue(parsing: answer.body, limits: .answer))?["version"] != nil
    }
}

/// The error that no daemon answers at the address, with the reason.
struct ConnectionProblem: Error {
    let url: String
    let reason: String
}
