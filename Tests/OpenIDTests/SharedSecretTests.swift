import Foundation
import JOSE
import JSON
import TestSupport
import Testing

// mozilla-django-oidc's own default is HS256, and so is Authentik's without a certificate:
// https://github.com/damienbod/angular-auth-oidc-client/issues/1445.
@Suite("OpenID Connect: tokens that are signed with the client's secret")
struct SharedSecretTests {
    private static let secret = "a secret of the client's, 32 bytes or more"

    private let fixture: OpenIDFixture

    init() throws {
        fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"shared","issuer":null,"algorithms":["HS256"],
                "clients":[{"clientID":"web","clientSecret":"\#(SharedSecretTests.secret)","userInfoAlgorithm":"HS256",
                "accessToken":"jwt","redirectURIs":["http://localhost:3000/callback"],
                "postLogoutRedirectURIs":["http://localhost:3000/"]}]}]}}
                """#, base: "/oidc/shared")
    }

    private func check(_ token: String?, secret: String = SharedSecretTests.secret) throws -> TokenVerifier.Verdict {
        let key: JSONValue = ["kty": "oct", "k": .string(Base64URL.encode(Array(secret.utf8))), "alg": "HS256"]
        let set: JSONValue = ["keys": [key]]
        let check = try TokenVerifier.Check(
            token, keys: set.text, algorithms: ["HS256"], audience: "web", issuer: fixture.issuer, requires: ["sub"])
        return try #require(TokenVerifier.verify([check]).first)
    }

    private func signIn() throws -> Answer {
        try fixture.token(["client_secret": SharedSecretTests.secret, "code": try fixture.code()])
    }

    @Test("ID tokens, access tokens and userinfo, verified by PyJWT and by the issuer itself", .pyJWT)
    func tokens() throws {
        let document = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration")
        #expect(document.json["id_token_signing_alg_values_supported"] as? [String] == ["HS256"])
        let tokens = try signIn()
        let token = try JWS(parsing: tokens["id_token"] ?? "")
        #expect(token.header.keys == ["alg", "typ"])
        #expect(try check(tokens["id_token"]).claims?["email"] as? String == "ada@example.com")
        #expect(try check(tokens["id_token"], secret: "another secret").refusal == "InvalidSignatureError")
        #expect(try check(tokens["access_token"]).isValid)
        let user = try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(tokens["access_token"]))
        #expect(user.header("Content-Type") == "application/jwt")
        #expect(try check(user.text).claims?["sub"] as? String == token.claims["sub"]?.string)
        let bye = try fixture.client.get(
            "\(fixture.base)/logout?id_token_hint=\(tokens["id_token"] ?? "")&post_logout_redirect_uri=http://localhost:3000/"
        )
        #expect(bye.location == "http://localhost:3000/")
        let forged = try JWS.mint(
            header: token.header, claims: token.claims, key: Key(secret: Array("another".utf8)), algorithm: .hs256)
        #expect(try fixture.client.get("\(fixture.base)/logout?id_token_hint=\(forged)").status == 400)
    }

    @Test("such tokens can be broken, too", .pyJWT, arguments: ["invalid", "unknownKey", "wrongAlgorithm", "none"])
    func broken(signature: String) throws {
        _ = try fixture.client.post(
            "\(OpenIDFixture.control)/faults",
            json: ["match": ["path": "/shared/token"], "effect": ["token": ["signature": signature]]])
        let verdict = try check(try signIn()["id_token"])
        #expect(!verdict.isValid)
    }

    @Test("a token without a sign-in, valid and broken")
    func minted() throws {
        let secret = SharedSecretTests.secret
        let fixture = try OpenIDFixture(
            issuer: #""algorithms":["HS256"]"#,
            clients: #"{"clientID":"own","clientSecret":"\#(secret)"},{"clientID":"spa","clientSecret":"\#(secret)"}"#)
        let key = try Key(secret: Array(secret.utf8))
        for signature in ["valid", "invalid", "unknownKey", "wrongAlgorithm"] {
            let answer = try fixture.client.post(
                "\(OpenIDFixture.control)/tokens",
                json: ["provider": "openid", "client": "own", "signature": signature])
            let token = try JWS(parsing: answer["token"] ?? "")
            #expect(token.algorithm == "HS256")
            #expect((token.verify(with: key, algorithm: .hs256) == .valid) == (signature == "valid"))
        }
    }

    @Test(
        "a client that has no secret can't be given such tokens",
        arguments: [
            (#""algorithms":["HS256"],"clients":[{"clientID":"a"}]"#, "this client has none"),
            (
                #""algorithms":["RS256","HS256"],"clients":[{"clientID":"a","idTokenAlgorithm":"HS256"}]"#,
                "it has none"
            ),
        ])
    func seeds(members: String, message: String) throws {
        #expect {
            _ = try OpenIDFixture(seed: #"{"openid":{"issuers":[{"id":"x",\#(members)}]}}"#)
        } throws: { "\($0)".contains(message) }
    }
}
