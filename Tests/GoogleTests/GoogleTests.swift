import Foundation
import TestSupport
import Testing

@Suite("Google: OpenID Connect")
struct GoogleTests {
    let fixture: FirebaseFixture
    private let id = "example.apps.googleusercontent.com"
    private let secret = "google-secret-for-tests"
    private let callback = "http://localhost:3000/callback"
    private let scope = "openid email profile"

    init() throws {
        fixture = try FirebaseFixture(
            seed: #"{"google":{"clients":[{"clientID":"other.apps.googleusercontent.com"}]}}"#)
    }

    private func authorize(_ changes: [String: String?] = [:], approve: Bool = true) throws -> Answer {
        if approve { try fixture.order(["provider": "google", "outcome": "approve", "account": "grace"]) }
        var form: [String: String] = [
            "client_id": id, "redirect_uri": callback, "response_type": "code", "scope": scope, "state": "s 1",
            "nonce": "n",
        ]
        for (name, value) in changes { form[name] = value }
        return try fixture.client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(form))")
    }

    private func token(_ changes: [String: String?]) throws -> Answer {
        var form: [String: String] = [
            "client_id": id, "client_secret": secret, "redirect_uri": callback, "grant_type": "authorization_code",
        ]
        for (name, value) in changes { form[name] = value }
        return try fixture.client.post("/oauth2.googleapis.com/token", form: form)
    }

