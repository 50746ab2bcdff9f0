import Foundation
import JOSE
import TestSupport
import Testing
import Understudy

/// Malicious input: each piece must be answered with 4xx, and the daemon must still answer afterwards.
@Suite("Hostile input")
struct HostileInputTests {
    static let shared = Result { try AppleFixture(isAlone: true) }
    var fixture: AppleFixture { get throws { try HostileInputTests.shared.get() } }

    private func expectAlive() throws {
        #expect(try fixture.client.get("/_understudy/v1/health").status == 200)
    }

    // MARK: - Bytes on the wire

    static let wire: [String] = [
        "\r\n\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "\u{0}\u{1}\u{2}\u{3}\r\n\r\n",
        "GET \u{0} HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: \u{0}\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT appleid.apple.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        String(repeating: "A", count: 200_000) + "\r\n\r\n",
        "GET /" + String(repeating: "a", count: 60_000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "X: y\r\n", count: 8000) + "\r\n",
        "GET / HTTP/1.1\r\nHost: \(String(repeating: "h", count: 40_000))\r\n\r\n",
        "POST /appleid.apple.com/auth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n",
        "GET /_understudy/v1/health HTTP/1.1\r\nHost: evil.example\r\n\r\n", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n X: folded\r\n\r\n", "G\u{e9}T /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
    ]

    @Test("broken HTTP", arguments: wire.indices)
    func brokenHTTP(index: Int) throws {
        let wire = try Wire(port: fixture.client.port, timeoutSeconds: 2)
        wire.send(HostileInputTests.wire[index])
        // The request may be refused, closed or waited on, but not served.
        if let answer = try? wire.receive() {
            #expect((400..<500).contains(answer.status) || answer.status == 505 || servedAnyway(answer), "\(answer)")
        }
        try expectAlive()
    }

    @Test("HTTP/1.1 needs a Host, which HTTP/1.0 doesn't know")
    func missingHost() throws {
        for (version, status) in [("1.1", 400), ("1.0", 200)] {
            let wire = try Wire(port: fixture.client.port, timeoutSeconds: 5)
            wire.send("GET /appleid.apple.com/auth/keys HTTP/\(version)\r\n\r\n")
            let answer = try wire.receive()
            #expect(answer.status == status, "\(answer)")
            #expect(version == "1.0" || answer.text.contains("no Host header"), "\(answer)")
        }
    }

    /// Whether an odd but valid request got our own first page.
    private func servedAnyway(_ answer: Answer) -> Bool {
        answer.status == 200 && answer.text.lowercased().contains("understudy")
    }

    // MARK: - Addresses

    static let targets: [String] = [
        "/nothing", "//", "/.", "/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%", "/%zz", "/%00", "/~",
        "/~/", "/~%00/appleid.apple.com/auth/keys",
        "/~" + String(repeating: "w", count: 65) + "/appleid.apple.com/auth/keys", "/~a b", "/~../appleid.apple.com",
        "/appleid.apple.com", "/appleid.apple.com/",
        "/appleid.apple.com//auth/keys", "/appleid.apple.com/auth/keys/", "/appleid.apple.com/auth/KEYS",
        "/APPLEID.apple.com/auth/nothing", "/appleid.apple.com/auth/%6Beys%00",
        "/github.com/nothing", "/github.com/LOGIN", "/api.github.com/user/", "/example.com/auth/keys",
        "/_understudy/nothing",
        "/_understudy/v2/health", "/_understudy/v1/nothing",
        "/_understudy/v1/accounts/", "/_understudy/v1/accounts/%00", "/_understudy/v1/accounts/..%2f..",
        "/_understudy/v1/accounts/" + String(repeating: "x", count: 5000),
        "/_understudy/v1/apple/credential-state?client=%ff&user=%ff", "/_understudy/v1/apple/credential-state?user=x",
    ]

    @Test(
        "addresses that lead nowhere", .oneProcess("a balancer answers itself what isn't HTTP"),
        arguments: targets.indices)
    func addresses(index: Int) throws {
        // The suite's daemon may have replicas, so this one is separate.
        let single = try AppleFixture(isAlone: true)
        let answer = try single.client.get(HostileInputTests.targets[index])
        #expect((400..<500).contains(answer.status), "\(HostileInputTests.targets[index]): \(answer)")
        #expect(!answer.diagnosis.isEmpty)
        #expect(try single.client.get("/_understudy/v1/health").status == 200)
    }

    // MARK: - Authorization requests

