import Foundation
import TestSupport
import Testing

@Suite("Firebase: importing accounts")
struct AccountImportTests {
    private let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func upload(_ users: [[String: Any]], _ more: [String: Any] = [:]) throws -> Answer {
        try fixture.admin("POST", "/accounts:batchCreate", ["users": users].merging(more) { $1 })
    }

    private func errors(_ answer: Answer) -> [String] {
        (answer.json["error"] as? [[String: Any]] ?? []).map {
            "\($0["index"] as? Int ?? -1): \($0["message"] as? String ?? "")"
        }
    }

    @Test("a hash of the official emulator's signs in; others don't, and nor do such ones that came to the real host")
    func hashes() throws {
        let fake: [String: Any] = [
            "localId": "u1", "email": "u1@example.org", "salt": "s", "passwordHash": "fakeHash:salt=s:password=hawaii",
        ]
        let real: [String: Any] = ["localId": "u2", "email": "u2@example.org", "passwordHash": "aGFzaA=="]
        let answer = try upload([fake, real])
        #expect(answer.json["error"] as? [String] == [])
        func signIn(_ email: String, _ password: String) throws -> Int {
            try fixture.v1("signInWithPassword", ["email": email, "password": password]).status
        }
        #expect(try signIn("u1@example.org", "hawaii") == 200)
        #expect(try signIn("u1@example.org", "other1") == 400)
        #expect(try signIn("u2@example.org", "aGFzaA==") == 400)
        let user = try fixture.adminUser("u1")
        #expect(user["passwordHash"] as? String == "fakeHash:salt=s:password=hawaii")
        #expect(user["salt"] as? String == "s")

        let body = try JSONSerialization.data(withJSONObject: [
            "users": [fake.merging(["localId": "u3", "email": "u3@example.org"]) { $1 }]
        ])
        let hosted = try fixture.client.request(
            "POST", "/v1/projects/demo-app/accounts:batchCreate",
            headers: [
                "Host": "identitytoolkit.googleapis.com", "Authorization": "Bearer owner",
                "Content-Type": "application/json",
            ], body: Array(body))
        // At the real host a hash is bytes in base64.
        #expect(hosted.message.hasPrefix("Invalid value at 'users[0].password' (TYPE_BYTES)"))
        #expect(try signIn("u3@example.org", "hawaii") == 400)
    }

