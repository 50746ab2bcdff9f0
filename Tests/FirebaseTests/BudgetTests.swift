import Foundation
import TestSupport
import Testing

@Suite("Firebase: how much one request may ask for")
struct BudgetTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func ids(number: String) throws -> [String] {
        let users = try fixture.admin("POST", "/accounts:lookup", ["phoneNumber": [number]]).json["users"]
        return (users as? [[String: Any]] ?? []).compactMap { $0["localId"] as? String }
    }

    // The Admin SDKs check the limits of a hundred and a thousand; the service accepts more (auth-account,
    // admin/lookup#over-100-ids and admin/import#import-1001 of https://github.com/t-k/fireemu).
    @Test("more than a hundred identifiers are looked up at once, and more than a thousand users imported")
    func counts() throws {
        for (kind, value) in [("localId", "u"), ("email", "u@example.com"), ("phoneNumber", "+15555550100")] {
            func lookup(_ count: Int) throws -> Answer {
                try fixture.admin("POST", "/accounts:lookup", [kind: Array(repeating: value, count: count)])
            }
            #expect(try lookup(101).status == 200)
        }
        func upload(_ count: Int) throws -> Answer {
            try fixture.admin("POST", "/accounts:batchCreate", ["users": (0..<count).map { ["localId": "u\($0)"] }])
        }
        #expect(try upload(1_001).status == 200)
        let removed = (0..<1_000).map { "u\($0)" }
        #expect(try fixture.admin("POST", "/accounts:batchDelete", ["localIds": removed, "force": true]).status == 200)
        #expect(try fixture.admin("POST", "/accounts:lookup", ["localId": ["u0", "u999"]]).json["users"] == nil)
        #expect(try fixture.adminUser("u1000")["localId"] as? String == "u1000")
    }

    @Test("a user has a hundred identities and second factors at most, and a project's domains a number of bytes")
    func keptLists() throws {
        func identities(_ count: Int) -> [[String: String]] {
            (0..<count).map { ["providerId": "p\($0).com", "rawId": "\($0)"] }
        }
        func factors(_ count: Int) -> [[String: String]] {
            (0..<count).map { ["mfaEnrollmentId": "m\($0)", "phoneInfo": "+1555555\(1_000 + $0)"] }
        }
        func errors(_ member: String, _ list: [[String: String]]) throws -> [String?] {
            let user: [String: Any] = [
                "localId": "imported", "email": "i@example.org", "emailVerified": true, member: list,
            ]
            let answer = try fixture.admin("POST", "/accounts:batchCreate", ["users": [user], "allowOverwrite": true])
            let list = try #require(answer.json["error"] as? [[String: Any]], "\(answer)")
            return list.map { $0["message"] as? String }
        }
        #expect(try errors("providerUserInfo", identities(100)) == [])
        #expect(try errors("providerUserInfo", identities(103)) == ["Request contains an invalid argument."])
        #expect(try errors("mfaInfo", factors(100)) == [])
        #expect(try errors("mfaInfo", factors(101)) == ["SECOND_FACTOR_LIMIT_EXCEEDED"])
        _ = try errors("providerUserInfo", identities(100))
        let link =
            ["localId": "imported", "linkProviderUserInfo": ["providerId": "one.more", "rawId": "1"]]
            as [String: Any]
        #expect(try fixture.admin("POST", "/accounts:update", link).status == 400)
        let set = ["localId": "imported", "mfa": ["enrollments": factors(101)]] as [String: Any]
        #expect(try fixture.admin("POST", "/accounts:update", set).message.hasPrefix("SECOND_FACTOR_LIMIT_EXCEEDED"))
        func domains(_ length: Int) throws -> Int {
            let list = (0..<1_000).map { "\(1_000 + $0)" + String(repeating: "x", count: length - 4) }
            return try fixture.client.post(
                "/identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask=authorizedDomains",
                json: ["authorizedDomains": list], method: "PATCH", headers: ["Authorization": "Bearer owner"]
            ).status
        }
        #expect(try domains(32) == 200)
        #expect(try domains(33) == 400)
    }

    @Test("a phone number leads to its user through every change")
    func phoneNumbers() throws {
        let (first, second) = ("+15555550111", "+15555550112")
        _ = try fixture.admin("POST", "/accounts", ["localId": "a", "phoneNumber": first])
        #expect(try ids(number: first) == ["a"])
        _ = try fixture.admin("POST", "/accounts:update", ["localId": "a", "phoneNumber": second])
        #expect(try ids(number: first) == [])
        #expect(try ids(number: second) == ["a"])
        // An import doesn't check whether the number is taken; the oldest user has it.
        _ = try fixture.admin(
            "POST", "/accounts:batchCreate",
            ["users": [["localId": "b", "phoneNumber": second, "createdAt": "1"]]])
        #expect(try ids(number: second) == ["b"])
        _ = try fixture.admin("POST", "/accounts:delete", ["localId": "b"])
        #expect(try ids(number: second) == ["a"])
        _ = try fixture.admin("POST", "/accounts:update", ["localId": "a", "deleteProvider": ["phone"]])
        #expect(try ids(number: second) == [])
    }

    @Test("texts have the length that the service documents")
    func texts() throws {
        func text(_ length: Int) -> String { String(repeating: "x", count: length) }
        #expect(try fixture.signUp(text(242) + "@example.com").status == 200)
        #expect(try fixture.signUp(text(243) + "@example.com").message == "INVALID_EMAIL")
        #expect(try fixture.signUp("a@example.org", password: text(4_096)).status == 200)
        #expect(
            try fixture.signUp("b@example.org", password: text(4_097)).message
                == "PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Password cannot be longer than 4096 characters")
        let token = try fixture.signUpAnonymously()["idToken"] ?? ""
        let name = String(repeating: "é", count: 256)
        #expect(try fixture.v1("update", ["idToken": token, "displayName": name])["displayName"] == name)
        let refused = try fixture.v1("update", ["idToken": token, "displayName": name + "é"])
        #expect(refused.message == "INVALID_PROFILE_ATTRIBUTE : Display name too long.")
        #expect(refused.diagnosis.contains("displayName has 257 characters"))
        #expect(try fixture.admin("POST", "/accounts", ["localId": text(1_025)]).status == 400)
    }

    @Test("a detail that echoes what was sent is cut off")
    func echoes() throws {
        let address = "http://localhost/" + String(repeating: "x", count: 8_000)
        let answer = try fixture.v1("signInWithIdp", ["requestUri": address, "postBody": "a=b"])
        #expect(answer.message.hasPrefix("INVALID_CREDENTIAL_OR_PROVIDER_ID : "))
        #expect(answer.body.count < 16_384)
    }

    @Test("of users who share a number or an address the oldest is found, however many come and go")
    func sharedNumbers() throws {
        let fixture = try FirebaseFixture()
        let users = (0..<40).map { number -> [String: Any] in
            [
                "localId": "u\(number)", "phoneNumber": "+15555550123", "email": "shared@example.com",
                "createdAt": "\(2_000_000_000_000 - number * 1000)",
            ]
        }
        _ = try fixture.admin("POST", "/accounts:batchCreate", ["users": users])
        func found(_ query: [String: Any]) throws -> String? {
            let answer = try fixture.admin("POST", "/accounts:lookup", query)
            return (answer.json["users"] as? [[String: Any]])?.first?["localId"] as? String
        }
        for oldest in stride(from: 39, to: 30, by: -1) {
            #expect(try found(["phoneNumber": ["+15555550123"]]) == "u\(oldest)")
            #expect(try found(["email": ["shared@example.com"]]) == "u\(oldest)")
            _ = try fixture.admin("POST", "/accounts:delete", ["localId": "u\(oldest)"])
        }
        _ = try fixture.admin("POST", "/accounts:update", ["localId": "u30", "phoneNumber": "+15555550124"])
        #expect(try found(["phoneNumber": ["+15555550123"]]) == "u29")
        #expect(try found(["phoneNumber": ["+15555550124"]]) == "u30")
    }
}
