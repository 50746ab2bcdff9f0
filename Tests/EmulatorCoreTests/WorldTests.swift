import Foundation
import HTTPServer
import JOSE
import EmulatorCore
import Testing

@Suite("Nonces: the mistake is named")
struct NonceTests {
    static let raw = "n-0S6_WzA2Mj.uVXYZ"
    static let digest = Digest.sha256(raw)
    static let hex = Hex.encode(digest)

    @Test(
        "each mistake",
        arguments: [
            (hex, raw, NonceComparison.matches), (nil, nil, .matches), (hex, nil, .rawNonceMissing),
            (nil, raw, .tokenHasNone),
            (raw, raw, .rawNonceSent), (hex, hex, .hashGivenAsRawNonce),
            (Base64.encode(digest), raw, .base64OfDigest),
            (
                Base64URL.encode(digest), raw, .base64URLOfDigest
            ),
            (hex.uppercased(), raw, .upperCaseHex), (Hex.encode(Digest.sha256(hex)), raw, .hashOfHash),
            ("something else", raw, .unrelated), ("", raw, .tokenHasNone), (hex, "", .rawNonceMissing),
        ] as [(String?, String?, NonceComparison)])
    func mistakes(token: String?, raw: String?, expected: NonceComparison) {
        let comparison = NonceComparison(tokenNonce: token, rawNonce: raw)
        #expect(comparison == expected)
        let explanation = comparison.explanation(provider: "the provider")
        #expect(!explanation.isEmpty && !explanation.contains("Apple"))
    }
}

@Suite("Addresses")
struct AddressTests {
    private static func plays(_ host: String) -> Bool { host == "appleid.apple.com" }

    private func address(_ host: String, _ path: String, label: String? = nil) throws -> Address {
        let request = Request(method: "GET", target: path, headers: [(name: "Host", value: host)], label: label)
        return Address(request, in: try NamedWorld(request) { AddressTests.plays($1) }, knows: AddressTests.plays)
    }

    @Test("a short address leads to a path at a host, and URLs below that path are written with it")
    func alias() throws {
        let alias = HostAlias(prefix: "/oidc/corp", host: "login.example", path: "/t1")
        func address(_ path: String) throws -> Address {
            let request = Request(method: "GET", target: path, headers: [(name: "Host", value: "localhost:9099")])
            return Address(
                request, in: try NamedWorld(request) { _, _ in false },
                alias: { $0 == alias.prefix || $0.hasPrefix("\(alias.prefix)/") ? alias : nil },
                knows: { _ in false })
        }
        for (path, at) in [("/oidc/corp/token", "/t1/token"), ("/oidc/corp", "/t1"), ("/oidc/corp/", "/t1/")] {
            #expect(try address(path).host == "login.example")
            #expect(try address(path).path == at)
        }
        for path in ["/oidc", "/oidc/other/token", "/oidc/corporation/token", "/"] {
            #expect(try address(path).host == nil)
        }
        let short = try address("/~w1/oidc/corp/token")
        #expect(short.url(of: "login.example", "/t1/jwks") == "http://localhost:9099/~w1/oidc/corp/jwks")
        #expect(short.url(of: "login.example", "/t2/jwks") == "http://localhost:9099/~w1/login.example/t2/jwks")
        #expect(short.url(of: "login.example", "/t10") == "http://localhost:9099/~w1/login.example/t10")
        #expect(short.url(of: "other.example", "/t1") == "http://localhost:9099/~w1/other.example/t1")
        #expect(short.cookiePath == "/~w1/oidc/corp")
        #expect(short.ownBase == "http://localhost:9099/~w1")
    }

