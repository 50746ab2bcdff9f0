import Foundation
import HTTPServer
import TestSupport
import Testing
import Understudy

@Suite("A world's seed at run time")
struct SeedCallTests {
    private static let seed = "\(FaultFixture.api)/seed"
    private static let client = "new.apps.googleusercontent.com"
    private let fixture: FaultFixture
    private var client: TestClient { fixture.client }

    init() throws { fixture = try FaultFixture(isAlone: true) }

    private static var google: [String: Any] {
        [
            "clients": [
                ["clientID": client, "clientSecret": "new-secret", "redirectURIs": ["http://localhost:*/callback"]]
            ]
        ]
    }

    private func change(_ method: String, _ body: Any, world: String = "/~w1") throws -> Answer {
        try client.post("\(world)\(SeedCallTests.seed)", json: body, method: method)
    }

    private func people(_ world: String = "/~w1") throws -> [String] {
        let all = try client.get("\(world)\(FaultFixture.api)/accounts").json["accounts"] as? [[String: Any]] ?? []
        return all.compactMap { $0["id"] as? String }
    }

    /// Signs in at Google with the new client, and returns the redirect.
    private func authorize(_ account: String, port: Int = 4711, world: String = "/~w1") throws -> Answer {
        let order = ["provider": "google", "account": account, "outcome": "approve"]
        #expect(try client.post("\(world)\(FaultFixture.api)/outcomes", json: order).status < 300)
        let query = TestClient.encode([
            "client_id": SeedCallTests.client, "redirect_uri": "http://localhost:\(port)/callback",
            "scope": "openid email",
            "response_type": "code", "state": "s",
        ])
        return try client.get("\(world)/accounts.google.com/o/oauth2/v2/auth?\(query)")
    }

    private func token(_ answer: Answer, port: Int = 4711, world: String = "/~w1") throws -> Answer {
        try client.post(
            "\(world)/oauth2.googleapis.com/token",
            form: [
                "client_id": SeedCallTests.client, "client_secret": "new-secret", "code": answer.redirect["code"] ?? "",
                "redirect_uri": "http://localhost:\(port)/callback", "grant_type": "authorization_code",
            ])
    }

    @Test("has no more orders than a world may have, and no more patterns than can be compared in a second")
    func orders() throws {
        func fault(_ path: String) -> [String: Any] { ["match": ["path": path], "effect": ["status": 418]] }
        let outcomes = Array(repeating: ["provider": "github", "outcome": "approve"], count: 1_001)
        for (list, seed) in [
            ("outcomes", ["outcomes": outcomes]),
            ("faults", ["faults": Array(repeating: fault("/user"), count: 1_001)]),
        ] {
            let answer = try change("PUT", seed)
            #expect(answer.status == 400)
            #expect(answer.text.contains("$.\(list)") && answer.text.contains("1000"), "\(answer)")
        }
        let pattern = "/" + String(repeating: "*" + String(repeating: "a", count: 15), count: 15)
        let many = try change("PUT", ["faults": (0..<990).map { fault("\(pattern)\($0)") }])
        #expect(many.status == 400)
        #expect(many.text.contains("can't all be compared"), "\(many)")
        for tooMany in ["/" + String(repeating: "*a", count: 17), "/*" + String(repeating: "a", count: 255)] {
            #expect(try change("PUT", ["faults": [fault(tooMany)]]).status == 400)
        }
    }

    @Test("is weighed by the memory that it takes: an issuer has endpoints of its own")
    func weight() throws {
        func weight(of seed: [String: Any], world: String) throws -> Int {
            let before = fixture.server.worlds.budget.seeds.usage.bytes
            #expect(try change("PUT", seed, world: "/~\(world)").status == 200)
            return fixture.server.worlds.budget.seeds.usage.bytes - before
        }
        let issuers = (0..<50).map { ["id": "i\($0)", "issuer": "https://i\($0).example"] }
        let people = (0..<50).map { ["id": "i\($0)", "email": "i\($0)@people.example"] }
        let ofIssuers = try weight(of: ["openid": ["issuers": issuers]], world: "w1")
        let ofPeople = try weight(of: ["accounts": people], world: "w2")
        #expect(ofIssuers - ofPeople > 50 * 16_000)
    }

    @Test("it is told whole, as a file that passes the check and can be sent again")
    func told() throws {
        let told = try client.get("/~w1\(SeedCallTests.seed)")
        #expect(told.status == 200 && !told.text.contains("KeyFile\""))
        #expect(SeedInput.faults(in: [.json(told.text)]) == [])
        #expect(try client.request("PUT", "/~w1\(SeedCallTests.seed)", body: told.body).status == 200)
        #expect(try client.get("/~w1\(SeedCallTests.seed)").text == told.text)
        #expect(try people() == people(""))
        // The keys were copied, too.
        let answer = try client.post(
            "/~w1/appleid.apple.com/auth/token",
            form: [
                "client_id": AppleFixture.service, "client_secret": try AppleFixture.secret(), "code": "c",
                "grant_type": "authorization_code",
            ])
        #expect(answer.json["error"] as? String == "invalid_grant", "\(answer)")
    }

