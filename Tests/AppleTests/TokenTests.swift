import Foundation
import JOSE
import JSON
import TestSupport
import Testing
import Understudy

@Suite("Apple: /auth/token")
struct TokenTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    @Test("a code becomes tokens, in Apple's order and uncached")
    func redeem() throws {
        let answer = try fixture.token(["code": fixture.code()])
        #expect(answer.status == 200)
        #expect(answer.header("Content-Type") == "application/json;charset=UTF-8")
        #expect(answer.header("Cache-Control") == "no-store")
        #expect(answer.header("Access-Control-Allow-Origin") == nil)
        #expect(answer["token_type"] == "Bearer")
        #expect(answer.json["expires_in"] as? Int == 3600)
        #expect(answer["access_token"]?.wholeMatch(of: /a[0-9a-f]{32}\.0\.[a-z]{4}\.[A-Za-z0-9_-]{22}/) != nil)
        #expect(answer["refresh_token"]?.wholeMatch(of: /r[0-9a-f]{32}\.0\.[a-z]{4}\.[A-Za-z0-9_-]{22}/) != nil)
        let order = ["access_token", "token_type", "expires_in", "refresh_token", "id_token"].compactMap {
            answer.text.range(of: "\"\($0)\"")?.lowerBound
        }
        #expect(order == order.sorted())
        #expect(order.count == 5)
    }

    @Test("PyJWT verifies our ID tokens through our key set, and refuses a tampered one", .pyJWT)
    func keySet() throws {
        let keys = try fixture.client.get("\(AppleFixture.prefix)/auth/keys").text
        let nonce = "n-1"
        let answer = try fixture.authorize(
            ["response_mode": "form_post", "scope": "name email", "response_type": "code id_token", "nonce": nonce],
            account: "grace")
        let fromFront = answer.inputs["id_token"] ?? ""
        let fromBack = try fixture.token(["code": answer.inputs["code"]])["id_token"] ?? ""
        let native = try fixture.native(["account": "linus"])["identityToken"] ?? ""
        let tokens = [
            (fromFront, AppleFixture.service), (fromBack, AppleFixture.service), (native, AppleFixture.app),
            ("\(fromFront.dropLast(4))AAAA", AppleFixture.service),
        ]
        let verdicts = try TokenVerifier.verify(
            tokens.map { try .init($0.0, keys: keys, audience: $0.1, issuer: AppleFixture.issuer) })
        for (verdict, (_, audience)) in zip(verdicts, tokens).prefix(3) {
            let claims = try #require(verdict.claims, "\(verdict)")
            #expect(claims["aud"] as? String == audience)
            #expect(claims["nonce_supported"] as? Bool == true)
            #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 86400)
        }
        let claims = try #require(verdicts[0].claims)
        #expect(claims["nonce"] as? String == nonce)
        #expect(claims["is_private_email"] as? Bool == true)
        #expect(claims["email_verified"] as? Bool == true)
        #expect(claims["real_user_status"] == nil)
        #expect(verdicts[3].refusal == "InvalidSignatureError", "\(verdicts[3])")
    }

    @Test("the ID token's claims")
    func claims() throws {
        let answer = try fixture.authorize([
            "response_mode": "form_post", "scope": "email", "response_type": "code id_token", "nonce": "n",
        ])
        let code = answer.inputs["code"] ?? ""
        let front = AppleFixture.claims(answer.inputs["id_token"] ?? "")
        let token = try fixture.token(["code": code])
        let back = AppleFixture.claims(token["id_token"] ?? "")
        #expect(front["c_hash"] as? String == Algorithm.rs256.leftHalf(of: code))
        #expect(front["at_hash"] == nil)
        #expect(back["at_hash"] as? String == Algorithm.rs256.leftHalf(of: token["access_token"] ?? ""))
        #expect(back["c_hash"] == nil)
        for claims in [front, back] {
            #expect(claims["email"] as? String == "ada@example.com")
            #expect(claims["email_verified"] as? Bool == true)
            #expect(claims["is_private_email"] == nil)
            #expect(claims["real_user_status"] == nil)
            #expect(claims["transfer_sub"] == nil)
            #expect(claims["auth_time"] != nil)
            #expect(claims["name"] == nil)
            #expect((claims["sub"] as? String)?.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
        }
        let bare = AppleFixture.claims(try fixture.token(["code": fixture.code(account: "grace")])["id_token"] ?? "")
        #expect(bare["email"] == nil)
        #expect(bare["email_verified"] == nil)
        #expect(bare["is_private_email"] == nil)
        #expect(bare["nonce"] == nil)
    }

    @Test("Boolean claims are strings where the seed says so, and an unverified address says so")
    func booleans() throws {
        let fixture = try AppleFixture(seed: #"{"apple":{"booleanClaims":"string"}}"#)
        let hidden = AppleFixture.claims(try fixture.native(["account": "grace"])["identityToken"] ?? "")
        #expect(hidden["email_verified"] as? String == "true")
        #expect(hidden["is_private_email"] as? String == "true")
        #expect(hidden["nonce_supported"] as? Bool == true)
        let unverified = AppleFixture.claims(try fixture.native(["account": "linus"])["identityToken"] ?? "")
        #expect(unverified["email_verified"] as? String == "false")
        #expect(unverified["is_private_email"] == nil)
    }

    @Test("sub and relay address belong to person and team, and survive a restart")
    func stability() throws {
        func identity(_ fixture: AppleFixture, _ app: String, _ account: String) throws -> [String?] {
            let claims = AppleFixture.claims(
                try fixture.native(["client": app, "account": account])["identityToken"] ?? "")
            return [claims["sub"] as? String, claims["email"] as? String]
        }
        let first = try identity(fixture, AppleFixture.app, "grace")
        #expect(try identity(AppleFixture(), AppleFixture.app, "grace") == first)
        #expect(try identity(fixture, "com.example.app.watch", "grace") == first)
        let otherTeam = try identity(fixture, "com.example.acquired", "grace")
        #expect(otherTeam[0] != first[0])
        #expect(otherTeam[1] != first[1])
        #expect(try identity(fixture, AppleFixture.app, "ada")[0] != first[0])
    }

    // MARK: - Refusals

    @Test("a code works once, and the diagnosis names who had it first")
    func once() throws {
        let code = try fixture.code()
        let first = try fixture.token(["code": code])
        let second = try fixture.token(["code": code])
        #expect(second.status == 400)
        #expect(second.text == #"{"error":"invalid_grant","error_description":"The code has already been used."}"#)
        #expect(second.diagnosis.contains("request \(first.header("Understudy-Request") ?? "?") redeemed"))
    }

    @Test("a code lasts five minutes by the world's clock")
    func expiry() throws {
        _ = try fixture.client.post("\(AppleFixture.control)/clock", json: ["freeze": true])
        let code = try fixture.code()
        try fixture.advance("299s")
        #expect(try fixture.token(["code": code]).status == 200)
        let late = try fixture.code()
        try fixture.advance("5m")
        let answer = try fixture.token(["code": late])
        #expect(
            answer.text == #"{"error":"invalid_grant","error_description":"The code has expired or has been revoked."}"#
        )
        #expect(answer.diagnosis.contains("expired 0 s ago"))
        try fixture.advance("30m")
        let forgotten = try fixture.token(["code": late])
        #expect(forgotten["error_description"] == "The code has expired or has been revoked.")
        #expect(forgotten.diagnosis.contains("expired 30 min ago"))
    }

    @Test("a code belongs to its client and its redirect URI, and a refusal doesn't use it up")
    func binding() throws {
        let code = try fixture.code()
        let other = try fixture.token([
            "code": code, "client_id": "com.example.web.local",
            "client_secret": AppleFixture.secret(for: "com.example.web.local"),
            "redirect_uri": nil,
        ])
        #expect(other["error"] == "invalid_grant")
        #expect(other["error_description"] == "client_id mismatch. The code was not issued to com.example.web.local.")
        let uri = "https://demo-app.firebaseapp.com/__/auth/handler"
        let moved = try fixture.token(["code": code, "redirect_uri": uri])
        #expect(moved["error"] == "invalid_grant")
        #expect(moved["error_description"] == "redirect_uri mismatch. The code was not issued to \(uri).")
        #expect(try fixture.token(["code": code, "redirect_uri": nil])["error"] == "invalid_grant")
        #expect(
            try fixture.token(["code": code, "redirect_uri": "https://example.com/nowhere"])["error"]
                == "invalid_client")
        #expect(try fixture.token(["code": code]).status == 200)
    }

    // https://github.com/a-tokyo/apple-signin-auth/issues/180: refused since October 2024 without the verifier. The pair of verifier and
    // challenge is RFC 7636's, appendix B.
    @Test(
        "a code that began with a challenge needs its verifier, and a refusal doesn't use it up",
        arguments: ["S256", "plain"])
    func challenge(method: String) throws {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let challenge = method == "plain" ? verifier : "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let code = try fixture.code(["code_challenge": challenge, "code_challenge_method": method])
        for (sent, word) in [
            (nil, "code_verifier is missing"), ("", "missing"), (String(verifier.reversed()), "isn't"),
        ]
            as [(String?, String)]
        {
            let refused = try fixture.token(["code": code, "code_verifier": sent])
            #expect(refused.status == 400)
            #expect(refused.text == #"{"error":"invalid_grant"}"#)
            #expect(refused.diagnosis.contains(word))
        }
        #expect(try fixture.token(["code": code, "code_verifier": verifier]).status == 200)
    }

    // better-auth sent such a verifier to Apple before https://github.com/better-auth/better-auth/pull/10294.
    @Test("a verifier whose sign-in had no challenge is let through")
    func strayVerifier() throws {
        #expect(try fixture.token(["code": fixture.code(), "code_verifier": "stray"]).status == 200)
    }

    @Test(
        "a challenge that can't be met is refused at once",
        arguments: [
            ("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "S512"), ("short", "S256"),
            (String(repeating: "a", count: 129), "plain"), ("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM", "S256"),
        ])
    func brokenChallenge(challenge: String, method: String) throws {
        let answer = try fixture.authorize(["code_challenge": challenge, "code_challenge_method": method])
        #expect(answer.status == 400)
        #expect(answer["error"] == "invalid_request")
        #expect(answer.diagnosis.contains("code_challenge"))
    }

    @Test("a native code takes no redirect URI")
    func nativeCode() throws {
        let code = try fixture.native()["authorizationCode"]
        let secret = try AppleFixture.secret(for: AppleFixture.app)
        let parameters = ["code": code, "client_id": AppleFixture.app, "client_secret": secret]
        #expect(try fixture.token(parameters)["error"] == "invalid_grant")
        let answer = try fixture.token(parameters.merging(["redirect_uri": nil]) { $1 })
        #expect(answer.status == 200)
        let service = try fixture.token(["code": try fixture.native()["authorizationCode"], "redirect_uri": nil])
        #expect(service.diagnosis.contains("the App ID in native sign-in"))
    }

    @Test(
        "requests that lack something",
        arguments: [
            (["client_id": nil], "invalid_client", "client_id is missing"),
            (["client_id": ""], "invalid_client", "client_id is missing"),
            (["client_id": "com.nope"], "invalid_client", "no such App ID"),
            (["client_secret": ""], "invalid_client", "client_secret is missing"),
            (["client_secret": "-----BEGIN PRIVATE KEY-----\nMIGT"], "invalid_client", "sign a JWT with it"),
            (["grant_type": nil], "invalid_request", "grant_type is missing"),
            (["grant_type": "password"], "unsupported_grant_type", "\"password\""),
            (["code": nil], "invalid_request", "code is missing"), (["code": ""], "invalid_request", "code is missing"),
            (["code": "nope"], "invalid_grant", "never issued"),
            (
                ["code": "c00000000000000000000000000000000.0.aaaa.AAAAAAAAAAAAAAAAAAAAAA"], "invalid_grant",
                "never issued"
            ),
            (["code": "eyJhbGciOiJub25lIn0.e30."], "invalid_grant", "a JSON Web Token"),
            (["grant_type": "refresh_token"], "invalid_request", "refresh_token is missing"),
            (["grant_type": "refresh_token", "refresh_token": "nope"], "invalid_grant", "never issued"),
            (["grant_type": "client_credentials"], "invalid_scope", "user.migration"),
        ] as [([String: String?], String, String)])
    func refusals(parameters: [String: String?], code: String, reason: String) throws {
        let answer = try fixture.token(["code": "x"].merging(parameters) { $1 })
        #expect(answer.status == 400)
        #expect(answer["error"] == code)
        #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
    }

    @Test("a body that isn't a form holds nothing, and the diagnosis says so")
    func notAForm() throws {
        let answer = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/token", json: ["client_id": AppleFixture.service])
        #expect(answer["error"] == "invalid_client")
        #expect(answer.diagnosis.contains("application/x-www-form-urlencoded"))
        #expect(try fixture.client.get("\(AppleFixture.prefix)/auth/token").status == 405)
        let basic = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/revoke", form: ["token": "x"], headers: ["Authorization": "Basic YTpi"])
        #expect(basic["error"] == "invalid_client")
        #expect(basic.diagnosis.contains("only client_secret_post"))
    }

    // MARK: - Refresh

    @Test("a refresh brings an access token and an ID token, no refresh token and no nonce")
    func refresh() throws {
        let first = try fixture.token(["code": fixture.code(["nonce": "n"])])
        let parameters = ["grant_type": "refresh_token", "refresh_token": first["refresh_token"], "redirect_uri": nil]
        for _ in 0..<3 {
            try fixture.advance("30d")
            let answer = try fixture.token(parameters.merging(["client_secret": worldSecret()]) { $1 })
            #expect(answer.status == 200)
            #expect(answer["refresh_token"] == nil)
            let claims = AppleFixture.claims(answer["id_token"] ?? "")
            #expect(claims["sub"] as? String == AppleFixture.claims(first["id_token"] ?? "")["sub"] as? String)
            #expect(claims["at_hash"] as? String == Algorithm.rs256.leftHalf(of: answer["access_token"] ?? ""))
            #expect(claims["nonce"] == nil)
        }
        let stranger = try fixture.token(
            parameters.merging([
                "client_id": "com.example.web.local", "client_secret": worldSecret("com.example.web.local"),
            ]) { $1 })
        #expect(stranger["error"] == "invalid_grant")
    }

    /// A secret that is good at the world's time.
    private func worldSecret(_ clientID: String = AppleFixture.service) throws -> String {
        let milliseconds = try fixture.client.get("\(AppleFixture.control)/clock").json["milliseconds"] as? Int ?? 0
        return try AppleFixture.secret(for: clientID, now: Int64(milliseconds / 1000))
    }
}

