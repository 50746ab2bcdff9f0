import Foundation
import TestSupport
import Testing
import Understudy

@Suite("The control API")
struct ControlTests {
    static let api = AppleFixture.control
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    @Test("health")
    func health() throws {
        let fixture = try AppleFixture(isAlone: true)
        let answer = try fixture.client.get("\(ControlTests.api)/health")
        #expect(answer.status == 200)
        #expect(answer["status"] == "ok")
        #expect(answer["version"] == Version.current)
        #expect(answer.json["worlds"] as? Int == 1)
    }

    @Test("the clock is set, frozen, advanced and reset")
    func clock() throws {
        let path = "\(ControlTests.api)/clock"
        #expect(
            try fixture.client.post(path, json: ["set": "2030-01-01T00:00:00Z", "freeze": true])["now"]
                == "2030-01-01T00:00:00Z")
        #expect(try fixture.client.post(path, json: ["advance": "6m"])["now"] == "2030-01-01T00:06:00Z")
        #expect(try fixture.client.post(path, json: ["advance": "-1h"])["now"] == "2029-12-31T23:06:00Z")
        Thread.sleep(forTimeInterval: 0.05)
        let frozen = try fixture.client.get(path)
        #expect(frozen["now"] == "2029-12-31T23:06:00Z")
        #expect(frozen.json["milliseconds"] as? Int == 1_893_452_760_000)
        #expect(frozen.json["frozen"] as? Bool == true)
        let running = try fixture.client.post(path, json: ["freeze": false])
        #expect(running["now"] == "2029-12-31T23:06:00Z")
        Thread.sleep(forTimeInterval: 0.05)
        #expect((try fixture.client.get(path).json["milliseconds"] as? Int ?? 0) > 1_893_452_760_000)
        let before = Date().timeIntervalSince1970
        let reset = try fixture.client.post(path, json: ["reset": true]).json["milliseconds"] as? Int ?? 0
        #expect((before - 1...Date().timeIntervalSince1970 + 1).contains(Double(reset) / 1000))
    }

    @Test("the clock takes a time as JavaScript's toISOString() writes it, and keeps its milliseconds")
    func clockToTheMillisecond() throws {
        let path = "\(ControlTests.api)/clock"
        let set = try fixture.client.post(path, json: ["set": "2030-01-01T00:00:00.250Z", "freeze": true])
        #expect(set.json["milliseconds"] as? Int == 1_893_456_000_250)
        #expect(set["now"] == "2030-01-01T00:00:00Z")
        let advanced = try fixture.client.post(path, json: ["advance": "750ms"])
        #expect(advanced.json["milliseconds"] as? Int == 1_893_456_001_000)
        let seed = #"{"clock":{"set":"2030-01-01T00:00:00.125Z","freeze":true}}"#
        #expect(try fixture.client.request("PUT", "\(ControlTests.api)/seed", body: Array(seed.utf8)).status == 200)
        #expect(try fixture.client.get(path).json["milliseconds"] as? Int == 1_893_456_000_125)
    }

    @Test(
        "a clock order that can't be is refused with its place",
        arguments: [
            ("{}", "$"), (#"{"advance":"soon"}"#, "$.advance"), (#"{"set":"soon"}"#, "$.set"),
            (#"{"set":"2030-01-01T00:00:00.Z"}"#, "$.set"),
            (#"{"freeze":"yes"}"#, "$.freeze"),
            (#"{"advnce":"1s"}"#, "$.advnce"), ("[]", "$"), ("{", "$"), ("7", "$"),
            (#"{"advance":"9999999999999d"}"#, "$.advance"),
        ])
    func badClock(body: String, path: String) throws {
        let answer = try fixture.client.request("POST", "\(ControlTests.api)/clock", body: Array(body.utf8))
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("accounts are listed, added, changed and removed")
    func accounts() throws {
        let path = "\(ControlTests.api)/accounts"
        let added = try fixture.client.post(path, json: ["id": "max", "email": "max@example.org"])
        #expect(added.status == 201)
        #expect((added.json["github"] as? [String: Any])?["login"] as? String == "max")
        #expect(try fixture.client.post(path, json: ["id": "max"]).status == 409)
        let changed = try fixture.client.post(
            "\(path)/max", json: ["name": ["given": "Maxine"], "phoneNumber": "+15555550199"], method: "PATCH")
        #expect(changed.status == 200)
        #expect((changed.json["name"] as? [String: String]) == ["given": "Maxine", "family": "Example"])
        #expect(changed["email"] == "max@example.org")
        #expect(
            try fixture.client.post("\(path)/max", json: ["phoneNumber": NSNull()], method: "PATCH").json["phoneNumber"]
                as? String == nil)
        #expect(try fixture.client.post("\(path)/max", json: ["id": "moritz"], method: "PATCH").status == 400)
        #expect(
            try fixture.client.post("\(path)/max", json: ["emial": "x"], method: "PATCH").diagnosis.contains(
                "\"email\""))
        #expect(try fixture.client.request("DELETE", "\(path)/max").status == 204)
        #expect(try fixture.client.get("\(path)/max").status == 404)
        #expect(try fixture.client.get("\(path)/adda").diagnosis.contains("\"ada\""))
        let accounts = try fixture.client.get(path).json["accounts"] as? [[String: Any]]
        #expect(accounts?.count == 3)
    }

    @Test("outcomes queue, hold several times, and go")
    func outcomes() throws {
        let path = "\(ControlTests.api)/outcomes"
        let first = try fixture.order(["outcome": "cancel", "times": 2, "client": AppleFixture.app])
        #expect(first.status == 201)
        #expect(first["id"] == "outcome-1")
        #expect(try fixture.native().status == 409)
        #expect(try fixture.native().status == 409)
        #expect(try fixture.native().status == 200)
        _ = try fixture.order(["outcome": "cancel", "client": "com.example.app.watch"])
        #expect(try fixture.native().status == 200)
        #expect((try fixture.client.get(path).json["outcomes"] as? [Any])?.count == 1)
        #expect(try fixture.client.request("DELETE", path).status == 204)
        #expect((try fixture.client.get(path).json["outcomes"] as? [Any])?.isEmpty ?? false)
    }

    @Test(
        "an outcome that can't be is refused with its place",
        arguments: [
            (#"{"outcome":"approve"}"#, "$"), (#"{"provider":"aple","outcome":"approve"}"#, "$.provider"),
            (#"{"provider":"apple","outcome":"aprove"}"#, "$.outcome"),
            (#"{"provider":"apple","outcome":"error"}"#, "$.error"),
            (#"{"provider":"apple","outcome":"approve","account":"nobody"}"#, "$.account"),
            (#"{"provider":"apple","outcome":"approve","times":0}"#, "$.times"),
            (#"{"provider":"apple","outcome":"approve","shareEmail":"no"}"#, "$.shareEmail"),
        ])
    func badOutcome(body: String, path: String) throws {
        let answer = try fixture.client.request("POST", "\(ControlTests.api)/outcomes", body: Array(body.utf8))
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
    }

    @Test("a queue of outcomes is bounded")
    func outcomeLimit() throws {
        for _ in 0..<1000 { #expect(try fixture.order(["outcome": "cancel"]).status == 201) }
        #expect(try fixture.order(["outcome": "cancel"]).status == 409)
    }

    @Test("reset makes the world afresh")
    func reset() throws {
        _ = try fixture.client.post("\(ControlTests.api)/accounts", json: ["id": "max"])
        _ = try fixture.client.post("\(ControlTests.api)/clock", json: ["set": "2030-01-01T00:00:00Z"])
        _ = try fixture.order(["outcome": "cancel"])
        #expect(try fixture.client.request("POST", "\(ControlTests.api)/reset").status == 200)
        #expect((try fixture.client.get("\(ControlTests.api)/accounts").json["accounts"] as? [Any])?.count == 3)
        #expect((try fixture.client.get("\(ControlTests.api)/outcomes").json["outcomes"] as? [Any])?.isEmpty ?? false)
        #expect(try fixture.client.get("\(ControlTests.api)/clock")["now"]?.hasPrefix("2030") == false)
    }

    @Test("many people come page by page")
    func pages() throws {
        let page = try fixture.client.get("\(ControlTests.api)/accounts?limit=2").json
        #expect((page["accounts"] as? [Any])?.count == 2 && page["more"] as? Bool == true)
        let rest = try fixture.client.get("\(ControlTests.api)/accounts?after=\(page["last"] ?? "")").json
        #expect((rest["accounts"] as? [Any])?.count == 1 && rest["more"] == nil)
        #expect(try fixture.client.get("\(ControlTests.api)/accounts?limit=0").status == 400)
        #expect(try fixture.client.get("\(ControlTests.api)/accounts?after=nobody").status == 400)
    }

    @Test("worlds don't see each other")
    func worlds() throws {
        let fixture = try AppleFixture(isAlone: true)
        _ = try fixture.client.post("/~one\(ControlTests.api)/accounts", json: ["id": "max"])
        _ = try fixture.client.post("/~one\(ControlTests.api)/clock", json: ["set": "2030-01-01T00:00:00Z"])
        #expect((try fixture.client.get("/~one\(ControlTests.api)/accounts").json["accounts"] as? [Any])?.count == 4)
        #expect((try fixture.client.get("/~two\(ControlTests.api)/accounts").json["accounts"] as? [Any])?.count == 3)
        #expect((try fixture.client.get("\(ControlTests.api)/accounts").json["accounts"] as? [Any])?.count == 3)
        #expect(try fixture.client.get("/~two\(ControlTests.api)/clock")["now"]?.hasPrefix("2030") == false)
        let listed = try fixture.client.get("\(ControlTests.api)/worlds").json["worlds"] as? [[String: Any]] ?? []
        #expect(listed.compactMap { $0["name"] as? String } == ["default", "one", "two"])
    }

    @Test("health says how many worlds the daemon holds", .oneProcess("health counts what its process holds"))
    func heldWorlds() throws {
        let fixture = try AppleFixture(isAlone: true)
        _ = try fixture.client.get("/~one\(ControlTests.api)/accounts")
        #expect(try fixture.client.get("\(ControlTests.api)/health").json["worlds"] as? Int == 2)
    }

    @Test(
        "only own host names are answered",
        arguments: [
            ("localhost", 200), ("localhost:1", 200), ("a.localhost", 200), ("127.0.0.1:9", 200), ("[::1]:9", 200),
            ("192.168.1.2", 200),
            ("evil.example", 403), ("evil.example:9099", 403), ("localhost.evil.example", 403),
            ("1.2.3.4.evil.example", 403), ("", 403),
            ("127.0.0.1.nip.io", 403), ("appleid.apple.com", 404), ("deadbeef", 403),
        ])
    func hosts(host: String, status: Int) throws {
        let fixture = try AppleFixture(isAlone: true)
        let answer = try fixture.client.get("\(ControlTests.api)/health", headers: ["Host": host])
        #expect(answer.status == status)
    }

    @Test("a configured host name is answered, too")
    func controlHost() throws {
        var options = RunningServer.Options()
        options.controlHosts = ["Idp.Test"]
        let server = try TestServer.start(options: options)
        let client = TestClient(port: server.port)
        #expect(try client.get("\(ControlTests.api)/health", headers: ["Host": "idp.test:80"]).status == 200)
        #expect(try client.get("\(ControlTests.api)/health", headers: ["Host": "idp2.test"]).status == 403)
    }

    @Test(
        "a foreign origin is refused",
        arguments: [("https://evil.example", 403), ("null", 403), ("http://localhost:1", 403), ("", 200)])
    func origins(origin: String, status: Int) throws {
        let headers = origin.isEmpty ? [:] : ["Origin": origin]
        #expect(try fixture.client.get("\(ControlTests.api)/health", headers: headers).status == status)
        let own = "http://localhost:\(fixture.client.port)"
        #expect(try fixture.client.get("\(ControlTests.api)/health", headers: ["Origin": own]).status == 200)
    }

    @Test(
        "a browser's word that another site's page asks is believed, whatever the method",
        arguments: [
            ("cross-site", 403), ("same-site", 403), ("Cross-Site", 403), ("same-origin", 200), ("none", 200),
            // A value that may be added later isn't refused.
            ("same-planet", 200),
        ])
    func fetchMetadata(site: String, status: Int) throws {
        let fixture = try AppleFixture(isAlone: true)
        let headers = ["Sec-Fetch-Site": site]
        let read = try fixture.client.get("\(ControlTests.api)/health", headers: headers)
        #expect(read.status == status)
        if status == 403 { #expect(read.text.contains("foreignSite")) }
        let write = try fixture.client.request("POST", "\(ControlTests.api)/reset", headers: headers)
        #expect((write.status == 403) == (status == 403))
        // Worlds have the same site, but not the same origin: the browser's header decides.
        #expect(try fixture.client.get("/~other\(ControlTests.api)/health", headers: headers).status == status)
        // All other endpoints are for every site: providers are called from other sites.
        #expect(try fixture.client.get("/appleid.apple.com/auth/keys", headers: headers).status == 200)
    }

    @Test("an index lists the calls, in the addresses of its world", arguments: ["", "/~w1"], ["", "/"])
    func index(world: String, slash: String) throws {
        let fixture = try AppleFixture(isAlone: true)
        let answer = try fixture.client.get("\(world)/_understudy/v1\(slash)")
        let calls = answer.json["calls"] as? [[String: String]] ?? []
        let base = "http://localhost:\(fixture.client.port)\(world)/_understudy/v1"
        for name in ["reset", "apple/authorizations"] {
            let call = calls.first { $0["method"] == "POST" && $0["url"] == "\(base)/\(name)" }
            #expect(call?["about"]?.isEmpty == false, "\(name)")
        }
        for call in calls where call["method"] == "GET" && call["url"]?.contains(":name") == false {
            let path = (call["url"] ?? "").replacingOccurrences(of: "http://localhost:\(fixture.client.port)", with: "")
            guard !path.contains("/:") else { continue }
            #expect(try fixture.client.get(path).text.contains("noSuchCall") == false, "\(path)")
        }
    }

    @Test("a mistyped call is told the one that was meant")
    func mistyped() throws {
        let answer = try fixture.client.get("/_understudy/v1/helth")
        #expect(answer.status == 404)
        #expect(answer.diagnosis.contains("\"health\""))
        #expect(
            try fixture.client.get("/_understudy/v1/nothing-like-it").diagnosis.contains("GET /_understudy/v1/ "))
    }

    @Test("scripts of other origins may read our headers where they may read the answer")
    func exposed() throws {
        let origin = ["Origin": "http://localhost:3000"]
        let name = "Access-Control-Expose-Headers"
        let firebase = try fixture.client.get(
            "/identitytoolkit.googleapis.com/v1/projects?key=demo-api-key", headers: origin)
        #expect(
            firebase.header(name) == "Understudy-Diagnosis, Understudy-Evidence, Understudy-Note, Understudy-Request")
        let github = try fixture.client.get(
            "/api.github.com/user", headers: origin.merging(["User-Agent": "test"]) { $1 })
        #expect(
            github.header(name)?.hasSuffix(
                ", Understudy-Diagnosis, Understudy-Evidence, Understudy-Note, Understudy-Request") == true)
        #expect(github.header(name)?.contains("X-OAuth-Scopes") == true)
        let apple = try fixture.client.get("/appleid.apple.com/auth/token", headers: origin)
        #expect(apple.header(name) == nil)
    }

    @Test("one outcome of several is withdrawn by its ID, once")
    func oneOutcome() throws {
        let made = try ["google", "github"].map { provider in
            try fixture.client.post(
                "/_understudy/v1/outcomes", json: ["provider": provider, "outcome": "cancel"]
            ).json["id"] as? String
        }
        let id = try #require(made.first ?? nil)
        #expect(try fixture.client.request("DELETE", "/_understudy/v1/outcomes/\(id)").status == 204)
        let left = try fixture.client.get("/_understudy/v1/outcomes").json["outcomes"] as? [[String: Any]]
        #expect(left?.map { $0["provider"] as? String } == ["github"])
        let again = try fixture.client.request("DELETE", "/_understudy/v1/outcomes/\(id)")
        #expect(again.status == 404 && again.text.contains("noSuchOutcome"))
    }

    @Test("another world is reset from any, and isn't made for it")
    func resetOther() throws {
        let fixture = try AppleFixture(isAlone: true)
        _ = try fixture.client.post("/~w1/_understudy/v1/outcomes", json: ["provider": "github", "outcome": "cancel"])
        #expect(try fixture.client.post("/_understudy/v1/worlds/w1/reset", form: [:]).status == 200)
        #expect(try fixture.client.get("/~w1/_understudy/v1/outcomes").text.contains("[]"))
        #expect(try fixture.client.post("/_understudy/v1/worlds/w2/reset", form: [:]).status == 404)
        #expect(!(try fixture.client.get("/_understudy/v1/worlds").text.contains("w2")))
    }
}
