import Foundation
import JSON
import TestSupport
import Testing
import Understudy

@Suite("Sign-ins, by GET flows")
struct FlowCallTests {
    static let api = FaultFixture.api
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    private func flows(_ query: String = "") throws -> [JSONValue] {
        let answer = try fixture.client.get("\(FlowCallTests.api)/flows?\(query)")
        #expect(answer.status == 200, "\(answer)")
        return try JSONValue(parsing: answer.body)["flows"]?.array ?? []
    }

    private func refuse() throws -> Answer {
        try fixture.client.get(Site.authorizations[2].target(["client_id": "nobody"]))
    }

    @Test("a sign-in has its steps, its person, its client and its end")
    func signedIn() throws {
        let redeemed = try Site.signIn(at: "apple", fixture.client)
        let flow = try #require(try flows().last)
        #expect(flow["name"]?.string == "Apple web sign-in" && flow["ending"]?.string == "signedIn")
        #expect(flow["client"]?.string == AppleFixture.service && flow["providers"] == ["apple"])
        #expect(flow["person"]?["account"]?.string == "ada" && flow["person"]?["name"]?.string == "Ada Lovelace")
        #expect(flow["diagnosis"] == nil && flow["stoppedBy"] == nil && flow["hint"] == nil)
        let steps = try #require(flow["steps"]?.array)
        #expect(steps.first?["id"] == flow["id"])
        #expect(steps.first?["from"]?.string == "browser" && steps.first?["to"]?.string == "apple")
        #expect(steps.last?["from"]?.string == "backend" && steps.last?["does"]?.string == "redeem code")
        #expect(steps.last?["id"]?.string == redeemed.header("Understudy-Request"))
        #expect(steps.last?["path"]?.string == "/auth/token" && steps.last?["status"]?.integer == 200)
        #expect(steps.last?["answer"]?.string?.contains("ID token") == true)
        // Any request of it names it.
        for step in steps {
            let one = try fixture.client.get("\(FlowCallTests.api)/flows/\(step["id"]?.string ?? "")")
            #expect(try JSONValue(parsing: one.body) == flow)
        }
    }

    @Test("a refused one says what stopped it, and where; an unfinished one what it waits for")
    func endings() throws {
        let refused = try refuse()
        let authorized = try Site.authorizations[1].call(fixture.client, "")
        let all = try flows()
        #expect(all.map { $0["ending"]?.string } == ["refused", "unfinished"])
        #expect(all[0]["diagnosis"]?.string == refused.diagnosis)
        #expect(all[0]["stoppedBy"]?.string == refused.header("Understudy-Request"))
        #expect(all[1]["hint"]?.string?.contains("been redeemed") == true)
        #expect(all[1]["remarks"]?.array?.contains { $0["problem"]?.bool == true } == true)
        _ = try Site.redeem(Site.code(authorized), at: "github", fixture.client)
        #expect(try flows("unfinished=true").isEmpty)
        _ = try Site.redeem(Site.code(authorized), at: "github", fixture.client)
        let twice = try #require(try flows().last)
        #expect(twice["ending"]?.string == "refused" && twice["diagnosis"]?.string?.contains("works once") == true)
    }

    @Test("conditions, and pages that go on from the last request of the one before")
    func conditions() throws {
        _ = try refuse()
        _ = try Site.signIn(at: "apple", fixture.client)
        _ = try Site.signIn(at: "github", fixture.client)
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        func names(_ query: String) throws -> [String] {
            try flows(query).compactMap { $0["providers"]?.array?.first?.string }
        }
        #expect(try names("") == ["google", "apple", "github"])
        #expect(try names("all=true") == ["google", "apple", "github", "apple"])
        #expect(try names("refused=true") == ["google"] && names("refused=false") == ["apple", "github"])
        #expect(try names("provider=apple") == ["apple"])
        #expect(try names("client=NOBODY") == ["google"] && names("text=lovelace") == ["apple", "github"])
        #expect(try names("limit=1") == ["github"])
        var (seen, query) = ([String](), "limit=1&after=r0")
        while true {
            let answer = try JSONValue(parsing: try fixture.client.get("\(FlowCallTests.api)/flows?\(query)").body)
            seen += (answer["flows"]?.array ?? []).compactMap { $0["providers"]?.array?.first?.string }
            guard answer["more"]?.bool == true, seen.count < 9 else { break }
            query = "limit=1&after=\(answer["last"]?.string ?? "")"
        }
        #expect(seen == ["google", "apple", "github"])
    }

