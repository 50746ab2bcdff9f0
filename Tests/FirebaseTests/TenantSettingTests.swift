import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Firebase: what a tenant allows")
struct TenantSettingTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture(seed: TenantTests.seed) }

    @Test("with disableAuth every operation is refused, and the tenant can be managed all the same")
    func disabled() throws {
        var answers: [Answer] = []
        for name in [
            "createAuthUri", "delete", "lookup", "resetPassword", "sendOobCode", "sendVerificationCode",
            "signInWithCustomToken", "signInWithEmailLink", "signInWithIdp", "signInWithPassword",
            "signInWithPhoneNumber", "signUp", "update",
        ] { answers.append(try fixture.v1(name, ["tenantId": "closed"])) }
        for name in [
            "accounts:revokeToken", "accounts/mfaEnrollment:start", "accounts/mfaEnrollment:finalize",
            "accounts/mfaEnrollment:withdraw", "accounts/mfaSignIn:start", "accounts/mfaSignIn:finalize",
        ] { answers.append(try fixture.v2(name, ["tenantId": "closed"])) }
        for name in [
            "accounts", "accounts:lookup", "accounts:update", "accounts:delete", "accounts:sendOobCode",
            "accounts:query", "accounts:batchCreate", "accounts:batchDelete",
        ] {
            answers.append(try fixture.admin("POST", "/\(name)", ["tenantId": "closed"]))
            answers.append(try fixture.admin("POST", "/tenants/closed/\(name)", [:]))
        }
        answers.append(try fixture.admin("GET", "/tenants/closed/accounts:batchGet"))
        answers.append(try fixture.admin("POST", "/tenants/closed:createSessionCookie", ["idToken": "x"]))
        for answer in answers {
            #expect(answer.status == 400)
            #expect(answer.message == "PROJECT_DISABLED", "\(answer)")
            #expect(answer.diagnosis.contains("disableAuth"))
        }
        #expect(try fixture.admin("GET", "/tenants/closed", version: "v2").json["disableAuth"] as? Bool == true)
        #expect(try fixture.admin("GET", "/tenants/closed/oauthIdpConfigs", version: "v2").status == 200)
        #expect(
            try fixture.client.request("DELETE", "/emulator/v1/projects/demo-app/tenants/closed/accounts").status == 200
        )
    }

    @Test("who was signed in when the tenant was closed, isn't any more")
    func closing() throws {
        let user = try fixture.v1("signUp", ["tenantId": "corp"])
        let closed = try fixture.admin(
            "PATCH", "/tenants/corp?updateMask=disableAuth", ["disableAuth": true], version: "v2")
        #expect(closed.json["disableAuth"] as? Bool == true)
        #expect(try fixture.v1("lookup", ["idToken": user["idToken"] ?? ""]).message == "PROJECT_DISABLED")
        #expect(try fixture.refresh(user["refreshToken"]).message == "PROJECT_DISABLED")
        _ = try fixture.admin("PATCH", "/tenants/corp?updateMask=disableAuth", [:], version: "v2")
        #expect(try fixture.refresh(user["refreshToken"]).status == 200)
    }

    @Test("what is switched off is refused in the provider's words")
    func switchedOff() throws {
        let credentials = ["email": "ada@example.org", "password": "secret!"]
        for (name, body, message) in [
            ("signUp", credentials, "OPERATION_NOT_ALLOWED"), ("signUp", [:], "ADMIN_ONLY_OPERATION"),
            ("signInWithPassword", credentials, "PASSWORD_LOGIN_DISABLED"),
            ("resetPassword", [:], "PASSWORD_LOGIN_DISABLED"),
            ("sendOobCode", ["requestType": "EMAIL_SIGNIN", "email": "ada@example.org"], "OPERATION_NOT_ALLOWED"),
            ("signInWithEmailLink", [:], "OPERATION_NOT_ALLOWED"),
            ("sendVerificationCode", ["phoneNumber": "+15555550100"], "UNSUPPORTED_TENANT_OPERATION"),
            ("signInWithPhoneNumber", [:], "UNSUPPORTED_TENANT_OPERATION"),
        ] {
            let answer = try fixture.v1(name, body.merging(["tenantId": "bare"]) { $1 })
            #expect(answer.message == message, "\(name): \(answer)")
            #expect(answer.diagnosis.contains("bare"))
        }
        for name in ["mfaEnrollment:start", "mfaEnrollment:finalize", "mfaSignIn:start", "mfaSignIn:finalize"] {
            let answer = try fixture.v2("accounts/\(name)", ["tenantId": "bare"])
            #expect(answer.message == "OPERATION_NOT_ALLOWED : SMS based MFA not enabled.")
        }
        let wantsApp = try fixture.v2("accounts/mfaEnrollment:start", ["tenantId": "bare", "totpEnrollmentInfo": [:]])
        #expect(wantsApp.message == "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled.")
        // A tenant's settings don't affect the project.
        #expect(try fixture.signUp("ada@example.org").status == 200)
        #expect(try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550100"]).status == 200)
    }

    @Test("a password is neither set nor changed where passwords are switched off")
    func passwords() throws {
        _ = try fixture.admin(
            "PATCH", "/tenants/bare?updateMask=enableAnonymousUser", ["enableAnonymousUser": true], version: "v2")
        let user = try fixture.v1("signUp", ["tenantId": "bare"])
        let idToken = user["idToken"] ?? ""
        for (name, body) in [
            ("update", ["idToken": idToken, "password": "secret!"]),
            ("signUp", ["idToken": idToken, "email": "a@example.org", "password": "secret!"]),
        ] { #expect(try fixture.v1(name, body).message == "OPERATION_NOT_ALLOWED") }
    }

    @Test("a link in an e-mail names its tenant, signs in there, and works nowhere else")
    func emailLink() throws {
        let sent = try fixture.v1(
            "sendOobCode",
            [
                "requestType": "EMAIL_SIGNIN", "email": "new@corp.example", "continueUrl": "http://localhost/done",
                "tenantId": "corp",
            ])
        #expect(sent.status == 200, "\(sent)")
        let mail = try fixture.mail("new@corp.example", scope: "/tenants/corp")
        #expect((mail["oobLink"] as? String)?.contains("tenantId=corp") == true)
        let body = ["email": "new@corp.example", "oobCode": mail["oobCode"] as? String ?? ""]
        #expect(try fixture.v1("signInWithEmailLink", body).message == "INVALID_OOB_CODE")
        let signedIn = try fixture.v1("signInWithEmailLink", body.merging(["tenantId": "corp"]) { $1 })
        #expect(try fixture.lookup(signedIn["idToken"])["tenantId"] as? String == "corp")
    }

    @Test("the link that takes a change of address back names the tenant, too")
    func recovery() throws {
        _ = try fixture.admin("PATCH", "/config", ["emailPrivacyConfig": [:]], version: "v2")
        let idToken = try fixture.v1(
            "signInWithPassword", ["email": "grace@corp.example", "password": "secret!", "tenantId": "corp"])["idToken"]
        let changed = try fixture.v1("update", ["idToken": idToken ?? "", "email": "new@corp.example"])
        #expect(changed["email"] == "new@corp.example", "\(changed)")
        let mail = try fixture.mail("grace@corp.example", scope: "/tenants/corp")
        #expect(mail["requestType"] as? String == "RECOVER_EMAIL")
        #expect((mail["oobLink"] as? String)?.hasSuffix("&tenantId=corp") == true)
        let body = ["oobCode": mail["oobCode"] as? String ?? ""]
        #expect(try fixture.v1("update", body).message == "INVALID_OOB_CODE")
        let recovered = try fixture.v1("update", body.merging(["tenantId": "corp"]) { $1 })
        #expect(recovered["email"] == "grace@corp.example")
    }

    @Test("the page of a link is the tenant's")
    func actionPage() throws {
        let reset = ["requestType": "PASSWORD_RESET", "email": "grace@corp.example", "tenantId": "corp"]
        #expect(try fixture.v1("sendOobCode", reset).status == 200)
        let link = try fixture.mail("grace@corp.example", scope: "/tenants/corp")["oobLink"] as? String ?? ""
        let path = String(link.dropFirst("http://localhost:\(fixture.client.port)".count))
        #expect(try fixture.client.get("\(path)&newPassword=another%20one").status == 200)
        let signIn = ["email": "grace@corp.example", "password": "another one", "tenantId": "corp"]
        #expect(try fixture.v1("signInWithPassword", signIn).status == 200)
        let elsewhere = try fixture.client.get(path.replacingOccurrences(of: "tenantId=corp", with: "tenantId=closed"))
        #expect(elsewhere.status == 400)
        #expect(elsewhere.text.contains("PROJECT_DISABLED"))
    }

    @Test("second factors go by the tenant's setting, and its test numbers have their codes")
    func secondFactor() throws {
        func signIn() throws -> Answer {
            try fixture.v1(
                "signInWithPassword", ["email": "grace@corp.example", "password": "secret!", "tenantId": "corp"])
        }
        let idToken = try signIn()["idToken"] ?? ""
        let start = try fixture.v2(
            "accounts/mfaEnrollment:start",
            ["idToken": idToken, "phoneEnrollmentInfo": ["phoneNumber": "+15555550123"]])
        let session = (start.json["phoneSessionInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        let enrolled = try fixture.v2(
            "accounts/mfaEnrollment:finalize",
            ["idToken": idToken, "phoneVerificationInfo": ["sessionInfo": session, "code": "654321"]])
        #expect(enrolled["idToken"] != nil, "\(enrolled)")
        let first = try signIn()
        #expect(first["idToken"] == nil)
        let pending = first["mfaPendingCredential"] ?? ""
        let id = (first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] ?? ""
        let asked = try fixture.v2(
            "accounts/mfaSignIn:start",
            ["mfaPendingCredential": pending, "mfaEnrollmentId": id, "tenantId": "corp", "phoneSignInInfo": [:]])
        let second = (asked.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        let done = try fixture.v2(
            "accounts/mfaSignIn:finalize",
            [
                "mfaPendingCredential": pending, "tenantId": "corp",
                "phoneVerificationInfo": ["sessionInfo": second, "code": "654321"],
            ])
        let firebase = done.claims()["firebase"] as? [String: Any]
        #expect(firebase?["sign_in_second_factor"] as? String == "phone", "\(done)")
        #expect(firebase?["tenant"] as? String == "corp")
        func set(_ mfa: [String: Any]) throws {
            _ = try fixture.admin("PATCH", "/tenants/corp?updateMask=mfaConfig", ["mfaConfig": mfa], version: "v2")
        }
        // While second factors are on, a user with a factor must pass it, whichever kinds may be enrolled; while they
        // are off, nobody must.
        try set(["state": "ENABLED"])
        #expect(try signIn()["mfaPendingCredential"] != nil)
        try set(["state": "DISABLED", "enabledProviders": ["PHONE_SMS"]])
        #expect(try signIn()["idToken"] != nil)
    }
}
