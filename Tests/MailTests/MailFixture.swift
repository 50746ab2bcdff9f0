import Foundation
import JSON
import TestSupport
import Understudy

/// A daemon that takes mail.
final class MailFixture: Sendable {
    static let api = "/_understudy/v1"

    let server: TestServer
    let client: TestClient

    init(seed: String? = nil, _ change: (inout RunningServer.Options) -> Void = { _ in }) throws {
        var options = RunningServer.Options()
        options.smtpPort = 0
        change(&options)
        server = try TestServer.start(seeds: [.builtIn] + (seed.map { [.json($0)] } ?? []), options: options)
        client = TestClient(port: server.port)
    }

    deinit { server.stop() }

    var port: Int { server.smtpPort ?? 0 }

    func wire() throws -> MailWire { try MailWire(port: port) }

    /// Returns the documents of a list in the control API.
    func list(_ path: String, _ member: String, world: String? = nil) throws -> [[String: Any]] {
        let prefix = world.map { "/~\($0)" } ?? ""
        return try client.get("\(prefix)\(MailFixture.api)/\(path)").json[member] as? [[String: Any]] ?? []
    }

    func requests(_ query: String = "", world: String? = nil) throws -> [[String: Any]] {
        try list("requests?\(query)", "requests", world: world)
    }

    func mails(world: String? = nil) throws -> [[String: Any]] { try list("mail", "messages", world: world) }

    /// Returns the recording's text of a conversation.
    static func conversation(_ exchange: [String: Any]?) -> String {
        (exchange?["request"] as? [String: Any])?["body"] as? String ?? ""
    }

    func fault(_ order: [String: Any]) throws -> Answer {
        try client.post("\(MailFixture.api)/faults", json: order)
    }
}
