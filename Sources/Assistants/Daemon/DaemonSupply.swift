import HTTPClient
import JSON
import Synchronization
import Understudy

/// The daemon that tools ask: one that runs at an address or, where none does, one that this process starts and ends.
package final class DaemonSupply: Sendable {
    package typealias Start = @Sendable () throws -> RunningServer

    private let url: String
    private let world: String?
    private let token: String?
    private let start: Start?
    private let started = Mutex<RunningServer?>(nil)

    /// - Parameters:
    ///   - url: where a daemon is looked for.
    ///   - world: the world of calls that name none; `nil` is the daemon's default one.
    ///   - token: the daemon's control token, if it has one.
    ///   - start: starts a daemon where none answers; `nil` leaves that to the person.
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
                // Somebody else may have started one on the same port in this moment.
                guard isAnswering else { throw error }
            }
        }
    }

    /// Ends the daemon that was started, if one was, after `body`.
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

    /// What a call is about.
    enum Subject {
        /// A world; `nil` is the one of calls that name none.
        case world(String?)
        /// All worlds: no world is made for the call.
        case daemon
    }

    /// A client for calls about `subject`.
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

    /// What the daemon answers. One that has gone is started again, where there is a way.
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

    /// Whether a daemon answers, and nothing else does.
    private var isAnswering: Bool {
        guard let answer = try? DaemonClient(url: url, token: token).ask("GET", "health") else { return false }
        return (try? JSONValue(parsing: answer.body, limits: .answer))?["version"] != nil
    }
}

/// Why no daemon answers.
struct ConnectionProblem: Error {
    let url: String
    let reason: String
}