@Suite("Apple: client secrets")
struct ClientSecretTests {
    /// A secret with one fault, and the words that name it.
    struct Cause: Sendable {
        let reason: String
        let secret: @Sendable () throws -> String

        init(_ reason: String, _ secret: @escaping @Sendable () throws -> String) {
            self.reason = reason
            self.secret = secret
        }
    }

    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    @Test(
        "every cause of invalid_client is named",
        arguments: [
            Cause("alg is \"HS256\"") { try AppleFixture.secret(header: ["alg": "HS256"]) },
            Cause("alg is \"none\"") { try AppleFixture.secret(header: ["alg": "none"]) },
            Cause("alg is \"missing\"") { try AppleFixture.secret(header: ["alg": nil]) },
            Cause("the header has no kid") { try AppleFixture.secret(header: ["kid": nil]) },
            Cause("kid \"NOSUCHKEY0\" isn't registered") {
                try AppleFixture.secret(keyID: "NOSUCHKEY0", key: "ABC123DEFG")
            },
            Cause("kid \"ZYX987WVUT\" belongs to team \"F6G7H8J9K0\"") { try AppleFixture.secret(keyID: "ZYX987WVUT") },
            Cause("the signature isn't this key's") { try AppleFixture.secret(key: "ZYX987WVUT") },
            Cause("the Team ID that owns the client, \"A1B2C3D4E5\"") {
                try AppleFixture.secret(team: "F6G7H8J9K0")
            },
            Cause("iss is missing") { try AppleFixture.secret(claims: ["iss": nil]) },
            Cause("must be the client_id, \"com.example.web\"") {
                try AppleFixture.secret(for: "com.example.app")
            },
            Cause("sub is missing") { try AppleFixture.secret(claims: ["sub": 7]) },
            Cause("aud is \"https://appleid.apple.com/\"") {
                try AppleFixture.secret(claims: ["aud": "https://appleid.apple.com/"])
            },
            Cause("aud is missing") { try AppleFixture.secret(claims: ["aud": nil]) },
            Cause("aud is not a string") { try AppleFixture.secret(claims: ["aud": ["https://appleid.apple.com"]]) },
            Cause("exp missing") { try AppleFixture.secret(claims: ["exp": nil]) },
            Cause("iat missing") { try AppleFixture.secret(claims: ["iat": "now"]) },
            Cause("it expired") { try AppleFixture.secret(now: 1_000_000_000) },
            Cause("in the future") { try AppleFixture.secret(now: 4_000_000_000) },
            Cause("in milliseconds") { try AppleFixture.secret(now: 1_700_000_000_000) },
            Cause("Apple allows 15777000 s (six months)") {
                try AppleFixture.secret(claims: ["exp": .integer(Int64(Date().timeIntervalSince1970) + 15_778_000)])
            },
            Cause("ASN.1 DER") { try AppleFixture.secret(der: true) },
            Cause("it isn't an ES256 signature") { try AppleFixture.secret() + "AAAA" },
            Cause("1 dot-separated part") { "not-a-token" },
            Cause("isn't base64url") { "a.b.c" },
            Cause("it isn't an ES256 signature") { try String(AppleFixture.secret().dropLast(22)) },
        ])
    func causes(cause: Cause) throws {
        let code = try fixture.code()
        let text = try cause.secret()
        for _ in 0..<2 {
            let answer = try fixture.token(["code": code, "client_secret": text])
            #expect(answer.status == 400)
            #expect(answer.text == #"{"error":"invalid_client"}"#)
            #expect(answer.diagnosis.contains(cause.reason), "\(answer.diagnosis)")
        }
        // The command line says the same, if it can see the cause without the request.
        let explanation = try Explanation(clientSecret: text, seeds: [.builtIn])
        if !cause.reason.contains("client_id") { #expect(!explanation.isClean) }
        #expect(try fixture.token(["code": code]).status == 200)
    }

    @Test("six months to the second is allowed, and a secret that has been seen still expires")
    func lifetime() throws {
        let now = Int64(Date().timeIntervalSince1970)
        let secret = try AppleFixture.secret(claims: ["exp": .integer(now + 15_777_000)], now: now)
        #expect(try fixture.token(["code": fixture.code(), "client_secret": secret]).status == 200)
        try fixture.advance("182d")
        #expect(try fixture.token(["code": fixture.code(), "client_secret": secret]).status == 200)
        try fixture.advance("1d")
        #expect(try fixture.token(["code": fixture.code(), "client_secret": secret])["error"] == "invalid_client")
    }

    @Test("all faults of a secret are told at once")
    func together() throws {
        let secret = try AppleFixture.secret(team: "F6G7H8J9K0", claims: ["aud": "x", "sub": "y"], now: 1_000_000_000)
        let diagnosis = try fixture.token(["code": fixture.code(), "client_secret": secret]).diagnosis
        for text in ["iss is", "sub is", "aud is", "expired"] { #expect(diagnosis.contains(text)) }
    }

    @Test("with issuer \"request\" the audience may be our own issuer")
    func ownAudience() throws {
        let fixture = try AppleFixture(seed: #"{"apple":{"issuer":"request"}}"#)
        let own = JSONValue.string("http://localhost:\(fixture.client.port)/appleid.apple.com")
        let secret = try AppleFixture.secret(claims: ["aud": own])
        #expect(try fixture.token(["code": fixture.code(), "client_secret": secret]).status == 200)
        #expect(try self.fixture.token(["code": self.fixture.code(), "client_secret": secret]).status == 400)
    }
}
