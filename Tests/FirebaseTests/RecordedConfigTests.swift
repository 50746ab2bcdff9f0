import Foundation
import TestSupport
import Testing

/// Production's recorded answers: auth-config-sdk-production.json; see RecordedCalls.swift.
@Suite("Firebase: a project's configuration as production was recorded")
struct RecordedConfigTests {
    private let fixture: FirebaseFixture
    private static let config = "admin/v2/projects/demo-app/config"
    private static let own = ["demo-app.firebaseapp.com", "demo-app.web.app"]

    init() throws {
        fixture = try .recorded(#","authorizedDomains":["demo-app.firebaseapp.com","demo-app.web.app"]"#)
    }

    private func patch(_ mask: String, _ body: [String: Any]) throws -> Answer {
        let answer = try fixture.owner("PATCH", "\(RecordedConfigTests.config)?updateMask=\(mask)", body)
        #expect(answer.status == 200, "\(answer)")
        return answer
    }

    /// Returns the value at a path of members.
    private func value(_ answer: Answer, _ path: String) -> Any? {
        path.split(separator: ".").reduce(answer.json as Any?) { ($0 as? [String: Any])?[String($1)] }
    }

    @Test("it has production's members, and templates only where it is read")
    func members() throws {
        // config/read#admin-get
        let read = try fixture.owner("GET", RecordedConfigTests.config)
        #expect(
            read.json.keys.sorted() == [
                "authorizedDomains", "blockingFunctions", "client", "defaultHostingSite", "emailPrivacyConfig", "mfa",
                "mobileLinksConfig", "monitoring", "multiTenant", "name", "notification", "quota", "recaptchaConfig",
                "signIn", "smsRegionConfig", "subtype",
            ])
        for (path, expected) in [
            ("name", "projects/\(FirebaseFixture.number)/config"), ("subtype", "IDENTITY_PLATFORM"),
            ("signIn.email", ["enabled": true, "passwordRequired": true]), ("signIn.anonymous", ["enabled": true]),
            ("signIn.phoneNumber.enabled", true), ("signIn.hashConfig.algorithm", "SCRYPT"), ("quota", [:]),
            ("monitoring", ["requestLogging": [String: String]()]), ("authorizedDomains", RecordedConfigTests.own),
            ("client.permissions", [:]), ("client.firebaseSubdomain", "demo-app"), ("client.apiKey", "demo-api-key"),
            ("smsRegionConfig", ["allowByDefault": [String: String]()]),
            ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": true]),
            ("mobileLinksConfig", ["domain": "HOSTING_DOMAIN"]), ("defaultHostingSite", "demo-app"),
            ("notification.defaultLocale", "en"),
            ("notification.sendEmail.callbackUri", "https://demo-app.firebaseapp.com/__/auth/action"),
            ("notification.sendEmail.dnsInfo.customDomainState", "NOT_STARTED"),
            ("notification.sendEmail.verifyEmailTemplate.senderLocalPart", "noreply"),
            ("recaptchaConfig.useSmsBotScore", false),
        ] as [(String, Any)] {
            let found = try #require(value(read, path), "\(path)")
            #expect((found as? NSObject) == (expected as? NSObject), "\(path): \(found)")
        }
        #expect(value(read, "signIn.allowDuplicateEmails") == nil)
        let body = value(read, "notification.sendEmail.resetPasswordTemplate.body") as? String
        #expect(body?.contains("%LINK%") == true)
        #expect((value(read, "notification.sendSms.smsTemplate.content") as? String)?.contains("%LOGIN_CODE%") == true)
        let written = try patch("emailPrivacyConfig.enableImprovedEmailPrivacy", [:])
        #expect(value(written, "notification.sendEmail.resetPasswordTemplate") == nil)
        #expect((value(written, "emailPrivacyConfig") as? [String: Any])?.isEmpty == true)
    }

