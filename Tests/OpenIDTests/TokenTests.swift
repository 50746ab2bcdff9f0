import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: the token endpoint")
struct TokenTests {
    private let callback = OpenIDFixture.callback

    @Test("PKCE: public clients must, S256 only, no verifier without a challenge")
    func pkce() throws {
        let fixture = try OpenIDFixture()
        let challenge = ["code_challenge": OpenIDFixture.challenge, "code_challenge_method": "S256"]
        let public_: [String: String?] = ["client_id": "spa", "client_secret": nil]
        func redeem(_ verifier: String?, _ changes: [String: String?]) throws -> Answer {
            let code = try fixture.code(["client_id": "spa"].merging(changes) { $1 })
            return try fixture.token(public_.merging(["code": code, "code_verifier": verifier]) { $1 })
        }
        #expect(try redeem(OpenIDFixture.verifier, challenge).status == 200)
        for verifier in [nil, "x", OpenIDFixture.challenge] {
            let refused = try redeem(verifier, challenge)
            #expect(refused["error"] == "invalid_grant")
            #expect(refused.diagnosis.contains("code_verifier"))
        }
        // RFC 7636 section 4.1, as Okta checks it: https://github.com/medplum/medplum/issues/5240.
        for (verifier, reason) in [
            ("a", "has 1 characters"), (String(repeating: "a", count: 42), "has 42 characters"),
            (String(repeating: "a", count: 129), "has 129 characters"),
            (String(repeating: " ", count: 60), "other characters"),
        ] {
            let met = [
                "code_challenge": Base64URL.encode(Digest.sha256(verifier)), "code_challenge_method": "S256",
            ]
            let refused = try redeem(verifier, met)
            #expect(refused["error"] == "invalid_grant")
            #expect(refused.diagnosis.contains(reason), "\(refused.diagnosis)")
        }
        let stray = try fixture.token(["code": try fixture.code(), "code_verifier": OpenIDFixture.verifier])
        #expect(stray["error"] == "invalid_grant")
        #expect(stray.diagnosis.contains("no code_challenge"))
        let plain = ["code_challenge": OpenIDFixture.verifier, "code_challenge_method": "plain"]
        #expect(try fixture.authorize(plain).redirect["error"] == "invalid_request")
        let relaxed = try OpenIDFixture(issuer: #""pkce":"optional","pkceMethods":["S256","plain"]"#)
        let code = try relaxed.code(["client_id": "spa"].merging(plain) { $1 })
        let tokens = try relaxed.token(public_.merging(["code": code, "code_verifier": OpenIDFixture.verifier]) { $1 })
        #expect(tokens.status == 200)
        #expect(
            try relaxed.token(public_.merging(["code": try relaxed.code(["client_id": "spa"])]) { $1 }).status == 200)
        let strict = try OpenIDFixture(issuer: #""pkce":"required""#)
        #expect(try strict.authorize().redirect["error"] == "invalid_request")
    }

    // A client must refuse userinfo whose sub isn't the ID token's (OpenID Connect Core 5.3.2):
    // https://github.com/spring-projects/spring-security/issues/4441.
    @Test("claims of userinfo can lie, as JSON and as a token")
    func userInfoFault() throws {
        let fixture = try OpenIDFixture(
            clients:
                #"{"clientID":"signed","clientSecret":"s","userInfoAlgorithm":"RS256","redirectURIs":["http://localhost:3000/callback"]}"#
        )
        func order(_ token: [String: Any]) throws {
            let answer = try fixture.client.post(
                "\(OpenIDFixture.control)/faults",
                json: ["match": ["host": "login.corp.example", "path": "/userinfo"], "effect": ["token": token]])
            #expect(answer.status == 201)
        }
        let bearer = fixture.bearer(try fixture.signIn()["access_token"])
        func ask() throws -> Answer { try fixture.client.get("\(fixture.base)/userinfo", headers: bearer) }
        let usual = try ask()
        try order(["claims": ["sub": "other", "email": NSNull(), "exp": "-1h"]])
        let broken = try ask()
        #expect(broken["sub"] == "other")
        #expect(broken["email"] == nil)
        #expect(broken.json["exp"] as? Int != nil)
        #expect(broken["name"] == usual["name"])
        #expect(try ask().text == usual.text)
        #expect(try fixture.client.get("\(OpenIDFixture.control)/faults").json["faults"] as? [String] == [])
        try order(["claims": ["sub": "other"], "signature": "invalid"])
        let signed = ["client_id": "signed", "client_secret": "s"]
        let code = try fixture.code(["client_id": "signed"])
        let token = try fixture.token(signed.mapValues { Optional($0) }.merging(["code": code]) { $1 })["access_token"]
        let jwt = try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(token))
        #expect(OpenIDFixture.claims(jwt.text)["sub"] as? String == "other")
        let set = KeySet(try JSONValue(parsing: fixture.client.get("\(fixture.base)/jwks").text))
        #expect(set.fault(of: try JWS(parsing: jwt.text), allowing: [.rs256]) == .signature(.invalid))
    }

