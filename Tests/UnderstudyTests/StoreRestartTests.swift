import Foundation
import JSON
import SQLite
import TestSupport
import Testing
import Understudy

/// A daemon with a file must continue where it ended, even if it was killed.
@Suite("a daemon that starts again on its file")
struct StoreRestartTests {
    private static let control = "/_understudy/v1"

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "restart-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private let folder: Folder

    init() throws { folder = try Folder() }

    /// Starts a daemon, runs `body`, and stops it.
    private func run<Result>(
        _ seeds: [SeedInput] = [.builtIn], _ body: (TestClient) throws -> Result
    ) throws -> Result {
        var options = RunningServer.Options()
        options.store = "sqlite:\(folder.path)/w"
        let server = try RunningServer.start(seeds: seeds, options: options)
        defer { server.stop() }
        return try body(TestClient(port: server.port))
    }

    private func get(_ client: TestClient, _ call: String) throws -> Answer {
        try client.get("\(StoreRestartTests.control)/\(call)")
    }

    private func post(_ client: TestClient, _ call: String, _ body: [String: Any]) throws -> Answer {
        try client.post("\(StoreRestartTests.control)/\(call)", json: body)
    }

    @Test("gives requests IDs that none before had, for what an earlier one has redeemed names it")
    func numbers() throws {
        func id(_ answer: Answer) throws -> Int {
            let id = try #require(answer.header("Understudy-Request"))
            return try #require(Int(id.dropFirst()))
        }
        var last = 0
        for _ in 0..<3 {
            try run { client in
                for _ in 0..<20 {
                    let next = try id(get(client, "clock"))
                    #expect(next > last)
                    last = next
                }
            }
        }
    }

    @Test("has its orders, clock, keys, people and worlds")
    func going() throws {
        let calls = ["outcomes", "faults", "accounts", "clock"]
        let before = try run { client in
            _ = try post(client, "outcomes", ["provider": "github", "outcome": "approve", "account": "ada"])
            _ = try post(client, "faults", ["match": ["path": "/nobody/asks"], "effect": ["status": 503]])
            _ = try post(client, "clock", ["set": "2031-02-03T04:05:06Z", "freeze": true])
            _ = try post(client, "accounts", ["id": "zoe"])
            #expect(try post(client, "apple/keys/rotate", [:]).status == 200)
            _ = try client.post(
                "/~other\(StoreRestartTests.control)/outcomes", json: ["provider": "google", "outcome": "cancel"])
            return try calls.map { try get(client, $0).text }
                + [
                    client.get("/appleid.apple.com/auth/keys").text,
                    client.get("/www.googleapis.com/oauth2/v3/certs").text,
                    client.get("/~other\(StoreRestartTests.control)/outcomes").text,
                ]
        }
        let after = try run { client in
            try calls.map { try get(client, $0).text }
                + [
                    client.get("/appleid.apple.com/auth/keys").text,
                    client.get("/www.googleapis.com/oauth2/v3/certs").text,
                    client.get("/~other\(StoreRestartTests.control)/outcomes").text,
                ]
        }
        #expect(before == after)
    }

    @Test("has the seeds that worlds got while it ran")
    func seeds() throws {
        let seed = #"{"accounts": [{"id": "grace"}]}"#
        try run { client in
            let own = try client.post(
                "/~own\(StoreRestartTests.control)/seed", json: ["accounts": [["id": "grace"]]], method: "PUT")
            #expect(own.status == 200)
            #expect(try post(client, "seed", ["accounts": [["id": "zoe"]]]).status == 200)
        }
        try run { client in
            #expect(try client.get("/~own\(StoreRestartTests.control)/accounts").text.contains("grace"))
            #expect(try !client.get("/~own\(StoreRestartTests.control)/accounts").text.contains("\"ada\""))
            let people = try get(client, "accounts").text
            #expect(people.contains("\"zoe\""))
            #expect(people.contains("\"ada\""))
        }
        #expect(throws: StartError.self) { try run([.json(seed)]) { _ in } }
    }

    @Test("takes seeds for worlds that were reset since they got one")
    func seedsAfterReset() throws {
        try run { client in
            let own = "/~own\(StoreRestartTests.control)"
            for person in ["grace", "zoe", "mia"] {
                #expect(try client.post("\(own)/seed", json: ["accounts": [["id": person]]]).status == 200)
                #expect(try client.post("\(own)/reset", json: [:]).status == 200)
            }
            let replaced = try client.post("\(own)/seed", json: ["accounts": [["id": "tom"]]], method: "PUT")
            #expect(replaced.status == 200)
            #expect(try client.post("\(own)/seed", json: ["accounts": [["id": "kim"]]]).status == 200)
        }
        try run { client in
            let people = try client.get("/~own\(StoreRestartTests.control)/accounts").text
            #expect(people.contains("\"tom\"") && people.contains("\"kim\"") && !people.contains("\"mia\""))
        }
    }

    @Test("refuses while its file can't be written, says why, and works again after that")
    func failing() throws {
        try run { client in
            let order: [String: Any] = ["provider": "github", "outcome": "approve"]
            #expect(try post(client, "outcomes", order).status == 201)
            let other = try SQLiteDatabase("\(folder.path)/w")
            try other.execute("BEGIN IMMEDIATE")
            let refusal = try post(client, "outcomes", order)
            #expect(refusal.status == 503)
            #expect(refusal.text.contains("storeSlow"))
            #expect(refusal.header("Retry-After") == "1")
            let kept = try get(client, "outcomes")
            #expect(kept.text.components(separatedBy: "github").count == 2, "\(kept)")
            try other.execute("ROLLBACK")
            #expect(try post(client, "outcomes", order).status == 201)
            #expect(try get(client, "outcomes").text.components(separatedBy: "github").count == 3)
        }
    }
}
