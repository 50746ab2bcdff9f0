import EmulatorCore
import JOSE
import JSON
import TestSupport
import Testing

@testable import Apple

@Suite("Apple: signatures at the private e-mail relay")
struct RelaySignatureTests {
    private static let key = Result { try Key.generateEd25519() }

    /// A mail with a signature of the domain that holds, or that doesn't.
    private func signed(_ header: String, domain: String, broken: Bool = false) throws -> [UInt8] {
        let key = try RelaySignatureTests.key.get()
        let body = Base64.encode(Digest.sha256("Hi.\r\n"))
        let field = "dkim-signature:v=1; a=ed25519-sha256; c=relaxed/relaxed; d=\(domain); s=s1; h=from; bh=\(body); b="
        let from = try #require(header.firstMatch(of: /From: ([^\n]*)/)).output.1
        let signature = try key.sign(Digest.sha256("from:\(from)\r\n\(field)"), with: .edDSA)
        let text = "\(field)\(Base64.encode(signature))\n\(header)".replacing("\n", with: "\r\n")
        return Array("\(text)\r\n\(broken ? "Hello.\r\n" : "Hi.\r\n")".utf8)
    }

    private func keys(_ domains: String...) throws -> String {
        let pem = try RelaySignatureTests.key.get().publicPEM()
        let list = domains.map { domain in
            JSONValue.object(
                JSONObject([
                    ("domain", .string(domain)), ("selector", "s1"), ("publicKey", .string(pem)),
                ]))
        }
        return #", "mail":{"dkim":\#(JSONValue.array(list).text)}"#
    }

    @Test("a signature of the registered domain stands in for the envelope's sender")
    func signatures() throws {
        let relayed = try RelayedWorld(mail: keys("example.com", "mail.example.com", "partner.example"))
        let header = "From: a@example.com\n"
        // It may be signed: that is seen only when it is there.
        #expect(relayed.verdict(from: "bounce@provider.example") == "accepted")
        #expect(relayed.verdict(from: "bounce@provider.example", to: relayed.otherAddress).hasPrefix("550"))
        func verdict(_ raw: [UInt8]) -> String { relayed.verdict(from: "bounce@provider.example", raw: raw) }
        let valid = try signed(header, domain: "example.com")
        let broken = try signed(header, domain: "example.com", broken: true)
        #expect(verdict(valid) == "forwarded to Grace@example.org")
        for raw in [
            Array("\(header)\nHi.\n".replacing("\n", with: "\r\n").utf8),
            broken,
            // The domain of the signature must be the one in From, and registered as a domain.
            try signed(header, domain: "mail.example.com"),
            try signed("From: a@mail.example.com\n", domain: "mail.example.com"),
            try signed("From: news@partner.example\n", domain: "partner.example"),
        ] {
            let verdict = verdict(raw)
            #expect(verdict.contains("unauthorized sender"), "\(verdict)")
        }
        #expect(verdict(broken).contains("the body isn't the one"))
        // Who is registered needs none; one that doesn't hold is no obstacle.
        #expect(relayed.verdict(from: "a@example.com", raw: broken) == "forwarded to Grace@example.org")
    }

    @Test("a team can ask for signatures")
    func required() throws {
        let relayed = try RelayedWorld(relay: #", "requireDKIM": true"#, mail: keys("example.com"))
        let header = "From: a@example.com\n"
        #expect(relayed.verdict(from: "a@example.com") == "accepted")
        let valid = try signed(header, domain: "example.com")
        #expect(relayed.verdict(from: "a@example.com", raw: valid) == "forwarded to Grace@example.org")
        let unsigned = relayed.verdict(from: "a@example.com", header: header)
        #expect(unsigned.hasPrefix("554 5.7.1 [HME1] This message was blocked for failing both SPF and DKIM"))
        #expect(unsigned.contains("without a signature") && unsigned.contains("requireDKIM"))
        let broken = relayed.verdict(
            from: "a@example.com", raw: try signed(header, domain: "example.com", broken: true))
        #expect(broken.hasPrefix("554") && broken != unsigned)
    }
}