    @Test("two accounts of a list that exclude each other keep all of it out")
    func duplicates() throws {
        let link = ["providerId": "google.com", "rawId": "1"]
        let check = ["sanityCheck": true]
        #expect(try upload([["localId": "a"], ["localId": "a"]]).message == "DUPLICATE_LOCAL_ID : a")
        let emails = [["localId": "a", "email": "x@example.org"], ["localId": "b", "email": "X@example.org"]]
        #expect(try upload(emails, check).message == "DUPLICATE_EMAIL : X@example.org")
        let links: [[String: Any]] = [
            ["localId": "a", "providerUserInfo": [link]], ["localId": "b", "providerUserInfo": [link]],
        ]
        #expect(
            try upload(links, check).message == "DUPLICATE_RAW_ID : Provider id(google.com), Raw id(1)")
        #expect(try fixture.admin("POST", "/accounts:query", [:])["recordsCount"] == "0")
    }

    @Test("an account that exists already is reported, and replaced only when that is wanted")
    func existing() throws {
        let link = ["providerId": "google.com", "rawId": "1"]
        #expect(
            errors(
                try upload([
                    ["localId": "a", "email": "a@example.org", "providerUserInfo": [link]], ["localId": "z"],
                ])) == [])
        let again = try upload(
            [
                ["localId": "a"], ["localId": "b", "email": "A@example.org"],
                ["localId": "c", "providerUserInfo": [link]],
            ],
            ["sanityCheck": true])
        #expect(
            errors(again) == [
                "0: localId belongs to an existing account - can not overwrite.",
                "1: email exists in other account in database", "2: raw id exists in other account in database",
            ])
        #expect(errors(try upload([["localId": "a", "displayName": "New"]], ["allowOverwrite": true])) == [])
        let user = try fixture.adminUser("a")
        #expect(user["displayName"] as? String == "New")
        #expect(user["email"] == nil)
    }

    @Test(
        "what is wrong with an account is said of that one",
        arguments: [
            ([:], "localId is missing"), (["email": "x"], "email is invalid"),
            (["phoneNumber": "x"], "phone number format is invalid"),
            (["customAttributes": "x"], "Invalid custom claims provided."),
            (["customAttributes": #"{"sub":"1"}"#], "Custom claims provided include a reserved claim."),
            (
                ["customAttributes": #"{"a":"\#(String(repeating: "x", count: 1000))"}"#],
                "Custom claims provided are too large."
            ), (["tenantId": "other"], "Tenant id in userInfo does not match the tenant id in request."),
        ] as [([String: String], String)])
    func invalid(fields: [String: String], wanted: String) throws {
        let item: [String: Any] = fields.isEmpty ? [:] : fields.merging(["localId": "b"]) { $1 }
        let answer = try upload([["localId": "a"], item])
        #expect(errors(answer) == ["1: \(wanted)"])
        #expect(try fixture.adminUser("a")["localId"] as? String == "a")
    }

    @Test("identities and second factors come along, or are told to be wrong")
    func parts() throws {
        let factor = ["phoneInfo": "+15555550100", "enrolledAt": "2023-04-05T06:07:28.990Z"]
        let address: [String: Any] = ["email": "a@example.org", "emailVerified": true]
        let answer = try upload([
            ["localId": "a", "mfaInfo": [factor]].merging(address) { $1 },
            ["localId": "b", "mfaInfo": [factor]],
            ["localId": "c", "mfaInfo": [factor], "email": "c@example.org"],
            ["localId": "d", "mfaInfo": [["mfaEnrollmentId": "f"]], "email": "d@example.org", "emailVerified": true],
            ["localId": "e", "providerUserInfo": [["providerId": "google.com"]]],
            ["localId": "f", "providerUserInfo": [["federatedId": "x"]]],
        ])
        #expect(
            errors(answer).map { String($0.prefix(45)) } == [
                "1: Second factor account requires email to be", "2: Second factor account requires email to be",
                "3: Second factor not supported.", "4: federatedId or (providerId & rawId) is req",
                "5: ((Parsing federatedId is not implemented i",
            ])
        let known = (try fixture.adminUser("a")["mfaInfo"] as? [[String: Any]])?.first
        #expect(known?["enrolledAt"] as? String == "2023-04-05T06:07:28.990Z")
        let id = try #require(known?["mfaEnrollmentId"] as? String)
        #expect(!id.isEmpty)
    }

    @Test("the names of version 3 do the same, for administrators who name the project")
    func legacyNames() throws {
        func call(_ name: String, _ body: [String: Any], isAdmin: Bool = true) throws -> Answer {
            let data = try JSONSerialization.data(withJSONObject: body)
            var headers = ["Content-Type": "application/json"]
            if isAdmin { headers["Authorization"] = "Bearer owner" }
            return try fixture.client.request(
                "POST", "\(FirebaseFixture.legacy)/\(name)?key=demo-api-key", headers: headers, body: Array(data))
        }
        let target: [String: Any] = ["targetProjectId": "demo-app"]
        let users = (1...3).map { ["localId": "u\($0)"] }
        #expect(try call("uploadAccount", target.merging(["users": users]) { $1 }).status == 200)
        let page = try call("downloadAccount", target.merging(["maxResults": 2]) { $1 })
        #expect((page.json["users"] as? [Any])?.count == 2)
        let rest = try call("downloadAccount", target.merging(["nextPageToken": page["nextPageToken"] ?? ""]) { $1 })
        #expect((rest.json["users"] as? [[String: Any]])?.first?["localId"] as? String == "u3")
        #expect(try call("queryAccounts", target)["recordsCount"] == "3")
        for name in ["uploadAccount", "downloadAccount", "queryAccounts", "signOutUser"] {
            #expect(try call(name, [:]).message == "INSUFFICIENT_PERMISSION")
            #expect(try call(name, target, isAdmin: false).errorCode == "INSUFFICIENT_PERMISSION")
        }
        let user = try fixture.signUp("ada@example.org")
        let gone = try call("signOutUser", target.merging(["localId": user["localId"] ?? ""]) { $1 })
        #expect(gone["localId"] == user["localId"])
        #expect(try fixture.refresh(user["refreshToken"]).message == "INVALID_REFRESH_TOKEN")
        #expect(try call("signOutUser", target.merging(["localId": "none"]) { $1 }).message == "USER_NOT_FOUND")
    }
}
