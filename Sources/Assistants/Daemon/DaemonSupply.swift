import HTTPClient
import JSON
import Synchronization
import Understudy

/// The daemon for the tools: one that runs at an address or, if none does, one that this process starts and stops.
package final class DaemonSupply: Sendable {
    package typealias Start = @Sendable () throws -> RunningServer

    private let url: String
    private let world: String?
    private let token: String?
    private let start: Start?
    private let started = Mutex<RunningServer?>(nil)

    /// Describes the daemon. Nothing is sent or started yet.
    ///
    /// - Parameters:
    ///   - url: the daemon's address.
    ///   - world: the world for calls that don't name one; `nil` is the daemon's default world.
    ///   - token: the daemon's control token, if it has one.
    ///   - start: starts a daemon if none answers; with `nil`, none is started.
    package init(url: String, world: String?, token: String?, start: Start? = nil) {
        self.url = url
        self.world = world
        self.token = token
        self.start = start
    }

    /// Starts a daemon if none answers and there is a way to start one.
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

    /// Stops the daemon that was started, if one was, after `body`.
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

    /// The subject of a call.
    enum Subject {
        /// A world; `nil` means the one for calls that don't name one.
        case world(String?)
        /// All worlds. The call doesn't create any.
        case daemon
    }

    /// Returns a client for calls about `subject`.
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

    /// Returns the daemon's answer. If the daemon has gone, it is started again if possible.
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

    /// Whether the answer at the address comes from a daemon.
    private var isAnswering: Bool {
        guard let answer = try? DaemonClient(url: url, token: token).ask("GET", "health") else { return false }
        return (try? JSONValue(parsing: answer.body, limits: .answer))?["version"] != nil
    }
}

/// The reason why no daemon answers.
struct ConnectionProblem: Error {
    let url: String
    let reason: String
}
