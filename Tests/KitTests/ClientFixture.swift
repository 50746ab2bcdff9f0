import Foundation
import TestSupport
import Understudy
import UnderstudyClient

/// A world of the daemon that tests share, or `w1` of a daemon of the test's own, as a user of the client has them.
final class ClientFixture: Sendable {
    static let app = "com.example.app"
    static let service = "com.example.web.auto"

    let server: TestServer
    let daemon: UnderstudyClient.Understudy
    let world: World
    private let name: String

    static var options: RunningServer.Options { RunningServer.Options() }

    /// With `isAlone` or `options`, the daemon is the test's own.
    init(options: RunningServer.Options? = nil, token: String? = nil, isAlone: Bool = false) throws {
        let isShared = !isAlone && options == nil
        server =
            try isShared ? TestServer.world() : TestServer.start(options: options ?? RunningServer.Options())
        daemon = UnderstudyClient.Understudy(url: server.url, controlToken: token)
        name = server.worldName ?? "w1"
        world = daemon.world(name)
    }

    deinit { server.stop() }

    /// What a provider's endpoint answers, asked as the code under test asks it.
    func ask(_ host: String, _ path: String, form: [String: String]? = nil) throws -> TestSupport.Answer {
        let client = TestClient(port: server.port)
        let target = "/~\(name)/\(host)\(path)"
        guard let form else { return try client.get(target) }
        return try client.post(target, form: form)
    }
}
