import Foundation
import TestSupport
import Testing

@Suite("Firebase: accounts:revokeToken")
struct RevokeTokenTests {
    private func revoke(
        _ fixture: FirebaseFixture, _ token: String?, type: Any = "3", idToken: String? = nil,
        provider: String = "apple.com"
    ) throws -> Answer {
        let signedIn = try idToken ?? fixture.signUpAnonymously()["idToken"]
        return try fixture.v2(
            "accounts:revokeToken",
            ["providerId": provider, "tokenType": type, "token": token ?? "", "idToken": signedIn ?? ""])
    }

    @Test("a device's code is redeemed and its grant revoked at our Apple, which tells the app's server")
    func nativeCode() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let fixture = try FirebaseFixture(
            seed: #"{"apple":{"teams":[{"id":"A1B2C3D4E5","notificationsURL":"\#(receiver.url)"}]}}"#)
        let credential = try fixture.apple()
        let answer = try revoke(fixture, credential["authorizationCode"])
        #expect(answer.status == 200)
        #expect(answer.text == "{}")
        let state = try fixture.client.get(
            "\(FirebaseFixture.control)/apple/credential-state?client=com.example.app&user=\(credential["user"] ?? "")")
        #expect(state["state"] == "revoked")
        #expect(eventually { receiver.requests.count == 1 })
        let again = try revoke(fixture, credential["authorizationCode"])
        #expect(again.status == 400)
        #expect(
            again.message.hasPrefix(
                "INVALID_IDP_RESPONSE : Error getting access token from Apple. OAuth2 redirect uri is "
                    + "https://demo-app.firebaseapp.com/__/auth/handler"))
        #expect((again.json["error"] as? [String: Any])?["status"] as? String == "INVALID_ARGUMENT")
        #expect(!again.diagnosis.isEmpty)
    }

    @Test("every form of the type; wrong, expired and strangers' codes")
    func refusals() throws {
        let fixture = try FirebaseFixture()
        for type in ["3", 3, "CODE"] as [Any] {
            #expect(try revoke(fixture, fixture.apple(nonce: nil)["authorizationCode"], type: type).status == 200)
        }
        for type in ["1", "REFRESH_TOKEN", 2, "ACCESS_TOKEN"] as [Any] {
            #expect(try revoke(fixture, "anything", type: type).status == 200)
        }
        #expect(try revoke(fixture, "x", type: "NONSENSE").status == 400)
        #expect(try revoke(fixture, "c.0.wrong").errorCode == "INVALID_IDP_RESPONSE")
        #expect(try revoke(fixture, nil).status == 400)
        #expect(try revoke(fixture, "x", provider: "github.com").message == "INVALID_PROVIDER_ID")
        #expect(try revoke(fixture, "x", idToken: "nonsense").message == "INVALID_ID_TOKEN")
        let code = try fixture.apple(nonce: nil)["authorizationCode"]
        try fixture.advance("6m")
        let late = try revoke(fixture, code)
        #expect(late.errorCode == "INVALID_IDP_RESPONSE")
        #expect(late.diagnosis.contains("expired"))
    }

    @Test("a Services ID alone, as reports have production, refuses a device's code; without a key nothing works")
    func configuration() throws {
        let strict = try FirebaseFixture(
            seed:
                #"{"firebase":{"projects":[{"id":"demo-app","providers":{"apple.com":{"revokeNativeCodes":false}}}]}}"#)
        let refused = try revoke(strict, strict.apple()["authorizationCode"])
        #expect(refused.errorCode == "INVALID_IDP_RESPONSE")
        #expect(refused.diagnosis.contains("com.example.web"))
        let bare = try FirebaseFixture(
            seed:
                #"{"firebase":{"projects":[{"id":"bare","apiKeys":["bare-key"],"providers":{"anonymous":{},"apple.com":{"bundleIDs":["com.example.app"]}}}]}}"#
        )
        let idToken = try bare.v1("signUp", [:], key: "bare-key")["idToken"] ?? ""
        let answer = try bare.v2(
            "accounts:revokeToken",
            [
                "providerId": "apple.com", "tokenType": "3", "token": bare.apple()["authorizationCode"] ?? "",
                "idToken": idToken,
            ], key: "bare-key")
        #expect(answer.errorCode == "INVALID_IDP_RESPONSE")
        #expect(answer.diagnosis.contains("privateKeyFile"))
    }
}