    @Test("waiting ends when one comes, or one changes so that it fits, or the time is up")
    func waits() async throws {
        #expect(try flows("wait=50ms").isEmpty)
        let client = fixture.client
        async let waiting = client.get("\(FlowCallTests.api)/flows?provider=github&refused=true&wait=50s")
        _ = try refuse()
        _ = try Site.signIn(at: "github", fixture.client)
        let code = try Site.code(Site.authorizations[1].call(fixture.client, ""))
        _ = try Site.redeem(code, at: "github", fixture.client)
        let refused = try Site.redeem(code, at: "github", fixture.client)
        let flow = try #require(try await JSONValue(parsing: waiting.body)["flows"]?.array)
        #expect(flow.count == 1 && flow.first?["stoppedBy"]?.string == refused.header("Understudy-Request"))
        // The call doesn't wait if the recording already has as many sign-ins.
        #expect(try flows("refused=true&wait=50s&count=2").count == 2)
    }

    @Test(
        "a fault that every client survives doesn't make a sign-in fail", arguments: ["delay", "shuffle", "rotateKeys"])
    func legalFaults(effect: String) throws {
        let effects: [String: Any] = ["delay": "10ms", "shuffle": true, "rotateKeys": true]
        let match = ["host": "github.com", "path": "/login/oauth/access_token"]
        try fixture.order([effect: effects[effect] ?? true], at: effect == "rotateKeys" ? [:] : match, ["times": 3])
        _ = try Site.signIn(at: effect == "rotateKeys" ? "google" : "github", fixture.client)
        let flow = try #require(try flows().last)
        #expect(flow["ending"]?.string == "signedIn" && flow["stoppedBy"] == nil, "\(flow)")
        #expect(flow["steps"]?.array?.contains { $0["fault"] != nil } == true, "\(flow)")
    }

    @Test("an illegal one beside a delay does, and a refusal that comes late is a refusal")
    func illegalFault() throws {
        try fixture.order(["delay": "10ms"], at: ["path": "/login/oauth/access_token"])
        _ = try Site.redeem("nonsense", at: "github", fixture.client)
        #expect(try flows().last?["ending"]?.string == "refused")
        try fixture.order(
            ["delay": "10ms", "response": ["scope": nil as String?]], at: ["path": "/login/oauth/access_token"])
        _ = try Site.signIn(at: "github", fixture.client)
        #expect(try flows().last?["ending"]?.string == "faulted")
    }

    @Test("those that are finished, and waiting for the end of one")
    func finished() async throws {
        let code = try Site.code(Site.authorizations[1].call(fixture.client, ""))
        #expect(try flows("unfinished=true").count == 1 && flows("unfinished=false&wait=50ms").isEmpty)
        let client = fixture.client
        async let waiting = client.get("\(FlowCallTests.api)/flows?unfinished=false&wait=50s")
        _ = try Site.redeem(code, at: "github", fixture.client)
        let flows = try #require(try await JSONValue(parsing: waiting.body)["flows"]?.array)
        #expect(flows.map { $0["ending"]?.string } == ["signedIn"])
        #expect(try self.flows("unfinished=true").isEmpty)
    }

