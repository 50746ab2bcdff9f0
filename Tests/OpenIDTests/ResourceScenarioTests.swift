import Foundation
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: scenarios of clients, resources and authorization servers")
struct ResourceScenarioTests {
    private let fixture: OpenIDFixture
    private var resource: String { "http://localhost:\(fixture.server.port)/mcp/corp" }

    init() throws { fixture = try OpenIDFixture(clients: #"{"clientID":"web","accessToken":"jwt"}"#) }

    private func play(_ name: String) throws {
        let answer = try fixture.client.request("POST", "\(OpenIDFixture.control)/scenarios/\(name)")
        #expect(answer.status < 300, "\(answer)")
    }

    private func metadata() throws -> [String: Any] {
        try fixture.client.get("/.well-known/oauth-authorization-server/oidc/corp").json
    }

    private func signIn() throws -> Answer {
        let code = try fixture.code(["scope": "openid offline_access mcp:read", "resource": resource])
        return try fixture.token(["code": code, "resource": resource])
    }

    private func call(_ token: String?, _ tool: String = "whoami") throws -> Answer {
        let arguments = tool == "whoami" ? [:] : ["text": "a"]
        return try fixture.client.post(
            "/mcp/corp",
            json: [
                "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["name": tool, "arguments": arguments],
            ], headers: fixture.bearer(token))
    }

    @Test("metadata that a client must not use")
    func documents() throws {
        #expect(try metadata()["issuer"] as? String == fixture.issuer)
        try play("mcp-metadata-of-another-issuer")
        for form in ["oauth-authorization-server/oidc/corp", "openid-configuration/oidc/corp"] {
            let document = try fixture.client.get("/.well-known/\(form)").json
            #expect(document["issuer"] as? String == "https://another-issuer.example")
        }
        try play("mcp-no-s256")
        let place = "/.well-known/oauth-protected-resource/mcp/corp"
        #expect(try fixture.client.get(place).json["resource"] as? String == resource)
        try play("mcp-foreign-resource")
        #expect(try fixture.client.get(place).json["resource"] as? String == "https://another-resource.example/mcp")
    }

    @Test("no S256, and no metadata of the resource")
    func missing() throws {
        try play("mcp-no-s256")
        #expect(try metadata()["code_challenge_methods_supported"] as? [String] == ["plain"])
        try play("mcp-no-resource-metadata")
        for place in ["/.well-known/oauth-protected-resource/mcp/corp", "/.well-known/oauth-protected-resource"] {
            #expect(try fixture.client.get(place).status == 404)
        }
    }

    @Test("an authorization response without iss, or with another's")
    func issuer() throws {
        #expect(try fixture.authorize().redirect["iss"] == fixture.issuer)
        try play("mcp-iss-missing")
        let answer = try fixture.authorize()
        #expect(answer.redirect["iss"] == nil)
        #expect(answer.redirect["code"] != nil)
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-iss-wrong")
        #expect(try fixture.authorize().redirect["iss"] == "https://another-issuer.example")
    }

    @Test("registrations that are refused or come too often")
    func registration() throws {
        let body = ["redirect_uris": ["https://a.example/"]]
        try play("mcp-registration-refused")
        let refused = try fixture.client.post("\(fixture.base)/register", json: body)
        #expect(refused["error"] == "invalid_client_metadata")
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-registration-rate-limited")
        let limited = try fixture.client.post("\(fixture.base)/register", json: body)
        #expect(limited.status == 429)
        #expect(limited.header("Retry-After") == "30")
    }

    @Test("tokens that the resource doesn't take")
    func tokens() throws {
        for (name, status) in [
            ("mcp-wrong-audience", 401), ("mcp-expired-tokens", 401), ("mcp-endless-step-up", 403),
        ] {
            #expect(try call(try signIn()["access_token"]).status == 200, "before \(name)")
            try play(name)
            for _ in 0..<2 { #expect(try call(try signIn()["access_token"]).status == status, "\(name)") }
            _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        }
    }

    @Test("keys that rotate end tokens, and a refresh brings one that works")
    func rotatedKeys() throws {
        let tokens = try signIn()
        try play("mcp-rotated-keys")
        let next = try fixture.token(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]])
        #expect(try call(tokens["access_token"]).diagnosis.contains("keys have rotated"))
        #expect(try call(next["access_token"]).status == 200)
    }

    @Test("a refresh that is refused")
    func refresh() throws {
        let tokens = try signIn()
        try play("mcp-refresh-revoked")
        let form = ["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]]
        for _ in 0..<2 { #expect(try fixture.token(form)["error"] == "invalid_grant") }
    }

    @Test("an authorization server that moves")
    func moved() throws {
        let tokens = try signIn()
        try play("mcp-moved-server")
        #expect(try call(tokens["access_token"]).status == 401)
        let document = try fixture.client.get("/.well-known/oauth-protected-resource/mcp/corp").json
        let issuer = "http://localhost:\(fixture.server.port)/oidc/moved"
        #expect(document["authorization_servers"] as? [String] == [issuer])
        let metadata = try fixture.client.get("/.well-known/oauth-authorization-server/oidc/moved").json
        #expect(metadata["registration_endpoint"] as? String == "\(issuer)/register")
    }

    // MARK: - The client scenarios of the protocol's conformance suite

    private static let prm = "/.well-known/oauth-protected-resource"

    private func statuses(_ paths: [String]) throws -> [Int] { try paths.map { try fixture.client.get($0).status } }

    private func challenge(_ answer: Answer) -> String { answer.header("WWW-Authenticate") ?? "" }

    @Test("metadata that clients must look for")
    func metadataLocations() throws {
        let asked = ["\(Self.prm)/mcp/corp", Self.prm, "/mcp/corp\(Self.prm)"]
        func documents(_ issuer: String) -> [String] {
            [
                "/.well-known/oauth-authorization-server/oidc/\(issuer)",
                "/.well-known/openid-configuration/oidc/\(issuer)",
                "/oidc/\(issuer)/.well-known/openid-configuration",
            ]
        }
        try play("mcp-metadata-unannounced")
        #expect(!challenge(try call(nil)).contains("resource_metadata"))
        #expect(try statuses(asked) == [200, 200, 200])
        #expect(try statuses(documents("corp")) == [404, 200, 200])
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-metadata-at-the-root")
        #expect(!challenge(try call(nil)).contains("resource_metadata"))
        #expect(try statuses(asked) == [404, 200, 404])
        #expect(try statuses(documents("tenant1")) == [200, 404, 404])
        let tenant = "http://localhost:\(fixture.server.port)/oidc/tenant1"
        #expect(try fixture.client.get(Self.prm).json["authorization_servers"] as? [String] == [tenant])
        #expect(try fixture.client.get(documents("tenant1")[0]).json["issuer"] as? String == tenant)
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-metadata-elsewhere")
        #expect(challenge(try call(nil)).contains("/mcp/corp\(Self.prm)\""))
        #expect(try statuses(asked) == [404, 404, 200])
        #expect(try statuses(documents("tenant1")) == [404, 404, 200])
    }

    @Test("a challenge with the missing scope alone")
    func missingScope() throws {
        try play("mcp-step-up-by-difference")
        #expect(challenge(try call(nil)).contains(#"scope="mcp:read""#))
        let refused = try call(try signIn()["access_token"], "write_note")
        #expect(refused.status == 403)
        #expect(challenge(refused).contains(#"scope="mcp:write""#))
        let listed = try fixture.client.get("\(Self.prm)/mcp/corp").json["scopes_supported"] as? [String]
        #expect(listed == ["mcp:profile"])
    }

    @Test("scopes that only the metadata names")
    func scopesOfMetadata() throws {
        try play("mcp-scopes-from-metadata")
        #expect(!challenge(try call(nil)).contains("scope="))
        let listed = try fixture.client.get("\(Self.prm)/mcp/corp").json["scopes_supported"] as? [String]
        #expect(listed == ["mcp:basic", "mcp:read", "mcp:write"])
        #expect(try call(try signIn()["access_token"]).status == 403)
    }

    @Test("a resource without scopes")
    func noScopes() throws {
        try play("mcp-no-scopes")
        #expect(!challenge(try call(nil)).contains("scope="))
        #expect(try fixture.client.get("\(Self.prm)/mcp/corp").json["scopes_supported"] == nil)
        let code = try fixture.code(["scope": nil, "resource": resource])
        let token = try fixture.token(["code": code, "resource": resource])["access_token"]
        for tool in ["whoami", "write_note"] { #expect(try call(token, tool).status == 200, "\(tool)") }
    }

    @Test(
        "one way of client authentication, which registrations get", arguments: ["client_secret_basic", "none"])
    func clientAuthentication(method: String) throws {
        let played = try fixture.client.post(
            "\(OpenIDFixture.control)/scenarios/mcp-token-endpoint-auth", json: ["method": method])
        #expect(played.status == 200, "\(played)")
        #expect(try metadata()["token_endpoint_auth_methods_supported"] as? [String] == [method])
        for asked in ["client_secret_post", "none", "private_key_jwt"] {
            let client = try fixture.client.post(
                "\(fixture.base)/register",
                json: ["redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": asked])
            #expect(client["token_endpoint_auth_method"] == method, "\(client)")
            #expect((client["client_secret"] == nil) == (method == "none"))
        }
    }

    @Test("a client that is registered in advance, and one that acts for itself")
    func seeded() throws {
        try play("mcp-preregistration")
        let document = try metadata()
        #expect(document["registration_endpoint"] == nil)
        #expect(document["client_id_metadata_document_supported"] == nil)
        let callback = "http://127.0.0.1:4000/callback"
        let code = try fixture.code([
            "client_id": "pre-registered-client", "redirect_uri": callback, "scope": "mcp:read", "resource": resource,
        ])
        let tokens = try fixture.client.post(
            "\(fixture.base)/token",
            form: ["grant_type": "authorization_code", "code": code, "redirect_uri": callback, "resource": resource],
            headers: OpenIDFixture.basic("pre-registered-client", secret: "pre-registered-secret"))
        #expect(try call(tokens["access_token"]).status == 200, "\(tokens)")
        try play("mcp-client-credentials")
        let machine = try fixture.client.post(
            "\(fixture.base)/token",
            form: ["grant_type": "client_credentials", "scope": "mcp:read", "resource": resource],
            headers: OpenIDFixture.basic("machine", secret: "machine-secret"))
        #expect(try call(machine["access_token"]).status == 200, "\(machine)")
    }

    @Test("an issuer without refresh tokens")
    func noOfflineAccess() throws {
        #expect((try metadata()["scopes_supported"] as? [String])?.contains("offline_access") == true)
        try play("mcp-no-offline-access")
        #expect((try metadata()["scopes_supported"] as? [String])?.contains("offline_access") == false)
        #expect((try metadata()["grant_types_supported"] as? [String])?.contains("refresh_token") == false)
        #expect(try signIn()["refresh_token"] == nil)
    }

    @Test("an issuer that isn't named, is named unannounced, and differs by a slash")
    func issuerNames() throws {
        let member = "authorization_response_iss_parameter_supported"
        try play("mcp-iss-normalized")
        #expect(try metadata()[member] as? Bool == true)
        #expect(try fixture.authorize().redirect["iss"] == "\(fixture.issuer)/")
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-iss-unexpected")
        #expect(try metadata()[member] == nil)
        #expect(try fixture.authorize().redirect["iss"] == "https://another-issuer.example")
        _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        try play("mcp-iss-not-advertised")
        #expect(try metadata()[member] as? Bool == false)
        let answer = try fixture.authorize().redirect
        #expect(answer["iss"] == nil && answer["code"] != nil)
    }

    @Test("tokens that are bound to a key, and proofs with a nonce", arguments: ["mcp-dpop", "mcp-dpop-nonce"])
    func bound(scenario: String) throws {
        try play(scenario)
        let document = try fixture.client.get("\(Self.prm)/mcp/corp").json
        #expect(document["dpop_bound_access_tokens_required"] as? Bool == true)
        #expect(challenge(try call(nil)).hasPrefix("DPoP "))
        #expect(try signIn()["error"] == "invalid_dpop_proof")
        let form = [
            "grant_type": "authorization_code", "redirect_uri": OpenIDFixture.callback,
            "code": try fixture.code(["scope": "mcp:read", "resource": resource]),
        ]
        func redeem(_ claims: [String: JSONValue?]) throws -> Answer {
            let proof = try DPoPTests.proof("POST", "\(fixture.issuer)/token", claims)
            return try fixture.client.post(
                "\(fixture.base)/token", form: form, headers: OpenIDFixture.basic().merging(proof) { $1 })
        }
        let first = try redeem([:])
        let tokens =
            scenario == "mcp-dpop" ? first : try redeem(["nonce": first.header("DPoP-Nonce").map { .string($0) }])
        #expect((first["error"] == "use_dpop_nonce") == (scenario == "mcp-dpop-nonce"))
        #expect(tokens["token_type"] == "DPoP", "\(tokens)")
    }

    @Test("a company's people at a vendor")
    func companyAndVendor() throws {
        try play("mcp-company-and-vendor")
        let (base, urn) = ("http://localhost:\(fixture.server.port)", "urn:ietf:params:oauth")
        let company = OpenIDFixture.basic("company-client", secret: "company-secret")
        let callback = "http://localhost:4000/callback"
        let code = try fixture.code([
            "client_id": "company-client", "redirect_uri": callback, "scope": "openid", "nonce": nil,
        ])
        let signedIn = try fixture.client.post(
            "/oidc/corp/token", form: ["grant_type": "authorization_code", "code": code, "redirect_uri": callback],
            headers: company)
        let assertion = try fixture.client.post(
            "/oidc/corp/token",
            form: [
                "grant_type": "\(urn):grant-type:token-exchange", "scope": "mcp:read",
                "requested_token_type": "\(urn):token-type:id-jag", "audience": "\(base)/oidc/vendor",
                "resource": "\(base)/mcp/vendor", "subject_token": signedIn["id_token"] ?? "",
                "subject_token_type": "\(urn):token-type:id_token",
            ], headers: company)
        let access = try fixture.client.post(
            "/oidc/vendor/token",
            form: ["grant_type": "\(urn):grant-type:jwt-bearer", "assertion": assertion["access_token"] ?? ""],
            headers: OpenIDFixture.basic("vendor-client", secret: "vendor-secret"))
        #expect(access["scope"] == "mcp:read", "\(assertion) \(access)")
    }

    @Test("a workload with its platform's token")
    func workload() throws {
        try play("mcp-workload")
        func redeem(_ claims: [String: Any] = [:], _ form: [String: String] = [:], signature: String = "valid") throws
            -> Answer
        {
            let minted = try fixture.client.post(
                "\(OpenIDFixture.control)/tokens",
                json: [
                    "provider": "openid", "client": "cluster", "account": "ada", "signature": signature,
                    "claims": ["sub": "workload", "aud": fixture.issuer].merging(claims) { $1 },
                ])
            let token = try #require(minted["token"] ?? minted["idToken"] ?? minted["id_token"], "\(minted)")
            let asked = [
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": token, "scope": "mcp:read",
                "resource": resource,
            ].merging(form) { $1 }
            return try fixture.client.post("\(fixture.base)/token", form: asked)
        }
        for form in [[:], ["client_id": "workload"]] {
            let access = try redeem([:], form)
            #expect(access["refresh_token"] == nil)
            let answer = try call(access["access_token"])
            #expect(answer.status == 200 && answer.text.contains("workload"), "\(access) \(answer)")
        }
        for (claims, reason) in [
            (["aud": "https://other.example"], "ask the platform for a token for this issuer"),
            (["exp": "-1h"], "it has expired"), (["sub": "another"], "clients of workloadPlatforms"),
            (["iss": "https://other.example"], "name the platform in workloadPlatforms"),
        ] {
            let refused = try redeem(claims)
            #expect(refused["error"] == "invalid_grant")
            #expect(refused.diagnosis.contains(reason), "\(refused.diagnosis)")
        }
        #expect(try redeem(signature: "unknownKey").diagnosis.contains("isn't signed by a key"))
        let other = try fixture.client.post(
            "\(fixture.base)/token",
            form: ["grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "a.b.c"])
        #expect(other["error"] == "invalid_client")
    }
}
