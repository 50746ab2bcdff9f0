import Foundation
import TestSupport
import Understudy
import UnderstudyClient

/// A daemon on the built-in seed, and a world of it, as a user of the client has them.
final class ClientFixture: Sendable {
    static let app = "com.example.app"
    static let service = "com.example.web.auto"

    let server: TestServer
    let daemon: UnderstudyClient.Understudy
    let world: World

    static var options: RunningServer.Options { RunningServer.Options() }

    init(options: RunningServer.Options = RunningServer.Options(), token: String? = nil) throws {
        server = try TestServer.start(options: options)
        daemon = UnderstudyClient.Understudy(url: server.url, controlToken: token)
        world = daemon.world("w1")
    }

    deinit { server.stop() }

    /// What a provider's endpoint answers, asked as the code under test asks it.
    func ask(_ host: String, _ path: String, form: [String: String]? = nil) throws -> TestSupport.Answer {
        let client = TestClient(port: server.port)
        let target = "/~w1/\(host)\(path)"
        guard let form else { return try client.get(target) }
        return try client.post(target, form: form)
    }
}
