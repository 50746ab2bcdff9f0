import Foundation
import TestSupport
import Testing

extension OpenIDFixture {
    /// A token that the issuer has signed with a published key, to be verified by PyJWT.
    func check(
        _ token: String?, algorithm: String = "RS256", audience: String = OpenIDFixture.web
    ) throws -> TokenVerifier.Check {
        try TokenVerifier.Check(
            token, keys: client.get("\(base)/jwks").text, algorithms: [algorithm], audience: audience, issuer: issuer)
    }
}

@Suite("OpenID Connect: sign-in")
struct SignInTests {
    @Test(
        "discovery, a code, tokens that PyJWT verifies, userinfo: at every address, with every algorithm", .pyJWT,
        arguments: ["/oidc/corp", "/login.corp.example"],
        ["RS256", "RS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])
    func signIn(base: String, algorithm: String) throws {
        let fixture = try OpenIDFixture(issuer: #""algorithms":["\#(algorithm)"]"#, base: base)
        let document = try fixture.client.get("\(base)/.well-known/openid-configuration")
        #expect(document["issuer"] == fixture.issuer)
        #expect(document["token_endpoint"] == "\(fixture.issuer)/token")
        #expect(document.json["id_token_signing_alg_values_supported"] as? [String] == [algorithm])
        let answer = try fixture.authorize(["scope": "openid email groups"])
        #expect(answer.redirect["state"] == "s 1")
        #expect(answer.redirect["iss"] == fixture.issuer)
        let tokens = try fixture.token(["code": answer.redirect["code"]])
        #expect(tokens.status == 200)
        #expect(tokens.header("Cache-Control") == "no-store")
        #expect(tokens["token_type"] == "Bearer")
        #expect(tokens.json["expires_in"] as? Int == 3600)
        #expect(tokens["refresh_token"] == nil)
        let claims = try TokenVerifier.claims(of: fixture.check(tokens["id_token"], algorithm: algorithm))
        #expect(claims["aud"] as? String == "web")
        #expect(claims["nonce"] as? String == "n")
        #expect(claims["email"] as? String == "ada@example.com")
        #expect(claims["groups"] as? [String] == ["engineers", "admins"])
        let user = try fixture.client.get("\(base)/userinfo", headers: fixture.bearer(tokens["access_token"]))
        #expect(user["sub"] == claims["sub"] as? String)
        #expect(user["email"] == "ada@example.com")
        #expect(user["name"] == nil)
    }

    @Test("an issuer with a path, under its own name and by the short address")
    func path() throws {
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"tenant","issuer":"https://login.tenant.example/t1/v2.0/",
                "clients":[{"clientID":"web","clientSecret":"openid-secret-for-tests",
                "redirectURIs":["http://localhost:3000/callback"]}]}]}}
                """#, base: "/oidc/tenant", isAlone: true)
        let metadata = "/.well-known/openid-configuration"
        let own = try fixture.client.get("/t1/v2.0\(metadata)", headers: ["Host": "login.tenant.example"])
        #expect(own["issuer"] == "https://login.tenant.example/t1/v2.0/")
        #expect(own["token_endpoint"] == "https://login.tenant.example/t1/v2.0/token")
        let short = try fixture.client.get("/oidc/tenant\(metadata)")
        #expect(short["issuer"] == "https://login.tenant.example/t1/v2.0/")
        #expect(short["token_endpoint"] == "http://localhost:\(fixture.server.port)/oidc/tenant/token")
        let inserted = "/login.tenant.example/.well-known/oauth-authorization-server/t1/v2.0"
        #expect(try fixture.client.get(inserted)["issuer"] == own["issuer"])
        #expect(try fixture.client.get("/~w/oidc/tenant\(metadata)")["jwks_uri"]?.contains("/~w/oidc/tenant/") ?? false)
        let claims = OpenIDFixture.claims(try fixture.signIn()["id_token"])
        #expect(claims["iss"] as? String == "https://login.tenant.example/t1/v2.0/")
        #expect(try fixture.client.get("/oidc/tenant").status == 404)
        #expect(try fixture.client.get("/oidc/nobody\(metadata)").status == 404)
    }

    @Test(
        "an issuer whose URL names this machine is served at its own path, too, and at the short address",
        arguments: ["http://localhost:8080/realms/myrealm", "http://keycloak:8080/realms/myrealm"])
    func localIssuer(url: String) throws {
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"mine","issuer":"\#(url)",
                "paths":{"token":"/protocol/openid-connect/token"},
                "clients":[{"clientID":"web","clientSecret":"openid-secret-for-tests",
                "redirectURIs":["http://localhost:3000/callback"]}]}]}}
                """#, base: "/realms/myrealm")
        for base in ["/oidc/mine", "/realms/myrealm"] {
            let document = try fixture.client.get("\(base)/.well-known/openid-configuration")
            #expect(document["issuer"] == url)
            #expect(
                document["token_endpoint"]
                    == "http://localhost:\(fixture.server.port)\(base)/protocol/openid-connect/token")
        }
        let metadata = try fixture.client.get("/.well-known/oauth-authorization-server/realms/myrealm")
        #expect(metadata["issuer"] == url)
        let tokens = try fixture.client.post(
            "\(fixture.base)/protocol/openid-connect/token",
            form: [
                "grant_type": "authorization_code", "code": try fixture.code(), "redirect_uri": OpenIDFixture.callback,
            ], headers: OpenIDFixture.basic())
        #expect(OpenIDFixture.claims(tokens["id_token"])["iss"] as? String == url)
        #expect(try fixture.client.get("\(OpenIDFixture.control)/health").status == 200)
        #expect(try fixture.client.get("/realms/other/.well-known/openid-configuration").status == 404)
    }

    @Test("an issuer at the root of this machine leaves the daemon's own pages where they are")
    func rootIssuer() throws {
        let fixture = try OpenIDFixture(
            seed: #"{"openid":{"issuers":[{"id":"root","issuer":"http://localhost:8080"}]}}"#, base: "")
        let document = try fixture.client.get("/.well-known/openid-configuration")
        #expect(document["issuer"] == "http://localhost:8080")
        #expect(document["jwks_uri"] == "http://localhost:\(fixture.server.port)/jwks")
        #expect(try fixture.client.get("/jwks").status == 200)
        #expect(try fixture.client.get("\(OpenIDFixture.control)/health").status == 200)
        #expect(try fixture.client.get("/emulator/v1/projects/demo-app/config").status == 200)
        #expect(try fixture.client.get("/oidc/corp/jwks").status == 200)
    }

    @Test(
        "an issuer of this machine can't have the daemon's own paths",
        arguments: ["_understudy/x", "emulator/x", "oidc/corp", "~w/x", "__/auth"])
    func ownPaths(path: String) throws {
        #expect {
            _ = try OpenIDFixture(
                seed: #"{"openid":{"issuers":[{"id":"x","issuer":"http://localhost:8080/\#(path)"}]}}"#)
        } throws: { "\($0)".contains("is reserved for the daemon") }
    }

    // Entra has its endpoints outside the issuer's path, and one discovery document for all tenants whose issuer has a
    // placeholder. This test has the same.
    // https://github.com/coreos/go-oidc/issues/344, https://github.com/MicrosoftDocs/azure-docs/issues/95994
    @Test("a tenant and the common address of all")
    func tenants() throws {
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"tenant","issuer":"https://login.tenants.example/t1/v2.0",
                "alsoAt":[{"path":"/common/v2.0","issuer":"https://login.tenants.example/{tenantid}/v2.0"}],
                "paths":{"authorization":"../oauth2/v2.0/authorize","token":"../oauth2/v2.0/token",
                "keys":"../discovery/v2.0/keys","endSession":"../oauth2/v2.0/logout"},
                "claims":{"tid":"t1"},
                "clients":[{"clientID":"web","clientSecret":"openid-secret-for-tests",
                "redirectURIs":["http://localhost:3000/callback"]}]}]}}
                """#)
        let host = "/login.tenants.example"
        let here = "http://localhost:\(fixture.server.port)\(host)"
        func discover(_ path: String, host name: String? = nil) throws -> Answer {
            try fixture.client.get(
                "\(path)/.well-known/openid-configuration", headers: name.map { ["Host": $0] } ?? [:])
        }
        let tenant = try discover("\(host)/t1/v2.0")
        #expect(tenant["issuer"] == "https://login.tenants.example/t1/v2.0")
        #expect(tenant["authorization_endpoint"] == "\(here)/t1/oauth2/v2.0/authorize")
        #expect(try discover("/oidc/tenant")["token_endpoint"] == "\(here)/t1/oauth2/v2.0/token")
        let proxied = try fixture.client.get(
            "/oidc/tenant/.well-known/openid-configuration",
            headers: ["Host": "idp.example", "X-Forwarded-Proto": "https,http"])
        #expect(proxied["token_endpoint"] == "https://idp.example\(host)/t1/oauth2/v2.0/token")
        let common = try discover("/common/v2.0", host: "login.tenants.example")
        #expect(common["issuer"] == "https://login.tenants.example/{tenantid}/v2.0")
        #expect(common["token_endpoint"] == "https://login.tenants.example/common/oauth2/v2.0/token")
        #expect(common["jwks_uri"] == "https://login.tenants.example/common/discovery/v2.0/keys")
        for place in ["t1", "common"] {
            try fixture.order(["outcome": "approve", "account": "ada"])
            let answer = try fixture.client.get(
                "\(host)/\(place)/oauth2/v2.0/authorize?\(TestClient.encode(fixture.parameters()))")
            let tokens = try fixture.client.post(
                "\(host)/\(place)/oauth2/v2.0/token",
                form: [
                    "grant_type": "authorization_code", "code": answer.redirect["code"] ?? "",
                    "redirect_uri": OpenIDFixture.callback,
                ], headers: OpenIDFixture.basic())
            let claims = OpenIDFixture.claims(tokens["id_token"])
            #expect(claims["iss"] as? String == "https://login.tenants.example/t1/v2.0")
            #expect(claims["tid"] as? String == "t1")
            #expect(try fixture.client.get("\(host)/\(place)/discovery/v2.0/keys").status == 200)
        }
        _ = try fixture.client.post(
            "\(OpenIDFixture.control)/faults",
            json: [
                "match": [
                    "host": "login.tenants.example", "path": "/common/v2.0/.well-known/openid-configuration",
                ],
                "effect": ["status": 503],
            ])
        #expect(try discover("\(host)/common/v2.0").status == 503)
    }

    @Test(
        "addresses that can't be",
        arguments: [
            (#""alsoAt":[{"path":"/v2.0/"}]"#, "a path such as"), (#""alsoAt":[{"path":"/t1/v2.0"}]"#, "same address"),
            (#""paths":{"token":"oauth2/token"}"#, "a path such as"), (#""paths":{"token":"../"}"#, "a path such as"),
            (#""paths":{"token":"../a/../b"}"#, "a path such as"),
        ])
    func addresses(members: String, message: String) throws {
        #expect {
            _ = try OpenIDFixture(
                seed: #"{"openid":{"issuers":[{"id":"x","issuer":"https://x.example/t1/v2.0",\#(members)}]}}"#)
        } throws: { "\($0)".contains(message) }
    }

    @Test("the page: who signs in, consent where the client asks for it, a cancel, and the session after it")
    func page() throws {
        let fixture = try OpenIDFixture(
            clients:
                #"{"clientID":"asks","clientSecret":"s","consent":true,"redirectURIs":["http://localhost:3000/callback"]}"#
        )
        let browser = TestBrowser(fixture.client)
        let page = try browser.get(fixture.authorizePath())
        #expect(page.text.contains("Sign in to Example Corp"))
        #expect(page.text.contains("stand-in for Example Corp"))
        #expect(try browser.submit(page, ["action": "cancel"]).redirect["error"] == "access_denied")
        let answer = try browser.submit(page, ["account": "grace"])
        #expect(answer.location.hasPrefix("\(OpenIDFixture.callback)?"))
        let claims = OpenIDFixture.claims(try fixture.token(["code": answer.redirect["code"]])["id_token"])
        #expect(claims["email"] as? String == "grace@example.com")
        // Another client of the issuer needs no second sign-in, but consent.
        let consent = try browser.get(fixture.authorizePath(["client_id": "asks", "prompt": "none"]))
        #expect(consent.redirect["error"] == "consent_required")
        let asked = try browser.get(fixture.authorizePath(["client_id": "asks"]))
        #expect(asked.text.contains("Grace Hopper"))
        let first = try browser.submit(asked, ["action": "continue"])
        let again = try browser.get(fixture.authorizePath(["client_id": "asks", "prompt": "none"]))
        let both = try [first, again].map { answer in
            let tokens = try fixture.token([
                "client_id": "asks", "client_secret": "s", "code": answer.redirect["code"],
            ])
            return OpenIDFixture.claims(tokens["id_token"])["sid"] as? String
        }
        #expect(both == [claims["sid"] as? String, claims["sid"] as? String])
        #expect(both[0]?.count == 32)
    }

    @Test("prompt and max_age decide whether a session is enough")
    func sessions() throws {
        let fixture = try OpenIDFixture()
        try fixture.freeze()
        let browser = TestBrowser(fixture.client)
        #expect(try browser.get(fixture.authorizePath(["prompt": "none"])).redirect["error"] == "login_required")
        _ = try browser.submit(try browser.get(fixture.authorizePath()), ["account": "ada"])
        func isSilent(_ changes: [String: String?]) throws -> Bool {
            try browser.get(fixture.authorizePath(changes)).redirect["code"] != nil
        }
        #expect(try isSilent([:]))
        #expect(try isSilent(["prompt": "none", "max_age": "600"]))
        for prompt in ["login", "select_account", "consent"] { #expect(try !isSilent(["prompt": prompt])) }
        try fixture.advance("11m")
        #expect(try !isSilent(["max_age": "600"]))
        #expect(
            try browser.get(fixture.authorizePath(["max_age": "600", "prompt": "none"])).redirect["error"]
                == "login_required")
        let page = try browser.get(fixture.authorizePath(["max_age": "600"]))
        let code = try browser.submit(page, ["account": "ada"]).redirect["code"]
        let claims = OpenIDFixture.claims(try fixture.token(["code": code])["id_token"])
        #expect(claims["auth_time"] as? Int == claims["iat"] as? Int)
        try fixture.advance("9h")
        #expect(try !isSilent([:]))
        let alone = try OpenIDFixture(issuer: #""singleSignOn":false"#)
        let other = TestBrowser(alone.client)
        _ = try other.submit(try other.get(alone.authorizePath()), ["account": "ada"])
        #expect(try other.get(alone.authorizePath()).status == 200)
    }

    @Test("login_hint suggests, id_token_hint and sub in claims demand")
    func hints() throws {
        let fixture = try OpenIDFixture()
        let page = try fixture.authorize(["login_hint": "grace@example.com"], by: nil)
        #expect(page.text.range(of: "Grace Hopper")!.lowerBound < page.text.range(of: "Ada Lovelace")!.lowerBound)
        let token = try fixture.signIn()["id_token"]
        #expect(try fixture.authorize(["id_token_hint": token]).redirect["code"] != nil)
        #expect(try fixture.authorize(["id_token_hint": token], by: "grace").redirect["error"] == "login_required")
        let sub = OpenIDFixture.claims(token)["sub"] as? String ?? ""
        let claims = #"{"id_token":{"sub":{"value":"\#(sub)"}}}"#
        #expect(try fixture.authorize(["claims": claims]).redirect["code"] != nil)
        #expect(try fixture.authorize(["claims": claims], by: "grace").redirect["error"] == "login_required")
    }

    @Test("implicit and hybrid answers, with hashes of what comes beside the ID token", .pyJWT)
    func frontChannel() throws {
        let fixture = try OpenIDFixture(
            issuer:
                #""responseTypes":["code","id_token","token","id_token token","code id_token","code token","code id_token token"]"#
        )
        var checks: [TokenVerifier.Check] = []
        for type in ["id_token", "token id_token", "code id_token", "code token", "code id_token token"] {
            let answer = try fixture.authorize(["response_type": type])
            #expect(answer.location.hasPrefix("\(OpenIDFixture.callback)#"), "\(type)")
            let fields = answer.redirect
            #expect((fields["code"] != nil) == type.contains("code"))
            #expect((fields["id_token"] != nil) == type.contains("id_token"))
            let words = type.split(separator: " ")
            #expect((fields["access_token"] != nil) == words.contains("token"))
            if let token = fields["id_token"] {
                checks.append(try fixture.check(token))
                let claims = OpenIDFixture.claims(token)
                #expect((claims["at_hash"] != nil) == (fields["access_token"] != nil))
                #expect((claims["c_hash"] != nil) == (fields["code"] != nil))
            }
            if let code = fields["code"] { #expect(try fixture.token(["code": code])["id_token"] != nil) }
        }
        #expect(checks.count == 4)
        for verdict in try TokenVerifier.verify(checks) {
            #expect(verdict.claims?["nonce"] as? String == "n", "\(verdict)")
        }
        let plain = try OpenIDFixture().authorize(["response_type": "id_token token"])
        #expect(plain.redirect["error"] == "unsupported_response_type")
    }

    @Test("response modes")
    func responseModes() throws {
        let fixture = try OpenIDFixture()
        let post = try fixture.authorize(["response_mode": "form_post", "response_type": "code id_token"])
        #expect(post.status == 200)
        #expect(post.inputs["code"] != nil)
        #expect(post.inputs["iss"] == fixture.issuer)
        #expect(try fixture.authorize(["response_mode": "fragment"]).location.contains("#state="))
        // https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#none: the query is the default, as for a code.
        let none = try OpenIDFixture(issuer: #""responseTypes":["none"]"#)
        for mode in [nil, "query"] {
            let answer = try none.authorize(["response_type": "none", "response_mode": mode])
            #expect(answer.location.hasPrefix("\(OpenIDFixture.callback)?state="))
            #expect(Set(answer.redirect.keys) == ["state", "iss"])
        }
        let refused = try fixture.authorize(["response_mode": "query", "response_type": "code id_token"], by: nil)
        #expect(refused.redirect["error"] == "invalid_request")
        #expect(refused.location.contains("#"))
    }

    @Test("refusals that stay on a page, because nothing says where the client is")
    func pageErrors() throws {
        let fixture = try OpenIDFixture()
        for (changes, name) in [
            (["client_id": "wep"], "invalid_client"), (["client_id": nil], "invalid_request"),
            (["redirect_uri": "http://localhost:3000/callback/"], "invalid_request"),
            (["redirect_uri": nil], "invalid_request"),
            (["request_uri": "urn:ietf:params:oauth:request_uri:x"], "invalid_request_uri"),
            (["request": "x"], "invalid_request_object"),
        ] as [([String: String?], String)] {
            let answer = try fixture.authorize(changes, by: nil)
            #expect(answer.text.contains("Error: \(name)"), "\(changes)")
            #expect(answer.location.isEmpty)
        }
        let twice = try fixture.client.get(fixture.authorizePath() + "&state=other")
        #expect(twice.text.contains("Error: invalid_request"))
    }

    @Test("refusals that travel to the client, with state and iss")
    func travellingErrors() throws {
        let fixture = try OpenIDFixture(issuer: #""acrValues":["gold"]"#)
        for (changes, name) in [
            (["response_type": nil], "invalid_request"), (["response_type": "x"], "unsupported_response_type"),
            (["response_mode": "x"], "invalid_request"), (["prompt": "none login"], "invalid_request"),
            (["max_age": "-1"], "invalid_request"), (["max_age": "x"], "invalid_request"),
            (["claims": "x"], "invalid_request"), (["claims": #"{"id_token":[]}"#], "invalid_request"),
            (["code_challenge": "short", "code_challenge_method": "S256"], "invalid_request"),
            (["code_challenge": OpenIDFixture.challenge], "invalid_request"),
            (["response_type": "id_token", "nonce": nil], "invalid_request"),
            (["response_type": "id_token", "scope": "email"], "invalid_request"),
            (["resource": "#x"], "invalid_target"), (["client_id": "spa"], "invalid_request"),
            (["prompt": "none"], "login_required"),
        ] as [([String: String?], String)] {
            let answer = try fixture.authorize(changes, by: nil)
            #expect(answer.redirect["error"] == name, "\(changes)")
            #expect(answer.redirect["state"] == "s 1")
            #expect(answer.redirect["iss"] == fixture.issuer)
            #expect(!answer.diagnosis.isEmpty)
        }
        let claims = #"{"id_token":{"acr":{"essential":true,"value":"platinum"}}}"#
        #expect(try fixture.authorize(["claims": claims]).redirect["error"] == "unmet_authentication_requirements")
        for (changes, acr) in [([:], "gold"), (["acr_values": "silver gold"], "gold")] as [([String: String], String)] {
            #expect(OpenIDFixture.claims(try fixture.signIn(changes)["id_token"])["acr"] as? String == acr)
        }
    }

    @Test("an outcome's cancel, error and scopes")
    func outcomes() throws {
        let fixture = try OpenIDFixture()
        try fixture.order(["outcome": "cancel"])
        #expect(try fixture.authorize(by: nil).redirect["error"] == "access_denied")
        try fixture.order(["outcome": "error", "error": "temporarily_unavailable"])
        #expect(try fixture.authorize(by: nil).redirect["error"] == "temporarily_unavailable")
        try fixture.order(["outcome": "approve", "scopes": ["openid"]])
        let tokens = try fixture.token(["code": try fixture.authorize(by: nil).redirect["code"]])
        #expect(tokens["scope"] == "openid")
        #expect(OpenIDFixture.claims(tokens["id_token"])["email"] == nil)
    }
}
