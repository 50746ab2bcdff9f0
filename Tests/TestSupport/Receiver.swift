import HTTPServer
import Synchronization

/// A server that keeps what is posted to it.
package final class Receiver: Sendable {
    private let kept = Mutex<[Request]>([])
    private let statuses: Mutex<[Int]>
    private let server = Mutex<Server?>(nil)

    /// Answers with `statuses` in turn, then with 200.
    package init(statuses: [Int] = []) throws {
        self.statuses = Mutex(statuses)
        let server = try Server(Server.Options()) { [self] request in
            kept.withLock { $0.append(request) }
            return .now(Response(status: self.statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }))
        }
        self.server.withLock { $0 = server }
    }

    deinit { server.withLock { $0?.stop() } }

    package func stop() { server.withLock { $0?.stop() } }
    package var url: String { "http://127.0.0.1:\(server.withLock { $0?.port ?? 0 })/events" }
    package var requests: [Request] { kept.withLock { $0 } }
}
