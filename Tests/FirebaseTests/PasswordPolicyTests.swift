import Foundation
import JSON
import TestSupport
import Testing

/// Production's recorded answers: auth-account-production.json, auth-config-sdk-production.json and
/// auth-tenant-blocking-production.json; see RecordedCalls.swift.
@Suite("Firebase: password policies, permissions and SMS regions")
struct PasswordPolicyTests {
    private static let config = "admin/v2/projects/demo-app/config"
    private static var strict: [String: Any] {
        [
            "minPasswordLength": 8, "maxPasswordLength": 20, "containsLowercaseCharacter": true,
            "containsUppercaseCharacter": true, "containsNumericCharacter": true,
            "containsNonAlphanumericCharacter": true,
        ]
    }
    private static let (upper, digit, symbol) = (
        "Password must contain an upper case character", "Password must contain a numeric character",
        "Password must contain a non-alphanumeric character"
    )

    private func missing(_ unmet: String...) -> String {
        "PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Missing password requirements: [\(unmet.joined(separator: ", "))]"
    }

    private func set(_ fixture: FirebaseFixture, _ mask: String, _ body: [String: Any]) throws {
        let answer = try fixture.owner("PATCH", "\(PasswordPolicyTests.config)?updateMask=\(mask)", body)
        #expect(answer.status == 200, "\(answer)")
    }

    private func enforce(_ fixture: FirebaseFixture, _ state: String = "ENFORCE", upgrades: Bool = false) throws {
        try set(
            fixture, "passwordPolicyConfig",
            [
                "passwordPolicyConfig": [
                    "passwordPolicyEnforcementState": state, "forceUpgradeOnSignin": upgrades,
                    "passwordPolicyVersions": [["customStrengthOptions": PasswordPolicyTests.strict]],
                ] as [String: Any]
            ])
    }

    private func signUp(_ fixture: FirebaseFixture, _ name: String, _ password: String) throws -> Answer {
        try fixture.app(
            "v1/accounts:signUp", ["email": "\(name)@example.com", "password": password, "returnSecureToken": true])
    }

    private func signIn(_ fixture: FirebaseFixture, _ name: String, _ password: String) throws -> Answer {
        try fixture.app(
            "v1/accounts:signInWithPassword",
            ["email": "\(name)@example.com", "password": password, "returnSecureToken": true])
    }