    @Test("a code works once, for its client, with its redirect URI, for ten minutes")
    func codes() throws {
        let fixture = try OpenIDFixture(
            clients: #"{"clientID":"other","clientSecret":"s","redirectURIs":["http://localhost:3000/callback"]}"#)
        let other = ["client_id": "other", "client_secret": "s"]
        for (changes, reason) in [
            (["code": "x"], "no such code"), (["redirect_uri": "http://localhost:3000/other"], "redirect_uri must be"),
            (["redirect_uri": nil], "redirect_uri must be"), (other, "was issued to"),
        ] as [([String: String?], String)] {
            let refused = try fixture.token(["code": try fixture.code()].merging(changes) { $1 })
            #expect(refused.status == 400)
            #expect(refused["error"] == "invalid_grant")
            #expect(refused.diagnosis.contains(reason), "\(refused)")
        }
        let late = try fixture.code()
        try fixture.advance("11m")
        #expect(try fixture.token(["code": late]).diagnosis.contains("expired"))
        let code = try fixture.code()
        let bearer = fixture.bearer(try fixture.token(["code": code])["access_token"])
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer).status == 200)
        #expect(try fixture.token(["code": code]).diagnosis.contains("works once"))
        // The second use has revoked what the first one brought.
        let refused = try fixture.client.get("\(fixture.base)/userinfo", headers: bearer)
        #expect(refused.status == 401)
        #expect(refused.header("WWW-Authenticate")?.contains("invalid_token") ?? false)
        let relaxed = try OpenIDFixture(issuer: #""codeReuseRevokes":false,"issInAnswers":false"#)
        let answer = try relaxed.authorize()
        #expect(answer.redirect["iss"] == nil)
        let kept = relaxed.bearer(try relaxed.token(["code": answer.redirect["code"]])["access_token"])
        #expect(try relaxed.token(["code": answer.redirect["code"]])["error"] == "invalid_grant")
        #expect(try relaxed.client.get("\(relaxed.base)/userinfo", headers: kept).status == 200)
    }

