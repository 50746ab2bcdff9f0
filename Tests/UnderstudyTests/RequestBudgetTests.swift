import Foundation
import EmulatorCore
import TestSupport
import Testing
import Understudy

@Suite("A budget for each request")
struct RequestBudgetTests {
    let fixture: FirebaseFixture
    private let control = FirebaseFixture.control

    init() throws { fixture = try FirebaseFixture() }

    private static func fields(_ count: Int) -> String { (0..<count).map { "f\($0)=1" }.joined(separator: "&") }

    /// The endpoints that read forms, and a part of their refusals of a form that is too large.
    static let forms: [(target: String, status: Int, text: String)] = [
        ("/appleid.apple.com/auth/token", 400, #"{"error":"invalid_request"}"#),
        ("/appleid.apple.com/auth/revoke", 400, #"{"error":"invalid_request"}"#),
        ("/appleid.apple.com/auth/authorize", 400, #"{"error":"invalid_request"}"#),
        ("/github.com/login/oauth/access_token", 200, "error=invalid_request&"),
        ("/github.com/login/device/code", 200, "error=invalid_request&"),
        ("/github.com/session", 400, "This request can&#39;t be read"),
        ("/oauth2.googleapis.com/token", 400, #"{"error":"invalid_request","error_description":"Bad Request"}"#),
        ("/accounts.google.com/o/oauth2/v2/auth", 400, "Error 400: invalid_request"),
        ("/graph.facebook.com/oauth/access_token", 400, #""type":"OAuthException","code":100"#),
        ("/www.facebook.com/v19.0/dialog/oauth", 400, "This request can&#39;t be read"),
        ("/identitytoolkit.googleapis.com/v1/accounts:signUp", 400, #""reason":"invalid""#),
        ("/securetoken.googleapis.com/v1/token", 400, #""status":"INVALID_ARGUMENT""#),
        ("/demo-app.firebaseapp.com/__/auth/handler", 400, "This request can&#39;t be read"),
        ("/emulator/auth/handler", 400, #""code":"tooMuch""#),
        ("/_understudy/v1/outcomes", 400, #""code":"tooMuch""#),
    ]

    @Test("a form of more than 1,000 fields is refused in the provider's own form", arguments: forms.indices)
    func fields(index: Int) throws {
        let form = RequestBudgetTests.forms[index]
        let headers = ["Content-Type": "application/x-www-form-urlencoded"]
        let method = form.target.contains("/dialog/") || form.target.contains("handler") ? "GET" : "POST"
        for count in [1_001, 60_000] where method == "POST" || count < 5_000 {
            let text = RequestBudgetTests.fields(count)
            let answer =
                method == "GET"
                ? try fixture.client.get("\(form.target)?\(text)")
                : try fixture.client.request("POST", form.target, headers: headers, body: Array(text.utf8))
            #expect(answer.status == form.status)
            #expect(answer.text.contains(form.text), "\(answer)")
            let diagnosis = answer.diagnosis
            #expect(diagnosis.contains("\(count)") && diagnosis.contains("at most 1000"), "\(diagnosis)")
            #expect(answer.body.count < 16_384)
        }
        let taken = try fixture.client.request(
            "POST", form.target, headers: headers, body: Array(RequestBudgetTests.fields(1_000).utf8))
        #expect(!taken.diagnosis.contains("at most 1000"))
    }

    @Test("a text that is too long for what it is is refused, and one that isn't is taken")
    func texts() throws {
        func token(_ name: String, _ length: Int) throws -> Answer {
            try fixture.client.post(
                "/oauth2.googleapis.com/token", form: [name: String(repeating: "x", count: length)])
        }
        for (name, limit) in [("state", 8_192), ("nonce", 4_096), ("client_id", 1_024), ("other", 65_536)] {
            #expect(try !token(name, limit).diagnosis.contains("at most \(limit) bytes"), "\(name)")
            let refused = try token(name, limit + 1)
            #expect(refused["error"] == "invalid_request")
            #expect(refused.diagnosis.contains("at most \(limit) bytes"), "\(name)")
        }
        #expect(
            try token(String(repeating: "n", count: 257), 1).diagnosis.contains("a field name that is too long") == true
        )
    }

    @Test("an object of more than 1,000 members is refused, with its place")
    func members() throws {
        let body = Dictionary(uniqueKeysWithValues: (0..<1_001).map { ("k\($0)", 1) })
        let refused = try fixture.client.post("\(control)/outcomes", json: body)
        #expect(refused.status == 400)
        #expect(refused.diagnosis.contains("1000 members"))
        #expect(refused.diagnosis.contains("line 1, column "))
        #expect(try fixture.v1("signUp", body).message.hasPrefix("Invalid JSON payload received."))
    }

    @Test("a refusal lists twenty faults and how many more there are, in at most 16 kB")
    func refusals() throws {
        for body in [
            Dictionary(uniqueKeysWithValues: (0..<999).map { ("k\($0)", 1) }),
            Dictionary(
                uniqueKeysWithValues: (0..<999).map { (String(repeating: "\u{1}é\"", count: 50) + "\($0)", 1) }),
        ] {
            let answer = try fixture.client.post("\(control)/outcomes", json: body)
            let error = try #require(answer.json["error"] as? [String: Any])
            let faults = try #require(error["faults"] as? [Any])
            #expect(answer.status == 400)
            #expect((1...20).contains(faults.count))
            // Missing members count as faults too.
            let more = try #require((error["more"] as? String)?.split(separator: " ").dropFirst().first)
            #expect((999...1_005).contains((Int(more) ?? 0) + faults.count))
            #expect(answer.body.count <= 16_384)
        }
    }

    @Test("a seed's faults are listed up to the twentieth")
    func seedFaults() {
        let seed = "{" + (0..<60_000).map { "\"k\($0)\":1" }.joined(separator: ",") + "}"
        do {
            _ = try RunningServer.start(seeds: [.json(seed, directory: ".")])
            Issue.record("the seed is refused")
        } catch {
            let lines = "\(error)".split(separator: "\n")
            #expect(lines.count == 21)
            #expect(lines.last == "and 59,980 more")
            #expect("\(error)".utf8.count <= 16_384)
        }
    }

    @Test(
        "a seed that isn't JSON is refused with line and column",
        arguments: [
            ("{\n  \"accounts\": [\n    {\"id\": \"a\",, }\n  ]\n}", "line 3, column 16: "),
            ("{\"accounts\": [], \"accounts\": []}", "line 1, column 27: "),
        ])
    func syntax(seed: String, place: String) throws {
        let faults = SeedInput.faults(in: [.json(seed, directory: ".")])
        #expect(faults.count == 1)
        #expect(faults.first?.contains("seed: $: not JSON: \(place)") == true, "\(faults)")
    }

    @Test(
        "a header that the server writes itself can't be ordered",
        arguments: ["Content-Length", "transfer-encoding", "Connection"])
    func headers(name: String) throws {
        let order = ["effect": ["status": 500, "headers": [name: "5"]]]
        let refused = try fixture.client.post("\(control)/faults", json: order)
        #expect(refused.status == 400)
        #expect(refused.diagnosis.contains("$.effect.headers.\(name): "))
        #expect(refused.diagnosis.contains("\"disconnect\""))
    }

    @Test("an ordered Date arrives, and so isn't refused")
    func date() throws {
        let date = "Mon, 01 Jan 2001 00:00:00 GMT"
        _ = try fixture.client.post("\(control)/faults", json: ["effect": ["status": 500, "headers": ["Date": date]]])
        #expect(try fixture.client.get("/appleid.apple.com/auth/keys").header("Date") == date)
    }

    @Test("an exchange with more than a hundred secrets shows none of its texts")
    func masks() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let server = try TestServer.start(seeds: [.builtIn], options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let codes = (0..<200).map { "code=secret-\($0)-code" }.joined(separator: "&")
        _ = try client.request(
            "POST", "/appleid.apple.com/auth/token", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(codes.utf8))
        let few = try client.post("/appleid.apple.com/auth/token", form: ["code": "secret-few-code"])
        #expect(few.status == 400)
        let recording = try client.get("\(control)/requests")
        #expect(recording.text.contains("masked-15"))
        #expect(!recording.text.contains("secret-"))
    }

    @Test("verify compares a hundred expectations at once, no more")
    func expectations() throws {
        func verify(_ count: Int) throws -> Answer {
            let one: [String: Any] = ["path": "/none", "times": 0]
            return try fixture.client.post(
                "\(control)/verify", json: ["expectations": Array(repeating: one, count: count)])
        }
        #expect(try verify(100).status == 200)
        #expect(try verify(101).status == 400)
    }
}
