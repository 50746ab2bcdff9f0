import Foundation
import TestSupport
import Testing

/// Production's recorded answers: auth-tenant-blocking-production.json; see RecordedCalls.swift.
@Suite("Firebase: tenants as production was recorded")
struct RecordedTenantTests {
    private let fixture: FirebaseFixture
    private static let tenants = "v2/projects/demo-app/tenants"
    private static var open: [String: Any] {
        ["allowPasswordSignup": true, "enableEmailLinkSignin": true, "enableAnonymousUser": true]
    }

    init() throws { fixture = try .recorded() }

    private func make(_ name: String, _ more: [String: Any] = open) throws -> String {
        let made = try fixture.owner(
            "POST", RecordedTenantTests.tenants, ["displayName": name].merging(more) { $1 })
        return try #require(made["name"]?.components(separatedBy: "/").last, "\(made)")
    }

    private func patch(_ tenant: String, _ mask: String, _ body: [String: Any]) throws -> Answer {
        let query = mask.isEmpty ? "" : "?updateMask=\(TestClient.escape(mask))"
        return try fixture.owner("PATCH", "\(RecordedTenantTests.tenants)/\(tenant)\(query)", body)
    }

    /// Returns the members of every answer about a tenant.
    private func resource(_ tenant: String, _ name: String, _ more: [String: Any] = [:]) -> [String: Any] {
        [
            "name": "projects/\(FirebaseFixture.number)/tenants/\(tenant)", "displayName": name,
            "inheritance": [String: String](),
        ].merging(more) { $1 }
    }

    private func signIn(_ email: String, _ tenant: Any?, _ password: String = "password123") throws -> Answer {
        var body: [String: Any] = ["email": email, "password": password, "returnSecureToken": true]
        body["tenantId"] = tenant
        return try fixture.app("v1/accounts:signInWithPassword", body)
    }

    private func makeUser(_ localId: String, in tenant: String?, _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = [
            "localId": localId, "email": "\(localId)@example.com", "password": "password123", "emailVerified": true,
        ]
        return try fixture.accounts("", body.merging(more) { $1 }, tenant: tenant)
    }

    // MARK: - The resource

