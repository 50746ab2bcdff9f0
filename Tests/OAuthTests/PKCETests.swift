import JOSE
import OAuth
import Testing

@Suite("OAuth: proof key for code exchange")
struct PKCETests {
    // RFC 7636, appendix B.
    private let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private let challenge = CodeChallenge(method: .s256, challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")

    @Test("the RFC's own example is met, another verifier isn't")
    func example() {
        #expect(challenge.isMet(by: verifier))
        #expect(challenge.fault(of: verifier) == nil)
        #expect(!challenge.isMet(by: verifier.uppercased()))
        #expect(CodeChallenge(method: .plain, challenge: verifier).isMet(by: verifier))
    }

    @Test("the usual mistakes are named")
    func mistakes() {
        let digest = Digest.sha256(verifier)
        for (challenge, sent, wanted) in [
            (challenge, nil, "missing"), (challenge, "", "missing"),
            (challenge, challenge.challenge, "the challenge itself"),
            (challenge, "another", "isn't the one"),
            (CodeChallenge(method: .s256, challenge: Hex.encode(digest)), verifier, "in hex"),
            (CodeChallenge(method: .s256, challenge: Base64.encode(digest)), verifier, "in base64:"),
        ] {
            #expect(challenge.fault(of: sent)?.contains(wanted) ?? false)
        }
    }

    @Test("a verifier has 43 to 128 unreserved characters")
    func form() {
        #expect(CodeChallenge.isWellFormed(verifier))
        #expect(CodeChallenge.isWellFormed(String(repeating: "~", count: 128)))
        for text in [
            "", String(repeating: "a", count: 42), String(repeating: "a", count: 129), verifier + "=", verifier + "é",
        ] {
            #expect(!CodeChallenge.isWellFormed(text))
        }
    }
}

@Suite("OAuth: web addresses")
struct WebAddressTests {
    @Test("default ports, loopback hosts and paths")
    func parts() throws {
        let plain = try #require(WebAddress("http://localhost/a/b?c=d"))
        #expect(plain.effectivePort == "80")
        #expect(plain.isLoopback)
        #expect(plain.path == "/a/b")
        let secure = try #require(WebAddress("https://Example.com:8443"))
        #expect(secure.effectivePort == "8443")
        #expect(!secure.isLoopback)
        #expect(try #require(WebAddress("https://example.com")).effectivePort == "443")
        #expect(try #require(WebAddress("http://[::1]:8080/x")).isLoopback)
        #expect(try #require(WebAddress("http://127.0.0.1:1/")).isLoopback)
        #expect(!(try #require(WebAddress("http://127.0.0.1.example.com/")).isLoopback))
    }
}