    static let queries: [String] = [
        "", "&", "=", "&&&===", "client_id", "client_id=", "client_id=%00", "client_id=%ff%fe",
        "client_id=com.example.web",
        "client_id=com.example.web&redirect_uri=%00",
        "client_id=com.example.web&redirect_uri=https://example.com/callback%00",
        "client_id=com.example.web&redirect_uri=https://example.com/callback%0d%0aX:y",
        "client_id=com.example.web&redirect_uri=//example.com/callback",
        "client_id=com.example.web&redirect_uri=https://user@example.com/callback",
        "client_id=com.example.web&redirect_uri=https://example.com:99999/callback",
        "client_id=com.example.web&redirect_uri=data:text/html,x",
        "client_id=com.example.web&redirect_uri=https://example.com%5c@evil.example/",
        "client_id=com.example.web&redirect_uri=" + String(repeating: "https://", count: 500),
        "client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=%00",
        "client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=code&response_mode=%00",
        "client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=code&scope=%00",
        "client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=code&scope="
            + String(repeating: "x+", count: 5000),
        "client_id=com.example.web&client_id=com.example.web", "client_id[]=com.example.web",
        "client_id=com.example.web;redirect_uri=x",
        "client_id=" + String(repeating: "c", count: 20_000), String(repeating: "a=b&", count: 5000),
        "client_id=%63%6f%6d.example.web&redirect_uri=https://example.com/other",
    ]

    @Test("authorization requests", arguments: queries.indices)
    func authorizations(index: Int) throws {
        let query = HostileInputTests.queries[index]
        let byGet = try fixture.client.get(
            "/appleid.apple.com/auth/authorize?\(query)", headers: ["Accept": "text/html"])
        let byPost = try fixture.client.request(
            "POST", "/appleid.apple.com/auth/authorize",
            headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"],
            body: Array(query.utf8))
        let decided = try fixture.client.post(
            "/appleid.apple.com/auth/authorize/continue",
            form: ["request": Base64URL.encode(Array(query.utf8)), "account": "ada", "action": "continue"])
        for answer in [byGet, byPost, decided] {
            #expect(answer.status == 400, "\(query.prefix(80)): \(answer)")
            #expect(answer.location.isEmpty)
            #expect(!answer.diagnosis.isEmpty)
            #expect(!answer.text.contains("<script>alert"))
        }
        try expectAlive()
    }

    // MARK: - Tokens and secrets

    static let secrets: [String] = [
        "x", ".", "..", "...", "e30.e30.", "e30.e30.e30", "W10.W10.W10", "bnVsbA.bnVsbA.bnVsbA",
        "eyJhbGciOm51bGx9.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjb20uZXhhbXBsZS53ZWIifQ.", "e30=.e30=.=", "%ff.%ff.%ff", "\u{0}.\u{0}.\u{0}",
        "é.é.é", String(repeating: "A", count: 16_000),
        String(repeating: "A", count: 30_000), String(repeating: ".", count: 5000),
        Base64URL.encode(Array(String(repeating: "[", count: 3000).utf8)) + ".e30.",
        Base64URL.encode(
            Array(
                "{\"alg\":\"ES256\",\"kid\":\(String(repeating: "[", count: 60))\(String(repeating: "]", count: 60))}"
                    .utf8)) + ".e30.",
        claims("{\"exp\":1e308,\"iat\":1e308}"), claims("{\"exp\":9223372036854775807,\"iat\":-9223372036854775808}"),
        claims("{\"exp\":-9223372036854775808,\"iat\":9223372036854775807}"),
        claims("{\"exp\":\"1\",\"iat\":true}"), claims("{\"iss\":{},\"sub\":[],\"aud\":null}"),
        claims("{\"exp\":1.5,\"iat\":0.5}"),
        claims("{\"exp\":99999999999,\"iat\":-99999999999999}"), claims("{\"sub\":\"\\ud800\"}"),
        claims("{\"a\":\"\\u0000\"}"),
    ]

    private static func claims(_ json: String) -> String {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
        return "\(header).\(Base64URL.encode(Array(json.utf8))).\(Base64URL.encode([UInt8](repeating: 7, count: 64)))"
    }

