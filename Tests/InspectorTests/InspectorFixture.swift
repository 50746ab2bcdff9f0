import TestSupport
import Testing

@testable import Understudy

/// A daemon for tests of the inspector.
final class InspectorFixture: Sendable {
    let server: TestServer
    let client: TestClient

    /// Starts a daemon, or uses the shared one. With `isAlone` or `options`, it is the test's own.
    init(options: RunningServer.Options? = nil, isAlone: Bool = false) throws {
        let isShared = !isAlone && options == nil
        server =
            try isShared ? TestServer.world() : TestServer.start(options: options ?? RunningServer.Options())
        client = TestClient(port: server.port)
    }

    deinit { server.stop() }

    /// Requests a page as a browser does: `path` is below the inspector's address, such as `people/ada`.
    func page(_ path: String = "", world: String? = nil, headers: [String: String] = [:]) throws -> Answer {
        try client.get(
            "\(world.map { "/~\($0)" } ?? "")/_understudy/\(path)",
            headers: ["Accept": "text/html"].merging(headers) { $1 })
    }

    /// Sends a form as its page does, with the token of the page `from`, and doesn't follow the redirect.
    func submit(
        _ path: String, _ fields: [String: String], from page: String = "clock", world: String? = nil,
        headers: [String: String] = [:]
    ) throws -> Answer {
        let token = try #require(try self.page(page, world: world).inputs["formToken"])
        return try client.post(
            "\(world.map { "/~\($0)" } ?? "")/_understudy/\(path)",
            form: fields.merging(["formToken": token]) { $1 }, headers: headers)
    }
}
