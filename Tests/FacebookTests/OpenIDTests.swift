import Foundation
import JOSE
import TestSupport
import Testing

// https://developers.facebook.com/docs/facebook-login/guides/advanced/oidc-token
@Suite("Facebook: PKCE, ID tokens, and tokens by the browser")
struct OpenIDTests {
    let fixture: FacebookFixture
    /// RFC 7636, appendix B.
    private let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    init() throws { fixture = try FacebookFixture() }

    private func claims(_ token: String?) throws -> [String: Any] {
        let part = try #require(token?.split(separator: ".").dropFirst().first)
        let bytes = try #require(Base64URL.decode(part))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    @Test("the verifier does for the secret, and openid brings an ID token")
    func code() throws {
        let code = try fixture.code([
            "scope": "openid,email", "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256",
        ])
        let tokens = try fixture.redeem(["code": code, "code_verifier": verifier, "client_secret": nil])
        #expect(tokens.status == 200, "\(tokens)")
        let claims = try claims(tokens["id_token"])
        #expect(claims["iss"] as? String == "https://www.facebook.com")
        #expect(claims["aud"] as? String == FacebookFixture.id)
        #expect(claims["sub"] as? String == FacebookFixture.ada)
        #expect(claims["nonce"] as? String == "n")
        #expect(claims["email"] as? String == "ada@example.com")
        let hash = Digest.sha256(Array((tokens["access_token"] ?? "").utf8)).prefix(16)
        #expect(claims["at_hash"] as? String == Base64URL.encode(Array(hash)))
        #expect(try fixture.redeem(["code": fixture.code()])["id_token"] == nil)
    }

    // https://github.com/expo/expo/issues/15980: a secret doesn't replace the verifier.
    @Test("a code that began with a challenge needs its verifier, with a secret, too", arguments: [nil, "x"])
    func verifier(sent: String?) throws {
        let code = try fixture.code(["code_challenge": challenge, "code_challenge_method": "S256"])
        let refused = try fixture.redeem(["code": code, "code_verifier": sent])
        #expect(refused.status == 400)
        #expect(refused.message.hasPrefix("Invalid code verifier. Code verifier should be a cryptographically random"))
        #expect(try fixture.redeem(["code": code, "code_verifier": verifier]).status == 200)
    }

    @Test("a verifier replaces the secret of no other code")
    func noSecret() throws {
        let code = try fixture.code()
        let refused = try fixture.redeem(["code": code, "code_verifier": verifier, "client_secret": nil])
        #expect(refused.graphCode == "1")
        #expect(refused.message == "Error validating client secret.")
        #expect(try fixture.redeem(["code": code]).status == 200)
    }

    // Clients have copied the address from https://www.facebook.com/.well-known/openid-configuration/: https://facebook.com/dialog/oauth/.
    @Test("the dialog is at the discovery document's address, too", arguments: ["", "/v22.0"])
    func address(version: String) throws {
        let document = try fixture.client.get("/www.facebook.com/.well-known/openid-configuration/")
        let base = "http://localhost:\(fixture.client.port)/facebook.com"
        #expect(document["authorization_endpoint"] == "\(base)/dialog/oauth/")
        let form = ["client_id": FacebookFixture.id, "redirect_uri": FacebookFixture.callback, "scope": "email"]
        let page = try fixture.client.get("/facebook.com\(version)/dialog/oauth/?\(TestClient.encode(form))")
        #expect(page.text.contains("Log in to Facebook"))
        try fixture.approve()
        let answer = try fixture.client.get("/facebook.com\(version)/dialog/oauth/?\(TestClient.encode(form))")
        let code = try #require(FacebookFixture.fields(answer)["code"])
        #expect(try fixture.redeem(["code": code]).status == 200)
        #expect(try fixture.client.get("/facebook.com/nothing").status == 404)
    }

    // https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow#login: response data of tokens is a fragment.
    @Test(
        "response types other than a code come in the fragment",
        arguments: [
            ("token", ["access_token"]), ("code token", ["access_token", "code"]), ("id_token", ["id_token"]),
            ("id_token token", ["access_token", "id_token"]), ("granted_scopes", ["code"]),
        ])
    func responseTypes(type: String, expected: [String]) throws {
        try fixture.approve()
        let answer = try fixture.dialog(["response_type": type, "nonce": "n"])
        let fields = FacebookFixture.fields(answer)
        #expect(fields.keys.filter { ["access_token", "code", "id_token"].contains($0) }.sorted() == expected)
        #expect(answer.location.contains("#_=_") == (type == "granted_scopes"))
        #expect(fields["state"] == "s 1")
        #expect((fields["granted_scopes"] != nil) == (type == "granted_scopes"))
        if let token = fields["access_token"] {
            #expect(fields["expires_in"] == "7200")
            #expect(try fixture.graph("/me", ["access_token": token]).status == 200)
            let info = try fixture.graph("/oauth/access_token_info", ["access_token": token])
            #expect((7_000...7_200).contains(info.json["expires_in"] as? Int ?? 0))
        }
        if let token = fields["id_token"] { #expect(try claims(token)["nonce"] as? String == "n") }
    }

    // https://developers.facebook.com/docs/facebook-login/guides/advanced/re-authentication, and what django-allauth does with it.
    @Test("the nonce of a renewed sign-in is told of its token", arguments: ["code", "token"])
    func authNonce(type: String) throws {
        try fixture.approve()
        let fields = FacebookFixture.fields(
            try fixture.dialog(["response_type": type, "auth_type": "reauthenticate", "auth_nonce": "n 1"]))
        let token =
            try fields["access_token"] ?? #require(try fixture.redeem(["code": fields["code"]])["access_token"])
        let info = try fixture.graph(
            "/oauth/access_token_info", ["client_id": FacebookFixture.id, "access_token": token])
        #expect(info["auth_nonce"] == "n 1")
        let other = try fixture.token()
        #expect(try fixture.graph("/oauth/access_token_info", ["access_token": other])["auth_nonce"] == nil)
    }

    // https://github.com/jaredhanson/passport-facebook/issues/255, https://github.com/jaredhanson/passport-oauth/issues/16
    @Test(
        "what goes wrong at Facebook comes back as a code and a message, without an error",
        arguments: [
            ("1349003", "Login Error: There is an error in logging you into this application. Please try again later."),
            (
                "901",
                "This app is in sandbox mode.  Edit the app configuration at http://developers.facebook.com/apps to make the app publicly visible."
            ),
        ])
    func failure(code: String, message: String) throws {
        try fixture.world.order(["provider": "facebook", "outcome": "error", "error": code])
        let answer = try fixture.dialog()
        let fields = FacebookFixture.fields(answer)
        #expect(fields.keys.sorted() == ["error_code", "error_message", "state"])
        #expect(fields["error_code"] == code)
        #expect(fields["error_message"] == message)
        #expect(answer.location.hasSuffix("#_=_"))
    }

    @Test(
        "a dialog that can't be is a page",
        arguments: [
            (["response_type": "everything"], "response_type"), (["response_type": "id_token"], "nonce"),
            (["code_challenge": "short"], "code_challenge"), (["client_id": "x"], "no such app"),
            (["redirect_uri": "https://evil.example/"], "evil.example"),
        ] as [([String: String?], String)])
    func refused(changes: [String: String?], word: String) throws {
        let answer = try fixture.dialog(changes)
        #expect(answer.status == 400)
        #expect(answer.diagnosis.contains(word))
        #expect(answer.location.isEmpty)
    }
}
