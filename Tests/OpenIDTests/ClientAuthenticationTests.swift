import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: client authentication")
struct ClientAuthenticationTests {
    private static let key = (try? Key.generateP256())

    private let fixture: OpenIDFixture

    init() throws {
        let jwk = try #require(ClientAuthenticationTests.key).jwk(keyID: "k1", algorithm: .es256).text
        let uris = #""redirectURIs":["http://localhost:3000/callback"]"#
        fixture = try OpenIDFixture(
            clients: [
                #"{"clientID":"basic","clientSecret":"s+%1","tokenEndpointAuthMethod":"client_secret_basic",\#(uris)}"#,
                #"{"clientID":"post","clientSecret":"s","tokenEndpointAuthMethod":"client_secret_post",\#(uris)}"#,
                #"{"clientID":"mac","clientSecret":"a secret of 32 bytes and more....","tokenEndpointAuthMethod":"client_secret_jwt",\#(uris)}"#,
                #"{"clientID":"key","jwks":{"keys":[\#(jwk)]},\#(uris)}"#,
            ].joined(separator: ","))
    }

    private func ask(_ form: [String: String?], headers: [String: String] = [:]) throws -> Answer {
        let all = ["grant_type": "client_credentials"].merging(form) { $1 }.compactMapValues { $0 }
        return try fixture.client.post("\(fixture.base)/token", form: all, headers: headers)
    }

