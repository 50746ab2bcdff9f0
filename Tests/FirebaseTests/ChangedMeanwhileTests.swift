import Foundation
import TestSupport
import Testing

/// An administrator changes a user while that user does something that takes more than one request, or waits.
@Suite("Firebase: users who change meanwhile")
struct ChangedMeanwhileTests {
    // MARK: - Sign-ins that wait for a function

    enum Change: String, CaseIterable, Sendable {
        case password
        case disabled
        case revoked
        case deleted

        /// The error, which is that of a session begun earlier. Production's answer isn't documented.
        var error: String {
            switch self {
            case .password, .revoked: "TOKEN_EXPIRED"
            case .disabled: "USER_DISABLED"
            case .deleted: "USER_NOT_FOUND"
            }
        }

        func make(_ localId: String, _ fixture: FirebaseFixture) throws {
            var body: [String: Any] = ["localId": localId]
            switch self {
            case .password: body["password"] = "another horse"
            case .disabled: body["disableUser"] = true
            case .revoked: body["validSince"] = "4102444800"
            case .deleted: break
            }
            let answer = try fixture.admin("POST", "/accounts:\(self == .deleted ? "delete" : "update")", body)
            #expect(answer.status == 200)
        }
    }

    @Test("a sign-in that waits for a function doesn't outlive what ends sessions", arguments: Change.allCases)
    func waiting(change: Change) throws {
        let setup = try FunctionSetup(["beforeSignIn"])
        let fixture = setup.fixture
        // This works even if all happens in one second, the precision of `validSince`.
        try fixture.freeze()
        let localId = try fixture.signUp("ada@example.org")["localId"] ?? ""
        setup.during("beforeSignIn") { try? change.make(localId, fixture) }
        let signedIn = try fixture.v1(
            "signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        #expect(signedIn.message == change.error)
        #expect(signedIn["idToken"] == nil)
        // For a new user the function is asked once more before the first sign-in.
        setup.during("beforeSignIn") {
            let found = try? fixture.admin("POST", "/accounts:lookup", ["email": ["bob@example.org"]]).json["users"]
            try? change.make((found as? [[String: Any]])?.first?["localId"] as? String ?? "", fixture)
        }
        #expect(try fixture.signUp("bob@example.org").message == change.error)
    }

    @Test("a factor that is enrolled while a function is asked is asked for")
    func enrolledMeanwhile() throws {
        let setup = try FunctionSetup(["beforeSignIn"], seed: ChangedMeanwhileTests.mfa)
        let fixture = setup.fixture
        let localId = try fixture.verifiedUser()["localId"] ?? ""
        setup.during("beforeSignIn") {
            let factors: [String: Any] = [
                "enrollments": [["mfaEnrollmentId": "phone", "phoneInfo": ChangedMeanwhileTests.number]]
            ]
            let answer = try? fixture.admin("POST", "/accounts:update", ["localId": localId, "mfa": factors])
            #expect(answer?.status == 200)
        }
        let signedIn = try fixture.v1(
            "signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        #expect(signedIn["idToken"] == nil)
        #expect(signedIn["mfaPendingCredential"] != nil)
    }

    @Test("neither does the second factor's code")
    func waitingForSecondFactor() throws {
        let setup = try FunctionSetup(["beforeSignIn"], seed: ChangedMeanwhileTests.mfa)
        let fixture = setup.fixture
        let user = try enrolled(fixture)
        let finalize = try secondFactor(fixture)
        setup.during("beforeSignIn") { try? Change.revoked.make(user, fixture) }
        #expect(try finalize(true).message == "TOKEN_EXPIRED")
        setup.during("beforeSignIn") { try? Change.disabled.make(user, fixture) }
        #expect(try finalize(false).message == "USER_DISABLED")
    }

    // MARK: - Between two factors

    private static let mfa = #"""
        {"firebase": {"projects": [{"id": "demo-app", "mfa": {"state": "ENABLED", "providers": ["phone"]}}]}}
        """#
    /// A test number of the built-in seed, whose code works again.
    private static let number = "+15555550100"

    /// Makes a user with a phone number as second factor, and returns the user's ID.
    private func enrolled(_ fixture: FirebaseFixture) throws -> String {
        let user = try fixture.verifiedUser()
        let start = try fixture.v2(
            "accounts/mfaEnrollment:start",
            ["idToken": user["idToken"] ?? "", "phoneEnrollmentInfo": ["phoneNumber": ChangedMeanwhileTests.number]])
        let session = (start.json["phoneSessionInfo"] as? [String: Any])?["sessionInfo"] ?? ""
        let done = try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            [
                "idToken": user["idToken"] ?? "", "displayName": "Phone",
                "phoneVerificationInfo": ["sessionInfo": session, "code": "123456"],
            ])
        #expect(done.status == 200)
        return user["localId"] ?? ""
    }

    /// Passes the first factor. The returned function sends the second one, in emulator mode or as to production.
    private func secondFactor(_ fixture: FirebaseFixture) throws -> (_ isInEmulatorMode: Bool) throws -> Answer {
        let first = try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        let pending = first["mfaPendingCredential"] ?? ""
        let factor = (first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] ?? ""
        let start = try fixture.v2(
            "accounts/mfaSignIn:start",
            ["mfaPendingCredential": pending, "mfaEnrollmentId": factor, "phoneSignInInfo": [:]])
        let session = (start.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] ?? ""
        let body: [String: Any] = [
            "mfaPendingCredential": pending, "phoneVerificationInfo": ["sessionInfo": session, "code": "123456"],
        ]
        let data = try JSONSerialization.data(withJSONObject: body)
        return { isInEmulatorMode in
            let path = "/v2/accounts/mfaSignIn:finalize?key=\(FirebaseFixture.key)"
            let host = isInEmulatorMode ? [:] : ["Host": "identitytoolkit.googleapis.com"]
            return try fixture.client.request(
                "POST", isInEmulatorMode ? FirebaseFixture.toolkit + path : path,
                headers: ["Content-Type": "application/json"].merging(host) { $1 }, body: Array(data))
        }
    }

    /// Production's answers were recorded: https://github.com/t-k/fireemu, conformance/auth-mfa-production.json,
    /// `interactions#finalize-x-disabled`, `#finalize-x-after-password-change`. The official emulator's are in its
    /// source: https://github.com/firebase/firebase-tools, src/emulator/auth/operations.ts, `mfaSignInFinalize`.
    @Test("who is disabled between the factors is refused by the official emulator, and not by production")
    func disabledBetweenFactors() throws {
        let fixture = try FirebaseFixture(seed: ChangedMeanwhileTests.mfa)
        let user = try enrolled(fixture)
        let finalize = try secondFactor(fixture)
        try Change.disabled.make(user, fixture)
        #expect(try finalize(true).message == "USER_DISABLED")
        let signedIn = try finalize(false)
        #expect(signedIn.status == 200)
        #expect(try fixture.refresh(signedIn["refreshToken"]).message == "USER_DISABLED")
        #expect(try fixture.hosted("lookup", ["idToken": signedIn["idToken"] ?? ""]).message == "USER_DISABLED")
    }

    @Test("a password that is changed between the factors doesn't keep from signing in")
    func passwordChangedBetweenFactors() throws {
        let fixture = try FirebaseFixture(seed: ChangedMeanwhileTests.mfa)
        let user = try enrolled(fixture)
        let finalize = try secondFactor(fixture)
        try fixture.advance("2s")
        try Change.password.make(user, fixture)
        #expect(try finalize(true).status == 200)
        #expect(try finalize(false).status == 200)
    }

    // MARK: - Codes

    struct Code: Sendable {
        let type: String
        /// Production's error if the user has another address by now; `nil` if the code works all the same. Recorded in
        /// https://github.com/t-k/fireemu, conformance/auth-action-production.json: `reset-e-after-email-change`,
        /// `apply-b-after-email-change`, `apply-c-after-admin-change`.
        let errorAfterMove: String?

        static let all = [
            Code(type: "PASSWORD_RESET", errorAfterMove: "USER_NOT_FOUND"),
            Code(type: "VERIFY_EMAIL", errorAfterMove: "EMAIL_NOT_FOUND"),
            Code(type: "VERIFY_AND_CHANGE_EMAIL", errorAfterMove: nil),
        ]
    }

    private func code(_ code: Code, _ fixture: FirebaseFixture) throws -> String {
        var body: [String: Any] = ["requestType": code.type, "email": "ada@example.org", "returnOobLink": true]
        if code.type == "VERIFY_AND_CHANGE_EMAIL" { body["newEmail"] = "new@example.org" }
        let answer = try fixture.admin("POST", "/accounts:sendOobCode", body)
        return try #require(answer["oobCode"])
    }

    private func use(_ code: Code, _ text: String, _ fixture: FirebaseFixture, hosted: Bool) throws -> Answer {
        let isReset = code.type == "PASSWORD_RESET"
        let body: [String: Any] = isReset ? ["oobCode": text, "newPassword": "another horse"] : ["oobCode": text]
        let name = isReset ? "resetPassword" : "update"
        return try hosted ? fixture.hosted(name, body) : fixture.v1(name, body)
    }

    @Test(
        "a code is for the user for whom it was made, whoever has the address by then", arguments: Code.all,
        [true, false])
    func owner(code: Code, hosted: Bool) throws {
        let fixture = try FirebaseFixture()
        let first = try fixture.signUp("ada@example.org")["localId"] ?? ""
        let text = try self.code(code, fixture)
        _ = try fixture.admin("POST", "/accounts:update", ["localId": first, "email": "moved@example.org"])
        let second = try fixture.signUp("ada@example.org")["localId"] ?? ""
        let before = try fixture.adminUser(second)
        // Without a new password the request tells the purpose of the code, as before.
        let inspected = try fixture.v1("resetPassword", ["oobCode": text])
        #expect(inspected["requestType"] == code.type && inspected["email"] == "ada@example.org")
        let used = try use(code, text, fixture, hosted: hosted)
        if let error = code.errorAfterMove {
            // The official emulator has one code for all of them.
            #expect(used.message == (hosted ? error : "INVALID_OOB_CODE"))
        } else {
            #expect(used["localId"] == first)
            #expect(try fixture.adminUser(first)["email"] as? String == "new@example.org")
        }
        let after = try fixture.adminUser(second)
        for member in ["email", "emailVerified", "passwordUpdatedAt"] {
            #expect("\(after[member] ?? "")" == "\(before[member] ?? "")")
        }
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"]).status
                == 200)
        #expect(try use(code, text, fixture, hosted: hosted).message == "INVALID_OOB_CODE")
    }

    /// Recorded as `reset-f-disabled`, `check-f-enabled`, `apply-c-disabled` and `apply-e-disabled` in the same
    /// recording.
    @Test("a disabled user's codes are refused, and used up", arguments: Code.all)
    func disabled(code: Code) throws {
        let fixture = try FirebaseFixture()
        let localId = try fixture.signUp("ada@example.org")["localId"] ?? ""
        let text = try self.code(code, fixture)
        _ = try fixture.admin("POST", "/accounts:update", ["localId": localId, "disableUser": true])
        #expect(try use(code, text, fixture, hosted: true).message == "USER_DISABLED")
        _ = try fixture.admin("POST", "/accounts:update", ["localId": localId, "disableUser": false])
        #expect(try use(code, text, fixture, hosted: true).message == "INVALID_OOB_CODE")
    }

    /// Recorded as `check-g-deleted`, `reset-g-deleted`, `apply-e-deleted` and `apply-f-deleted` in the same recording.
    @Test("a deleted user's codes are gone, also when somebody gets the ID and the address", arguments: Code.all)
    func deleted(code: Code) throws {
        let fixture = try FirebaseFixture()
        let localId = try fixture.signUp("ada@example.org")["localId"] ?? ""
        let text = try self.code(code, fixture)
        _ = try fixture.admin("POST", "/accounts:delete", ["localId": localId])
        #expect(try fixture.hosted("resetPassword", ["oobCode": text]).message == "INVALID_OOB_CODE")
        let again: [String: Any] = ["localId": localId, "email": "ada@example.org", "password": "correct horse"]
        #expect(try fixture.admin("POST", "/accounts", again).status == 200)
        #expect(try use(code, text, fixture, hosted: true).message == "INVALID_OOB_CODE")
        #expect(try fixture.adminUser(localId)["email"] as? String == "ada@example.org")
    }

    // MARK: - Tenants

    @Test("what comes to a tenant that was deleted isn't kept")
    func deletedTenant() throws {
        let setup = try FunctionSetup(["beforeCreate"])
        let fixture = setup.fixture
        let made = try fixture.admin(
            "POST", "/tenants", ["displayName": "corp", "allowPasswordSignup": true], version: "v2")
        let tenant = (made["name"] ?? "").split(separator: "/").last.map(String.init) ?? ""
        // The sign-up has already found its tenant when the daemon calls the function.
        setup.during("beforeCreate") {
            let deleted = try? fixture.admin("DELETE", "/tenants/\(tenant)", version: "v2")
            #expect(deleted?.status == 200)
        }
        let body = ["email": "ada@example.org", "password": "correct horse", "tenantId": tenant]
        #expect(try fixture.v1("signUp", body).message == "USER_NOT_FOUND")
        let snapshot = try fixture.client.get("\(FirebaseFixture.control)/snapshot").json
        let tables = try #require(snapshot["tables"] as? [String: [[String: Any]]])
        for name in ["firebase.user", "firebase.session", "firebase.tenant"] {
            #expect(!(tables[name] ?? []).contains { "\($0)".contains(tenant) }, "\(name)")
        }
    }
}
