import Foundation
import SQLite
import TestSupport
import Testing
import Understudy

/// A world can be moved as JSON from one daemon to another, between all kinds of stores.
@Suite("a snapshot of a world")
struct SnapshotTests {
    private static let control = "/_understudy/v1"
    private static let project = "/emulator/v1/projects/demo-app"

    private func start(_ store: String = "memory") throws -> RunningServer {
        var options = RunningServer.Options()
        options.store = store
        return try RunningServer.start(options: options)
    }

    private func save(_ client: TestClient, world: String = "") throws -> Answer {
        let answer = try client.get("\(world)\(SnapshotTests.control)/snapshot")
        #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
        return answer
    }

    private func load(_ client: TestClient, _ bytes: [UInt8], world: String = "") throws -> Answer {
        try client.request("PUT", "\(world)\(SnapshotTests.control)/snapshot", body: bytes)
    }

    private func post(_ client: TestClient, _ call: String, _ body: [String: Any]) throws {
        let answer = try client.post("\(SnapshotTests.control)/\(call)", json: body)
        #expect(answer.status < 300, "\(call) \(answer)")
    }

    /// The codes and tokens that an app has received from the filled world.
    private struct Held {
        var code = ""
        var refreshToken = ""
        var idToken = ""
    }

    private func fill(_ client: TestClient) throws -> Held {
        // Each daemon makes these keys itself. Once they are read, they are part of the world.
        for path in ["/appleid.apple.com/auth/keys", "/www.googleapis.com/oauth2/v3/certs"] { _ = try client.get(path) }
        try post(client, "clock", ["advance": "10m"])
        try post(client, "clock", ["freeze": true])
        try post(client, "apple/keys/rotate", [:])
        try post(client, "outcomes", ["provider": "github", "outcome": "approve", "account": "ada"])
        try post(client, "faults", ["match": ["path": "/nobody/asks"], "effect": ["status": 503]])
        try post(client, "accounts", ["id": "zoe", "email": "zoe@example.org"])
        #expect(try client.request("DELETE", "\(SnapshotTests.control)/accounts/grace").status == 204)
        #expect(
            try client.post(
                "\(SnapshotTests.control)/accounts/ada", json: ["phoneNumber": "+15555550111"], method: "PATCH"
            ).status == 200)
        var held = Held()
        let native = try client.post(
            "\(SnapshotTests.control)/apple/authorizations",
            json: ["client": AppleFixture.app, "scopes": ["email"], "account": "ada"])
        held.code = try #require(native["authorizationCode"])
        let key = "key=demo-api-key"
        let user = try client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?\(key)",
            json: ["email": "u@example.com", "password": "secret12", "returnSecureToken": true])
        held.refreshToken = try #require(user["refreshToken"])
        held.idToken = try #require(user["idToken"])
        let mail = try client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode?\(key)",
            json: ["requestType": "PASSWORD_RESET", "email": "u@example.com"])
        #expect(mail.status == 200)
        return held
    }

    /// Returns the daemon's answers about the world.
    private func answers(_ client: TestClient) throws -> [String] {
        let calls = ["outcomes", "faults", "accounts", "clock", "mail"].map { "\(SnapshotTests.control)/\($0)" }
        let paths = [
            "/appleid.apple.com/auth/keys", "/www.googleapis.com/oauth2/v3/certs", "\(SnapshotTests.project)/oobCodes",
            "\(SnapshotTests.control)/apple/credential-state?client=\(AppleFixture.app)&user=none",
        ]
        return try (calls + paths).map { path in
            // Links in mails must lead to the same pages.
            try client.get(path).text.replacing(/localhost:[0-9]+/, with: "HERE")
        }
    }

    /// Returns the contents of a snapshot without each daemon's own data.
    private func contents(_ snapshot: Answer) throws -> (rest: NSDictionary, keys: [NSDictionary]) {
        var all = snapshot.json
        let keys = try #require(all.removeValue(forKey: "keys") as? [NSDictionary])
        return (all as NSDictionary, keys)
    }

    /// The persistent stores: a file in the test's folder, and a schema in PostgreSQL if the tests have one.
    private static let lasting: [String] = {
        guard let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"], !url.isEmpty else {
            return ["sqlite:file"]
        }
        let mark = url.contains("?") ? "&" : "?"
        let name = UUID().uuidString.prefix(8).lowercased()
        return ["sqlite:file", "\(url)\(mark)options=-csearch_path%3Dsnapshot_\(name)"]
    }()

    @Test(
        "goes from memory to another store and back: the same answers, and codes and tokens that work once",
        arguments: lasting)
    func roundTrip(lasting: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "snapshot-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = lasting == "sqlite:file" ? "sqlite:\(folder)/w" : lasting
        let first = try start()
        let client = TestClient(port: first.port)
        let held = try fill(client)
        let (before, snapshot) = (try answers(client), try save(client))
        #expect(snapshot.json["snapshot"] as? Int == 1)
        do {
            let second = try start(store)
            defer { second.stop() }
            let other = TestClient(port: second.port)
            try post(other, "accounts", ["id": "gone"])
            let loaded = try load(other, snapshot.body)
            #expect(loaded.status == 200 && loaded.json["loaded"] as? Bool == true, "\(loaded)")
            #expect(try answers(other) == before)
        }
        let again = try start(store)
        let middle = TestClient(port: again.port)
        #expect(try answers(middle) == before)
        let copied = try save(middle)
        let third = try start()
        let last = TestClient(port: third.port)
        #expect(try load(last, copied.body).status == 200)
        #expect(try answers(last) == before)
        let (one, two) = (try contents(snapshot), try contents(save(last)))
        #expect(one.rest == two.rest)
        #expect(one.keys.allSatisfy { two.keys.contains($0) } && !one.keys.isEmpty)
        let secret = try AppleFixture.secret(for: AppleFixture.app)
        let redeem = ["grant_type": "authorization_code", "code": held.code, "client_id": AppleFixture.app]
        let form = redeem.merging(["client_secret": secret]) { $1 }
        #expect(try last.post("/appleid.apple.com/auth/token", form: form).status == 200)
        #expect(try last.post("/appleid.apple.com/auth/token", form: form)["error"] == "invalid_grant")
        let refreshed = try last.post(
            "/securetoken.googleapis.com/v1/token?key=demo-api-key",
            form: ["grant_type": "refresh_token", "refresh_token": held.refreshToken])
        #expect(refreshed.status == 200)
        let found = try last.post(
            "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=demo-api-key", json: ["idToken": held.idToken])
        #expect(found.text.contains("u@example.com"))
    }

    @Test("a world's own seed comes with it, into another world") func ownSeed() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        let seed = ["accounts": [["id": "max"]]]
        #expect(try client.post("/~own\(SnapshotTests.control)/seed", json: seed, method: "PUT").status == 200)
        let snapshot = try save(client, world: "/~own")
        #expect(try load(client, snapshot.body, world: "/~copy").status == 200)
        let people = try client.get("/~copy\(SnapshotTests.control)/accounts").text
        #expect(people.contains("\"max\"") && !people.contains("\"ada\""))
        #expect(try client.get("\(SnapshotTests.control)/accounts").text.contains("\"ada\""))
        // The scenarios for new worlds don't apply to a world that began at another daemon.
        var options = RunningServer.Options()
        options.store = "memory"
        options.scenarios = ["slow-provider"]
        let other = try RunningServer.start(options: options)
        let last = TestClient(port: other.port)
        #expect(try load(last, snapshot.body).status == 200)
        let faults = try last.get("\(SnapshotTests.control)/faults").json["faults"] as? [Any]
        #expect(faults?.isEmpty == true)
    }

    @Test(
        "claims of a person come with it as they were written, numbers beyond 2^53 included",
        arguments: ["memory", "sqlite"])
    func claims(store: String) throws {
        let (first, other) = (try start(store == "memory" ? store : "sqlite:#temporary"), try start())
        defer { for server in [first, other] { server.stop() } }
        let (from, to) = (TestClient(port: first.port), TestClient(port: other.port))
        let claims = #"{"z":1e+308,"a":{"id":9223372036854775807,"":"1"},"b":[-1e+300,"1e308",null]}"#
        let person = #"{"id":"zoe","email":"zoe@example.org","openid":{"claims":\#(claims)}}"#
        let added = try from.request("POST", "\(SnapshotTests.control)/accounts", body: Array(person.utf8))
        #expect(added.status == 201, "\(added)")
        let loaded = try load(to, save(from).body)
        #expect(loaded.status == 200, "\(loaded)")
        let order = #"{"provider":"openid","outcome":"approve","account":"ada"}"#
        _ = try from.request("POST", "\(SnapshotTests.control)/outcomes", body: Array(order.utf8))
        let query = TestClient.encode([
            "client_id": "web", "redirect_uri": "http://localhost:3000/callback", "response_type": "code",
            "scope": "openid", "claims": #"{"id_token":{"a":{"value":1e308}}}"#,
        ])
        #expect(try from.get("/oidc/corp/authorize?\(query)").location.contains("code="))
        #expect(try load(to, save(from).body).status == 200)
        let path = "\(SnapshotTests.control)/accounts/zoe"
        #expect(try to.get(path).text == from.get(path).text)
        #expect(try to.get(path).text.contains(#""id":9223372036854775807"#))
    }

    @Test("what can't be taken is refused with its place, and nothing changes") func refusals() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        _ = try client.get("/appleid.apple.com/auth/keys")
        try post(client, "apple/keys/rotate", [:])
        try post(client, "accounts", ["id": "zoe"])
        let whole = try save(client).text
        let changes: [(String, String, String)] = [
            (#""snapshot":1"#, #""snapshot":2"#, "$.snapshot"), (#""clock":"#, #""clack":"#, #"$.values["clack"]"#),
            (#""people":["#, #""peple":["#, #"$.tables["peple"]"#),
            (#""id":"zoe""#, #""id":7"#, "$.tables.people["), (#""keys":["#, #""keys":[{},"#, "$.keys[0]"),
            (#""seed":""#, #""seed":"x"#, "$.seed"), ("{", "[", "$"),
            // Sums and the next numbers would exceed 64 bits.
            (#""made":0"#, #""made":9223372036854775807"#, "$"), (#""made":0"#, #""made":-1e18"#, "$"),
        ]
        let before = try client.get("\(SnapshotTests.control)/accounts").text
        for (from, to, path) in changes {
            let start = try #require(whole.range(of: from), "\(from)")
            let answer = try load(client, Array(whole.replacingCharacters(in: start, with: to).utf8))
            let error = answer.json["error"] as? [String: Any]
            #expect(answer.status == 400 && error?["code"] as? String == "invalidSnapshot", "\(to) \(answer)")
            #expect((error?["path"] as? String)?.hasPrefix(path) == true, "\(to) \(answer)")
        }
        #expect(try client.get("\(SnapshotTests.control)/accounts").text == before)
    }

    @Test("keys of an owner that are there twice are refused") func keysTwice() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        _ = try client.get("/appleid.apple.com/auth/keys")
        try post(client, "apple/keys/rotate", [:])
        var document = try save(client).json
        let keys = try #require(document["keys"] as? [Any])
        document["keys"] = keys + keys.suffix(1)
        let answer = try load(client, Array(JSONSerialization.data(withJSONObject: document)))
        let error = answer.json["error"] as? [String: Any]
        #expect(answer.status == 400 && error?["path"] as? String == "$.keys[\(keys.count)]", "\(answer)")
    }

    @Test("what a snapshot says of the inbox's size isn't believed") func inboxSize() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        func send() throws {
            let link = ["requestType": "EMAIL_SIGNIN", "email": "a@example.com", "continueUrl": "http://localhost/"]
            let path = "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode?key=demo-api-key"
            #expect(try client.post(path, json: link).status == 200)
        }
        try send()
        let whole = try save(client).text
        let said = try #require(whole.range(of: #""bytes":[0-9]+"#, options: .regularExpression))
        let much = whole.replacingCharacters(in: said, with: #""bytes":9000000000000000"#)
        #expect(try load(client, Array(much.utf8)).status == 200)
        try send()
        let messages = try client.get("\(SnapshotTests.control)/mail").json["messages"] as? [Any]
        #expect(messages?.count == 2)
    }

    @Test("a snapshot brings no more than a world may have") func limits() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        let link = ["requestType": "EMAIL_SIGNIN", "email": "a@example.com", "continueUrl": "http://localhost/"]
        let path = "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode?key=demo-api-key"
        #expect(try client.post(path, json: link).status == 200)
        #expect(
            try client.post("\(SnapshotTests.control)/faults", json: ["effect": ["status": 418]]).status == 201)
        let saved = try save(client).json
        func load(_ change: (inout [String: Any]) throws -> Void) throws -> String? {
            var document = saved
            try change(&document)
            let answer = try self.load(client, Array(JSONSerialization.data(withJSONObject: document)))
            #expect(answer.status == 400, "\(answer)")
            return (answer.json["error"] as? [String: Any])?["path"] as? String
        }
        let savedFaults = (saved["values"] as? [String: Any])?["faults"] as? [String: Any]
        #expect(savedFaults?["made"] as? Int == 1 && savedFaults?["mark"] as? Int == 0)
        let faults = try load { document in
            var values = try #require(document["values"] as? [String: Any])
            var queue = try #require(values["faults"] as? [String: Any])
            let one = try #require((queue["faults"] as? [Any])?.first)
            queue["faults"] = [Any](repeating: one, count: 1_001)
            values["faults"] = queue
            document["values"] = values
        }
        #expect(faults == #"$.values["faults"]"#)
        let mails = try load { document in
            var tables = try #require(document["tables"] as? [String: Any])
            let one = try #require((tables["mail.message"] as? [Any])?.first)
            tables["mail.message"] = [Any](repeating: one, count: 1_001)
            document["tables"] = tables
        }
        #expect(mails == #"$.tables["mail.message"]"#)
        #expect(try self.load(client, Array(JSONSerialization.data(withJSONObject: saved))).status == 200)
    }

    @Test("it may be larger than other bodies, and nothing else may") func sizes() throws {
        let server = try start()
        let client = TestClient(port: server.port)
        let large = [UInt8](repeating: UInt8(ascii: " "), count: 3 << 20)
        #expect(try load(client, large).status == 400)
        #expect(try load(client, large, world: "/~w1").status == 400)
        let many = try load(client, Array("[\(String(repeating: "1,", count: 2_000_001))1]".utf8))
        #expect(many.status == 400 && many.text.contains("more than 2000000 values"))
        for path in [
            "/appleid.apple.com/_understudy/v1/snapshot", "/_understudy/v1/seed", "/~a/~b/_understudy/v1/snapshot",
        ] {
            #expect(try client.request("PUT", path, body: large).status == 413, "\(path)")
        }
    }

    @Test("a store that fails takes nothing of it") func failing() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "snapshot-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try start("sqlite:\(folder)/w")
        let client = TestClient(port: server.port)
        let snapshot = try save(client)
        try post(client, "accounts", ["id": "zoe"])
        let other = try SQLiteDatabase("\(folder)/w")
        try other.execute("BEGIN IMMEDIATE")
        let refusal = try load(client, snapshot.body)
        #expect(refusal.status == 503 && refusal.text.contains("storeSlow"), "\(refusal)")
        try other.execute("ROLLBACK")
        #expect(try client.get("\(SnapshotTests.control)/accounts/zoe").status == 200)
        #expect(try load(client, snapshot.body).status == 200)
        #expect(try client.get("\(SnapshotTests.control)/accounts/zoe").status == 404)
    }
}