    @Test("a code with iss and scope; tokens; PyJWT verifies the ID token", .pyJWT)
    func signIn() throws {
        let answer = try authorize(["access_type": "offline"])
        let fields = answer.redirect
        #expect(fields["code"]?.hasPrefix("4/0A") ?? false)
        #expect(fields["iss"] == "https://accounts.google.com")
        #expect(fields["state"] == "s 1")
        #expect(fields["hd"] == "example.com")
        let tokens = try token(["code": fields["code"]])
        #expect(tokens.status == 200)
        #expect(tokens.json["expires_in"] as? Int == 3599)
        #expect(tokens["access_token"]?.hasPrefix("ya29.") ?? false)
        #expect(tokens["refresh_token"]?.hasPrefix("1//") ?? false)
        let verified = try TokenVerifier.claims(
            of: .init(
                tokens["id_token"], keys: fixture.client.get("/www.googleapis.com/oauth2/v3/certs").text, audience: id,
                issuer: "https://accounts.google.com", requires: ["iss", "sub", "aud", "azp", "exp", "iat"]))
        #expect(verified["email"] as? String == "grace@example.com")
        #expect(verified["email_verified"] as? Bool == true)
        #expect(verified["hd"] as? String == "example.com")
        #expect(verified["nonce"] as? String == "n")
        // A refresh token comes only with the first consent, or with one that is asked for.
        #expect(try token(["code": authorize(["access_type": "offline"]).redirect["code"]])["refresh_token"] == nil)
        let asked = try authorize(["access_type": "offline", "prompt": "consent"])
        #expect(try token(["code": asked.redirect["code"]])["refresh_token"] != nil)
        let refreshed = try token(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]])
        #expect(refreshed["access_token"] != tokens["access_token"])
        #expect(refreshed["refresh_token"] == nil)
        // https://openid.net/specs/openid-connect-core-1_0.html#RefreshTokenResponse: it should have no nonce.
        #expect(refreshed.claims["sub"] != nil && refreshed.claims["nonce"] == nil)
    }

    @Test("userinfo in three versions, tokeninfo in texts, revocation")
    func userInfo() throws {
        let tokens = try token(["code": authorize().redirect["code"]])
        let bearer = ["Authorization": "Bearer \(tokens["access_token"] ?? "")"]
        let user = try fixture.client.get("/openidconnect.googleapis.com/v1/userinfo", headers: bearer)
        #expect(user["given_name"] == "Grace")
        #expect(user.json["email_verified"] as? Bool == true)
        let old = try fixture.client.get("/www.googleapis.com/oauth2/v2/userinfo", headers: bearer)
        #expect(old["id"] == user["sub"])
        #expect(old.json["verified_email"] as? Bool == true)
        let info = try fixture.client.get("/oauth2.googleapis.com/tokeninfo?id_token=\(tokens["id_token"] ?? "")")
        #expect(info["email_verified"] == "true")
        #expect(info["exp"]?.allSatisfy(\.isNumber) ?? false)
        #expect(info["alg"] == "RS256")
        let access = try fixture.client.get(
            "/oauth2.googleapis.com/tokeninfo?access_token=\(tokens["access_token"] ?? "")")
        #expect(access["aud"] == id)
        #expect(
            try fixture.client.post("/oauth2.googleapis.com/revoke", form: ["token": tokens["access_token"] ?? ""]).text
                == "{}")
        #expect(try fixture.client.post("/oauth2.googleapis.com/revoke", form: ["token": "x"]).status == 400)
        for (path, status, error) in [
            ("/openidconnect.googleapis.com/v1/userinfo", 401, "invalid_request"),
            ("/oauth2.googleapis.com/tokeninfo?access_token=\(tokens["access_token"] ?? "")", 400, "invalid_token"),
            ("/oauth2.googleapis.com/tokeninfo?id_token=x", 400, "invalid_token"),
        ] {
            let refused = try fixture.client.get(path, headers: bearer)
            #expect(refused.status == status)
            #expect(refused["error"] == error)
            #expect(!refused.diagnosis.isEmpty)
        }
    }

    @Test("the authorize page's errors stay there, a person's decision travels")
    func authorizeErrors() throws {
        for (changes, status, name) in [
            (["client_id": "x"], 401, "invalid_client"),
            (["redirect_uri": callback + "/"], 400, "redirect_uri_mismatch"),
            (["response_type": "x"], 400, "unsupported_response_type"),
            (["code_challenge": "short", "code_challenge_method": "S256"], 400, "invalid_request"),
        ] as [([String: String?], Int, String)] {
            let answer = try authorize(changes, approve: false)
            #expect(answer.status == status)
            #expect(answer.text.contains("Error \(status): \(name)"))
            #expect(answer.location.isEmpty)
            #expect(!answer.diagnosis.isEmpty)
        }
        try fixture.order(["provider": "google", "outcome": "cancel"])
        #expect(try authorize(approve: false).redirect["error"] == "access_denied")
        // These are the parameters of a callback in public logs:
        // state=…&error_subtype=access_denied&error=interaction_required
        let silent = try authorize(["prompt": "none"], approve: false).redirect
        #expect(silent["error"] == "interaction_required" && silent["error_subtype"] == "access_denied")
        let hybrid = try authorize(["response_type": "code id_token token"])
        #expect(hybrid.location.contains("#"))
        #expect(hybrid.redirect["id_token"] != nil)
        #expect(hybrid.redirect["access_token"] != nil)
        #expect(try authorize(["response_mode": "fragment"]).location.contains("#state="))
        let posted = try authorize(["response_mode": "form_post"])
        #expect(posted.status == 200 && posted.inputs["code"]?.hasPrefix("4/0A") ?? false)
    }

    @Test("the token endpoint takes JSON, with or without its type, and a query")
    func tokenForms() throws {
        func fields(_ code: String?) -> [String: String] {
            [
                "client_id": id, "client_secret": secret, "redirect_uri": callback,
                "grant_type": "authorization_code", "code": code ?? "",
            ]
        }
        let path = "/oauth2.googleapis.com/token"
        let typed = try fixture.client.post(path, json: fields(try authorize().redirect["code"]))
        #expect(typed.status == 200 && typed["id_token"] != nil)
        let body = try JSONSerialization.data(withJSONObject: fields(try authorize().redirect["code"]))
        let untyped = try fixture.client.request(
            "POST", path, headers: ["Content-Type": "text/plain;charset=UTF-8"], body: Array(body))
        #expect(untyped.status == 200)
        let query = try fixture.client.request(
            "POST", "\(path)?\(TestClient.encode(fields(try authorize().redirect["code"])))")
        #expect(query.status == 200)
        let broken = try fixture.client.request(
            "POST", path, headers: ["Content-Type": "application/json"], body: Array(#"{"client_id":"#.utf8))
        // https://github.com/natelindev/tsdav/issues/130
        #expect(broken.status == 400 && broken["error_description"] == "Invalid grant_type: ")
        #expect(broken.diagnosis.contains("JSON"))
    }

    @Test("the token endpoint's errors")
    func tokenErrors() throws {
        let used = try authorize().redirect["code"]
        _ = try token(["code": used])
        let fresh = try authorize().redirect["code"]
        let challenged = try authorize([
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        ])
        .redirect["code"]
        for (changes, status, error, description) in [
            (["code": "x"], 400, "invalid_grant", "Malformed auth code."),
            // https://github.com/googleapis/google-api-nodejs-client/issues/3089
            ([:], 400, "invalid_request", "Missing required parameter: code"),
            (["code": ""], 400, "invalid_request", "Missing required parameter: code"),
            // https://github.com/openid/AppAuth-JS/issues/91, https://github.com/googleapis/google-api-nodejs-client/issues/1582
            (["code": fresh, "client_secret": nil], 400, "invalid_request", "client_secret is missing."),
            (["code": fresh, "client_secret": ""], 400, "invalid_request", "client_secret is missing."),
            // https://github.com/openid/AppAuth-iOS/issues/226
            (
                ["code": fresh, "client_id": nil], 400, "invalid_request",
                "Could not determine client ID from request."
            ),
            // https://github.com/ruby-oauth/oauth2/issues/554
            (
                ["code": fresh, "client_id": "other.apps.googleusercontent.com"], 401, "unauthorized_client",
                "Unauthorized"
            ),
            (["code": used], 400, "invalid_grant", "Bad Request"),
            (["code": fresh, "client_id": "x"], 401, "invalid_client", "The OAuth client was not found."),
            (["code": fresh, "client_secret": "x"], 401, "invalid_client", "Unauthorized"),
            (["code": fresh, "redirect_uri": "https://x/"], 400, "redirect_uri_mismatch", "Bad Request"),
            (["code": challenged], 400, "invalid_grant", "Missing code verifier."),
            (["code": challenged, "code_verifier": "x"], 400, "invalid_grant", "Invalid code verifier."),
            (["code": fresh, "code_verifier": "x"], 400, "invalid_grant", "code_verifier or verifier is not needed."),
            // https://github.com/AlphaTiles/AlphaTiles/pull/107: what Google doesn't remember
            (["grant_type": "refresh_token", "refresh_token": "x"], 400, "invalid_grant", "Bad Request"),
            // https://github.com/yiisoft/yii2/issues/7389
            (["grant_type": "refresh_token"], 400, "invalid_request", "Missing required parameter: refresh_token"),
            // https://github.com/android/play-billing-samples/issues/471
            (["grant_type": "password"], 400, "unsupported_grant_type", "Invalid grant_type: password"),
            // https://github.com/googleapis/google-api-ruby-client/issues/862
            (["grant_type": nil], 400, "unsupported_grant_type", "Invalid grant_type: "),
        ] as [([String: String?], Int, String, String)] {
            let answer = try token(changes)
            #expect(answer.status == status)
            #expect(answer["error"] == error)
            #expect(answer["error_description"] == description)
            #expect(!answer.diagnosis.isEmpty)
        }
        try fixture.advance("11m")
        #expect(try token(["code": fresh]).diagnosis.contains("ago: a code is valid for 10 min"))
    }

    @Test("a code that was percent-encoded twice is refused with this reason")
    func encodedTwice() throws {
        let code = try authorize().redirect["code"] ?? ""
        let answer = try token(["code": TestClient.escape(code)])
        #expect(answer["error"] == "invalid_grant" && answer["error_description"] == "Malformed auth code.")
        #expect(answer.diagnosis.contains("the code was percent-encoded twice"), "\(answer)")
        #expect(try token(["code": code]).status == 200)
    }

    @Test("pages: choose, consent, cancel; the second time there is nothing to consent to")
    func pages() throws {
        let people = try authorize(approve: false)
        #expect(people.text.contains("Choose an account for Google sign-in"))
        let path = "/accounts.google.com/o/oauth2/v2/auth"
        let consent = try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(consent.text.contains("Sign in to Example with Google"))
        #expect(consent.text.contains("the primary address"))
        let cancelled = try fixture.client.post(path, form: consent.inputs.merging(["action": "cancel"]) { $1 })
        #expect(cancelled.redirect["error"] == "access_denied")
        let done = try fixture.client.post(path, form: consent.inputs.merging(["action": "continue"]) { $1 })
        #expect(done.redirect["code"] != nil)
        let again = try fixture.client.post(path, form: people.inputs.merging(["account": "ada"]) { $1 })
        #expect(again.redirect["code"] != nil)
        #expect(try fixture.client.post(path, form: ["account": "ada"]).status == 400)
        #expect(
            try fixture.client.post(path, form: people.inputs.merging(["account": "nobody"]) { $1 }).text.contains(
                "Choose an account for Google sign-in"))
    }

    // https://developers.google.com/identity/openid-connect/openid-connect#hd-param, #login-hint
    @Test("hd and login_hint say who stands first among the people")
    func order() throws {
        let fixture = try FirebaseFixture(
            seed: """
                {"accounts": [
                  {"id": "zoe", "name": {"given": "Zoe", "family": "Staff"}, "email": "zoe@corp.example",
                   "google": {"sub": "107", "hostedDomain": "Corp.example"}}]}
                """)
        func people(_ more: [String: String]) throws -> [String] {
            let query = [
                "client_id": id, "redirect_uri": callback, "response_type": "code", "scope": scope,
            ].merging(more) { $1 }
            let page = try fixture.client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(query))")
            return page.text.matches(of: /name="account" value="([^"]+)"/).map { String($0.1) }
        }
        let usual = try people([:])
        #expect(usual.first == "ada" && usual.count > 2, "\(usual)")
        #expect(try people(["hd": "corp.example"]) == ["zoe"] + usual.filter { $0 != "zoe" })
        #expect(try people(["hd": "*"]).prefix(2).sorted() == ["grace", "zoe"])
        #expect(try people(["hd": "none.example"]) == usual)
        #expect(try people(["login_hint": "107"]).first == "zoe")
        #expect(try people(["login_hint": "grace@example.com", "hd": "corp.example"]).prefix(2) == ["grace", "zoe"])
    }

    // https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
    @Test("an authorization request may be posted")
    func posted() throws {
        let path = "/accounts.google.com/o/oauth2/v2/auth"
        let form = ["client_id": id, "redirect_uri": callback, "response_type": "code", "scope": scope, "state": "s"]
        let people = try fixture.client.post(path, form: form)
        #expect(people.text.contains("Choose an account for Google sign-in"), "\(people)")
        try fixture.order(["provider": "google", "outcome": "approve", "account": "ada"])
        let done = try fixture.client.post(path, form: form).redirect
        #expect(done["code"] != nil && done["state"] == "s")
    }

    @Test("the issuer follows the request where the seed says so: in the document, the redirect and the ID token")
    func issuer() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"google":{"issuer":"request"},"interaction":{"mode":"auto","account":"ada"}}"#)
        let expected = "http://localhost:\(fixture.client.port)/accounts.google.com"
        let document = try fixture.client.get("/accounts.google.com/.well-known/openid-configuration")
        #expect(document["issuer"] == expected)
        let form = ["client_id": id, "redirect_uri": callback, "response_type": "code", "scope": scope]
        let redirect = try fixture.client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(form))")
            .redirect
        #expect(redirect["iss"] == expected)
        let tokens = try fixture.client.post(
            "/oauth2.googleapis.com/token",
            form: [
                "client_id": id, "client_secret": secret, "redirect_uri": callback, "grant_type": "authorization_code",
                "code": redirect["code"] ?? "",
            ])
        let info = try fixture.client.get("/oauth2.googleapis.com/tokeninfo?id_token=\(tokens["id_token"] ?? "")")
        #expect(info["iss"] == expected, "\(info)")
    }

    @Test("discovery and certificates")
    func discovery() throws {
        let document = try fixture.client.get("/accounts.google.com/.well-known/openid-configuration")
        #expect(document["issuer"] == "https://accounts.google.com")
        // "Standard HTTP caching headers are used and should be respected."
        // https://developers.google.com/identity/openid-connect/openid-connect#discovery
        #expect(document.header("Cache-Control")?.hasPrefix("public, max-age=") ?? false)
        #expect(document["token_endpoint"] == "http://localhost:\(fixture.client.port)/oauth2.googleapis.com/token")
        let certificates = try fixture.client.get("/www.googleapis.com/oauth2/v1/certs")
        #expect(certificates["seed-google-1"]?.hasPrefix("-----BEGIN CERTIFICATE-----") ?? false)
        let control = "\(FirebaseFixture.control)/google/authorizations"
        #expect(try fixture.client.post(control, json: ["client": "x"]).status == 404)
        #expect(try fixture.client.post(control, json: ["client": id, "account": "x"]).status == 404)
        try fixture.order(["provider": "google", "outcome": "cancel"])
        #expect(try fixture.client.post(control, json: ["client": id]).status == 409)
    }
}