    @Test("replaced, the world begins afresh from it, also after a reset, and no other world does")
    func replaced() throws {
        _ = try client.post("/~w1\(FaultFixture.api)/accounts", json: ["id": "max"])
        #expect(try change("PUT", ["accounts": [["id": "zoe"]], "google": SeedCallTests.google]).status == 200)
        #expect(try people() == ["zoe"])
        #expect(try token(authorize("zoe")).json["id_token"] is String)
        _ = try client.post("/~w1\(FaultFixture.api)/accounts", json: ["id": "max"])
        #expect(try people() == ["zoe", "max"])
        _ = try client.post("/~w1\(FaultFixture.api)/reset", json: [:])
        #expect(try people() == ["zoe"])
        #expect(try people("").contains("ada"))
        #expect(try people("/~w2") == people(""))
        let asked = "client_id=\(SeedCallTests.client)&response_type=code&scope=openid&redirect_uri=http://localhost/"
        let unknown = try client.get("/accounts.google.com/o/oauth2/v2/auth?\(asked)")
        #expect(unknown.diagnosis.contains(SeedCallTests.client), "\(unknown.diagnosis)")
        // The default world's seed can be replaced, too.
        #expect(try change("PUT", ["accounts": [["id": "zoe"]]], world: "").status == 200)
        #expect(try people("") == ["zoe"])
        #expect(try people("/~w2").contains("ada"))
    }

    @Test("merged in, it adds to the world, which goes on with all that it has")
    func merged() throws {
        #expect(try change("POST", ["google": SeedCallTests.google]).status == 200)
        let access = try token(authorize("ada")).json["access_token"] as? String ?? ""
        let kept = try authorize("ada", port: 4712)
        _ = try client.post("/~w1\(FaultFixture.api)/accounts", json: ["id": "max"])
        let signUp = "/~w1/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key"
        #expect(try client.post(signUp, json: ["email": "own@example.com", "password": "correct horse"]).status == 200)
        let before = try client.get("/~w1/www.googleapis.com/oauth2/v3/certs").text
        let addition: [String: Any] = [
            "accounts": [["id": "zoe"], ["id": "ada", "name": ["family": "Byron"]]],
            "faults": [["match": ["host": "appleid.apple.com"], "effect": ["status": 503]]],
            "firebase": [
                "projects": [
                    [
                        "id": "demo-app",
                        "users": [["localId": "u-new", "email": "new@example.com", "password": "correct horse"]],
                    ]
                ]
            ],
        ]
        let merged = try change("POST", addition)
        #expect(merged.status == 200 && merged.json["seed"] as? String == "merged", "\(merged)")
        #expect(Set(try people()).isSuperset(of: ["ada", "max", "zoe"]))
        let person = try client.get(
            "/~w1/openidconnect.googleapis.com/v1/userinfo", headers: ["Authorization": "Bearer \(access)"])
        #expect(person.status == 200, "\(person)")
        #expect(try token(kept, port: 4712).status == 200)
        #expect(try token(authorize("zoe")).status == 200)
        #expect(try client.get("/~w1\(FaultFixture.api)/accounts/ada").text.contains("\"Byron\""))
        #expect(try client.get("/~w1/www.googleapis.com/oauth2/v3/certs").text == before)
        #expect(try client.get("/~w1/appleid.apple.com/auth/keys").status == 503)
        let signIn = "/~w1/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=demo-api-key"
        for email in ["own@example.com", "new@example.com"] {
            let answer = try client.post(signIn, json: ["email": email, "password": "correct horse"])
            #expect(answer.status == 200, "\(email): \(answer)")
        }
        // The world's seed has grown; rows that were made since are removed.
        _ = try client.post("/~w1\(FaultFixture.api)/reset", json: [:])
        let left = try people()
        #expect(left.contains("ada") && left.contains("zoe") && !left.contains("max"))
    }

    @Test("hosts that a seed names are played in its world alone")
    func hosts() throws {
        let issuer: [String: Any] = ["id": "mine", "issuer": "https://login.mine.example"]
        let made = try change("POST", ["openid": ["issuers": [issuer]]])
        #expect(made.status == 200, "\(made)")
        let path = ".well-known/openid-configuration"
        #expect(try client.get("/~w1/oidc/mine/\(path)").status == 200)
        #expect(try client.get("/~w1/login.mine.example/\(path)").status == 200)
        #expect(try client.get("/\(path)", headers: ["Host": "login.mine.example.w1.localhost"]).status == 200)
        #expect(try client.get("/login.mine.example/\(path)").status == 404)
        #expect(try client.get("/oidc/mine/\(path)").status == 404)
    }