    @Test(
        "the three ways in, with and without a world",
        arguments: [
            (
                "localhost:9099", "/appleid.apple.com/auth/token", "appleid.apple.com", "/auth/token", "default",
                "http://localhost:9099/appleid.apple.com"
            ),
            (
                "localhost:9099", "/appleid.apple.com", "appleid.apple.com", "/", "default",
                "http://localhost:9099/appleid.apple.com"
            ),
            (
                "[::1]:9099", "/appleid.apple.com/x", "appleid.apple.com", "/x", "default",
                "http://[::1]:9099/appleid.apple.com"
            ),
            (
                "appleid.apple.com", "/auth/keys", "appleid.apple.com", "/auth/keys", "default",
                "https://appleid.apple.com"
            ),
            (
                "AppleID.apple.com:9443", "/auth/keys", "appleid.apple.com", "/auth/keys", "default",
                "https://appleid.apple.com:9443"
            ),
            (
                "appleid.apple.com.localhost:9099", "/a", "appleid.apple.com", "/a", "default",
                "http://appleid.apple.com.localhost:9099"
            ),
            (
                "localhost:9099", "/~w1/appleid.apple.com/a", "appleid.apple.com", "/a", "w1",
                "http://localhost:9099/~w1/appleid.apple.com"
            ),
            (
                "appleid.apple.com.localhost:1", "/~w1/a", "appleid.apple.com", "/a", "w1",
                "http://appleid.apple.com.localhost:1/~w1"
            ),
            (
                "w1.localhost:9099", "/appleid.apple.com/a", "appleid.apple.com", "/a", "w1",
                "http://w1.localhost:9099/appleid.apple.com"
            ),
            (
                "AppleID.Apple.com.W1.localhost:9099", "/a", "appleid.apple.com", "/a", "w1",
                "http://appleid.apple.com.w1.localhost:9099"
            ),
            ("w_1.localhost", "/~w_1/a", nil, "/a", "w_1", "http://w_1.localhost/appleid.apple.com"),
            ("default.localhost", "/", nil, "/", "default", "http://default.localhost/appleid.apple.com"),
            ("localhost:9099", "/~default/", nil, "/", "default", "http://localhost:9099/appleid.apple.com"),
            (
                "other.example.localhost", "/~w1/a", nil, "/a", "w1",
                "http://other.example.localhost/~w1/appleid.apple.com"
            ),
            ("localhost:9099", "/~w1", nil, "/", "w1", "http://localhost:9099/~w1/appleid.apple.com"),
            (
                "localhost:9099", "/other.example/a", nil, "/other.example/a", "default",
                "http://localhost:9099/appleid.apple.com"
            ),
        ] as [(String, String, String?, String, String, String)])
    func forms(host: String, path: String, provider: String?, rest: String, world: String, base: String) throws {
        let address = try address(host, path)
        #expect(address.host == provider)
        #expect(address.path == rest)
        #expect(address.world == world)
        #expect(address.base(of: "appleid.apple.com") == base)
    }

    @Test(
        "what comes by a world's own port, or by its name as the proxy's user, is that world's, and URLs need no name")
    func connections() throws {
        let own = try address("localhost:9101", "/~w1/appleid.apple.com/a", label: "w1")
        #expect(own.world == "w1" && own.host == "appleid.apple.com" && own.path == "/a")
        #expect(own.base(of: "appleid.apple.com") == "http://localhost:9101/appleid.apple.com")
        #expect(own.subdomainBase(of: "appleid.apple.com") == "http://appleid.apple.com.localhost:9101")
        let real = try address("appleid.apple.com", "/a", label: "w1")
        #expect(real.base(of: "appleid.apple.com") == "https://appleid.apple.com")
        #expect(real.ownBase == "http://localhost/~w1")
        #expect(try address("appleid.apple.com.w1.localhost", "/", label: "w1").ownBase == "http://localhost")
    }

    @Test(
        "a request that names two worlds, or a host below localhost that nobody has, is refused",
        arguments: [
            ("w1.localhost", "/~w2/a", nil, NamedWorld.Refusal.contradiction(first: "w1", second: "w2")),
            ("localhost", "/~w2/a", "w1", .contradiction(first: "w1", second: "w2")),
            ("w2.localhost", "/a", "w1", .contradiction(first: "w1", second: "w2")),
            ("appleid.apple.com.w2.localhost", "/~w1/a", nil, .contradiction(first: "w2", second: "w1")),
            ("a.w1.localhost", "/", nil, .unknownHost("a.w1")),
        ] as [(String, String, String?, NamedWorld.Refusal)])
    func refusals(host: String, path: String, label: String?, refusal: NamedWorld.Refusal) {
        #expect(throws: refusal) { _ = try address(host, path, label: label) }
    }
}

@Suite("HTML")
struct HTMLTests {
    @Test("text and attributes are escaped by construction")
    func escaping() {
        let page = HTML.tag("p", [("title", "\"><script>"), ("hidden", nil)], "<b>&'\r\n")
        #expect(
            page.document.contains("<p title=\"&quot;&gt;&lt;script&gt;\" hidden>&lt;b&gt;&amp;&#39;&#13;&#10;</p>"))
    }
}

@Suite("Diagnoses")
struct DiagnosisTests {
    @Test("a diagnosis is one line of printable ASCII")
    func printable() {
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("a\r\nSet-Cookie: x=1é\u{0}"), expected: "b", String(repeating: "c", count: 5000))
        #expect(diagnosis.line.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(diagnosis.line.utf8.count <= 1000)
        #expect(diagnosis.line.hasPrefix("received \"a  Set-Cookie: x=1??\"; expected b; ccc"))
    }
}