    @Test("redirect URIs: exact, any port of this machine where the seed says so, or by their beginning")
    func redirectURIs() throws {
        let fixture = try OpenIDFixture()
        let pkce = ["client_id": "spa", "code_challenge": OpenIDFixture.challenge, "code_challenge_method": "S256"]
        for (uri, isTaken) in [
            ("http://localhost:5173/callback", true), ("http://127.0.0.1:1/callback", true),
            ("http://localhost:99999/callback", false), ("http://localhost:/callback", false),
            ("http://localhost:80@evil.example/callback", false), ("http://localhost:5173/callback?x", false),
            ("http://localhost.evil.example:80/callback", false),
        ] {
            let answer = try fixture.authorize(pkce.merging(["redirect_uri": uri]) { $1 })
            #expect((answer.redirect["code"] != nil) == isTaken, "\(uri)")
        }
        let relaxed = try OpenIDFixture(issuer: #""redirectURIComparison":"prefix""#)
        #expect(try relaxed.authorize(["redirect_uri": "\(callback)/deeper?x=1"]).location.contains("/deeper?x=1&"))
    }

    @Test("refresh tokens: for offline_access, each once; a second use revokes all")
    func refresh() throws {
        let fixture = try OpenIDFixture()
        let first = try fixture.signIn(["scope": "openid email offline_access"])
        func refresh(_ token: String?, _ changes: [String: String?] = [:]) throws -> Answer {
            try fixture.token(["grant_type": "refresh_token", "refresh_token": token].merging(changes) { $1 })
        }
        let wider = try refresh(first["refresh_token"], ["scope": "openid admin"])
        #expect(wider["error"] == "invalid_scope")
        let second = try refresh(first["refresh_token"], ["scope": "openid"])
        #expect(second.status == 200)
        #expect(second["scope"] == "openid")
        #expect(second["refresh_token"] != nil)
        #expect(OpenIDFixture.claims(second["id_token"])["nonce"] == nil)
        let before = OpenIDFixture.claims(first["id_token"])
        #expect(OpenIDFixture.claims(second["id_token"])["auth_time"] as? Int == before["auth_time"] as? Int)
        #expect(try refresh(first["refresh_token"]).diagnosis.contains("revoked"))
        #expect(try refresh(second["refresh_token"])["error"] == "invalid_grant")
        #expect(try refresh(second["refresh_token"], ["scope": "openid"])["error"] == "invalid_grant")
        let bearer = fixture.bearer(second["access_token"])
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer).status == 401)
        let relaxed = try OpenIDFixture(issuer: #""refreshRotation":false,"refreshTokens":"always""#)
        let token = try relaxed.signIn()["refresh_token"]
        for _ in 0..<2 {
            let again = try relaxed.token(["grant_type": "refresh_token", "refresh_token": token])
            #expect(again.status == 200)
            #expect(again["refresh_token"] == nil)
        }
        #expect(
            try OpenIDFixture(issuer: #""refreshTokens":"never""#).signIn(["scope": "offline_access"])["refresh_token"]
                == nil)
    }