    private func assertion(
        _ client: String, _ changes: [String: JSONValue?] = [:], key: Key? = ClientAuthenticationTests.key,
        header: JSONObject = JSONObject([("alg", "ES256"), ("kid", "k1")])
    ) throws -> [String: String?] {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = JSONObject([
            ("iss", .string(client)), ("sub", .string(client)), ("aud", .string("\(fixture.issuer)/token")),
            ("exp", .integer(now + 3_600)), ("iat", .integer(now)), ("jti", .string(UUID().uuidString)),
        ])
        for (name, value) in changes { claims[name] = value }
        let algorithm = try #require(header["alg"]?.string.flatMap { Algorithm(rawValue: $0) })
        return [
            "client_assertion": try JWS.mint(
                header: header, claims: claims, key: try #require(key), algorithm: algorithm),
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ]
    }

    @Test("each method, and no other than the client's")
    func methods() throws {
        let basic = OpenIDFixture.basic("basic", secret: "s+%1")
        #expect(try ask([:], headers: OpenIDFixture.basic("basic", secret: "s%2B%251")).status == 200)
        #expect(try ask([:], headers: basic).status == 401)
        #expect(try ask(["client_id": "post", "client_secret": "s"]).status == 200)
        #expect(try ask(["client_id": "web", "client_secret": OpenIDFixture.secret]).status == 200)
        #expect(try ask([:], headers: OpenIDFixture.basic()).status == 200)
        #expect(try ask(assertion("key")).status == 200)
        let secret = try Key(secret: Array("a secret of 32 bytes and more....".utf8))
        let mac = try assertion("mac", key: secret, header: JSONObject([("alg", "HS256")]))
        #expect(try ask(mac).status == 200)
        for (form, headers) in [
            (["client_id": "basic", "client_secret": "s+%1"], [:]), ([:], OpenIDFixture.basic("post", secret: "s")),
            (["client_id": "web"], [:]), (["client_id": "key"], [:]), (["client_id": "mac"], [:]),
            (["client_id": "mac", "client_secret": "a secret of 32 bytes and more...."], [:]),
            (["client_id": "spa", "client_secret": "x"], [:]), ([:], OpenIDFixture.basic("web", secret: "x")),
            (["client_id": "web", "client_secret": "x"], [:]), ([:], [:]), (["client_id": "nobody"], [:]),
        ] as [([String: String], [String: String])] {
            let refused = try ask(form, headers: headers)
            #expect(refused.status == 401, "\(form) \(headers)")
            #expect(refused["error"] == "invalid_client")
            #expect((refused.header("WWW-Authenticate") != nil) == (headers["Authorization"] != nil))
        }
    }

    // RFC 6749, 2.3.1 and appendix B. The ID and the secret: https://github.com/openid/AppAuth-Android/issues/337. AD FS refuses what
    // isn't encoded, too: https://github.com/elastic/elasticsearch/issues/43709.
    @Test(
        "ID and secret in a header are form-encoded, or refused with the reason",
        arguments: [
            ("1PpG/Q 1", "z/tZ9VwFZqApmIQ+ZH1I5pLk/uB4ud:X2/8bL+wfFTt1rFw=", "the client secret"),
            ("100%", "plain", "the client ID"), ("a+b", "plain", "the client ID"), ("id", "100%", "the client secret"),
            ("id2", "50%zz", "the client secret"),
        ])
    func encoding(id: String, secret: String, part: String) throws {
        let fixture = try OpenIDFixture(clients: #"{"clientID":"\#(id)","clientSecret":"\#(secret)"}"#)
        func ask(_ id: String, _ secret: String) throws -> Answer {
            try fixture.client.post(
                "\(fixture.base)/token", form: ["grant_type": "client_credentials"],
                headers: OpenIDFixture.basic(id, secret: secret))
        }
        let refused = try ask(id, secret)
        #expect(refused.status == 401)
        #expect(refused["error"] == "invalid_client")
        #expect(
            refused.diagnosis.contains("\(part) in Authorization: Basic isn't form-encoded"), "\(refused.diagnosis)")
        func encoded(_ text: String) -> String {
            var kept = CharacterSet.alphanumerics
            kept.insert(charactersIn: "-._*")
            return (text.addingPercentEncoding(withAllowedCharacters: kept) ?? "").replacing("%20", with: "+")
        }
        #expect(try ask(encoded(id), encoded(secret)).status == 200)
        #expect(try ask(encoded(id), "x").diagnosis.contains("isn't the one configured"))
    }

    @Test("an assertion's claims, signature and single use")
    func assertions() throws {
        let now = Int64(Date().timeIntervalSince1970)
        for (changes, reason) in [
            (["iss": "other"], "iss and sub"), (["aud": "https://other.example"], "aud is"), (["aud": nil], "aud is"),
            (["exp": nil], "exp is missing"), (["exp": .integer(now - 1)], "expired"),
            (["exp": "soon"], "exp is missing"),
            (["exp": .integer(now + 200_000)], "more than"), (["iat": .integer(now + 60_000)], "future"),
            (["nbf": .integer(now + 60_000)], "future"), (["jti": nil], "jti is missing"),
            (["jti": ""], "jti is missing"),
        ] as [([String: JSONValue?], String)] {
            let refused = try ask(assertion("key", changes))
            #expect(refused["error"] == "invalid_client", "\(changes)")
            #expect(refused.diagnosis.contains(reason), "\(refused.diagnosis)")
        }
        for audience in [
            .string(fixture.issuer), ["x", .string("\(fixture.issuer)/token")],
        ] as [JSONValue] { #expect(try ask(assertion("key", ["aud": audience])).status == 200) }
        let stranger = try Key.generateP256()
        #expect(try ask(assertion("key", key: stranger)).diagnosis.contains("the signature isn't"))
        let kid = JSONObject([("alg", "ES256"), ("kid", "k2")])
        #expect(try ask(assertion("key", header: kid)).diagnosis.contains("kid"))
        let hmac = JSONObject([("alg", "HS256")])
        let forged = try assertion("key", key: Key(secret: [1]), header: hmac)
        #expect(try ask(forged).status == 401)
        let once = try assertion("key")
        #expect(try ask(once).status == 200)
        #expect(try ask(once).diagnosis.contains("jti was used"))
        #expect(try ask(once.merging(["client_assertion_type": "x"]) { $1 })["error"] == "invalid_client")
        #expect(try ask(once.merging(["client_assertion": "x"]) { $1 })["error"] == "invalid_client")
    }

    @Test("two ways at once, and credentials of two clients, are refused")
    func ambiguity() throws {
        let both = try ask(["client_id": "web", "client_secret": OpenIDFixture.secret], headers: OpenIDFixture.basic())
        #expect(both.status == 400)
        #expect(both["error"] == "invalid_request")
        #expect(try ask(["client_id": "post"], headers: OpenIDFixture.basic())["error"] == "invalid_request")
        #expect(try ask(["client_id": "other"].merging(assertion("key")) { $1 })["error"] == "invalid_request")
    }

    @Test("seeds that can't be used")
    func seeds() throws {
        for (client, message) in [
            (#""tokenEndpointAuthMethod":"private_key_jwt""#, "needs \"jwks\""),
            (#""tokenEndpointAuthMethod":"client_secret_basic""#, "needs \"clientSecret\""),
            (#""jwks":{"keys":[{"kty":"RSA"}]}"#, "not a usable key"), (#""redirectURIs":["/x"]"#, "absolute URL"),
            (#""redirectURIs":["https://*.example.com/"]"#, "other wildcards"),
            (#""subject":"private""#, "one of"), (#""interaction":{"account":"nobody"}"#, "no account"),
        ] {
            #expect {
                _ = try OpenIDFixture(clients: #"{"clientID":"x",\#(client)}"#)
            } throws: { "\($0)".contains(message) }
        }
        #expect { _ = try OpenIDFixture(issuer: #""issuer":"https://x.example?y""#) } throws: {
            "\($0)".contains("without a query")
        }
    }
}