    @Test("an enforced policy names what a new password lacks, wherever it is set")
    func enforced() throws {
        let fixture = try FirebaseFixture.recorded()
        try enforce(fixture)
        // policy/enforce-custom
        for (password, message) in [
            ("password", missing(PasswordPolicyTests.upper, PasswordPolicyTests.digit, PasswordPolicyTests.symbol)),
            ("Passw0rd!Passw0rd!Pas", missing("Password may contain at most 20 characters")),
            ("passw0rd!", missing(PasswordPolicyTests.upper)), ("Passw0rd+", missing(PasswordPolicyTests.symbol)),
            ("Aa1!", missing("Password must contain at least 8 characters")),
        ] {
            let refused = try signUp(fixture, "weak", password)
            #expect(refused.status == 400 && refused.message == message && !refused.diagnosis.isEmpty, "\(refused)")
        }
        let made = try signUp(fixture, "ada", "Passw0rd!")
        #expect(made.status == 200)
        let token = made["idToken"] ?? ""
        let changed = try fixture.app("v1/accounts:update", ["idToken": token, "password": "passw0rd!"])
        #expect(changed.message == missing(PasswordPolicyTests.upper))
        let administered = try fixture.owner(
            "POST", "v1/projects/demo-app/accounts", ["email": "bob@example.com", "password": "passw0rd!"])
        #expect(administered.message == missing(PasswordPolicyTests.upper))
        let mail = try fixture.owner(
            "POST", "v1/projects/demo-app/accounts:sendOobCode",
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "returnOobLink": true])
        let code = mail["oobCode"] ?? ""
        // The code isn't used up by a refusal: password-policy/existing#reset-to-compliant
        for (password, status) in [("password", 400), ("Passw0rd?", 200)] {
            let reset = try fixture.app("v1/accounts:resetPassword", ["oobCode": code, "newPassword": password])
            #expect(reset.status == status, "\(reset)")
        }
        try enforce(fixture, "OFF")
        #expect(try signUp(fixture, "weak", "password").status == 200)
        #expect(try signUp(fixture, "weaker", "12345").message.hasPrefix("WEAK_PASSWORD : "))
    }

    /// The words are those of Google's API frontend, as it refuses other fields (`import#created-at-invalid`).
    @Test("a setting of the wrong type is refused, wherever it is, and nothing is stored")
    func wrongTypes() throws {
        let fixture = try FirebaseFixture.recorded()
        let type = "type.googleapis.com/google.cloud.identitytoolkit.admin.v2"
        func options(_ options: Any) -> [String: Any] {
            ["passwordPolicyConfig": ["passwordPolicyVersions": [["customStrengthOptions": options]]]]
        }
        let place = "config.password_policy_config.password_policy_versions[0].custom_strength_options"
        let cases: [(body: [String: Any], mask: String?, message: String)] = [
            (
                ["passwordPolicyConfig": 5], nil,
                "Invalid value at 'config.password_policy_config' (\(type).PasswordPolicyConfig), 5"
            ),
            (
                ["password_policy_config": "ENFORCE"], nil,
                "Invalid value at 'config.password_policy_config' (\(type).PasswordPolicyConfig), \"ENFORCE\""
            ),
            (options(7), nil, "Invalid value at '\(place)' (\(type).CustomStrengthOptions), 7"),
            (
                options(["minPasswordLength": "long"]), nil,
                "Invalid value at '\(place).min_password_length' (TYPE_INT32), \"long\""
            ),
            (
                options(["containsNumericCharacter": "yes"]), nil,
                "Invalid value at '\(place).contains_numeric_character' (TYPE_BOOL), \"yes\""
            ),
            (
                ["smsRegionConfig": ["allowlistOnly": ["allowedRegions": [["JP"]]]]], nil,
                "Invalid JSON payload received. Unknown name \"allowed_regions[0]\" at "
                    + "'config.sms_region_config.allowlist_only': Proto field is not repeating, cannot start list."
            ),
            (
                ["smsRegionConfig": ["allowlistOnly": "JP"]], nil,
                "Invalid value at 'config.sms_region_config.allowlist_only' (\(type).SmsRegionConfig.AllowlistOnly), \"JP\""
            ),
            (
                ["autodeleteAnonymousUsers": "true"], nil,
                "Invalid value at 'config.autodelete_anonymous_users' (TYPE_BOOL), \"true\""
            ),
            (
                ["recaptchaConfig": ["managedRules": [["endScore": "high"]]]], nil,
                "Invalid value at 'config.recaptcha_config.managed_rules[0].end_score' (TYPE_FLOAT), \"high\""
            ),
            // Another field is set, but the whole body is read.
            (
                ["client": [], "autodeleteAnonymousUsers": true], "autodeleteAnonymousUsers",
                "Invalid JSON payload received. Unknown name \"client\" at 'config': Proto field is not repeating, cannot "
                    + "start list."
            ),
            // The mask leads into a value without members.
            (
                ["autodeleteAnonymousUsers": true], "autodeleteAnonymousUsers.x",
                "Invalid value at 'config.autodelete_anonymous_users' (TYPE_BOOL), {}"
            ),
        ]
        for (body, mask, message) in cases {
            let mask = mask ?? body.keys.joined(separator: ",")
            let answer = try fixture.owner("PATCH", "\(PasswordPolicyTests.config)?updateMask=\(mask)", body)
            #expect(answer.status == 400 && answer.message == message, "\(answer)")
            let name = mask.split(separator: ",")[0].prefix { $0 != "." }
            let isNamed = answer.diagnosis.contains(name) || answer.diagnosis.contains("passwordPolicyConfig")
            #expect(isNamed || name == "autodeleteAnonymousUsers", "\(answer)")
        }
        let config = try fixture.owner("GET", PasswordPolicyTests.config)
        for name in ["passwordPolicyConfig", "autodeleteAnonymousUsers"] {
            #expect(config.json[name] == nil, "\(config)")
        }
        // A number may be a text, and a single value is a list of one.
        try set(
            fixture, "passwordPolicyConfig,smsRegionConfig",
            options(["min_password_length": "12"]).merging(
                ["smsRegionConfig": ["allowlistOnly": ["allowedRegions": "JP"]]]) { $1 })
        let changed = try JSONValue(parsing: try fixture.owner("GET", PasswordPolicyTests.config).body)
        #expect(
            changed["passwordPolicyConfig"]?["passwordPolicyVersions"]?.array?.first?["customStrengthOptions"] == [
                "minPasswordLength": 12
            ], "\(changed)")
        #expect(changed["smsRegionConfig"] == ["allowlistOnly": ["allowedRegions": ["JP"]]], "\(changed)")
    }

    @Test("a policy whose least length is more than its greatest is refused")
    func lengths() throws {
        let fixture = try FirebaseFixture.recorded()
        func change(_ options: [String: Int]) throws -> Answer {
            try fixture.owner(
                "PATCH", "\(PasswordPolicyTests.config)?updateMask=passwordPolicyConfig",
                ["passwordPolicyConfig": ["passwordPolicyVersions": [["customStrengthOptions": options]]]])
        }
        let refused = try change(["minPasswordLength": 20, "maxPasswordLength": 10])
        #expect(refused.status == 400 && refused.message == "Request contains an invalid argument.", "\(refused)")
        #expect(refused.diagnosis.contains("minPasswordLength is 20, more than maxPasswordLength, which is 10"))
        for options in [["minPasswordLength": 10, "maxPasswordLength": 10], ["minPasswordLength": 20]] {
            #expect(try change(options).status == 200)
        }
    }

    @Test("a weak password signs in with notifications, or not at all if the policy forces an upgrade")
    func existing() throws {
        let fixture = try FirebaseFixture.recorded()
        #expect(try signUp(fixture, "weak", "password").status == 200)
        try enforce(fixture, upgrades: true)
        let all = missing(PasswordPolicyTests.upper, PasswordPolicyTests.digit, PasswordPolicyTests.symbol)
        #expect(try signIn(fixture, "weak", "password").message == all)
        #expect(try signIn(fixture, "weak", "Wrong-passw0rd").message == "INVALID_LOGIN_CREDENTIALS")
        try enforce(fixture)
        let notified = try signIn(fixture, "weak", "password")
        let notifications = notified.json["userNotifications"] as? [[String: String]]
        #expect(
            notifications?.map { $0["notificationCode"] } == [
                "MISSING_UPPERCASE_CHARACTER", "MISSING_NUMERIC_CHARACTER", "MISSING_NON_ALPHANUMERIC_CHARACTER",
            ])
        #expect(notifications?.first?["notificationMessage"] == PasswordPolicyTests.upper)
        #expect(notified["idToken"] != nil)
    }

    @Test("apps read the policy of a project or tenant")
    func document() throws {
        let fixture = try FirebaseFixture.recorded(
            #"""
            ,"tenants":[{"id":"t1","passwordPolicy":{"minPasswordLength":12,"containsNonAlphanumericCharacter":true,"forceUpgradeOnSignin":true}}]
            """#)
        func policy(_ query: String = "") throws -> Answer {
            try fixture.client.request(
                "GET", "/v2/passwordPolicy?key=\(FirebaseFixture.key)\(query)",
                headers: ["Host": "identitytoolkit.googleapis.com"])
        }
        #expect(
            try policy().isBody([
                "customStrengthOptions": ["minPasswordLength": 6, "maxPasswordLength": 4096], "schemaVersion": 1,
                "enforcementState": "ENFORCE",
            ]))
        let own = try policy("&tenantId=t1")
        #expect(
            own.json["enforcementState"] as? String == "ENFORCE" && own.json["forceUpgradeOnSignin"] as? Bool == true)
        #expect((own.json["allowedNonAlphanumericCharacters"] as? [String])?.count == 30)
        #expect((own.json["customStrengthOptions"] as? [String: Any])?["minPasswordLength"] as? Int == 12)
        let unknown = try policy("&tenantId=none")
        #expect(unknown.status == 400 && unknown.message == "INVALID_TENANT_ID", "\(unknown)")
        try enforce(fixture, "OFF")
        #expect(try policy().json["enforcementState"] as? String == "OFF")
    }

    @Test("a policy that can't be is refused")
    func invalid() throws {
        let fixture = try FirebaseFixture.recorded()
        for policy in [
            ["passwordPolicyEnforcementState": "MAYBE"], ["passwordPolicyVersions": "1"],
            ["passwordPolicyVersions": [["customStrengthOptions": ["minPasswordLength": 31]]]],
            ["passwordPolicyVersions": [["customStrengthOptions": ["maxPasswordLength": 5]]]],
            ["passwordPolicyVersions": [["customStrengthOptions": ["maxPasswordLength": Int64.max]]]],
        ] as [[String: Any]] {
            let refused = try fixture.owner(
                "PATCH", "\(PasswordPolicyTests.config)?updateMask=passwordPolicyConfig",
                ["passwordPolicyConfig": policy])
            #expect(
                refused.status == 400 && refused.diagnosis.contains("passwordPolicyConfig"), "\(policy): \(refused)")
        }
    }

    @Test("without the permission, only administrators make and delete accounts")
    func permissions() throws {
        let fixture = try FirebaseFixture.recorded()
        let made = try signUp(fixture, "ada", "password123")
        try set(
            fixture, "client.permissions",
            ["client": ["permissions": ["disabledUserSignup": true, "disabledUserDeletion": true]]])
        // config/client-permissions, client-permissions
        let mail: [String: Any] = [
            "requestType": "PASSWORD_RESET", "email": "ada@example.com", "returnOobLink": true,
        ]
        for refused in [
            try signUp(fixture, "bob", "password123"),
            try fixture.app("v1/accounts:signUp", ["returnSecureToken": true]),
            try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550101"]),
            try fixture.app("v1/accounts:delete", ["idToken": made["idToken"] ?? ""]),
        ] { #expect(refused.status == 400 && refused.message == "ADMIN_ONLY_OPERATION", "\(refused)") }
        #expect(try signIn(fixture, "ada", "password123").status == 200)
        #expect(try fixture.owner("POST", "v1/projects/demo-app/accounts:sendOobCode", mail).status == 200)
        let created = try fixture.owner("POST", "v1/projects/demo-app/accounts", ["email": "eve@example.com"])
        #expect(created.status == 200)
        let deleted = try fixture.owner(
            "POST", "v1/projects/demo-app/accounts:delete", ["localId": created["localId"] ?? ""])
        #expect(deleted.status == 200)
    }

    @Test(
        "texts go to the regions of the configuration, or of the seed",
        arguments: [
            (#"{"allowed":["JP"]}"#, "+16505550101", false), (#"{"allowed":["US"]}"#, "+16505550101", true),
            (#"{"allowed":["US"]}"#, "+14165550101", false), (#"{"allowed":["CA"]}"#, "+14165550101", true),
            (#"{"disallowed":["US"]}"#, "+16505550101", false), (#"{"disallowed":["US"]}"#, "+81312345678", true),
            (#"{"allowed":["KZ"]}"#, "+77012345678", true), (#"{"allowed":["RU"]}"#, "+79012345678", true),
            (#"{"allowed":["GB"]}"#, "+441481123456", false), (#"{"allowed":[]}"#, "+99912345678", false),
            (#"{}"#, "+99912345678", true),
        ])
    func regions(seed: String, number: String, isAllowed: Bool) throws {
        let fixture = try FirebaseFixture.recorded(#","smsRegions":\#(seed)"#)
        let answer = try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": number])
        #expect(answer.status == (isAllowed ? 200 : 400), "\(answer)")
        let message = "OPERATION_NOT_ALLOWED : SMS unable to be sent until this region enabled by the app developer."
        if !isAllowed { #expect(answer.message == message && !answer.diagnosis.isEmpty) }
    }
}