    @Test("the resource tells what is on, and keeps what does nothing here")
    func resource() throws {
        // tenant/manage#create-minimal, #get-minimal, #create-name-upper
        let id = try make("Atb-Upper", [:])
        #expect(id.hasPrefix("Atb-Upper-") && id.count == 15, "\(id)")
        let seen = try fixture.owner("GET", "\(RecordedTenantTests.tenants)/\(id)")
        let hash = try #require(seen.json["hashConfig"] as? [String: Any])
        #expect(hash["algorithm"] as? String == "SCRYPT" && hash["rounds"] as? Int == 8)
        #expect(
            hash["memoryCost"] as? Int == 14 && Data(base64Encoded: hash["signerKey"] as? String ?? "")?.count == 64)
        #expect(seen.isBody(resource(id, "Atb-Upper", ["hashConfig": hash])), "\(seen)")
        // tenant/manage#create-settings, #create-phones, #create-mfa; #create-bad-type: "yes" is true
        let settings: [String: Any] = [
            "allowPasswordSignup": "yes", "inheritance": ["emailSendingConfig": true],
            "monitoring": ["requestLogging": ["enabled": true]],
            "emailPrivacyConfig": ["enableImprovedEmailPrivacy": true],
            "client": ["permissions": ["disabledUserSignup": true]], "testPhoneNumbers": ["+16505550101": "123456"],
            "smsRegionConfig": ["allowByDefault": ["disallowedRegions": [String]()]],
            "mfaConfig": ["state": "ENABLED", "enabledProviders": ["PHONE_SMS"]] as [String: Any],
        ]
        let expected = settings.merging([
            "allowPasswordSignup": true, "smsRegionConfig": ["allowByDefault": [String: String]()],
        ]) { $1 }
        let made = try fixture.owner(
            "POST", RecordedTenantTests.tenants, ["displayName": "atb-man-set"].merging(settings) { $1 })
        let other = made["name"]?.components(separatedBy: "/").last ?? ""
        #expect(made.isBody(resource(other, "atb-man-set", expected)), "\(made)")
        // tenant/settings#deletion-off: a path within a message that has no effect here
        let changed = try patch(
            other, "client.permissions.disabledUserDeletion,emailPrivacyConfig.enableImprovedEmailPrivacy",
            [
                "client": ["permissions": ["disabledUserDeletion": true]],
                "emailPrivacyConfig": ["enableImprovedEmailPrivacy": false],
            ])
        let permissions = (changed.json["client"] as? [String: Any])?["permissions"] as? [String: Bool]
        #expect(permissions == ["disabledUserSignup": true, "disabledUserDeletion": true], "\(changed)")
        // tenant/settings#privacy-off
        #expect((changed.json["emailPrivacyConfig"] as? [String: Any])?.isEmpty == true)
        // tenant/manage#create-policy
        let policy = try patch(
            id, "passwordPolicyConfig",
            ["passwordPolicyConfig": ["passwordPolicyVersions": [["customStrengthOptions": ["minPasswordLength": 8]]]]])
        let kept = policy.json["passwordPolicyConfig"] as? [String: Any]
        #expect((kept?["passwordPolicyVersions"] as? [[String: Any]])?.first?["schemaVersion"] as? Int == 1)
        #expect((kept?["lastUpdateTime"] as? String)?.hasSuffix("Z") == true)
        // tenant/manage#list-page-1, #list-size-zero, #list-size-negative, #list-bad-token
        func names(_ query: String) throws -> [String]? {
            let list = try fixture.owner("GET", "\(RecordedTenantTests.tenants)?\(query)").json["tenants"]
            // The built-in tenant is left out.
            return (list as? [[String: Any]])?.compactMap { $0["displayName"] as? String }.filter {
                $0.lowercased().hasPrefix("atb")
            }
        }
        #expect(try names("pageSize=1") == ["Atb-Upper"])
        for size in ["0", "-1", "1001"] { #expect(try names("pageSize=\(size)") == ["Atb-Upper", "atb-man-set"]) }
        #expect(try names("pageToken=not-a-token") == nil)
    }

    @Test("what no tenant can be")
    func refusals() throws {
        let id = try make("atb-man-min", [:])
        let missing = "MISSING_DISPLAY_NAME : Missing tenant with valid display_name."
        let name =
            "INVALID_DISPLAY_NAME : display_name should start with a letter and only consist of letters, digits and hyphens with 4-20 characters."
        func unknown(_ field: String) -> String {
            "Invalid JSON payload received. Unknown name \"\(field)\" at 'tenant': Cannot find field."
        }
        // tenant/manage#create-no-name, #create-name-…, #create-unknown-field; blocking/config#tenant-patch-blocking
        for (body, message) in [
            ([:], missing), (["displayName": "atb"], name), (["displayName": "1atb-name"], name),
            (["displayName": "atb_name"], name), (["displayName": "atb-abcdefghijklmnopq"], name),
            (["displayName": "atb-man-unk", "notAField": true], unknown("notAField")),
        ] as [([String: Any], String)] {
            let refused = try fixture.owner("POST", RecordedTenantTests.tenants, body)
            #expect(refused.status == 400 && refused.message == message, "\(refused)")
            #expect(refused.errorStatus == "INVALID_ARGUMENT" && !refused.diagnosis.isEmpty)
        }
        // tenant/manage#patch-no-mask, #patch-bad-name, #patch-unknown-mask
        #expect(try patch(id, "", ["allowPasswordSignup": true]).message == missing)
        #expect(try patch(id, "displayName", ["displayName": "1bad"]).message == name)
        #expect(try patch(id, "notAField", ["displayName": "atb-x"])["displayName"] == "atb-man-min")
        let functions = try patch(id, "blockingFunctions", ["blockingFunctions": ["triggers": [String: String]()]])
        #expect(functions.message == unknown("blockingFunctions"))
        let errors = (functions.json["error"] as? [String: Any])?["errors"] as? [[String: String]]
        #expect(errors == [["message": functions.message, "reason": "invalid"]])
        // tenant/manage#get-unknown, #patch-unknown, #delete-unknown, #get-deleted, #delete-again
        #expect(try fixture.owner("DELETE", "\(RecordedTenantTests.tenants)/\(id)").text == "{}")
        for tenant in ["fireemu-unknown-abcde", id] {
            for method in ["GET", "PATCH", "DELETE"] {
                let answer = try fixture.owner(
                    method, "\(RecordedTenantTests.tenants)/\(tenant)",
                    method == "PATCH" ? ["displayName": "atb-x"] : nil)
                #expect(answer.status == 404 && answer.message == "TENANT_NOT_FOUND", "\(answer)")
                #expect(answer.errorStatus == "NOT_FOUND")
            }
        }
    }

