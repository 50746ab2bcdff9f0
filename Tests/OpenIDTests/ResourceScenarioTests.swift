import Foundation
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

    private func call(_ token: String?) throws -> Answer {
        try fixture.client.post(
            "/mcp/corp", json: ["jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["name": "whoami"]],
            headers: fixture.bearer(token))
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
}
