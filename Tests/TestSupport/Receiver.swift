import HTTPServer
import Synchronization

/// A server that records the requests it gets.
package final class Receiver: Sendable {
    private let kept = Mutex<[Request]>([])
    private let server = Mutex<Server?>(nil)

    /// Answers with `statuses` in turn, then with 200.
    package convenience init(statuses: [Int] = []) throws {
        let statuses = Mutex(statuses)
        try self.init { _ in .now(Response(status: statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() })) }
    }

    package init(answering answer: @escaping @Sendable (Request) -> Reply) throws {
        let server = try Server(Server.Options()) { [self] request in
            kept.withLock { $0.append(request) }
            return answer(request)
        }
        self.server.withLock { $0 = server }
    }

    deinit { server.withLock { $0?.stop() } }

    package func stop() { server.withLock { $0?.stop() } }
    package var url: String { "http://127.0.0.1:\(server.withLock { $0?.port ?? 0 })/events" }
    package var requests: [Request] { kept.withLock { $0 } }
}
