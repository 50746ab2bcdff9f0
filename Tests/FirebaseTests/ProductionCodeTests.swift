import Foundation
import TestSupport
import Testing

/// Answers that were recorded at production Identity Toolkit in September 2026: the public repository t-k/fireemu,
/// `conformance/auth-action-production.json`. Each one is named by the program and the step there.
@Suite("Firebase as production: links and codes")
struct ProductionCodeTests {
    private let production: Production

    init() throws { production = try Production() }

    private static let landing = "https://demo-app.firebaseapp.com/finish"

    /// Returns the answer with a code that an administrator gets in place of a mail.
    private func send(_ kind: String, _ id: String, _ more: [String: Any] = [:]) throws -> Answer {
        var body: [String: Any] = ["requestType": kind, "email": "\(id)@example.org", "returnOobLink": true]
        if kind == "EMAIL_SIGNIN" { body["continueUrl"] = ProductionCodeTests.landing }
        return try production.admin("/accounts:sendOobCode", body.merging(more) { $1 })
    }

    private func code(_ kind: String, _ id: String, _ more: [String: Any] = [:]) throws -> String {
        try send(kind, id, more)["oobCode"] ?? ""
    }

    private func check(_ code: String) throws -> Answer { try production.client("resetPassword", ["oobCode": code]) }

    private func reset(_ code: String, _ password: String = "password456") throws -> Answer {
        try production.client("resetPassword", ["oobCode": code, "newPassword": password])
    }

    private func apply(_ code: String, _ more: [String: Any] = [:]) throws -> Answer {
        try production.client("update", more.merging(["oobCode": code]) { $1 })
    }

    private func link(_ code: String, _ id: String, _ more: [String: Any] = [:]) throws -> Answer {
        try production.client(
            "signInWithEmailLink", more.merging(["oobCode": code, "email": "\(id)@example.org"]) { $1 })
    }

    private func change(_ id: String, _ fields: [String: Any]) throws {
        _ = try production.admin("/accounts:update", fields.merging(["localId": id]) { $1 })
    }

    @Test(
        "a newer code of a kind retires the older one", arguments: ["PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL"])
    func newerCode(kind: String) throws {
        // password-reset#check-1-after-second, email-link/sign-in#check-q-1-after-second,
        // change-email#check-1-after-second. There is no recording of VERIFY_EMAIL, which is assumed to be like the
        // others.
        _ = try production.create("a")
        _ = try production.create("b")
        let (first, other) = (try code(kind, "a"), try code(kind, "b"))
        let second = try code(kind, "a")
        #expect(try check(first).message == "INVALID_OOB_CODE")
        #expect(try check(second)["requestType"] == kind)
        #expect(try check(other)["requestType"] == kind)
    }

    @Test("a code ends with its user, and is used up by a disabled one")
    func codeOfAbsent() throws {
        // password-reset#check-g-deleted, verify-email#apply-e-deleted, change-email#apply-f-deleted,
        // email-link/sign-in#sign-in-deleted
        let newEmail = ["newEmail": "new@example.org"]
        for kind in ["PASSWORD_RESET", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL", "EMAIL_SIGNIN"] {
            _ = try production.create("g")
            let code = try code(kind, "g", kind == "VERIFY_AND_CHANGE_EMAIL" ? newEmail : [:])
            _ = try production.admin("/accounts:delete", ["localId": "g"])
            #expect(try check(code).message == "INVALID_OOB_CODE", "\(kind)")
            #expect(try apply(code).message == "INVALID_OOB_CODE", "\(kind)")
        }
        // password-reset, steps check-f-disabled to reset-f-enabled
        _ = try production.create("f")
        let code = try code("PASSWORD_RESET", "f")
        try change("f", ["disableUser": true])
        #expect(try check(code).status == 200)
        #expect(try reset(code).message == "USER_DISABLED")
        try change("f", ["disableUser": false])
        #expect(try reset(code).message == "INVALID_OOB_CODE")
        // verify-email#apply-c-disabled, change-email#apply-e-disabled; generate/admin#verify-link-disabled
        try change("f", ["disableUser": true])
        #expect(try apply(self.code("VERIFY_EMAIL", "f")).message == "USER_DISABLED")
        #expect(try apply(self.code("VERIFY_AND_CHANGE_EMAIL", "f", newEmail)).message == "USER_DISABLED")
        #expect(try production.user("f")["email"] as? String == "f@example.org")
        // email-link/sign-in#link-disabled
        #expect(try send("EMAIL_SIGNIN", "f").message == "USER_DISABLED")
    }

