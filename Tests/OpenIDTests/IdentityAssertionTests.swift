import Foundation
import JOSE
import JSON
import TestSupport
import Testing

/// Tests of a company's issuer, and a vendor's that trusts it.
@Suite("OpenID Connect: assertions of a person for another issuer (ID-JAG)")
struct IdentityAssertionTests {
    private static let agent = OpenIDFixture.basic("agent", secret: "agent-secret")
    private static let exchangeType = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let bearerType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static func type(_ name: String) -> String { "urn:ietf:params:oauth:token-type:\(name)" }

    private let fixture: OpenIDFixture
    private var vendor: String { "http://localhost:\(fixture.server.port)/oidc/vendor" }
    private var resource: String { "http://localhost:\(fixture.server.port)/mcp/vendor" }

    init() throws {
        fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[
                {"id":"corp","crossAppAccess":[{"issuer":"vendor","clients":{"web":"agent"},"scopes":["mcp:read","mcp:write"],
                "accounts":["ada"]}]},
                {"id":"vendor","dpop":"optional","trustedIssuers":["corp"],"clients":[{"clientID":"agent","clientSecret":"agent-secret"},
                {"clientID":"other","clientSecret":"other-secret"},{"clientID":"public"}]},
                {"id":"stranger","clients":[{"clientID":"agent","clientSecret":"agent-secret"}]}]}}
                """#)
    }

    private func idToken(of person: String = "ada") throws -> String {
        try #require(fixture.signIn(by: person)["id_token"])
    }

    private func exchange(
        _ token: String, _ changes: [String: String?] = [:], headers: [String: String] = OpenIDFixture.basic()
    ) throws -> Answer {
        var form = [
            "grant_type": IdentityAssertionTests.exchangeType,
            "requested_token_type": IdentityAssertionTests.type("id-jag"), "audience": vendor, "resource": resource,
            "scope": "mcp:read", "subject_token": token, "subject_token_type": IdentityAssertionTests.type("id_token"),
        ]
        for (name, value) in changes { form[name] = value }
        return try fixture.client.post("\(fixture.base)/token", form: form, headers: headers)
    }

    private func redeem(
        _ assertion: String?, _ changes: [String: String?] = [:], at issuer: String = "vendor",
        headers: [String: String] = IdentityAssertionTests.agent
    ) throws -> Answer {
        var form = ["grant_type": IdentityAssertionTests.bearerType]
        form["assertion"] = assertion
        for (name, value) in changes { form[name] = value }
        return try fixture.client.post("/oidc/\(issuer)/token", form: form, headers: headers)
    }

    private func whoami(_ headers: [String: String]) throws -> Answer {
        try fixture.client.post(
            "/mcp/vendor", json: ["jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["name": "whoami"]],
            headers: headers.merging(["MCP-Protocol-Version": "2025-11-25"]) { $1 })
    }

    @Test("lead from the company's sign-in to the vendor's server")
    func whole() throws {
        let given = try exchange(try idToken(), ["scope": "mcp:read admin"])
        #expect(given.status == 200, "\(given)")
        #expect(given["issued_token_type"] == IdentityAssertionTests.type("id-jag"))
        #expect(given["token_type"] == "N_A")
        #expect(given["scope"] == "mcp:read")
        #expect(given.json["expires_in"] as? Int == 300)
        #expect(given["refresh_token"] == nil)
        let assertion = try #require(given["access_token"])
        #expect(try JWS(parsing: assertion).header["typ"]?.string == "oauth-id-jag+jwt")
        let claims = OpenIDFixture.claims(assertion)
        #expect(claims["iss"] as? String == fixture.issuer)
        #expect(claims["aud"] as? String == vendor)
        #expect(claims["client_id"] as? String == "agent")
        #expect(claims["resource"] as? String == resource)
        #expect(claims["email"] as? String == "ada@example.com")
        #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 300)
        for name in ["sub", "jti", "auth_time"] { #expect(claims[name] != nil, "\(name)") }
        // It can be used again until it expires.
        for _ in 0..<2 {
            let tokens = try redeem(assertion)
            #expect(tokens["token_type"] == "Bearer", "\(tokens)")
            #expect(tokens["scope"] == "mcp:read")
            #expect(tokens["resource"] == resource)
            #expect(tokens["refresh_token"] == nil)
            let answer = try whoami(fixture.bearer(tokens["access_token"]))
            let person = (answer.json["result"] as? [String: Any])?["structuredContent"] as? [String: Any]
            #expect(person?["account"] as? String == "ada", "\(answer)")
            #expect(person?["client"] as? String == "agent")
            #expect(person?["issuer"] as? String == vendor)
        }
    }

    @Test("are announced by who gives them, and by who takes them")
    func metadata() throws {
        func document(_ id: String) throws -> [String: Any] {
            try fixture.client.get("/.well-known/oauth-authorization-server/oidc/\(id)").json
        }
        let company = try document("corp")
        #expect(
            company["identity_chaining_requested_token_types_supported"] as? [String]
                == [IdentityAssertionTests.type("id-jag")])
        let vendor = try document("vendor")
        #expect(
            vendor["authorization_grant_profiles_supported"] as? [String]
                == ["urn:ietf:params:oauth:grant-profile:id-jag"])
        for (document, isThere) in [(company, false), (vendor, true), (try document("stranger"), false)] {
            let grants = document["grant_types_supported"] as? [String]
            #expect(grants?.contains(IdentityAssertionTests.bearerType) == isThere)
        }
    }

    @Test(
        "the company refuses what its seed doesn't grant, and says why",
        arguments: [
            ([:], "grace", "invalid_target", "doesn't give this account access"),
            (["audience": "https://elsewhere.example"], "ada", "invalid_target", "crossAppAccess of \"corp\""),
            (["audience": nil], "ada", "invalid_request", "send one audience"),
            (["scope": "admin"], "ada", "invalid_scope", "grants none of these"),
            (["resource": "no"], "ada", "invalid_target", "absolute URI"),
            (
                ["subject_token_type": "urn:ietf:params:oauth:token-type:access_token"], "ada", "invalid_request",
                "an ID token or a refresh token"
            ),
            (
                ["subject_token_type": "urn:ietf:params:oauth:token-type:id-jag"], "ada", "invalid_request",
                "an ID token or a refresh token"
            ),
            (["subject_token": "a.b.c"], "ada", "invalid_request", "isn't a valid token"),
        ] as [([String: String?], String, String, String)])
    func company(changes: [String: String?], person: String, error: String, reason: String) throws {
        let answer = try exchange(try idToken(of: person), changes)
        #expect(answer.status == 400)
        #expect(answer["error"] == error, "\(answer)")
        #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
    }

    @Test("a refresh token stands for its person, and an ID token for its own client alone")
    func subjects() throws {
        let tokens = try fixture.signIn(["scope": "openid offline_access"])
        let refresh = try exchange(
            try #require(tokens["refresh_token"]),
            ["subject_token_type": IdentityAssertionTests.type("refresh_token"), "scope": nil])
        #expect(refresh.status == 200, "\(refresh)")
        #expect(refresh["scope"] == "mcp:read mcp:write")
        #expect(try redeem(refresh["access_token"]).status == 200)
        let own = try fixture.client.post(
            "\(fixture.base)/token",
            form: [
                "grant_type": "authorization_code", "redirect_uri": "http://localhost:4000/callback",
                "code_verifier": OpenIDFixture.verifier, "client_id": OpenIDFixture.spa,
                "code": try fixture.code([
                    "client_id": OpenIDFixture.spa, "redirect_uri": "http://localhost:4000/callback",
                    "code_challenge": OpenIDFixture.challenge, "code_challenge_method": "S256",
                ]),
            ])
        let foreign = try exchange(try #require(own["id_token"]))
        #expect(foreign["error"] == "invalid_grant", "\(foreign)")
    }

    @Test(
        "the vendor refuses an assertion that isn't good, and says why",
        arguments: [
            (#"{"claims":{"aud":"https://elsewhere.example"}}"#, "ask for one with audience="),
            (#"{"claims":{"aud":["a","b"]}}"#, "ask for one with audience="),
            (#"{"claims":{"client_id":"web"}}"#, "the client that authenticates"),
            (#"{"claims":{"iss":"https://elsewhere.example"}}"#, "trustedIssuers of"),
            (#"{"claims":{"exp":"-1h"}}"#, "it has expired"), (#"{"claims":{"exp":null}}"#, "it has expired"),
            (#"{"claims":{"iat":"+1h"}}"#, "iat lies in the future"), (#"{"claims":{"iat":null}}"#, "iat is missing"),
            (#"{"claims":{"jti":null}}"#, "jti is missing"), (#"{"claims":{"sub":null}}"#, "sub is missing"),
            (#"{"claims":{"sub":"nobody"}}"#, "no account"), (#"{"header":{"typ":"JWT"}}"#, "typ"),
            (#"{"signature":"invalid"}"#, "isn't signed"), (#"{"signature":"none"}"#, "isn't signed"),
            (#"{"signature":"unknownKey"}"#, "isn't signed"), (#"{"signature":"wrongAlgorithm"}"#, "isn't signed"),
        ])
    func vendor(broken: String, reason: String) throws {
        let token = try JSONSerialization.jsonObject(with: Data(broken.utf8))
        let idToken = try idToken()
        let order: [String: Any] = ["match": ["path": "/oidc/corp/token"], "effect": ["token": token]]
        #expect(try fixture.client.post("\(OpenIDFixture.control)/faults", json: order).status == 201)
        let answer = try redeem(try exchange(idToken)["access_token"])
        #expect(answer.status == 400)
        #expect(answer["error"] == "invalid_grant", "\(answer)")
        #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
    }

    @Test("is for one client, its scopes and its resources, where it is trusted")
    func limits() throws {
        let assertion = try exchange(try idToken(), ["scope": "mcp:read mcp:write"])["access_token"]
        let other = OpenIDFixture.basic("other", secret: "other-secret")
        #expect(try redeem(assertion, headers: other)["error"] == "invalid_grant")
        #expect(try redeem(assertion, at: "stranger")["error"] == "unsupported_grant_type")
        #expect(try redeem(assertion, ["client_id": "public"], headers: [:])["error"] == "unauthorized_client")
        #expect(try redeem(nil)["error"] == "invalid_request")
        #expect(try redeem(assertion, ["scope": "admin"])["error"] == "invalid_scope")
        #expect(try redeem(assertion, ["scope": "mcp:write"])["scope"] == "mcp:write")
        #expect(try redeem(assertion, ["resource": "https://elsewhere.example/"])["error"] == "invalid_target")
        #expect(try redeem(assertion, ["resource": resource])["resource"] == resource)
        try fixture.advance("6m")
        #expect(try redeem(assertion).diagnosis.contains("it has expired"))
    }

    @Test("is bound to the key with which it was asked for")
    func bound() throws {
        let proof = try DPoPTests.proof("POST", "\(fixture.issuer)/token")
        let given = try exchange(try idToken(), headers: OpenIDFixture.basic().merging(proof) { $1 })
        #expect(given["token_type"] == "N_A")
        let assertion = given["access_token"]
        #expect((OpenIDFixture.claims(assertion)["cnf"] as? [String: Any])?["jkt"] as? String != nil)
        #expect(try redeem(assertion)["error"] == "invalid_grant")
        for (key, type) in [(DPoPTests.other, nil), (DPoPTests.key, "DPoP")] {
            let proof = try DPoPTests.proof("POST", "\(vendor)/token", key: key)
            let tokens = try redeem(assertion, headers: IdentityAssertionTests.agent.merging(proof) { $1 })
            #expect(tokens["token_type"] == type, "\(tokens)")
        }
    }

    @Test(
        "a seed names issuers and people that are there",
        arguments: [#""trustedIssuers":["crop"]"#, #""crossAppAccess":[{"issuer":"crop"}]"#])
    func seeds(member: String) {
        let failure = #expect(throws: (any Error).self) { try OpenIDFixture(issuer: member, isAlone: true) }
        #expect(failure.map { "\($0)" }?.contains("did you mean \"corp\"") == true)
    }

    @Test("the scenario refuses each assertion")
    func scenario() throws {
        let assertion = try exchange(try idToken())["access_token"]
        #expect(try redeem(assertion).status == 200)
        let play = "\(OpenIDFixture.control)/scenarios/mcp-assertion-refused"
        #expect(try fixture.client.request("POST", play).status < 300)
        for _ in 0..<2 { #expect(try redeem(assertion)["error"] == "invalid_grant") }
        #expect(try fixture.token(["grant_type": "client_credentials"]).status == 200)
    }
}
