import Foundation
import TestSupport
import Testing

@testable import Firebase

@Suite("Firebase: details of changes to users and settings")
struct UpdateDetailTests {
    private let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func change(_ user: Answer, factors: Any) throws -> Answer {
        try fixture.admin(
            "POST", "/accounts:update", ["localId": user["localId"] ?? "", "mfa": ["enrollments": factors]])
    }

    @Test(
        "an administrator's second factors have IDs of their own",
        arguments: [
            (["phoneInfo=+15555550100"], "INVALID_MFA_ENROLLMENT_ID : mfaEnrollmentId must be defined."),
            (["phoneInfo=1&mfaEnrollmentId=a"], "INVALID_MFA_PHONE_NUMBER : Invalid format."),
            (
                ["phoneInfo=+15555550100&mfaEnrollmentId=a", "phoneInfo=+15555550101&mfaEnrollmentId=a"],
                "DUPLICATE_MFA_ENROLLMENT_ID"
            ), (["mfaEnrollmentId=a&totpInfo="], "UNSUPPORTED_SECOND_FACTOR : attempting to add a new TOTP enrollment"),
        ])
    func wrongFactors(factors: [String], wanted: String) throws {
        let items = factors.map { text -> [String: Any] in
            var item: [String: Any] = [:]
            for pair in text.split(separator: "&") {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                item[parts[0]] = parts[0] == "totpInfo" ? [:] as [String: Any] : parts[1] as Any
            }
            return item
        }
        let user = try fixture.verifiedUser()
        #expect(try change(user, factors: items).message == wanted)
    }

