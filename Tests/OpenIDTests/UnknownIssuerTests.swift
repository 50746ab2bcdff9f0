import Foundation
import TestSupport
import Testing

@Suite("OpenID Connect: issuers that no seed has")
struct UnknownIssuerTests {
    @Test(
        "whoever asks for one is told which there are, and how to add it",
        arguments: [
            (
                "/oidc/crop/.well-known/openid-configuration",
                #"no issuer "crop" is configured in the seed; did you mean"#
            ),
            ("/oidc/default/token", #"{"id":"default","clients""#),
            (
                "/realms/myrealm/.well-known/openid-configuration",
                #"{"id":"mine","issuer":"http://localhost:PORT/realms/myrealm""#
            ),
            (
                "/realms/myrealm/protocol/openid-connect/token",
                #"{"id":"mine","issuer":"http://localhost:PORT/realms/myrealm""#
            ),
            ("/default/.well-known/openid-configuration", #""issuer":"http://localhost:PORT/default""#),
            ("/.well-known/oauth-authorization-server/t1", #""issuer":"http://localhost:PORT/t1""#),
            ("/oidc", #"{"id":"mine","clients""#),
        ])
    func refused(path: String, advice: String) throws {
        let fixture = try OpenIDFixture()
        let answer = try fixture.client.get(path)
        #expect(answer.status == 404)
        #expect((answer.json["error"] as? [String: Any])?["code"] as? String == "noSuchIssuer")
        let diagnoses = answer.headers.filter { $0.name.lowercased() == "understudy-diagnosis" }
        #expect(diagnoses.count == 1)
        #expect(answer.diagnosis.contains("corp: http://localhost:\(fixture.server.port)/oidc/corp"))
        let expected = advice.replacing("PORT", with: String(fixture.server.port))
        #expect(answer.diagnosis.contains(expected), "\(answer.diagnosis)")
    }

    @Test("a path that an issuer doesn't serve isn't taken for another issuer's")
    func unserved() throws {
        let fixture = try OpenIDFixture(seed: "{}")
        let answer = try fixture.client.get("/somewhere/else")
        #expect((answer.json["error"] as? [String: Any])?["code"] as? String == "notFound")
    }

    @Test("where nobody is seeded, the page says so, and takes somebody new")
    func nobody() throws {
        let server = try TestServer.world(seeds: [.json(#"{"openid":{"unknownIssuers":"accept"}}"#, directory: "")])
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let request = [
            "client_id": "any", "redirect_uri": "https://app.example/", "response_type": "code", "scope": "openid",
        ]
        let page = try client.get("/oidc/default/authorize?\(TestClient.encode(request))")
        #expect(page.status == 200)
        #expect(page.text.contains("Nobody is seeded"))
        #expect(page.text.contains("Use another account"))
    }

    @Test("a session remembers the last thousand clients, where any is taken")
    func clientsOfSession() throws {
        let fixture = try OpenIDFixture(seed: #"{"openid":{"unknownIssuers":"accept"}}"#, base: "/oidc/default")
        try fixture.order(["outcome": "approve", "account": "ada", "times": NSNull()])
        var headers: [String: String] = [:]
        for number in 0..<1_005 {
            let request = [
                "client_id": "client\(number)", "redirect_uri": "https://app.example/", "response_type": "code",
                "scope": "openid",
            ]
            let answer = try fixture.client.get(
                "\(fixture.base)/authorize?\(TestClient.encode(request))", headers: headers)
            if number == 0 {
                headers["Cookie"] = answer.header("Set-Cookie")?.split(separator: ";").first.map(String.init)
            }
        }
        let snapshot = try fixture.client.get("/_understudy/v1/snapshot").json
        let tables = snapshot["tables"] as? [String: [[String: Any]]]
        let sessions = try #require(tables?["oauth.session"])
        #expect(sessions.count == 1)
        let clients = sessions.first?["clients"] as? [[String: Any]]
        #expect(clients?.count == 1_000)
        #expect(clients?.first?["id"] as? String == "client5")
        #expect(clients?.last?["id"] as? String == "client1004")
    }

    // https://github.com/navikt/mock-oauth2-server does the same: any issuer, any client, any redirect URI.
    @Test("with unknownIssuers, any is made on first use and takes any client", .pyJWT)
    func accepted() throws {
        let fixture = try OpenIDFixture(seed: #"{"openid":{"unknownIssuers":"accept"}}"#, base: "/oidc/default")
        let document = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration")
        #expect(document["issuer"] == fixture.issuer)
        #expect(document["token_endpoint"] == "\(fixture.issuer)/token")
        let callback = "https://app.example/anything"
        let request = [
            "client_id": "anybody", "redirect_uri": callback, "response_type": "code", "scope": "openid email",
            "nonce": "n",
        ]
        try fixture.order(["outcome": "approve", "account": "ada"])
        let answer = try fixture.client.get("\(fixture.base)/authorize?\(TestClient.encode(request))")
        #expect(answer.location.hasPrefix("\(callback)?"))
        let tokens = try fixture.client.post(
            "\(fixture.base)/token",
            form: [
                "grant_type": "authorization_code", "code": answer.redirect["code"] ?? "", "redirect_uri": callback,
            ], headers: OpenIDFixture.basic("anybody", secret: "any"))
        let claims = try TokenVerifier.claims(of: fixture.check(tokens["id_token"], audience: "anybody"))
        #expect(claims["email"] as? String == "ada@example.com")
        let bearer = fixture.bearer(tokens["access_token"])
        #expect(try fixture.client.get("\(fixture.base)/userinfo", headers: bearer)["sub"] == claims["sub"] as? String)
        #expect(try fixture.client.get("/oidc/another/userinfo", headers: bearer).status == 401)
        let refreshed = try fixture.client.post(
            "\(fixture.base)/token",
            form: [
                "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"] ?? "", "client_id": "anybody",
            ])
        #expect(refreshed.status == 200)
        let own = try fixture.client.post(
            "/oidc/second/token",
            form: ["grant_type": "client_credentials", "client_id": "job", "client_secret": "x"])
        #expect(own.status == 200)
        // Seeded issuers stay as strict as they are.
        let strict = try fixture.client.post(
            "/oidc/corp/token", form: ["grant_type": "client_credentials", "client_id": "job", "client_secret": "x"])
        #expect(strict["error"] == "invalid_client")
        let script = try fixture.client.get(
            "\(fixture.base)/authorize?client_id=a&response_type=code&redirect_uri=javascript:alert(1)")
        #expect(script.status == 400)
        #expect(script.location.isEmpty)
        let ended = try fixture.client.post(
            "\(OpenIDFixture.control)/openid/logouts", json: ["issuer": "default", "account": "ada"])
        #expect(ended.json["sessions"] as? Int == 1)
        #expect(
            try fixture.client.post(
                "\(OpenIDFixture.control)/openid/logouts", json: ["issuer": "never", "account": "ada"]
            ).status == 404)
        let faults = "\(OpenIDFixture.control)/faults"
        _ = try fixture.client.post(
            faults, json: ["match": ["host": "oidc.example", "path": "/default/jwks"], "effect": ["status": 503]])
        #expect(try fixture.client.get("\(fixture.base)/jwks").status == 503)
    }

    @Test("a world takes a hundred, and names that can be")
    func bounds() throws {
        let fixture = try OpenIDFixture(seed: #"{"openid":{"unknownIssuers":"accept"}}"#)
        for number in 0..<100 { #expect(try fixture.client.get("/oidc/i\(number)/jwks").status == 200) }
        let full = try fixture.client.get("/oidc/i100/jwks")
        #expect(full.status == 503)
        #expect(full.diagnosis.contains("the limit of 100 issuers"))
        #expect(try fixture.client.get("/oidc/i7/jwks").status == 200)
        for name in ["a%20b", "...", String(repeating: "x", count: 65)] {
            #expect(try fixture.client.get("/oidc/\(name)/jwks").status == 404)
        }
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        #expect(try fixture.client.get("/oidc/i100/jwks").status == 200)
    }
}