    @Test("a project that may have no tenants")
    func switchedOff() throws {
        func allow(_ isAllowed: Bool) throws -> Answer {
            try fixture.owner(
                "PATCH", "v2/projects/demo-app/config?updateMask=multiTenant.allowTenants",
                ["multiTenant": ["allowTenants": isAllowed]])
        }
        // tenant/switch-off
        #expect((try allow(false).json["multiTenant"] as? [String: Any])?.isEmpty == true)
        for (method, path) in [("GET", ""), ("GET", "/fireemu-unknown-abcde"), ("POST", "")] {
            let answer = try fixture.owner(
                method, "\(RecordedTenantTests.tenants)\(path)", method == "POST" ? ["displayName": "atb-off"] : nil)
            #expect(answer.status == 400 && answer.message == "INVALID_PROJECT_ID", "\(answer)")
        }
        #expect((try allow(true).json["multiTenant"] as? [String: Bool]) == ["allowTenants": true])
        #expect(try fixture.owner("GET", RecordedTenantTests.tenants).status == 200)
    }

    // MARK: - Its users

    @Test("whose tenant a request is about, and what is said of another one")
    func selection() throws {
        let (a, b) = (try make("atb-sel-a"), try make("atb-sel-b"))
        #expect(try makeUser("a1", in: a).status == 200)
        let idToken = try signIn("a1@example.com", a)["idToken"] ?? ""
        let mismatch = "TENANT_ID_MISMATCH : Specified tenant ID mismatches with the ID token."
        // tenant/selection#lookup-tenant-b, #update-tenant-b; tenant/credentials#delete-with-tenant-b, #verify-mail-tenant-b
        for (method, body) in [
            ("lookup", [:]), ("update", ["displayName": "Moved"]), ("delete", [:]),
            ("sendOobCode", ["requestType": "VERIFY_EMAIL"]),
        ] as [(String, [String: Any])] {
            let answer = try fixture.app(
                "v1/accounts:\(method)", ["idToken": idToken, "tenantId": b].merging(body) { $1 })
            #expect(answer.message == mismatch, "\(answer)")
        }
        #expect(
            try fixture.owner(
                "POST", "v1/projects/demo-app/tenants/\(b):createSessionCookie", ["idToken": idToken]
            ).message == mismatch)
        // tenant/selection#sign-in-unknown-tenant, #sign-in-number-tenant, #admin-lookup-unknown-tenant
        for tenant in ["fireemu-unknown-abcde", 7] as [Any] {
            #expect(try signIn("a1@example.com", tenant).message == "INVALID_TENANT_ID")
        }
        #expect(try fixture.accounts("lookup", ["localId": ["a1"]], tenant: "unknown-a").message == "INVALID_TENANT_ID")
        // tenant/admin-accounts#create-in-a-body-tenant-b
        #expect(try makeUser("z", in: a, ["tenantId": b]).status == 200)
        let users = try fixture.accounts("lookup", ["localId": ["z"]], tenant: a).json["users"] as? [[String: Any]]
        #expect(users?.first?["tenantId"] as? String == a)
        // tenant/custom-token
        func custom(_ claims: [String: Any], _ tenant: String?) throws -> Answer {
            var body: [String: Any] = ["token": try CustomToken.signedByNobody(claims)]
            body["tenantId"] = tenant
            return try fixture.app("v1/accounts:signInWithCustomToken", body)
        }
        let other = "TENANT_ID_MISMATCH : Specified tenant ID does not match the custom token."
        #expect(try custom(["uid": "c", "tenant_id": a], b).message == other)
        #expect(try custom(["uid": "c", "tenant_id": a], nil).message == other)
        let plain = try custom(["uid": "c"], a)
        #expect(plain.status == 500 && plain.message == "Internal error encountered.", "\(plain)")
        #expect(plain.errorStatus == "INTERNAL")
    }

    @Test("a tenant whose sign-in is off, and one that was deleted")
    func gone() throws {
        let d = try make("atb-del-d")
        _ = try makeUser("d1", in: d)
        let session = try signIn("d1@example.com", d)
        // tenant/settings#auth-off, #auth-off-sign-in, #auth-off-refresh, #auth-off-admin-lookup
        #expect(try patch(d, "disableAuth", ["disableAuth": true]).json["disableAuth"] as? Bool == true)
        #expect(try signIn("d1@example.com", d).message == "TENANT_DISABLED")
        let token = ["grant_type": "refresh_token", "refresh_token": session["refreshToken"] ?? ""]
        let refreshed = try fixture.app("v1/token", token, host: "securetoken.googleapis.com")
        #expect(refreshed.message == "TENANT_DISABLED", "\(refreshed)")
        #expect(try fixture.accounts("lookup", ["localId": ["d1"]], tenant: d).message == "TENANT_DISABLED")
        _ = try patch(d, "disableAuth", [:])
        #expect(try fixture.owner("DELETE", "\(RecordedTenantTests.tenants)/\(d)").status == 200)
        // tenant/deletion
        let idToken = session["idToken"] ?? ""
        for (path, body) in [
            ("v1/accounts:lookup", ["idToken": idToken, "tenantId": d]), ("v1/accounts:lookup", ["idToken": idToken]),
            ("v1/accounts:signInWithPassword", ["email": "d1@example.com", "password": "x", "tenantId": d]),
            ("v1/accounts:resetPassword", ["oobCode": "x", "tenantId": d]),
        ] { #expect(try fixture.app(path, body).message == "TENANT_DELETED", "\(path)") }
        #expect(try fixture.accounts("lookup", ["localId": ["d1"]], tenant: d).message == "TENANT_DELETED")
        let again = try make("atb-del-d")
        #expect(again != d)
        #expect(try fixture.accounts("lookup", ["localId": ["d1"]], tenant: again).json["users"] == nil)
    }

    @Test("a tenant inherits neither the protection of addresses nor that they may be shared")
    func inheritance() throws {
        _ = try fixture.owner(
            "PATCH", "v2/projects/demo-app/config?updateMask=signIn.allowDuplicateEmails",
            ["signIn": ["allowDuplicateEmails": true]])
        let i = try make("atb-inh-i")
        _ = try makeUser("i1", in: i)
        _ = try makeUser("p1", in: nil)
        // tenant/inheritance#wrong-password-in-tenant, #create-dup-in-tenant; tenant/selection#sign-in-a1-in-b
        #expect(try signIn("i1@example.com", i, "wrong-password").message == "INVALID_PASSWORD")
        #expect(try signIn("nobody@example.com", i).message == "EMAIL_NOT_FOUND")
        #expect(try signIn("p1@example.com", nil, "wrong-password").message == "INVALID_LOGIN_CREDENTIALS")
        #expect(try makeUser("i3", in: i, ["email": "i1@example.com"]).message == "EMAIL_EXISTS")
        // tenant/selection#create-auth-uri-a
        let methods = try fixture.app(
            "v1/accounts:createAuthUri",
            ["identifier": "i1@example.com", "continueUri": "http://localhost", "tenantId": i])
        #expect(methods.json["signinMethods"] as? [String] == ["password"])
        // tenant/settings#privacy-on-wrong-password
        _ = try patch(
            i, "emailPrivacyConfig.enableImprovedEmailPrivacy",
            ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": true]])
        #expect(try signIn("i1@example.com", i, "wrong-password").message == "INVALID_LOGIN_CREDENTIALS")
    }
}
