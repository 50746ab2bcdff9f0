import Foundation
import JSON
import TestSupport
import Testing

extension Receiver {
    fileprivate var payloads: [String] { requests.map { (try? JSONValue(parsing: $0.body))?["payload"]?.string ?? "" } }
}

@Suite("Apple: server-to-server notifications")
struct NotificationTests {
    private func fixture(_ receiver: Receiver, more: String = "") throws -> AppleFixture {
        try AppleFixture(
            seed: #"{"apple":{\#(more)"teams":[{"id":"A1B2C3D4E5","notificationsURL":"\#(receiver.url)"}]}}"#)
    }

    private func notify(_ fixture: AppleFixture, _ type: String, account: String = "grace") throws -> Answer {
        try fixture.client.post(
            "\(AppleFixture.control)/apple/notifications",
            json: ["type": type, "account": account, "client": AppleFixture.app])
    }

    @Test(
        "each type is signed, posted and answered with what became of it", .pyJWT,
        arguments: ["email-disabled", "email-enabled", "consent-revoked", "account-deleted"])
    func types(type: String) throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        let user = try fixture.native(["account": "grace"])["user"]
        let before = Date().timeIntervalSince1970
        let answer = try notify(fixture, type)
        let after = Date().timeIntervalSince1970
        #expect(answer.json["delivered"] as? Bool == true)
        #expect(answer.json["status"] as? Int == 200)
        #expect(answer.json["attempts"] as? Int == 1)
        #expect(receiver.payloads == [answer["payload"] ?? ""])
        let claims = try TokenVerifier.claims(
            of: .init(
                answer["payload"], keys: fixture.client.get("\(AppleFixture.prefix)/auth/keys").text,
                audience: AppleFixture.app, issuer: AppleFixture.issuer,
                requires: ["iss", "aud", "iat", "jti", "events"]))
        #expect(claims["aud"] as? String == AppleFixture.app)
        let event = try JSONValue(parsing: claims["events"] as? String ?? "")
        #expect(event["type"]?.string == type)
        #expect(event["sub"]?.string == user)
        // The time is in milliseconds, but may be rounded to seconds.
        #expect((before - 1...after + 1).contains(Double(event["event_time"]?.integer ?? 0) / 1000))
        #expect((event["email"]?.string?.hasSuffix("@privaterelay.appleid.com") ?? false) == type.hasPrefix("email"))
        #expect(event["is_private_email"]?.string == (type.hasPrefix("email") ? "true" : nil))
        let state = "\(AppleFixture.control)/apple/credential-state?client=\(AppleFixture.app)&user=\(user ?? "")"
        #expect(try fixture.client.get(state)["state"] == (type.hasPrefix("email") ? "authorized" : "revoked"))
    }

    @Test("the other spelling of a deleted account, where the seed says so")
    func spelling() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try fixture(receiver, more: #""accountDeletedEvent":"account-delete","#)
        _ = try fixture.native(["account": "grace"])
        let answer = try notify(fixture, "account-deleted")
        #expect((answer.json["events"] as? [String: Any])?["type"] as? String == "account-delete")
    }

    @Test("a receiver that fails is tried three times more")
    func retries() throws {
        let receiver = try Receiver(statuses: [500, 503, 404])
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        _ = try fixture.native(["account": "grace"])
        let answer = try notify(fixture, "email-disabled")
        #expect(answer.json["delivered"] as? Bool == true)
        #expect(answer.json["attempts"] as? Int == 4)
        #expect(Set(receiver.payloads).count == 1)
    }

    @Test("a receiver that isn't there is an outcome, too")
    func unreachable() throws {
        let receiver = try Receiver()
        let fixture = try fixture(receiver)
        receiver.stop()
        _ = try fixture.native(["account": "grace"])
        let answer = try notify(fixture, "email-disabled")
        #expect(answer.status == 200)
        #expect(answer.json["delivered"] as? Bool == false)
        #expect(answer.json["attempts"] as? Int == 4)
        #expect(answer["failure"]?.contains("can't connect") ?? false)
    }

    @Test("a revoked grant and a removed account notify by themselves")
    func bySelf() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try fixture(receiver)
        let token = try fixture.token(["code": fixture.code()])["refresh_token"] ?? ""
        _ = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/revoke",
            form: ["client_id": AppleFixture.service, "client_secret": AppleFixture.secret(), "token": token])
        _ = try fixture.native(["account": "linus"])
        _ = try fixture.client.request("DELETE", "\(AppleFixture.control)/accounts/linus")
        #expect(eventually { receiver.payloads.count >= 2 })
        let types = receiver.payloads.compactMap { payload -> String? in
            let claims = AppleFixture.claims(payload)
            return (try? JSONValue(parsing: claims["events"] as? String ?? ""))?["type"]?.string
        }
        #expect(Set(types) == ["consent-revoked", "account-deleted"])
    }

    @Test("an event happens also where nobody is told of it")
    func nobodyToTell() throws {
        let fixture = try AppleFixture()
        let user = try fixture.native(["account": "ada"])["user"]
        let answer = try notify(fixture, "consent-revoked", account: "ada")
        #expect(answer.status == 200)
        #expect(answer.json["delivered"] as? Bool == false)
        #expect(answer["failure"]?.contains("no notificationsURL") == true)
        let query = "client=\(AppleFixture.app)&user=\(user ?? "")"
        let state = try fixture.client.get("\(AppleFixture.control)/apple/credential-state?\(query)")
        #expect(state.text.contains("revoked"))
    }

    @Test("what can't be notified is refused with the reason")
    func refusals() throws {
        let fixture = try AppleFixture()
        #expect(try notify(fixture, "email-disabled").diagnosis.contains("no current consent"))
        _ = try fixture.native(["account": "ada"])
        #expect(try notify(fixture, "email-disabled", account: "ada").diagnosis.contains("shares its address"))
        #expect(try notify(fixture, "consent-revokd").diagnosis.contains("\"consent-revoked\""))
    }
}
