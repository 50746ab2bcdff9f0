import Foundation
import TestSupport
import Testing

@Suite("OpenID Connect: faults at an issuer's short address")
struct FaultAddressTests {
    private func order(_ fixture: OpenIDFixture, _ path: String, _ effect: [String: Any]) throws -> Answer {
        try fixture.client.post(
            "\(OpenIDFixture.control)/faults", json: ["match": ["path": path], "effect": effect])
    }

    @Test(
        "hold for the endpoint, by whichever address it is asked",
        arguments: [
            ("/oidc/corp/token", "/oidc/corp/token"), ("/oidc/corp/token", "/login.corp.example/token"),
            ("/oidc/*/token", "/oidc/corp/token"), ("/token", "/oidc/corp/token"),
            ("/.well-known/openid-configuration/oidc/corp", "/oidc/corp/.well-known/openid-configuration"),
        ])
    func holds(path: String, asked: String) throws {
        let fixture = try OpenIDFixture()
        let status = path.hasSuffix("token") ? 400 : 503
        let effect: [String: Any] = status == 400 ? ["error": "invalid_grant"] : ["status": 503]
        #expect(try order(fixture, path, effect).status == 201)
        func ask() throws -> Answer {
            guard status == 400 else { return try fixture.client.get(path) }
            return try fixture.client.post(
                asked, form: ["grant_type": "client_credentials"], headers: OpenIDFixture.basic())
        }
        #expect(try ask().status == status)
        #expect(try ask().status == 200)
    }

    @Test("hold for no other issuer's endpoint")
    func others() throws {
        let fixture = try OpenIDFixture(
            seed: #"{"openid":{"issuers":[{"id":"other","clients":[{"clientID":"c","clientSecret":"s"}]}]}}"#)
        #expect(try order(fixture, "/oidc/other/token", ["error": "invalid_grant"]).status == 201)
        let answer = try fixture.client.post(
            "\(fixture.base)/token", form: ["grant_type": "client_credentials"], headers: OpenIDFixture.basic())
        #expect(answer.status == 200)
    }

    @Test("that don't fit are refused in words about that endpoint")
    func misfits() throws {
        let fixture = try OpenIDFixture()
        let answer = try order(fixture, "/oidc/corp/jwks", ["error": "invalid_grant"])
        #expect(answer.status == 422 || answer.status == 400)
        #expect(answer.text.contains("login.corp.example/jwks"), "\(answer.text)")
        #expect(!answer.text.contains("graph.facebook.com"))
        let unknown = try order(fixture, "/oidc/corp/tokens", ["error": "invalid_grant"])
        #expect(unknown.status == answer.status)
        #expect(!unknown.text.contains("graph.facebook.com"), "\(unknown.text)")
    }
}
