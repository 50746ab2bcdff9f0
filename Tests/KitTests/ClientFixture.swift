import Foundation
import TestSupport
import Understudy
import UnderstudyClient

/// A world for a test of the client: a world of the shared daemon, or `w1` of a daemon of the test's own.
final class ClientFixture: Sendable {
    static let app = "com.example.app"
    static let service = "com.example.web.auto"

    let server: TestServer
    let daemon: UnderstudyClient.Understudy
    let world: World
    private let name: String

    static var options: RunningServer.Options { RunningServer.Options() }

    /// Makes a world. With `isAlone` or `options`, it gets a daemon of its own.
    init(options: RunningServer.Options? = nil, token: String? = nil, isAlone: Bool = false) throws {
        let isShared = !isAlone && options == nil
        server =
            try isShared ? TestServer.world() : TestServer.start(options: options ?? RunningServer.Options())
        daemon = UnderstudyClient.Understudy(url: server.url, controlToken: token)
        name = server.worldName ?? "w1"
        world = daemon.world(name)
    }

    deinit { server.stop() }

    /// Sends a request to a provider's endpoint, as the code under test would.
    func ask(_ host: String, _ path: String, form: [String: String]? = nil) throws -> TestSupport.Answer {
        let client = TestClient(port: server.port)
        let target = "/~\(name)/\(host)\(path)"
        guard let form else { return try client.get(target) }
        return try client.post(target, form: form)
    }
}
