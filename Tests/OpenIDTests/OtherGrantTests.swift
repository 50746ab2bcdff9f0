import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: devices and token exchange")
struct OtherGrantTests {
    private let fixture: OpenIDFixture
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let type = "urn:ietf:params:oauth:token-type"

    init() throws {
        fixture = try OpenIDFixture(
            clients: #"""
                {"clientID":"tv","name":"A television","redirectURIs":[]},
                {"clientID":"api","clientSecret":"s","accessToken":"jwt"},
                {"clientID":"pair","clientSecret":"s","subject":"pairwise","redirectURIs":["http://localhost:3000/callback"]}
                """#)
    }

    private func start() throws -> Answer {
        try fixture.client.post(
            "\(fixture.base)/device_authorization", form: ["client_id": "tv", "scope": "openid email"])
    }

    private func poll(_ code: String?) throws -> Answer {
        try fixture.client.post(
            "\(fixture.base)/token",
            form: [
                "client_id": "tv", "device_code": code ?? "",
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            ])
    }

    @Test("a device: the page, the pace, the tokens, once")
    func device() throws {
        try fixture.freeze()
        let started = try start()
        #expect(started["verification_uri"] == "\(fixture.issuer)/device")
        #expect(started.json["interval"] as? Int == 5)
        #expect(started.json["expires_in"] as? Int == 600)
        let code = started["user_code"] ?? ""
        #expect(code.count == 9)
        #expect(try poll(started["device_code"])["error"] == "authorization_pending")
        #expect(try poll(started["device_code"])["error"] == "slow_down")
        let browser = TestBrowser(fixture.client)
        let page = try browser.get("\(fixture.base)/device?user_code=\(code)")
        #expect(page.text.contains("value=\"\(code)\""))
        #expect(try browser.submit(page, ["user_code": "WRONG"]).status == 400)
        // People type the code in lower case, with a space.
        let people = try browser.submit(page, ["user_code": code.lowercased().replacingOccurrences(of: "-", with: " ")])
        #expect(people.text.contains("A television"))
        let consent = try browser.submit(people, ["account": "grace"])
        #expect(consent.text.contains("Grace Hopper"))
        #expect(try browser.submit(consent, ["action": "continue"]).text.contains("Connected"))
        try fixture.advance("11s")
        let tokens = try poll(started["device_code"])
        #expect(OpenIDFixture.claims(tokens["id_token"])["email"] as? String == "grace@example.com")
        try fixture.advance("11s")
        #expect(try poll(started["device_code"])["error"] == "invalid_grant")
    }

    @Test("a device that is refused, late, unknown, or approved as an outcome")
    func deviceEnds() throws {
        let cancelled = try start()
        let browser = TestBrowser(fixture.client)
        let page = try browser.get("\(fixture.base)/device?user_code=\(cancelled["user_code"] ?? "")")
        let people = try browser.submit(page, ["user_code": cancelled["user_code"] ?? ""])
        #expect(try browser.submit(people, ["action": "cancel"]).text.contains("Cancelled"))
        #expect(try poll(cancelled["device_code"])["error"] == "access_denied")
        #expect(try poll("x")["error"] == "invalid_grant")
        let late = try start()
        try fixture.advance("11m")
        #expect(try poll(late["device_code"])["error"] == "expired_token")
        try fixture.order(["outcome": "approve", "account": "ada", "scopes": ["openid"]])
        #expect(try poll(try start()["device_code"])["scope"] == "openid")
        try fixture.order(["outcome": "cancel"])
        #expect(try poll(try start()["device_code"])["error"] == "access_denied")
    }

    private func trade(_ token: String?, _ kind: String, _ changes: [String: String?] = [:]) throws -> Answer {
        let form: [String: String?] = [
            "client_id": "api", "client_secret": "s", "grant_type": OtherGrantTests.exchange, "subject_token": token,
            "subject_token_type": "\(OtherGrantTests.type):\(kind)",
        ]
        return try fixture.client.post(
            "\(fixture.base)/token", form: form.merging(changes) { $1 }.compactMapValues { $0 })
    }

    @Test("a token is exchanged for one of the client's own, on behalf of somebody")
    func exchange() throws {
        let tokens = try fixture.signIn(["scope": "openid email"])
        let answer = try trade(
            tokens["access_token"], "access_token",
            [
                "scope": "email", "audience": "https://backend.example",
                "actor_token": try fixture.signIn(by: "grace")["id_token"],
                "actor_token_type": "\(OtherGrantTests.type):id_token",
            ])
        #expect(answer["issued_token_type"] == "\(OtherGrantTests.type):access_token")
        #expect(answer["scope"] == "email")
        let claims = OpenIDFixture.claims(answer["access_token"])
        let (ada, grace) = (OpenIDFixture.claims(tokens["id_token"])["sub"], claims["act"] as? [String: Any])
        #expect(claims["sub"] as? String == ada as? String)
        #expect(claims["aud"] as? String == "https://backend.example")
        #expect(claims["client_id"] as? String == "api")
        #expect(grace?["sub"] as? String != claims["sub"] as? String)
        let idToken = try trade(
            tokens["access_token"], "access_token", ["requested_token_type": "\(OtherGrantTests.type):id_token"])
        #expect(OpenIDFixture.claims(idToken["access_token"])["aud"] as? String == "api")
        #expect(idToken["token_type"] == "N_A")
        #expect(try trade(tokens["id_token"], "id_token")["scope"] == "openid")
        let pairwise = try fixture.token([
            "client_id": "pair", "client_secret": "s", "code": try fixture.code(["client_id": "pair"]),
        ])
        #expect(
            OpenIDFixture.claims(try trade(pairwise["id_token"], "id_token")["access_token"])["sub"] as? String == ada
                as? String)
    }

    @Test("exchanges that are refused")
    func exchangeRefusals() throws {
        let tokens = try fixture.signIn(["scope": "openid email"])
        let token = tokens["access_token"]
        for (subject, kind, changes, error) in [
            ("x", "access_token", [:], "invalid_request"), (nil, "access_token", [:], "invalid_request"),
            (token, "saml2", [:], "invalid_request"),
            (token, "access_token", ["subject_token_type": nil], "invalid_request"),
            (token, "id_token", [:], "invalid_request"), (token, "access_token", ["scope": "admin"], "invalid_scope"),
            (
                token, "access_token", ["requested_token_type": "\(OtherGrantTests.type):refresh_token"],
                "invalid_request"
            ),
            (
                token, "access_token", ["scope": "email", "requested_token_type": "\(OtherGrantTests.type):id_token"],
                "invalid_scope"
            ), (token, "access_token", ["actor_token": "x"], "invalid_request"),
            (token, "access_token", ["client_id": "tv", "client_secret": nil], "unauthorized_client"),
            (token, "access_token", ["resource": "x#y"], "invalid_target"),
        ] as [(String?, String, [String: String?], String)] {
            let answer = try trade(subject, kind, changes)
            #expect(answer["error"] == error, "\(kind) \(changes) \(answer)")
            #expect(!answer.diagnosis.isEmpty)
        }
    }
}
