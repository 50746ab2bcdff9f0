import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Ordering faults")
struct FaultOrderTests {
    private static let keys = ["host": "appleid.apple.com", "path": "/auth/keys"]

    private func statuses(_ fixture: FaultFixture, _ count: Int, world: String = "") throws -> [Int] {
        try (0..<count).map { _ in try fixture.client.get("\(world)/appleid.apple.com/auth/keys").status }
    }

    @Test("a fault holds once by default, several times, or for ever; it may let some go by first")
    func counts() throws {
        let fixture = try FaultFixture()
        let ordered = try fixture.order(["status": 500], at: FaultOrderTests.keys, ["after": 1, "times": 2])
        #expect(ordered["id"] == "fault-1")
        #expect(try statuses(fixture, 4) == [200, 500, 500, 200])
        try fixture.order(["status": 503], at: FaultOrderTests.keys, ["times": NSNull()])
        #expect(try statuses(fixture, 5) == [503, 503, 503, 503, 503])
        let queued = try fixture.faults()
        #expect(queued.count == 1)
        #expect(queued[0]["done"] as? Int == 5)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/faults/fault-2").status == 204)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/faults/fault-2").status == 404)
        #expect(try statuses(fixture, 1) == [200])
    }

    @Test("faults for the same requests come one after the other")
    func order() throws {
        let fixture = try FaultFixture()
        for status in [500, 502, 429] { try fixture.order(["status": status], at: FaultOrderTests.keys) }
        #expect(try statuses(fixture, 4) == [500, 502, 429, 200])
        try fixture.order(["status": 500], at: FaultOrderTests.keys)
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/faults").status == 204)
        #expect(try statuses(fixture, 1) == [200])
    }

    @Test("faults keep to 8 MiB together, whatever their bytes are")
    func size() throws {
        let fixture = try FaultFixture()
        let long = String(repeating: "x", count: 900_000)
        let fields = Dictionary(uniqueKeysWithValues: (0..<900).map { ("f\($0)", String(repeating: "x", count: 990)) })
        let orders: [(effect: [String: Any], match: [String: Any])] = [
            (["status": 500, "body": long], [:]), (["status": 500], ["fields": fields]),
        ]
        for (effect, match) in orders {
            let path = FaultOrderTests.keys["path"] ?? ""
            func order() throws -> Int {
                let body: [String: Any] = ["effect": effect, "match": match.merging(["path": path]) { $1 }]
                return try fixture.client.post("\(FaultFixture.api)/faults", json: body).status
            }
            #expect(try (0..<10).map { _ in try order() } == Array(repeating: 201, count: 9) + [409])
            _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/faults")
        }
    }

    @Test("an effect may be slow and broken at once")
    func combined() throws {
        let fixture = try FaultFixture()
        try fixture.order(["delay": "200ms", "status": 503], at: FaultOrderTests.keys)
        let begin = ContinuousClock.now
        #expect(try statuses(fixture, 1) == [503])
        #expect(ContinuousClock.now - begin >= .milliseconds(200))
    }

    @Test("a probability is drawn from the world's generator: the same in every run with a seed")
    func probability() throws {
        let seed = #"{"randomSeed":"a seed"}"#
        var runs: [[Int]] = []
        for _ in 0..<2 {
            let fixture = try FaultFixture(seed: seed)
            try fixture.order(
                ["status": 500], at: FaultOrderTests.keys, ["times": NSNull(), "probability": 0.5])
            runs.append(try statuses(fixture, 60))
        }
        #expect(runs[0] == runs[1])
        #expect((10...50).contains(runs[0].filter { $0 == 500 }.count))
        let fixture = try FaultFixture()
        try fixture.order(["status": 500], at: FaultOrderTests.keys, ["times": NSNull(), "probability": 0])
        #expect(try statuses(fixture, 20).allSatisfy { $0 == 200 })
    }

    @Test("a fault is for one method, one client, some fields, paths with stars")
    func matching() throws {
        let fixture = try FaultFixture()
        try fixture.order(["status": 500], at: ["client": GitHubFixture.automatic], ["times": NSNull()])
        let mine = "/github.com/login/oauth/authorize?client_id=\(GitHubFixture.automatic)"
        #expect(try fixture.client.get(mine).status == 500)
        #expect(
            try fixture.client.get("/github.com/login/oauth/authorize?client_id=\(GitHubFixture.asking)").status == 302)
        // The credentials tell the client, too.
        let form = ["grant_type": "authorization_code", "code": "x"]
        let answer = try fixture.client.post(
            "/github.com/login/oauth/access_token", form: form, headers: GitHubFixture.basic())
        #expect(answer.status == 500)
        _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/faults")

