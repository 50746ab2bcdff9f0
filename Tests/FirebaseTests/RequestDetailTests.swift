import Foundation
import TestSupport
import Testing

@Suite("Firebase: details on which clients depend")
struct RequestDetailTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    @Test(
        "requestType comes by name or by number",
        arguments: [("1", "PASSWORD_RESET"), ("6", "EMAIL_SIGNIN"), ("PASSWORD_RESET", "PASSWORD_RESET")])
    func requestTypes(sent: String, wanted: String) throws {
        _ = try fixture.signUp("ada@example.org")
        let answer = try fixture.v1(
            "sendOobCode",
            [
                "requestType": Int(sent) ?? sent as Any, "email": "ada@example.org",
                "continueUrl": "http://localhost/done",
            ])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try fixture.mail("ada@example.org")["requestType"] as? String == wanted)
        #expect(try fixture.v1("sendOobCode", ["requestType": 99]).message == "MISSING_REQ_TYPE")
    }

    @Test("an empty address isn't a missing one")
    func emptyAddress() throws {
        for name in ["signUp", "signInWithPassword"] {
            #expect(try fixture.v1(name, ["email": "", "password": ""]).message == "INVALID_EMAIL")
        }
        #expect(try fixture.v1("signUp", ["password": ""]).message == "MISSING_EMAIL")
        #expect(try fixture.v1("signUp", [:]).status == 200)
    }

    @Test("who is signed in sees the whole number of a second factor, and times with milliseconds")
    func ownFactor() throws {
        let user = try fixture.verifiedUser()
        _ = try fixture.admin(
            "POST", "/accounts:update",
            [
                "localId": user["localId"] ?? "",
                "mfa": ["enrollments": [["mfaEnrollmentId": "f1", "phoneInfo": "+15555550199"]]],
            ])
        let seen = try fixture.lookup(user["idToken"])
        let factor = try #require((seen["mfaInfo"] as? [[String: Any]])?.first)
        #expect(factor["phoneInfo"] as? String == "+15555550199")
        for time in [factor["enrolledAt"], seen["lastRefreshAt"]] {
            let text = try #require(time as? String)
            #expect(text.wholeMatch(of: /[0-9-]+T[0-9:]+[.][0-9]{3}Z/) != nil, "\(text)")
        }
        let first = try fixture.v1(
            "signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        let hint = (first.json["mfaInfo"] as? [[String: Any]])?.first
        #expect(hint?["phoneInfo"] as? String == "+*******0199")
    }

    @Test("a number isn't both factors of one user")
    func phoneAsFirstFactor() throws {
        let user = try fixture.verifiedUser()
        _ = try fixture.admin(
            "POST", "/accounts:update",
            [
                "localId": user["localId"] ?? "",
                "mfa": ["enrollments": [["mfaEnrollmentId": "f1", "phoneInfo": "+15555550199"]]],
            ])
        let sent = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550198"])
        let linked = try fixture.v1(
            "signInWithPhoneNumber",
            [
                "sessionInfo": sent["sessionInfo"] ?? "", "code": try fixture.message("+15555550198"),
                "idToken": user["idToken"] ?? "",
            ])
        #expect(linked.errorCode == "UNSUPPORTED_FIRST_FACTOR")
        #expect(try fixture.adminUser(user["localId"] ?? "")["phoneNumber"] == nil)
    }

    @Test(
        "an administrator's reset link for an unknown address hides it, or says so",
        arguments: [(true, ""), (false, "EMAIL_NOT_FOUND")])
    func unknownReset(hides: Bool, wanted: String) throws {
        _ = try fixture.client.post(
            "/emulator/v1/projects/demo-app/config",
            json: ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": hides]], method: "PATCH")
        func send(_ type: String) throws -> Answer {
            try fixture.admin(
                "POST", "/accounts:sendOobCode",
                ["requestType": type, "email": "nobody@example.org", "returnOobLink": true])
        }
        let reset = try send("PASSWORD_RESET")
        #expect(reset.message == wanted)
        #expect(reset["oobLink"] == nil)
        #expect(try send("VERIFY_EMAIL").message == "USER_NOT_FOUND")
    }

    @Test("who was anonymous has signed in with the password that accounts:update set")
    func upgrade() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "emailEnumerationProtection": false}]}}"#)
        let anonymous = try fixture.signUpAnonymously()
        let changed = try fixture.v1(
            "update",
            [
                "idToken": anonymous["idToken"] ?? "", "email": "ada@example.org", "password": "correct horse",
                "returnSecureToken": true,
            ])
        let firebase = changed.claims()["firebase"] as? [String: Any]
        #expect(firebase?["sign_in_provider"] as? String == "password", "\(changed.text)")
    }
}
