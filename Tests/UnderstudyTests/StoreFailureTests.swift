import Foundation
import SQLite
import TestSupport
import Testing
import Understudy

/// Failures of the store's file while a daemon uses it: refusals must give the reason, `health` must report it, and
/// everything must work again afterwards.
@Suite("a file of worlds that fails")
struct StoreFailureTests {
    private static let control = "/_understudy/v1"

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "failing-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { "\(path)/w" }
    }

    private let folder: Folder

    init() throws { folder = try Folder() }

    private func start(importing directory: String? = nil, seed: String? = nil) throws -> RunningServer {
        var options = RunningServer.Options()
        options.store = "sqlite:\(folder.file)"
        options.importDirectory = directory
        let added = seed.map { SeedInput.json($0, directory: Repository.root) }
        return try RunningServer.start(seeds: [.builtIn] + (added.map { [$0] } ?? []), options: options)
    }

    private func add(_ client: TestClient, _ id: String) throws -> Answer {
        try client.post("\(StoreFailureTests.control)/accounts", json: ["id": id])
    }

    private func health(_ client: TestClient) throws -> (status: Int, store: [String: Any], text: String) {
        let answer = try client.get("\(StoreFailureTests.control)/health")
        return (answer.status, answer.json["store"] as? [String: Any] ?? [:], answer.text)
    }

    @Test("another process has locked it: health is 503 until it hasn't, with the reason and since when")
    func locked() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        #expect(try add(client, "a").status == 201)
        let well = try health(client)
        #expect(well.status == 200 && well.store["kind"] as? String == "sqlite")
        #expect(well.store["reachable"] as? Bool == true)
        let other = try SQLiteDatabase(folder.file)
        try other.execute("BEGIN IMMEDIATE")
        #expect(try add(client, "b").status == 503)
        let ill = try health(client)
        #expect(ill.status == 503 && ill.text.contains("\"failing\""), "\(ill)")
        #expect(ill.store["reachable"] as? Bool == false)
        #expect((ill.store["failure"] as? String)?.contains("doesn't answer in time") == true)
        #expect((ill.store["failingSince"] as? String)?.hasSuffix("Z") == true)
        try other.execute("ROLLBACK")
        // A load balancer sends no other requests to a daemon that isn't ready.
        #expect(try health(client).status == 200)
        #expect(try client.get("\(StoreFailureTests.control)/accounts/b").status == 404)
        #expect(try add(client, "b").status == 201)
    }

    @Test("keys that can't be kept are waited for by nobody, and made when they can")
    func keys() throws {
        // The issuer has no keys in the seed. They are made at the daemon's start, one after the other, and six RSA
        // keys take some time.
        let algorithms = #"["RS256","RS384","RS512","PS256","PS384","PS512"]"#
        let server = try start(
            seed: #"{"openid":{"issuers":[{"id":"keyless","algorithms":\#(algorithms)}]}}"#)
        let other = try SQLiteDatabase(folder.file)
        try other.execute("BEGIN IMMEDIATE")
        let client = TestClient(port: server.port)
        let jwks = "/oidc/keyless/jwks"
        let refused = try client.get(jwks)
        #expect(refused.status == 503 && !refused.diagnosis.isEmpty, "\(refused)")
        let token: [String: Any] = ["provider": "apple", "client": "com.example.app", "account": "ada"]
        let minted = try client.post("\(StoreFailureTests.control)/tokens", json: token)
        #expect(minted.status == 503 && minted.text.contains("storeSlow"), "\(minted)")
        try other.execute("ROLLBACK")
        #expect(eventually { (try? client.get(jwks).status) == 200 })
        #expect(try client.post("\(StoreFailureTests.control)/tokens", json: token).status == 201)
    }

    @Test("what is refused because it can't be written hasn't happened: seeds, mails, worlds")
    func refused() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        let world = "/~w\(StoreFailureTests.control)"
        #expect(try client.post("\(world)/accounts", json: ["id": "kept"]).status == 201)
        let other = try SQLiteDatabase(folder.file)
        let seed = Array(#"{"accounts":[{"id":"zoe"}]}"#.utf8)
        let mail: [String: Any] = ["from": "a@example.com", "to": ["b@example.com"], "text": "x"]
        func isAsBefore() throws {
            #expect(try client.get("\(world)/accounts/kept").status == 200)
            #expect(try client.get("\(world)/accounts/ada").status == 200)
            #expect(try client.get("\(world)/accounts/zoe").status == 404)
            #expect(try client.get("\(world)/seed").text.contains("com.example.app"))
            #expect((try client.get("\(world)/mail").json["messages"] as? [Any])?.count == 0)
        }
        for order in ["PUT seed", "POST seed", "POST mail"] {
            try other.execute("BEGIN IMMEDIATE")
            let words = order.split(separator: " ").map(String.init)
            let answer =
                order == "POST mail"
                ? try client.post("\(world)/mail", json: mail)
                : try client.request(words[0], "\(world)/\(words[1])", body: seed)
            #expect(answer.status == 503, "\(order): \(answer)")
            try other.execute("ROLLBACK")
            #expect(try health(client).status == 200)
            try isAsBefore()
        }
        // A world isn't deleted while the file is known to fail.
        try other.execute("BEGIN IMMEDIATE")
        #expect(try add(client, "a").status == 503)
        #expect(try client.request("DELETE", "\(StoreFailureTests.control)/worlds/w").status == 503)
        try other.execute("ROLLBACK")
        #expect(try health(client).status == 200)
        try isAsBefore()
        // Neither is it deleted by the call that finds out.
        try other.execute("BEGIN IMMEDIATE")
        #expect(try client.request("DELETE", "\(StoreFailureTests.control)/worlds/w").status == 503)
        try other.execute("ROLLBACK")
        #expect(try health(client).status == 200)
        try isAsBefore()
        // Everything works when the file works again.
        #expect(try client.post("\(world)/mail", json: mail).status == 200)
        #expect(try client.request("PUT", "\(world)/seed", body: seed).status == 200)
        #expect(try client.get("\(world)/accounts/zoe").status == 200)
        #expect(try client.request("DELETE", "\(StoreFailureTests.control)/worlds/w").status == 204)
    }

    @Test("it was moved or removed: nothing is written where nobody would find it")
    func moved() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        #expect(try add(client, "a").status == 201)
        try FileManager.default.moveItem(atPath: folder.file, toPath: "\(folder.file)-away")
        let refusal = try add(client, "b")
        #expect(refusal.status == 503 && refusal.diagnosis.contains("moved or removed"), "\(refusal)")
        #expect(try health(client).status == 503)
        try "another file".write(toFile: folder.file, atomically: false, encoding: .utf8)
        #expect(try add(client, "b").status == 503)
        try FileManager.default.removeItem(atPath: folder.file)
        try FileManager.default.moveItem(atPath: "\(folder.file)-away", toPath: folder.file)
        #expect(try health(client).status == 200)
        #expect(try add(client, "b").status == 201)
    }

    @Test("it was damaged: no daemon starts on it, until it is mended")
    func damaged() throws {
        do {
            let server = try start()
            defer { server.stop() }
            let client = TestClient(port: server.port)
            for place in 0..<300 { #expect(try add(client, "person-\(place)").status == 201) }
        }
        // This writes all data to the main file.
        try SQLiteDatabase(folder.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let whole = try Data(contentsOf: URL(filePath: folder.file))
        var damaged = whole
        for place in 8_192..<damaged.count { damaged[place] = 0xAA }
        try damaged.write(to: URL(filePath: folder.file))
        let error = #expect(throws: StartError.self) { try start() }
        #expect(
            error?.description.contains("can't be read") == true || error?.description.contains("damaged") == true,
            "\(String(describing: error))")
        try whole.write(to: URL(filePath: folder.file))
        let server = try start()
        let client = TestClient(port: server.port)
        for place in 0..<300 {
            #expect(try client.get("\(StoreFailureTests.control)/accounts/person-\(place)").status == 200)
        }
        #expect(try add(client, "another").status == 201)
        #expect(try health(client).status == 200)
    }

    @Test("what was imported is part of the seed that the file belongs to") func imported() throws {
        let exported = try Folder()
        let users = #"{"users": [{"localId": "u1", "email": "u1@example.com"}]}"#
        try users.write(toFile: "\(exported.path)/accounts.json", atomically: true, encoding: .utf8)
        try start(importing: exported.path).stop()
        try start(importing: exported.path).stop()
        #expect(throws: StartError.self) { try start() }
        try users.replacingOccurrences(of: "u1@", with: "u2@").write(
            toFile: "\(exported.path)/accounts.json", atomically: true, encoding: .utf8)
        let error = #expect(throws: StartError.self) { try start(importing: exported.path) }
        #expect(error?.description.contains("made from a seed and imported data") == true)
    }
}