    @Test("client secrets, at every endpoint that takes one, and at explain", arguments: secrets.indices)
    func clientSecrets(index: Int) throws {
        let secret = HostileInputTests.secrets[index]
        for path in ["token", "revoke", "usermigrationinfo"] {
            let answer = try fixture.client.post(
                "/appleid.apple.com/auth/\(path)",
                form: [
                    "client_id": "com.example.web", "client_secret": secret, "grant_type": "authorization_code",
                    "code": secret, "token": secret,
                ])
            #expect(answer.status == 400)
            #expect(answer["error"] == "invalid_client")
            #expect(!answer.diagnosis.isEmpty)
        }
        #expect(
            try !Explanation(idToken: secret, rawNonce: secret, clientSecret: secret, jwks: secret, seeds: [.builtIn])
                .isClean)
        try expectAlive()
    }

    static let codes: [String] = [
        "c", "c.0.aaaa.", String(repeating: "c", count: 63), "c" + String(repeating: "0", count: 62),
        "cGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGG.0.aaaa.AAAAAAAAAAAAAAAAAAAAAA",
        "é" + String(repeating: "0", count: 61), "\u{0}", String(repeating: "z", count: 30_000),
        "c0000000000000000000000000000000é.0.aaaa.AAAAAAAAAAAAAAAAAAAA",
    ]

    @Test("codes and refresh tokens", arguments: codes.indices)
    func codeTexts(index: Int) throws {
        let code = HostileInputTests.codes[index]
        #expect(try fixture.token(["code": code])["error"] == "invalid_grant")
        #expect(try fixture.token(["grant_type": "refresh_token", "refresh_token": code])["error"] == "invalid_grant")
        try expectAlive()
    }

    // MARK: - Bodies of the control API

    static let bodies: [String] = [
        "", "null", "true", "7", "\"x\"", "[]", "[{}]", "{", "}", "{]", "{\"\":1}", "{\"a\":1,\"a\":2}",
        "{\"id\":null}", "{\"id\":\"\"}", "{\"id\":\"\\u0000\"}", "\u{feff}{}", "{'id':'x'}",
        String(repeating: "[", count: 100_000), "{\"id\":\"\(String(repeating: "x", count: 100))\u{0}\"}",
        "{\"provider\":\"apple\",\"outcome\":\"approve\",\"times\":1e400}",
        "{\"advance\":\"\(String(repeating: "9", count: 1000))d\"}", "{\"set\":\"9999999-01-01T00:00:00Z\"}",
        "{\"client\":\"\(String(repeating: "c", count: 5000))\"}",
        "{\"type\":\"account-deleted\",\"account\":\"nobody\",\"client\":\"nothing\"}",
        "{\"unknown\":{\"deep\":[[[[[]]]]]}}",
    ]

    @Test("control bodies", arguments: bodies.indices)
    func controlBodies(index: Int) throws {
        let body = Array(HostileInputTests.bodies[index].utf8)
        for path in ["clock", "outcomes", "accounts", "apple/authorizations", "apple/notifications"] {
            let answer = try fixture.client.request(
                "POST", "/_understudy/v1/\(path)", headers: ["Content-Type": "application/json"], body: body)
            #expect((400..<500).contains(answer.status), "\(path): \(answer)")
            #expect(!answer.diagnosis.isEmpty)
        }
        // A byte order mark before an empty object is an empty patch, which changes nothing.
        if !HostileInputTests.bodies[index].hasSuffix("{}") {
            #expect(
                (400..<500).contains(
                    try fixture.client.request("PATCH", "/_understudy/v1/accounts/ada", body: body).status))
        }
        try expectAlive()
    }

    // MARK: - Seeds

    static let seeds: [String] = [
        "", " ", "null", "7", "\"x\"", "[]", "{", "{}}", "{\"accounts\":null}", "{\"accounts\":[null]}",
        "{\"accounts\":[[]]}", "{\"accounts\":[{\"id\":{}}]}", "{\"apple\":[]}",
        "{\"apple\":{\"teams\":{}}}",
        "{\"apple\":{\"teams\":[{\"id\":\"A1B2C3D4E5\",\"keys\":[{\"id\":\"ABC123DEFG\",\"publicKeyFile\":\"../../../../etc/passwd\"}]}]}}",
        "{\"apple\":{\"teams\":[{\"id\":\"A1B2C3D4E5\",\"keys\":[{\"id\":\"ABC123DEFG\",\"publicKeyFile\":\"/dev/null\"}]}]}}",
        "{\"apple\":{\"signingKeys\":[{\"id\":\"AAAAAAAAAA\",\"privateKey\":\"\"}]}}",
        "{\"randomSeed\":\"\"}", "{\"clock\":{\"set\":\"0000-00-00T00:00:00Z\"}}", "{\"firebase\":{\"projects\":[{}]}}",
        "{\"interaction\":{\"mode\":\"sometimes\"}}",
        String(repeating: "{\"accounts\":", count: 200), String(repeating: "[", count: 100_000),
        "{\"\(String(repeating: "k", count: 10_000))\":1}", "\u{0}",
        "{\"accounts\":[{\"id\":\"a\",\"github\":{\"id\":1e99}}]}",
    ]

    @Test("seeds are refused with a place, and exit 1", arguments: seeds.indices)
    func seedTexts(index: Int) throws {
        let faults = SeedInput.faults(in: [.json(HostileInputTests.seeds[index])])
        #expect(!faults.isEmpty)
        #expect(faults.allSatisfy { $0.hasPrefix("seed: $") })
        #expect(throws: StartError.self) { try RunningServer.start(seeds: [.json(HostileInputTests.seeds[index])]) }
    }

    @Test("what is too large to read is refused with a diagnosis and a number, like all else")
    func tooLarge() throws {
        for headers in [["Content-Length": "2000000"], ["X-Filler": String(repeating: "x", count: 33_000)]] {
            let wire = try Wire(port: fixture.client.port)
            let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            wire.send("POST /appleid.apple.com/auth/token HTTP/1.1\r\nHost: x\r\n\(lines)\r\n")
            let answer = try wire.receive()
            #expect([413, 431].contains(answer.status))
            #expect(!answer.diagnosis.isEmpty)
            #expect(answer.header("Understudy-Request")?.hasPrefix("r") ?? false)
        }
    }

    /// Checks the number of inputs. The bytes on the wire aren't counted, because some of them aren't answered.
    @Test("the table is as long as it should be")
    func length() {
        let count =
            HostileInputTests.targets.count + HostileInputTests.queries.count
            + HostileInputTests.secrets.count + HostileInputTests.codes.count + HostileInputTests.bodies.count
            + HostileInputTests.seeds.count
        #expect(count >= 150)
    }
}
