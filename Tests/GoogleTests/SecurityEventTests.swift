import Foundation
import TestSupport
import Testing

// https://developers.google.com/identity/protocols/risc
@Suite("Google: Cross-Account Protection")
struct SecurityEventTests {
    let receiver: Receiver
    let world: FirebaseFixture
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type"
    private static let oauth = "https://schemas.openid.net/secevent/oauth/event-type"

    init() throws {
        receiver = try Receiver()
        world = try FirebaseFixture(seed: #"{"google":{"securityEventsURL":"\#(receiver.url)"}}"#)
    }

    private func tokens(_ scope: String = "openid email") throws -> Answer {
        try world.order(["provider": "google", "outcome": "approve", "account": "ada"])
        let query = [
            "client_id": GoogleFixture.web, "redirect_uri": GoogleFixture.callback, "response_type": "code",
            "scope": scope, "access_type": "offline",
        ]
        let code = try world.client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(query))")
            .redirect["code"]
        return try token(["grant_type": "authorization_code", "code": code ?? ""])
    }

    private func token(_ fields: [String: String]) throws -> Answer {
        let form = [
            "client_id": GoogleFixture.web, "client_secret": GoogleFixture.secret,
            "redirect_uri": GoogleFixture.callback,
        ]
        return try world.client.post("/oauth2.googleapis.com/token", form: form.merging(fields) { $1 })
    }

    private func refresh(_ token: String?) throws -> Answer {
        try self.token(["grant_type": "refresh_token", "refresh_token": token ?? ""])
    }

    private func send(_ type: String, _ more: [String: Any] = ["account": "ada"]) throws -> Answer {
        let order: [String: Any] = ["type": type, "client": GoogleFixture.web]
        return try world.client.post(
            "\(GoogleFixture.control)/google/security-events", json: order.merging(more) { $1 })
    }

    @Test(
        "each event is a signed token, posted as it is, that a receiver verifies as Google says", .pyJWT,
        arguments: [
            ("sessions-revoked", risc, nil), ("tokens-revoked", oauth, nil), ("account-disabled", risc, "hijacking"),
            ("account-disabled", risc, nil), ("account-enabled", risc, nil),
            ("account-credential-change-required", risc, nil),
        ] as [(String, String, String?)])
    func events(type: String, family: String, reason: String?) throws {
        let signedIn = try tokens()
        var order: [String: Any] = ["account": "ada"]
        order["reason"] = reason
        let answer = try send(type, order)
        #expect(answer.json["delivered"] as? Bool == true, "\(answer)")
        let posted = try #require(receiver.requests.first)
        #expect(posted.header("Content-Type") == "application/secevent+jwt")
        let configuration = try world.client.get("/accounts.google.com/.well-known/risc-configuration")
        #expect(configuration["issuer"] == "https://accounts.google.com/")
        #expect(configuration["jwks_uri"]?.hasSuffix("/www.googleapis.com/oauth2/v3/certs") ?? false)
        let claims = try TokenVerifier.claims(
            of: .init(
                String(decoding: posted.body, as: UTF8.self),
                keys: world.client.get("/www.googleapis.com/oauth2/v3/certs").text, audience: GoogleFixture.web,
                issuer: configuration["issuer"], requires: ["iss", "aud", "iat", "jti", "events"]))
        let events = claims["events"] as? [String: Any]
        #expect(events?.count == 1)
        let event = try #require(events?["\(family)/\(type)"] as? [String: Any], "\(claims)")
        let subject = event["subject"] as? [String: String]
        #expect(subject?["subject_type"] == "iss-sub" && subject?["iss"] == "https://accounts.google.com/")
        #expect(subject?["sub"] == signedIn.claims["sub"] as? String)
        #expect(event["reason"] as? String == reason)
        #expect(claims["exp"] == nil)
        // Of these events, only tokens-revoked ends the refresh token.
        #expect(try refresh(signedIn["refresh_token"]).status == (type == "tokens-revoked" ? 400 : 200))
    }

    @Test("one refresh token is named by its beginning, and stops alone")
    func tokenRevoked() throws {
        let text = try tokens()["refresh_token"] ?? ""
        let answer = try send("token-revoked", ["refreshToken": text])
        let event = answer.json["event"] as? [String: Any]
        #expect(
            event?["subject"] as? [String: String] == [
                "subject_type": "oauth_token", "token_type": "refresh_token", "token_identifier_alg": "prefix",
                "token": String(text.prefix(16)),
            ], "\(answer)")
        let refused = try refresh(text)
        #expect(refused["error_description"] == "Token has been expired or revoked.")
        #expect(refused.diagnosis.contains("Google revoked it"), "\(refused.diagnosis)")
        #expect(try send("token-revoked", ["refreshToken": text]).status == 404)
        #expect(try send("token-revoked", [:]).status == 404)
        #expect(receiver.requests.count == 1)
    }

    @Test("a test of the receiver has the state that was asked for, and no subject")
    func verification() throws {
        let answer = try send("verification", ["state": "hello"])
        #expect(answer.json["event"] as? [String: String] == ["state": "hello"], "\(answer)")
        let claims = answer.decoded("token")
        #expect((claims["events"] as? [String: Any])?.keys.first == "\(SecurityEventTests.risc)/verification")
    }

    @Test("nobody is told of people who granted neither email nor profile")
    func consent() throws {
        #expect(try send("sessions-revoked").status == 409)
        _ = try tokens(GoogleFixture.drive)
        let refused = try send("sessions-revoked")
        #expect(refused.status == 409 && refused.diagnosis.contains("neither email nor profile"), "\(refused)")
        #expect(try send("sessions-revoked", [:]).status == 400)
        #expect(try send("sessions-revoked", ["account": "ada", "client": "x"]).status == 404)
        #expect(receiver.requests.isEmpty)
    }

    @Test("without a receiver in the seed the event happens, and nobody is told")
    func noReceiver() throws {
        let fixture = try GoogleFixture()
        let token = try fixture.tokens(["access_type": "offline"])["refresh_token"]
        let answer = try fixture.client.post(
            "\(GoogleFixture.control)/google/security-events",
            json: ["type": "tokens-revoked", "account": "ada", "client": GoogleFixture.web])
        #expect(answer.json["delivered"] as? Bool == false && answer["failure"]?.contains("securityEventsURL") ?? false)
        #expect(answer.decoded("token")["aud"] as? String == GoogleFixture.web && answer.json["event"] != nil)
        let refused = try fixture.token(["grant_type": "refresh_token", "refresh_token": token])
        #expect(refused["error_description"] == "Token has been expired or revoked.")
    }
}
