import Foundation
import JOSE
import JSON
import TestSupport
import Testing
import Understudy

@Suite("Apple: discovery and keys")
struct DiscoveryTests {
    @Test("the discovery document is Apple's, with URLs in the form in which it was asked for")
    func discovery() throws {
        let fixture = try AppleFixture(isAlone: true)
        let path = "/.well-known/openid-configuration"
        let port = fixture.client.port
        for (prefix, host, base) in [
            ("/appleid.apple.com", "localhost:\(port)", "http://localhost:\(port)/appleid.apple.com"),
            ("", "appleid.apple.com", "https://appleid.apple.com"),
            ("", "appleid.apple.com.localhost:\(port)", "http://appleid.apple.com.localhost:\(port)"),
            ("/~w/appleid.apple.com", "localhost:\(port)", "http://localhost:\(port)/~w/appleid.apple.com"),
        ] {
            let document = try fixture.client.get(prefix + path, headers: ["Host": host])
            let expected = try Repository.read("Tests/AppleTests/Fixtures/discovery.json")
                .replacingOccurrences(of: "BASE", with: base)
            #expect(try JSONValue(parsing: document.body) == JSONValue(parsing: expected))
        }
    }

    // https://github.com/Kosthi/ipatool-rs/issues/14: "server: Apple" and a page that ends with <hr><center>Apple</center>.
    @Test(
        "what Apple doesn't serve, or not with this method, is refused with a page of Apple's servers",
        arguments: [
            ("GET", "/nothing", 404, "nothing is served at this path"),
            ("POST", "/auth/tokens", 404, "nothing is served at this path"),
            ("GET", "/auth/token", 405, "POST"), ("PUT", "/auth/authorize", 405, "GET or POST"),
            ("DELETE", "/auth/keys", 405, "GET"),
        ])
    func notServed(method: String, path: String, status: Int, word: String) throws {
        let fixture = try AppleFixture()
        let answer = try fixture.client.request(method, AppleFixture.prefix + path)
        #expect(answer.status == status)
        #expect(answer.header("Content-Type") == "text/html")
        #expect(answer.header("Server") == "Apple")
        #expect(answer.text.contains("<hr><center>Apple</center>"))
        #expect(answer.diagnosis.contains(word))
        #expect((answer.header("Allow") != nil) == (status == 405))
    }

    @Test("the issuer follows the request when the seed says so")
    func requestIssuer() throws {
        let fixture = try AppleFixture(seed: #"{"apple":{"issuer":"request"}}"#)
        let base = "http://localhost:\(fixture.client.port)/appleid.apple.com"
        #expect(try fixture.client.get("\(AppleFixture.prefix)/.well-known/openid-configuration")["issuer"] == base)
        let token = try fixture.token(["code": fixture.code()])
        #expect(AppleFixture.claims(token["id_token"] ?? "")["iss"] as? String == base)
    }

    @Test(
        "RSA-2048 keys are published, one that is made or three of the seed; a rotation brings a new one and drops the oldest of three",
        arguments: [true, false])
    func keys(isSeeded: Bool) throws {
        let text = try Repository.read("seed-data/default.json")
        var seed = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        var apple = try #require(seed["apple"] as? [String: Any])
        if !isSeeded { apple["signingKeys"] = nil }
        seed["apple"] = apple
        let json = String(decoding: try JSONSerialization.data(withJSONObject: seed), as: UTF8.self)
        let fixture = try AppleFixture(seeds: [.json(json, directory: "\(Repository.root)/seed-data")])
        func keyIDs() throws -> [String] {
            let keys =
                try fixture.client.get("\(AppleFixture.prefix)/auth/keys").json["keys"] as? [[String: String]] ?? []
            for key in keys {
                #expect(key["kty"] == "RSA" && key["use"] == "sig" && key["alg"] == "RS256" && key["e"] == "AQAB")
                #expect(Base64URL.decode(key["n"] ?? "")?.count == 256)
                #expect(key["kid"]?.count == 10)
            }
            return keys.compactMap { $0["kid"] }
        }
        func signer() throws -> String? {
            let token = try JWS(parsing: try fixture.native()["identityToken"] ?? "")
            #expect(token.header.keys == ["kid", "alg"])
            return token.keyID
        }
        let before = try keyIDs()
        #expect(before.count == (isSeeded ? 3 : 1))
        #expect(try signer() == before.last)
        let rotated = try fixture.client.request("POST", "\(AppleFixture.control)/apple/keys/rotate")
        let after = try keyIDs()
        #expect(Array(after.dropLast()) == before.suffix(2))
        #expect(rotated["signing"] == after.last)
        #expect(try signer() == after.last)
        _ = try fixture.client.request("POST", "\(AppleFixture.control)/reset")
        #expect(try keyIDs() == before)
    }

    @Test("with a rotation period the published keys take turns by the world's clock")
    func rotationPeriod() throws {
        let fixture = try AppleFixture(
            seed: #"{"apple":{"keyRotation":"1d"},"clock":{"set":"2030-01-01T00:00:00Z","freeze":true}}"#)
        var signers: [String] = []
        for _ in 0..<4 {
            signers.append(try JWS(parsing: try fixture.native()["identityToken"] ?? "").keyID ?? "")
            try fixture.advance("1d")
        }
        #expect(Set(signers).count == 3)
        #expect(signers[0] == signers[3])
    }
}