    @Test("sign-in methods that an administrator switches are on or off from then on")
    func methods() throws {
        let password: [String: Any] = ["email": "a@example.com", "password": "password123", "returnSecureToken": true]
        #expect(try fixture.accounts("", ["email": "a@example.com", "password": "password123"]).status == 200)
        // providers#email-off …, #email-on
        var changed = try patch("signIn.email.enabled", ["signIn": ["email": ["enabled": false]]])
        #expect((value(changed, "signIn.email") as? [String: Bool]) == ["passwordRequired": true])
        #expect(try fixture.app("v1/accounts:signInWithPassword", password).message == "PASSWORD_LOGIN_DISABLED")
        #expect(
            try fixture.app("v1/accounts:signUp", password.merging(["email": "b@example.com"]) { $1 }).message
                == "OPERATION_NOT_ALLOWED")
        _ = try patch("signIn.email.enabled", ["signIn": ["email": ["enabled": true]]])
        #expect(try fixture.app("v1/accounts:signInWithPassword", password).status == 200)
        // providers#anonymous-off
        changed = try patch("signIn.anonymous.enabled", ["signIn": ["anonymous": ["enabled": false]]])
        #expect((value(changed, "signIn.anonymous") as? [String: Bool])?.isEmpty == true)
        #expect(try fixture.app("v1/accounts:signUp", ["returnSecureToken": true]).message == "ADMIN_ONLY_OPERATION")
        // providers#phone-off: the test numbers stay
        changed = try patch("signIn.phoneNumber.enabled", ["signIn": ["phoneNumber": ["enabled": false]]])
        #expect((value(changed, "signIn.phoneNumber") as? [String: Any])?.keys.sorted() == ["testPhoneNumbers"])
        #expect(
            try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550101"]).message
                == "OPERATION_NOT_ALLOWED")
        // Without a mask, all fields of the body are set.
        let whole = try fixture.owner(
            "PATCH", RecordedConfigTests.config,
            ["signIn": ["phoneNumber": ["enabled": true, "testPhoneNumbers": ["+16505550109": "999999"]]]])
        #expect(
            (value(whole, "signIn.phoneNumber.testPhoneNumbers") as? [String: String]) == ["+16505550109": "999999"])
        let sent = try fixture.app("v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550109"])
        let signedIn = try fixture.app(
            "v1/accounts:signInWithPhoneNumber", ["sessionInfo": sent["sessionInfo"] ?? "", "code": "999999"])
        #expect(signedIn.status == 200, "\(signedIn)")
    }

    @Test("links in e-mails are off in a new project, and on where a password isn't required")
    func links() throws {
        let link: [String: Any] = [
            "requestType": "EMAIL_SIGNIN", "email": "a@example.com",
            "continueUrl": "https://demo-app.firebaseapp.com/finish",
        ]
        // tenant/actions#link-no-tenant; client-permissions#links-on
        let off = try fixture.app("v1/accounts:sendOobCode", link)
        #expect(off.message == "OPERATION_NOT_ALLOWED" && off.diagnosis.contains("emailLink"), "\(off)")
        #expect(
            try fixture.app("v1/accounts:signInWithEmailLink", ["email": "a@example.com", "oobCode": "x"]).message
                == "OPERATION_NOT_ALLOWED")
        let on = try patch("signIn.email.passwordRequired", ["signIn": ["email": ["passwordRequired": false]]])
        #expect((value(on, "signIn.email") as? [String: Bool]) == ["enabled": true])
        #expect(try fixture.app("v1/accounts:sendOobCode", link).status == 200)
        // A seed can set it, too. The official emulator has no such setting.
        let seeded = try FirebaseFixture(
            seed: """
                {"firebase":{"projects":[{"id":"plain","apiKeys":["plain-key"],"providers":{"password":{}}},
                 {"id":"linked","apiKeys":["linked-key"],"providers":{"password":{},"emailLink":{}}}]}}
                """)
        let body = link.merging(["continueUrl": "http://localhost/"]) { $1 }
        for (key, isOn) in [("plain-key", false), ("linked-key", true)] {
            let hosted = try seeded.client.request(
                "POST", "/v1/accounts:sendOobCode?key=\(key)",
                headers: ["Host": "identitytoolkit.googleapis.com", "Content-Type": "application/json"],
                body: Array(try JSONSerialization.data(withJSONObject: body)))
            #expect((hosted.status == 200) == isOn, "\(hosted)")
            #expect(try seeded.v1("sendOobCode", body, key: key).status == 200)
        }
    }

    @Test("domains are those that an administrator says, the project's own included, each once")
    func domains() throws {
        func reset(_ host: String) throws -> Answer {
            try fixture.accounts(
                "sendOobCode",
                [
                    "requestType": "PASSWORD_RESET", "email": "a@example.com", "returnOobLink": true,
                    "continueUrl": "https://\(host)/finish",
                ])
        }
        func listed() throws -> [String]? {
            try fixture.client.request(
                "GET", "/v1/projects?key=\(FirebaseFixture.key)", headers: ["Host": "identitytoolkit.googleapis.com"]
            ).json["authorizedDomains"] as? [String]
        }
        _ = try fixture.accounts("", ["email": "a@example.com", "password": "password123"])
        // config/read#projects; other-fields#add-domain, #reset-to-added-domain, #remove-hosting-domains, #reset-to-removed-domain
        #expect(try listed() == RecordedConfigTests.own)
        #expect(try reset("app.example.com").message == "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project")
        let all = RecordedConfigTests.own + ["app.example.com"]
        _ = try patch("authorizedDomains", ["authorizedDomains": all])
        #expect(try listed() == all)
        #expect(try reset("app.example.com").status == 200)
        _ = try patch("authorizedDomains", ["authorizedDomains": ["app.example.com"]])
        #expect(
            try reset("demo-app.firebaseapp.com").message == "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project")
        let refused = try fixture.owner(
            "PATCH", "\(RecordedConfigTests.config)?updateMask=authorizedDomains", ["authorizedDomains": [""]])
        #expect(refused.status == 400)
    }

    @Test("what does nothing here is kept and told, up to a size")
    func others() throws {
        // other-fields#autodelete, #request-logging, #deny-united-states; password-policy/projection#set-off
        let settings: [(String, [String: Any])] = [
            ("autodeleteAnonymousUsers", ["autodeleteAnonymousUsers": true]),
            ("monitoring.requestLogging.enabled", ["monitoring": ["requestLogging": ["enabled": true]]]),
            ("smsRegionConfig", ["smsRegionConfig": ["allowByDefault": ["disallowedRegions": ["US"]]]]),
            (
                "client.permissions.disabledUserSignup",
                ["client": ["permissions": ["disabledUserSignup": true]]]
            ), ("mobileLinksConfig.domain", ["mobileLinksConfig": ["domain": "FIREBASE_DYNAMIC_LINK_DOMAIN"]]),
            (
                "passwordPolicyConfig",
                ["passwordPolicyConfig": ["passwordPolicyEnforcementState": "OFF", "forceUpgradeOnSignin": false]]
            ),
        ]
        for (mask, body) in settings { _ = try patch(mask, body) }
        let read = try fixture.owner("GET", RecordedConfigTests.config)
        #expect(value(read, "autodeleteAnonymousUsers") as? Bool == true)
        #expect(value(read, "monitoring.requestLogging.enabled") as? Bool == true)
        #expect(value(read, "smsRegionConfig.allowByDefault.disallowedRegions") as? [String] == ["US"])
        #expect(value(read, "client.permissions.disabledUserSignup") as? Bool == true)
        #expect(value(read, "client.firebaseSubdomain") as? String == "demo-app")
        #expect(value(read, "mobileLinksConfig.domain") as? String == "FIREBASE_DYNAMIC_LINK_DOMAIN")
        #expect(value(read, "passwordPolicyConfig.passwordPolicyEnforcementState") as? String == "OFF")
        #expect(value(read, "passwordPolicyConfig.forceUpgradeOnSignin") == nil)
        // Emulator mode has these settings, too, because the official suites need them.
        let emulated = try fixture.admin("GET", "/config", version: "v2")
        #expect(value(emulated, "smsRegionConfig.allowByDefault.disallowedRegions") as? [String] == ["US"])
        // A message has only one of the two; clearing one doesn't remove the other:
        // https://cloud.google.com/identity-platform/docs/reference/rest/v2/SmsRegionConfig
        func regions() throws -> [String] {
            let message = value(try fixture.owner("GET", RecordedConfigTests.config), "smsRegionConfig")
            return (message as? [String: Any] ?? [:]).keys.sorted()
        }
        _ = try patch("smsRegionConfig.allowlistOnly.allowedRegions", [:])
        #expect(try regions().contains("allowByDefault"))
        _ = try patch(
            "smsRegionConfig.allowlistOnly.allowedRegions",
            ["smsRegionConfig": ["allowlistOnly": ["allowedRegions": ["DE"]]]])
        #expect(try regions() == ["allowlistOnly"])
        // The message is recorded: https://github.com/t-k/fireemu.
        let both = try fixture.owner(
            "PATCH", "\(RecordedConfigTests.config)?updateMask=smsRegionConfig",
            ["smsRegionConfig": ["allowByDefault": [String: String](), "allowlistOnly": [String: String]()]])
        #expect(both.status == 400)
        #expect(
            both.message.hasPrefix(
                "Invalid value at 'config.sms_region_config' (oneof), oneof field 'sms_region_policy' is already set. Cannot set "
            ))
        #expect(try regions() == ["allowlistOnly"])
        // The official suite has this: firebase-admin-node, test/integration/auth.spec.ts
        _ = try patch(
            "recaptchaConfig.useAccountDefender", ["recaptchaConfig": ["useAccountDefender": false]])
        #expect(
            value(try fixture.owner("GET", RecordedConfigTests.config), "recaptchaConfig.useAccountDefender") as? Bool
                == false)
        _ = try patch("passwordPolicyConfig", [:])
        #expect(value(try fixture.owner("GET", RecordedConfigTests.config), "passwordPolicyConfig") == nil)
        let large = ["quota": ["signUpQuotaConfig": ["quota": String(repeating: "9", count: 70_000)]]]
        let refused = try fixture.owner("PATCH", "\(RecordedConfigTests.config)?updateMask=quota", large)
        #expect(refused.status == 400 && refused.diagnosis.contains("65536 bytes"), "\(refused)")
    }

    @Test("reCAPTCHA is asked for nowhere by default; at the daemon's own address the web SDK gets a key")
    func recaptcha() throws {
        func ask(_ query: String) throws -> Answer {
            try fixture.client.request(
                "GET", "/v2/recaptchaConfig?key=\(FirebaseFixture.key)\(query)",
                headers: ["Host": "identitytoolkit.googleapis.com"])
        }
        // config/read#recaptcha-…
        let web = try ask("&clientType=CLIENT_TYPE_WEB&version=RECAPTCHA_ENTERPRISE")
        let states = ["EMAIL_PASSWORD_PROVIDER", "PHONE_PROVIDER"].map {
            ["provider": $0, "enforcementState": "ENFORCEMENT_STATE_UNSPECIFIED"]
        }
        #expect(
            web.isBody([
                "recaptchaEnforcementState": states, "useSmsBotScore": false, "useSmsTollFraudProtection": false,
            ]), "\(web)")
        #expect(try ask("").message == "MISSING_CLIENT_TYPE")
        #expect(try ask("&clientType=CLIENT_TYPE_IOS").message == "MISSING_RECAPTCHA_VERSION")
        #expect(
            try ask("&clientType=CLIENT_TYPE_TV&version=RECAPTCHA_ENTERPRISE").message
                == "Invalid value at 'client_type' (type.googleapis.com/google.cloud.identitytoolkit.v2.ClientType), \"CLIENT_TYPE_TV\""
        )
        // Without a key the SDK throws, and with OFF it loads nothing: firebase-js-sdk,
        // packages/auth/src/platform_browser/recaptcha/recaptcha.ts
        let own = try fixture.client.get("\(FirebaseFixture.toolkit)/v2/recaptchaConfig?key=\(FirebaseFixture.key)")
        #expect(own["recaptchaKey"]?.hasPrefix("projects/") == true)
        let seen = own.json["recaptchaEnforcementState"] as? [[String: String]]
        #expect(seen?.allSatisfy { $0["enforcementState"] == "OFF" } == true)
    }
}