    @Test("a reset and a verification are for the address, a change is for the user")
    func addressChangedMeanwhile() throws {
        // password-reset#reset-e-after-email-change, verify-email#apply-b-after-email-change
        for (kind, wanted) in [("PASSWORD_RESET", "USER_NOT_FOUND"), ("VERIFY_EMAIL", "EMAIL_NOT_FOUND")] {
            let id = kind.lowercased()
            _ = try production.create(id)
            let code = try code(kind, id)
            try change(id, ["email": "moved-\(id)@example.org"])
            #expect(try check(code)["email"] == "\(id)@example.org")
            #expect(try kind == "PASSWORD_RESET" ? reset(code).message == wanted : apply(code).message == wanted)
        }
        // change-email#apply-c-after-admin-change and #admin-lookup-c
        _ = try production.create("c")
        let code = try code("VERIFY_AND_CHANGE_EMAIL", "c", ["newEmail": "c-new@example.org"])
        try change("c", ["email": "c-admin@example.org"])
        let applied = try apply(code)
        #expect(applied["newEmail"] == "c-new@example.org")
        #expect(applied["passwordHash"] == "UkVEQUNURUQ=")
        #expect(try production.user("c")["initialEmail"] as? String == "c-admin@example.org")
    }

    @Test("an empty new password is weak; of a sign-in link only what it is for is told; neither uses a code up")
    func passwordsOfCodes() throws {
        // password-reset#reset-empty-password; email-link/sign-in#reset-with-sign-in-code and #check-z-after-misuse
        _ = try production.create("a")
        let code = try code("PASSWORD_RESET", "a")
        #expect(try reset(code, "").message == "WEAK_PASSWORD")
        #expect(try reset(code, "12345").message == "WEAK_PASSWORD : Password should be at least 6 characters")
        #expect(try reset(code).status == 200)
        let link = try self.code("EMAIL_SIGNIN", "z")
        #expect(try reset(link).names == ["kind", "requestType"])
        #expect(try check(link)["requestType"] == "EMAIL_SIGNIN")
        // password-reset#reset-with-verify-code
        #expect(try reset(self.code("VERIFY_EMAIL", "a")).message == "INVALID_OOB_CODE")
    }

    @Test("who signs in by a link has the provider password; the link takes an unverified user's password away")
    func emailLinks() throws {
        // email-link/sign-in#admin-lookup-n
        let made = try link(code("EMAIL_SIGNIN", "n"), "n")
        var user = try production.user(made["localId"] ?? "")
        #expect(((user["providerUserInfo"] as? [[String: Any]])?.first?["providerId"] as? String) == "password")
        #expect(user["emailLinkSignin"] as? Bool == true)
        // #admin-lookup-p and #sign-in-p-password
        _ = try production.create("p")
        _ = try link(code("EMAIL_SIGNIN", "p"), "p")
        user = try production.user("p")
        #expect(user["passwordHash"] == nil)
        #expect(user["passwordUpdatedAt"] != nil)
        #expect(try production.signIn("p").message == "INVALID_LOGIN_CREDENTIALS")
        // #sign-in-link-other-address and #admin-lookup-r
        _ = try production.create("r")
        let signedIn = try production.signIn("r")
        let linked = try link(code("EMAIL_SIGNIN", "r-other"), "r-other", ["idToken": signedIn["idToken"] ?? ""])
        #expect(linked["localId"] == "r")
        #expect(try production.user("r")["passwordHash"] != nil)
        // #sign-in-link-to-anonymous and #admin-lookup-anon
        let anonymous = try production.client("signUp", ["returnSecureToken": true])
        _ = try link(code("EMAIL_SIGNIN", "anon"), "anon", ["idToken": anonymous["idToken"] ?? ""])
        #expect(try production.user(anonymous["localId"] ?? "")["emailVerified"] as? Bool == true)
    }