        try fixture.order(["error": "slow_down"], at: ["fields": ["grant_type": GitHubFixture.deviceGrant]])
        let other = try Site.signIn(at: "github", fixture.client)
        #expect(other["access_token"] != nil)
        let poll = try fixture.client.post(
            "/github.com/login/oauth/access_token",
            form: ["client_id": GitHubFixture.asking, "device_code": "x", "grant_type": GitHubFixture.deviceGrant],
            headers: ["Accept": "application/json"])
        #expect(poll["error"] == "slow_down")
        #expect(poll.json["interval"] as? Int == 10)

        try fixture.order(
            ["status": 500], at: ["host": "identitytoolkit.googleapis.com", "path": "/v1/accounts:*"])
        let signUp = "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key"
        #expect(try fixture.client.post(signUp, json: [:] as [String: String]).status == 500)
        try fixture.order(["status": 500], at: ["client": "demo-app"])
        #expect(try fixture.client.post(signUp, json: [:] as [String: String]).status == 500)
        // A JSON body is read as JSON, even if its type is a form's, as by "curl -d".
        try fixture.order(["status": 500], at: ["client": AppleFixture.app])
        let native = try fixture.client.request(
            "POST", Site.natives[0].path, headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(#" {"client":"\#(AppleFixture.app)","account":"ada"}"#.utf8))
        #expect(native.status == 500)
        // A token of GitHub's tells its client.
        let token = other["access_token"] ?? ""
        try fixture.order(["status": 500], at: ["host": "api.github.com", "client": GitHubFixture.asking])
        let user = ["Authorization": "Bearer \(token)", "User-Agent": "tests"]
        #expect(try fixture.client.get("/api.github.com/user", headers: user).status == 500)
    }

    @Test("in every form of address")
    func addresses() throws {
        let fixture = try FaultFixture()
        try fixture.order(["status": 500], at: FaultOrderTests.keys, ["times": 3])
        #expect(try statuses(fixture, 1) == [500])
        for host in ["appleid.apple.com", "appleid.apple.com.localhost"] {
            #expect(try fixture.client.get("/auth/keys", headers: ["Host": host]).status == 500)
        }
        #expect(try statuses(fixture, 1) == [200])
    }

    @Test(
        "what doesn't fit is refused with its place, and told what would",
        arguments: [
            (#"{"effect":{}}"#, "$.effect", "give it one of status, delay"),
            (#"{}"#, "$", "effect"),
            (#"{"effect":{"stauts":500}}"#, "$.effect.stauts", "\"status\""),
            (#"{"effect":{"status":99}}"#, "$.effect.status", "from 200 to 599"),
            (#"{"effect":{"body":"x"}}"#, "$.effect.body", "requires status"),
            (
                #"{"effect":{"status":200,"headers":{"A B":"x"}}}"#, "$.effect.headers[\"A B\"]",
                "isn't a valid name of an HTTP header"
            ),
            (#"{"effect":{"status":200,"headers":{"A":"x\r\ny"}}}"#, "$.effect.headers.A", "control characters"),
            (#"{"effect":{"delay":"soon"}}"#, "$.effect.delay", "a duration"),
            (#"{"effect":{"status":500,"error":"invalid_grant"}}"#, "$.effect.error", "give status or error"),
            (#"{"effect":{"status":500},"probability":2}"#, "$.probability", "from 0.0 to 1.0"),
            (#"{"effect":{"status":500},"times":0}"#, "$.times", "whole number"),
            (#"{"effect":{"status":500},"match":{"host":"appleid.aple.com"}}"#, "$.match.host", "appleid.apple.com"),
            (
                #"{"effect":{"status":500},"match":{"host":"appleid.apple.com","path":"/auth/tokn"}}"#, "$.match.path",
                "\"/auth/token\""
            ),
            (
                #"{"effect":{"status":500},"match":{"host":"appleid.apple.com","path":"/auth/token","method":"GET"}}"#,
                "$.match.method", "takes POST"
            ),
            (
                #"{"effect":{"error":"invalid_grnt"},"match":{"host":"appleid.apple.com","path":"/auth/token"}}"#,
                "$.effect.error", "\"invalid_grant\""
            ),
            (
                #"{"effect":{"state":"wrong"},"match":{"host":"appleid.apple.com","path":"/auth/token"}}"#,
                "$.effect.state", "error (invalid_request"
            ),
            (
                #"{"effect":{"token":{"signature":"none"}},"match":{"host":"github.com","path":"/login/oauth/access_token"}}"#,
                "$.effect.token", "valid effects"
            ),
            (
                #"{"effect":{"malformedJSON":true},"match":{"host":"github.com","path":"/login/oauth/authorize"}}"#,
                "$.effect.malformedJSON", "error (access_denied"
            ),
            (
                #"{"effect":{"error":"access_denied","description":"x"},"match":{"path":"/login/oauth/authorize"}}"#,
                "$.effect.description", "error (access_denied"
            ),
            // These clients get JSON, which has no signature.
            (
                #"{"effect":{"token":{"signature":"invalid"}},"match":{"host":"login.corp.example","path":"/userinfo"}}"#,
                "$.effect.token", "token (claims)"
            ),
            (#"{"effect":{"jwks":"empty"},"match":{"path":"/auth/token"}}"#, "$.effect.jwks", "valid effects"),
            (#"{"effect":{"response":{}},"match":{"path":"/auth/token"}}"#, "$.effect", "the fault's effect is empty"),
            (#"{"effect":{"response":[]},"match":{"path":"/auth/token"}}"#, "$.effect.response", "object"),
            (
                #"{"effect":{"response":{"a":1}},"match":{"host":"appleid.apple.com","path":"/auth/revoke"}}"#,
                "$.effect.response", "valid effects"
            ),
            (#"{"effect":{"status":200,"response":{"a":1}}}"#, "$.effect.response", "give status or response"),
            (#"{"effect":{"response":{"a":1}},"match":{"smtp":"RCPT"}}"#, "$.effect.response", "valid effects"),
            (#"{"effect":{"code":"used"},"match":{"path":"/auth/keys"}}"#, "$.effect.code", "valid effects"),
            (
                #"{"effect":{"rotateKeys":true},"match":{"host":"api.github.com"}}"#, "$.effect.rotateKeys",
                "valid effects"
            ),
            (#"{"effect":{"token":{"signature":"bad"}}}"#, "$.effect.token.signature", "unknownKey"),
        ])
    func misfits(body: String, path: String, advice: String) throws {
        let fixture = try FaultFixture()
        let answer = try fixture.client.request("POST", "\(FaultFixture.api)/faults", body: Array(body.utf8))
        let error = answer.json["error"] as? [String: Any]
        #expect(answer.status == 400)
        #expect(error?["path"] as? String == path)
        #expect((error?["message"] as? String)?.contains(advice) == true, "\(error ?? [:])")
        #expect(!answer.diagnosis.isEmpty)
        #expect(try fixture.faults().isEmpty)
    }

    @Test("a queue of faults is bounded")
    func limit() throws {
        let fixture = try FaultFixture()
        for _ in 0..<1000 { try fixture.order(["status": 500], at: FaultOrderTests.keys) }
        let body: [String: Any] = ["effect": ["status": 500]]
        #expect(try fixture.client.post("\(FaultFixture.api)/faults", json: body).status == 409)
    }

    @Test("faults and outcomes of a seed are there from the start, and after a reset")
    func seeds() throws {
        let fixture = try FaultFixture(
            seed: """
                {"faults":[{"match":{"host":"appleid.apple.com","path":"/auth/keys"},"effect":{"status":503}}],
                 "outcomes":[{"provider":"apple","outcome":"cancel"}]}
                """, isAlone: true)
        for world in ["", "/~other", ""] {
            #expect(try statuses(fixture, 2, world: world) == [503, 200])
            let native = try fixture.client.post(
                "\(world)\(FaultFixture.api)/apple/authorizations", json: ["client": AppleFixture.app])
            #expect(native.status == 409)
            if world == "/~other" { _ = try fixture.client.request("POST", "\(FaultFixture.api)/reset") }
        }
    }

    @Test(
        "a seed's fault that doesn't fit is a fault of the seed, with its place",
        arguments: [
            (
                #"{"match":{"path":"/auth/token"},"effect":{"state":"wrong"}}"#,
                "$.faults[1].effect.state: "
            ),
            (#"{"effect":{}}"#, "$.faults[1].effect: the fault's effect is empty"),
            (#"{"effect":{"token":{}}}"#, "$.faults[1].effect: "),
            (#"{"effect":{"token":{"claims":{},"signature":"valid"}}}"#, "$.faults[1].effect: "),
            (#"{"effect":{"status":"x"}}"#, "$.faults[1].effect.status: "),
        ])
    func badSeeds(fault: String, message: String) {
        let faults = SeedInput.faults(in: [.json(#"{"faults":[{"effect":{"status":500}},\#(fault)]}"#)])
        #expect(faults.count == 1)
        #expect(faults.first?.contains(message) ?? false, "\(faults)")
        let outcomes = SeedInput.faults(in: [.json(#"{"outcomes":[{"provider":"apple","outcome":"error"}]}"#)])
        #expect(outcomes.first?.contains("$.outcomes[0]: ") ?? false)
    }
}