    @Test(
        "a person is known after a revocation, which is a step of the sign-in",
        arguments: ["github", "google", "facebook"])
    func revoked(provider: String) throws {
        let made = try Site.signIn(at: provider, fixture.client)
        let token = made["access_token"] ?? ""
        switch provider {
        case "github":
            let basic = Data("\(GitHubFixture.asking):\(GitHubFixture.secret)".utf8).base64EncodedString()
            let answer = try fixture.client.request(
                "DELETE", "/api.github.com/applications/\(GitHubFixture.asking)/grant",
                headers: ["Authorization": "Basic \(basic)", "User-Agent": "tests"],
                body: Array(#"{"access_token":"\#(token)"}"#.utf8))
            #expect(answer.status == 204, "\(answer)")
        case "google":
            #expect(try fixture.client.post("/oauth2.googleapis.com/revoke", form: ["token": token]).status == 200)
        default:
            let path = "/graph.facebook.com/v22.0/me/permissions?access_token=\(token)"
            #expect(try fixture.client.request("DELETE", path).status == 200)
        }
        let all = try flows()
        #expect(all.count == 1 && all[0]["person"]?["account"]?.string == "ada", "\(all)")
        #expect(all[0]["ending"]?.string == "signedIn", "\(all)")
    }

    @Test("OpenID's sign-out is a step of the sign-in whose ID token it sends; alone, it is a flow of its own")
    func signOut() throws {
        let made = try Site.signIn(at: "openid", fixture.client)
        let hint = made["id_token"] ?? ""
        #expect(try fixture.client.get("/login.corp.example/logout?id_token_hint=\(hint)").status == 200)
        var all = try flows()
        #expect(all.map { $0["ending"]?.string } == ["signedIn"], "\(all)")
        #expect(all[0]["steps"]?.array?.last?["does"]?.string == "sign out")
        _ = try fixture.client.request("DELETE", "\(FlowCallTests.api)/requests")
        #expect(try fixture.client.get("/login.corp.example/logout").status == 200)
        all = try flows()
        #expect(all.map { $0["ending"]?.string } == ["signedOut"], "\(all)")
        // An authorization with a hint is a sign-in of its own.
        _ = try Site.signIn(at: "openid", fixture.client)
        _ = try fixture.client.get(Site.authorizations[4].target(["id_token_hint": hint, "state": "another-state"]))
        #expect(try flows().count == 3)
    }

    @Test("two cancels with one state are two sign-ins")
    func cancels() throws {
        for _ in 0..<2 {
            try Site.order(["provider": "github", "outcome": "cancel"], at: fixture.client)
            _ = try fixture.client.get(Site.authorizations[1].target())
        }
        #expect(try flows().map { $0["ending"]?.string } == ["cancelled", "cancelled"])
    }

    @Test("an unfinished one says what it waits for: a device's code, or a second factor")
    func hints() throws {
        let device = try fixture.client.post(
            "/github.com/login/device/code", form: ["client_id": GitHubFixture.asking, "scope": "user"],
            headers: ["Accept": "application/json"])
        let code = device["device_code"] ?? ""
        #expect(try flows().last?["hint"]?.string == "The device shows its user code, but no user has entered it.")
        _ = try fixture.client.post(
            "/github.com/login/oauth/access_token",
            form: [
                "client_id": GitHubFixture.asking, "device_code": code,
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            ], headers: ["Accept": "application/json"])
        #expect(try flows().last?["hint"]?.string?.contains("keeps polling") == true)
    }

    @Test("a sign-in by the browser's own dialog has its name, its person and its end")
    func dialog() throws {
        let order = ["provider": "google", "outcome": "approve", "account": "ada"]
        _ = try fixture.client.post("\(FlowCallTests.api)/outcomes", json: order)
        _ = try fixture.client.post(
            "/accounts.google.com/gsi/fedcm/issue", form: ["client_id": "example.apps.googleusercontent.com"],
            headers: ["Origin": "http://localhost:3000", "Sec-Fetch-Dest": "webidentity"])
        let flow = try #require(try flows().last)
        #expect(flow["name"]?.string == "Google: Browser's own dialog (FedCM)" && flow["ending"]?.string == "signedIn")
        #expect(flow["person"]?["account"]?.string == "ada")
        #expect(flow["steps"]?.array?.last?["answer"]?.string == "200 ID token")
    }

    @Test("what isn't there, and what isn't a condition")
    func refused() throws {
        for (path, status, word) in [
            ("flows/r99", 404, "noSuchFlow"), ("flows/x", 404, "noSuchFlow"), ("flows?wait=61s", 400, "$.wait"),
            ("flows?after=x", 400, "$.after"), ("flows?provider=aple", 400, "apple"), ("flows?host=x", 400, "$.host"),
        ] {
            let answer = try fixture.client.get("\(FlowCallTests.api)/\(path)")
            #expect(answer.status == status && answer.text.contains(word), "\(path): \(answer)")
        }
    }

    @Test("no secret is in it where secrets are masked")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let daemon = try FaultFixture(options: options)
        let authorized = try Site.authorizations[1].call(daemon.client, "")
        let code = Site.code(authorized)
        _ = try Site.redeem(code, at: "github", daemon.client)
        let text = try daemon.client.get("\(FlowCallTests.api)/flows").text
        #expect(text.contains("signedIn") && !text.contains(code))
    }
}