    @Test("who sends an ID token with a code is about its user")
    func ownership() throws {
        // ownership#apply-a-change-with-b-token, #apply-b-code-with-garbage-token
        _ = try production.create("a")
        _ = try production.create("b")
        let idToken = try production.signIn("b")["idToken"] ?? ""
        let code = try code("VERIFY_AND_CHANGE_EMAIL", "a", ["newEmail": "a-new@example.org"])
        #expect(try apply(code, ["idToken": idToken])["localId"] == "b")
        #expect(try production.user("a")["email"] as? String == "a@example.org")
        #expect(try apply(code, ["idToken": "not-a-token"]).message == "INVALID_ID_TOKEN")
    }

    @Test(
        "what a link is asked for with",
        arguments: [
            // generate/admin
            (#"{"requestType":null}"#, "MISSING_REQ_TYPE"),
            (#"{"requestType":"OOB_REQ_TYPE_UNSPECIFIED"}"#, "INVALID_REQ_TYPE"),
            (
                #"{"requestType":"NOT_A_REQUEST_TYPE"}"#,
                "Invalid value at 'req_type' (type.googleapis.com/google.cloud.identitytoolkit.v1.OobReqType), "
                    + #""NOT_A_REQUEST_TYPE""#
            ), (#"{"continueUrl":""}"#, "INVALID_CONTINUE_URI : Missing domain in continue url"),
            (#"{"continueUrl":"not a url"}"#, "INVALID_CONTINUE_URI : Missing domain in continue url"),
            (
                #"{"continueUrl":"https://unauthorized.example.com/done"}"#,
                "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"
            ), (#"{"continueUrl":"https://demo-app.web.app/next"}"#, ""),
            (#"{"requestType":"EMAIL_SIGNIN","continueUrl":null}"#, "MISSING_CONTINUE_URI"),
            (#"{"requestType":"VERIFY_AND_CHANGE_EMAIL"}"#, "MISSING_NEW_EMAIL"),
            (#"{"requestType":"VERIFY_AND_CHANGE_EMAIL","newEmail":"not-an-email"}"#, "INVALID_NEW_EMAIL"),
            (#"{"email":null}"#, "MISSING_EMAIL"),
            (
                #"{"requestType":"VERIFY_AND_CHANGE_EMAIL","newEmail":"n@example.org","email":null,"idToken":"x"}"#,
                "MISSING_EMAIL"
            ), (#"{"requestType":"VERIFY_EMAIL","idToken":"not-a-token"}"#, "INVALID_ID_TOKEN"),
        ])
    func requests(fields: String, wanted: String) throws {
        _ = try production.create("a")
        let body = try JSONSerialization.jsonObject(with: Data(fields.utf8)) as? [String: Any] ?? [:]
        let answer = try send("PASSWORD_RESET", "a", body)
        #expect(answer.message == wanted, "\(fields)")
        #expect((answer["oobLink"] != nil) == wanted.isEmpty)
    }

    @Test("with protection, whether an address is taken or unknown isn't told")
    func hiddenAddresses() throws {
        // generate/admin#change-link-taken and #change-link-same
        _ = try production.create("a")
        _ = try production.create("d")
        for id in ["a", "d"] {
            let answer = try send("VERIFY_AND_CHANGE_EMAIL", "a", ["newEmail": "\(id)@example.org"])
            #expect(answer.names == ["email", "kind"])
        }
        // generate/client: an unknown address is checked before the continue URL
        for (fields, wanted) in [
            ([:], ""), (["continueUrl": "https://unauthorized.example.com/done"], ""),
            (["returnOobLink": true], "INSUFFICIENT_PERMISSION"),
        ] as [([String: Any], String)] {
            let body: [String: Any] = ["requestType": "PASSWORD_RESET", "email": "unknown@example.org"]
            #expect(try production.client("sendOobCode", body.merging(fields) { $1 }).message == wanted)
        }
    }
}