    @Test(
        "what can't be a seed is refused with its place, in the words of the check, and changes nothing",
        arguments: [
            (#"{"accounts":[{"id":"zoe","email":"x"}]}"#, "$.accounts[0].email", "e-mail address"),
            (#"{"acounts":[]}"#, "$.acounts", "\"accounts\""),
            (#"[]"#, "$", "expected an object"),
            (#"{"#, "$", "JSON"),
            (
                #"{"google":{"clients":[{"clientID":"x","redirectURIs":["https://*.example.com/"]}]}}"#,
                "$.google.clients[0].redirectURIs[0]", "wildcards"
            ),
            (
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","keys":[{"id":"ABC123DEFG","publicKeyFile":"/etc/passwd"}]}]}}"#,
                "$.apple.teams[0].keys[0].publicKeyFile", "can't name files"
            ),
            (#"{"interaction":{"mode":"auto","account":"nobody"}}"#, "$.interaction.account", "\"nobody\""),
            (
                #"{"faults":[{"match":{"host":"nowhere.example"},"effect":{"status":500}}]}"#, "$.faults[0].match.host",
                "nowhere.example"
            ),
        ])
    func refused(body: String, path: String, words: String) throws {
        let before = try client.get("/~w1\(SeedCallTests.seed)").text
        for method in ["PUT", "POST"] {
            let answer = try client.request(method, "/~w1\(SeedCallTests.seed)", body: Array(body.utf8))
            #expect(answer.status == 400)
            let error = answer.json["error"] as? [String: Any]
            #expect(error?["path"] as? String == path, "\(answer)")
            #expect((error?["message"] as? String)?.contains(words) == true, "\(answer)")
        }
        #expect(try client.get("/~w1\(SeedCallTests.seed)").text == before)
        #expect(try people().contains("ada"))
    }

    @Test("changes at the same time all take effect")
    func together() async throws {
        let client = client
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<4 {
                group.addTask {
                    try client.post("/~w1\(SeedCallTests.seed)", json: ["accounts": [["id": "p\(number)"]]]).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 409 })
        let seeded = try client.get("/~w1\(SeedCallTests.seed)").text
        let found = (0..<4).filter { seeded.contains("\"p\($0)\"") }.count
        #expect(found == statuses.filter { $0 == 200 }.count)
        #expect(Set(try people()).intersection((0..<4).map { "p\($0)" }).count == found)
    }

    @Test(
        "a client of another machine can't make the daemon call its own machine by a seed or a snapshot",
        .enabled(if: ownAddress != nil), arguments: ["PUT seed", "POST seed", "PUT snapshot", "POST form"])
    func fromElsewhere(call: String) throws {
        let receiver = try Receiver { _ in
            .now(Response(status: 200, contentType: "application/json", body: "{}"))
        }
        var options = RunningServer.Options()
        options.host = "0.0.0.0"
        let server = try TestServer.start(options: options)
        defer { server.stop() }
        let client = TestClient(port: Int(server.port))
        let url = receiver.url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        let functions = ["triggers": ["beforeCreate": ["functionUri": url]]]
        let project: [String: Any] = [
            "id": "p", "apiKeys": ["key"], "providers": ["password": ["enabled": true]], "blockingFunctions": functions,
        ]
        let seed = ["firebase": ["projects": [project]]]
        let parts = call.split(separator: " ")
        func change(from host: String, _ world: String) throws {
            var body = try JSONSerialization.data(withJSONObject: seed)
            if parts[1] == "snapshot" {
                #expect(try client.post("/~other\(SeedCallTests.seed)", json: seed, method: "PUT").status == 200)
                body = Data(try client.get("/~other\(FaultFixture.api)/snapshot").text.utf8)
            }
            let type: String
            let path: String
            if parts[1] == "form" {
                path = "/_understudy/worlds/seed"
                type = "application/x-www-form-urlencoded"
                let page = try client.get("/~\(world)\(path)").text
                let token = try #require(page.firstMatch(of: /name="formToken" value="([^"]+)"/)).1
                let text = String(decoding: body, as: UTF8.self)
                body = Data(TestClient.encode(["formToken": String(token), "mode": "merge", "seed": text]).utf8)
            } else {
                path = "\(FaultFixture.api)/\(parts[1])"
                type = "application/json"
            }
            let wire = try Wire(port: Int(server.port), host: host)
            wire.send(
                "\(parts[0]) /~\(world)\(path) HTTP/1.1\r\nHost: \(host)\r\n"
                    + "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n")
            wire.send(Array(body))
            #expect(try wire.receive().status == (parts[1] == "form" ? 303 : 200))
        }
        func signUp(_ world: String) throws -> Answer {
            try client.post(
                "/~\(world)/identitytoolkit.googleapis.com/v1/accounts:signUp?key=key",
                json: ["email": "eve@example.com", "password": "secret-1"])
        }
        try change(from: try #require(ownAddress), "far")
        #expect(try signUp("far").status >= 400)
        #expect(try client.post("/~far\(FaultFixture.api)/reset", json: [String: String]()).status == 200)
        #expect(try signUp("far").status >= 400)
        #expect(receiver.requests.isEmpty)
        #expect(try client.get("/~far\(FaultFixture.api)/requests").text.contains("on another machine"))
        try change(from: "127.0.0.1", "near")
        #expect(try signUp("near").status == 200)
        #expect(receiver.requests.count == 1)
    }
}