    @Test("what lookup said of second factors can be sent back; a number twice is one; null isn't a list")
    func factors() throws {
        let user = try fixture.verifiedUser()
        let first: [String: Any] = [
            "mfaEnrollmentId": "a", "phoneInfo": "+15555550100", "enrolledAt": "2023-04-05T06:07:28.990Z",
        ]
        #expect(try change(user, factors: [first, first.merging(["mfaEnrollmentId": "b"]) { $1 }]).status == 200)
        let seen = try #require(try fixture.adminUser(user["localId"] ?? "")["mfaInfo"] as? [[String: Any]])
        #expect(seen.map { $0["mfaEnrollmentId"] as? String } == ["a"])
        #expect(seen.first?["enrolledAt"] as? String == "2023-04-05T06:07:28.990Z")
        #expect(
            try change(user, factors: seen + [["mfaEnrollmentId": "c", "phoneInfo": "+15555550101"]]).status == 200)
        #expect((try fixture.adminUser(user["localId"] ?? "")["mfaInfo"] as? [Any])?.count == 2)
        let null = try change(user, factors: NSNull())
        #expect(null.message == "Invalid JSON payload received. /mfa/enrollments must be array")
        #expect(try change(user, factors: [Any]()).status == 200)
        #expect(try fixture.adminUser(user["localId"] ?? "")["mfaInfo"] == nil)
    }

    @Test("a user's own validSince ends the sessions that began before, and a new one begins")
    func validSince() throws {
        let user = try fixture.signUp("ada@example.org")
        try fixture.advance("2s")
        let changed = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "validSince": "0"])
        #expect(try fixture.v1("lookup", ["idToken": user["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try fixture.v1("lookup", ["idToken": changed["idToken"] ?? ""]).status == 200)
    }

    @Test("linkProviderUserInfo links an identity that nobody else has")
    func linkedProvider() throws {
        let user = try fixture.signUp("ada@example.org")
        func link(_ info: [String: String], _ user: Answer) throws -> Answer {
            try fixture.v1("update", ["idToken": user["idToken"] ?? "", "linkProviderUserInfo": info])
        }
        #expect(try link(["providerId": "google.com"], user).message == "MISSING_RAW_ID")
        #expect(try link(["rawId": "1"], user).message == "MISSING_PROVIDER_ID")
        #expect(try link(["providerId": "google.com", "rawId": "1"], user).status == 200)
        #expect(try fixture.providers(user["idToken"]) == ["google.com", "password"])
        let other = try fixture.signUp("bob@example.org")
        #expect(
            try link(["providerId": "google.com", "rawId": "1"], other).message == "FEDERATED_USER_ID_ALREADY_LINKED")
    }

    @Test("a number that another user has isn't linked by a temporary proof")
    func temporaryProof() throws {
        let number = "+15555550123"
        func session() throws -> String {
            try fixture.v1("sendVerificationCode", ["phoneNumber": number])["sessionInfo"] ?? ""
        }
        let owner = try session()
        _ = try fixture.v1("signInWithPhoneNumber", ["sessionInfo": owner, "code": try fixture.message(number)])
        let user = try fixture.signUp("ada@example.org")
        let taken = try fixture.v1(
            "signInWithPhoneNumber",
            [
                "sessionInfo": try session(), "code": try fixture.message(number), "idToken": user["idToken"] ?? "",
            ])
        let proof: [String: Any] = ["temporaryProof": taken["temporaryProof"] ?? "", "phoneNumber": number]
        #expect(
            try fixture.v1("signInWithPhoneNumber", proof.merging(["idToken": user["idToken"] ?? ""]) { $1 }).message
                == "PHONE_NUMBER_EXISTS")
        #expect(try fixture.v1("signInWithPhoneNumber", proof).status == 200)
    }

    @Test(
        "what only administrators may send, and what isn't a URL",
        arguments: [
            ("signUp", ["localId": "mine"], "UNEXPECTED_PARAMETER : User ID"),
            (
                "signUp", ["targetProjectId": "other"],
                "INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id."
            ),
            ("signInWithIdp", ["requestUri": "nowhere", "postBody": "providerId=google.com"], "INVALID_REQUEST_URI"),
            ("signInWithIdp", ["requestUri": "http:", "postBody": "providerId=google.com"], "INVALID_REQUEST_URI"),
        ])
    func words(name: String, body: [String: String], wanted: String) throws {
        #expect(try fixture.v1(name, body).message == wanted)
    }

    @Test(
        "an update mask names fields, messages and everything",
        arguments: [
            ("", "a.b", true, true), ("a.b", "a.b", true, true), ("a", "a.b", true, true),
            ("a.c", "a.b", false, false), ("a.b_c,d", "a.bC", true, true), ("ab", "a.b", false, false),
            ("a.b.c", "a.b", false, true),
        ])
    func mask(text: String, path: String, names: Bool, touches: Bool) {
        #expect(UpdateMask(text).names(path) == names)
        #expect(UpdateMask(text).touches(path) == touches)
    }

    @Test("settings change as far as the mask says; without one the two begin afresh")
    func settings() throws {
        func patch(_ mask: String?, _ body: [String: Any]) throws -> [String: Any] {
            let query = mask.map { "?updateMask=\($0)" } ?? ""
            return try fixture.admin("PATCH", "/config\(query)", body, version: "v2").json
        }
        func flags(_ config: [String: Any]) -> [Bool?] {
            [
                (config["signIn"] as? [String: Any])?["allowDuplicateEmails"] as? Bool,
                (config["emailPrivacyConfig"] as? [String: Any])?["enableImprovedEmailPrivacy"] as? Bool,
            ]
        }
        let both: [String: Any] = [
            "signIn": ["allowDuplicateEmails": true], "emailPrivacyConfig": ["enableImprovedEmailPrivacy": false],
            "mfa": ["state": "MANDATORY"],
        ]
        #expect(flags(try patch("signIn.allowDuplicateEmails", both)) == [true, true])
        let mfa = try patch("mfa.state", both)["mfa"] as? [String: Any]
        #expect(mfa?["state"] as? String == "MANDATORY")
        #expect(mfa?["enabledProviders"] as? [String] == ["PHONE_SMS"])
        #expect(flags(try patch("signIn", [:])) == [false, true])
        #expect(flags(try patch(nil, [:])) == [false, false])
        #expect((try patch("mfa", [:])["mfa"] as? [String: Any])?["state"] as? String == "DISABLED")
    }
}