    @Test("a code of one issuer is none at another, though the client has the same name")
    func twoIssuers() throws {
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"other","clients":[{"clientID":"web","clientSecret":"openid-secret-for-tests",
                "redirectURIs":["http://localhost:3000/callback"]}]}]}}
                """#)
        let form = [
            "client_id": "web", "client_secret": OpenIDFixture.secret, "grant_type": "authorization_code",
            "code": try fixture.code(), "redirect_uri": callback,
        ]
        #expect(try fixture.client.post("/oidc/other/token", form: form)["error"] == "invalid_grant")
        let bearer = fixture.bearer(try fixture.signIn()["access_token"])
        #expect(try fixture.client.get("/oidc/other/userinfo", headers: bearer).status == 401)
        #expect(try fixture.client.get("/oidc.example/other/jwks").status == 200)
    }

    @Test("access tokens in JSON Web Tokens, for whom they are asked for", .pyJWT)
    func accessTokens() throws {
        let fixture = try OpenIDFixture(
            clients: #"""
                {"clientID":"jwt","clientSecret":"s","accessToken":"jwt","audience":["https://api.example"],
                "redirectURIs":["http://localhost:3000/callback"]}
                """#)
        func token(_ resource: String?) throws -> Answer {
            let code = try fixture.code(["client_id": "jwt", "resource": resource, "scope": "openid groups email"])
            return try fixture.token(["client_id": "jwt", "client_secret": "s", "code": code])
        }
        let text = try token(nil)["access_token"] ?? ""
        let token_ = try JWS(parsing: text)
        #expect(token_.header["typ"]?.string == "at+jwt")
        #expect(token_.claims["aud"]?.string == "https://api.example")
        #expect(token_.claims["client_id"]?.string == "jwt")
        #expect(token_.claims["scope"]?.string == "openid groups email")
        #expect(token_.claims["groups"]?.array?.count == 2)
        #expect(token_.claims["email"] == nil)
        #expect(try TokenVerifier.claims(of: fixture.check(text, audience: "https://api.example"))["sub"] != nil)
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(text))["email"] != nil)
        let other = try JWS(parsing: try token("https://other.example")["access_token"] ?? "")
        #expect(other.claims["aud"]?.string == "https://other.example")
        // A token that anybody could have written is none.
        let forged = text.split(separator: ".").dropLast().joined(separator: ".") + ".AAAA"
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(forged)).status == 401)
    }

    @Test("introspection and revocation")
    func management() throws {
        let fixture = try OpenIDFixture(
            clients: #"{"clientID":"api","clientSecret":"s","redirectURIs":[]},{"clientID":"native","redirectURIs":[]}"#
        )
        let tokens = try fixture.signIn(["scope": "openid offline_access"])
        func introspect(_ token: String?, _ headers: [String: String] = OpenIDFixture.basic("api", secret: "s")) throws
            -> Answer
        {
            try fixture.client.post("\(fixture.base)/introspect", form: ["token": token ?? ""], headers: headers)
        }
        let access = try introspect(tokens["access_token"])
        #expect(access.json["active"] as? Bool == true)
        #expect(access["client_id"] == "web")
        #expect(access["username"] == "ada")
        #expect(access["scope"] == "openid offline_access")
        #expect(access["token_type"] == "Bearer")
        #expect(try introspect(tokens["refresh_token"]).json["active"] as? Bool == true)
        #expect(try introspect("x").json["active"] as? Bool == false)
        #expect(try introspect("x", [:])["error"] == "invalid_client")
        let publicCall = try fixture.client.post(
            "\(fixture.base)/introspect", form: ["token": "x", "client_id": "native"])
        #expect(publicCall["error"] == "unauthorized_client")
        func revoke(_ token: String?, _ headers: [String: String] = OpenIDFixture.basic()) throws -> Answer {
            try fixture.client.post("\(fixture.base)/revoke", form: ["token": token ?? ""], headers: headers)
        }
        #expect(
            try revoke(tokens["access_token"], OpenIDFixture.basic("api", secret: "s"))["error"]
                == "unauthorized_client")
        #expect(try revoke("unknown").status == 200)
        #expect(try revoke(tokens["access_token"]).status == 200)
        #expect(try introspect(tokens["access_token"]).json["active"] as? Bool == false)
        let second = try fixture.token(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]])
        #expect(try revoke(second["refresh_token"]).status == 200)
        #expect(try introspect(second["access_token"]).json["active"] as? Bool == false)
        for path in ["introspect", "revoke"] {
            let empty = try fixture.client.post("\(fixture.base)/\(path)", form: [:], headers: OpenIDFixture.basic())
            #expect(empty["error"] == "invalid_request")
        }
    }

    @Test("client_credentials: for confidential clients, without a person")
    func clientCredentials() throws {
        let fixture = try OpenIDFixture()
        let answer = try fixture.token(["grant_type": "client_credentials", "scope": "read"])
        #expect(answer.status == 200)
        #expect(answer["scope"] == "read")
        #expect(answer["id_token"] == nil)
        #expect(answer["refresh_token"] == nil)
        let info = try fixture.client.post(
            "\(fixture.base)/introspect", form: ["token": answer["access_token"] ?? ""], headers: OpenIDFixture.basic())
        #expect(info.json["active"] as? Bool == true)
        #expect(info["sub"] == "web")
        let bearer = fixture.bearer(answer["access_token"])
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer).status == 401)
        let spa = try fixture.token(["client_id": "spa", "client_secret": nil, "grant_type": "client_credentials"])
        #expect(spa["error"] == "unauthorized_client")
    }

    @Test("other refusals of the token endpoint")
    func refusals() throws {
        let fixture = try OpenIDFixture(
            clients: #"{"clientID":"few","clientSecret":"s","grantTypes":["client_credentials"],"scopes":["read"]}"#)
        let few = ["client_id": "few", "client_secret": "s"]
        for (changes, error) in [
            (["grant_type": nil], "invalid_request"), (["grant_type": "password"], "unsupported_grant_type"),
            (few, "unauthorized_client"),
            (few.merging(["grant_type": "client_credentials", "scope": "write"]) { $1 }, "invalid_scope"),
            (["grant_type": "refresh_token"], "invalid_request"),
            (["grant_type": "client_credentials", "resource": "x#y"], "invalid_target"),
        ] as [([String: String?], String)] {
            let answer = try fixture.token(changes)
            #expect(answer.status == 400)
            #expect(answer["error"] == error, "\(changes)")
            #expect(!answer.diagnosis.isEmpty)
        }
    }
}
