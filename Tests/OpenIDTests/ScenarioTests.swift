import Foundation
import TestSupport
import Testing

@Suite("OpenID Connect: scenarios")
struct ScenarioTests {
    private let fixture: OpenIDFixture

    init() throws { fixture = try OpenIDFixture() }

    private func play(_ name: String) throws {
        let answer = try fixture.client.request("POST", "\(OpenIDFixture.control)/scenarios/\(name)")
        #expect(answer.status < 300, "\(answer)")
    }

    private func keyIDs() throws -> [String] {
        let keys = try fixture.client.get("\(fixture.base)/jwks").json["keys"] as? [[String: Any]]
        return keys?.compactMap { $0["kid"] as? String } ?? []
    }

    @Test("a key that changes between two sign-ins")
    func rotatedKey() throws {
        let before = try keyIDs()
        try play("openid-rotated-key")
        _ = try fixture.signIn()
        #expect(try keyIDs() == before)
        _ = try fixture.signIn()
        #expect(try Set(keyIDs()).isDisjoint(with: before))
    }

    @Test("claims that are early, many, missing or wrong")
    func claims() throws {
        for (name, holds) in [
            ("openid-clock-ahead", { $0["iat"] as? Int ?? 0 > Int(Date().timeIntervalSince1970) + 200 }),
            ("openid-audience-list", { $0["aud"] as? [String] == ["web", "https://backend.example"] }),
            ("openid-missing-email", { $0["email"] == nil && $0["name"] != nil }),
            ("openid-nonce-mismatch", { $0["nonce"] as? String == "not-n" }),
        ] as [(String, ([String: Any]) -> Bool)] {
            #expect(!holds(OpenIDFixture.claims(try fixture.signIn()["id_token"])), "before \(name)")
            try play(name)
            #expect(holds(OpenIDFixture.claims(try fixture.signIn()["id_token"])), "\(name)")
            _ = try fixture.client.post("\(OpenIDFixture.control)/reset", json: [:])
        }
    }

    @Test("a logout token that nobody should believe")
    func logout() throws {
        let receiver = try Receiver(statuses: [400])
        defer { receiver.stop() }
        let fixture = try OpenIDFixture(clients: #"{"clientID":"web","backchannelLogoutURI":"\#(receiver.url)"}"#)
        _ = try fixture.client.request("POST", "\(OpenIDFixture.control)/scenarios/openid-logout-fails")
        let hint = try fixture.signIn()["id_token"] ?? ""
        #expect(try fixture.client.get("\(fixture.base)/logout?id_token_hint=\(hint)").text.contains("Signed out"))
        #expect(receiver.requests.count == 1)
        let recorded = try fixture.client.get("\(OpenIDFixture.control)/requests?host=127.0.0.1").text
        #expect(recorded.contains("answered 400"))
    }
}
