import Foundation
import TestSupport
import Testing

/// The configuration is as production was recorded: https://github.com/t-k/fireemu,
/// conformance/auth-config-sdk-production.json, program `recaptcha`.
@Suite("Firebase: reCAPTCHA Enterprise")
struct RecaptchaTests {
    private static let config = "admin/v2/projects/demo-app/config"
    private static let script = "/www.google.com/recaptcha/enterprise"

    private static let seed = """
        {"firebase":{"projects":[{"id":"demo-app","number":"123456789012","recaptchaTokens":{"from-a-device":0.8,"bot":0.1},
          "recaptcha":{"emailPassword":"ENFORCE","phone":"ENFORCE","blockUpTo":0.3,"keys":{"web":"web-key"}},
          "users":[{"localId":"u","email":"u@example.org","password":"secret!","emailVerified":true,
            "factors":[{"id":"f","phoneNumber":"+15555550123"}]},
            {"localId":"v","email":"v@example.org","password":"secret!"}],
          "tenants":[{"id":"corp","displayName":"corp"}]}]}}
        """

    private func patch(_ fixture: FirebaseFixture, _ config: [String: Any]?) throws -> Answer {
        try fixture.owner(
            "PATCH", "\(RecaptchaTests.config)?updateMask=recaptchaConfig",
            config.map { ["recaptchaConfig": $0] } ?? [:])
    }

    private func read(_ fixture: FirebaseFixture, _ type: String = "WEB", tenant: String? = nil) throws -> Answer {
        try fixture.client.request(
            "GET",
            "/v2/recaptchaConfig?key=demo-api-key&clientType=CLIENT_TYPE_\(type)&version=RECAPTCHA_ENTERPRISE"
                + (tenant.map { "&tenantId=\($0)" } ?? ""), headers: ["Host": "identitytoolkit.googleapis.com"])
    }

    private func states(_ answer: Answer) -> [String?] {
        (answer.json["recaptchaEnforcementState"] as? [[String: String]] ?? []).map { $0["enforcementState"] }
    }

    /// Returns a token of our script.
    private func token(
        _ fixture: FirebaseFixture, _ action: String, key: String = "web-key", score: String? = nil
    ) throws -> String {
        var form = ["k": key, "action": action]
        form["score"] = score
        let answer = try fixture.client.post("\(RecaptchaTests.script)/reload", form: form)
        return answer["token"] ?? "\(answer)"
    }

    private func body(
        _ token: String, _ rest: [String: Any], type: Any = "CLIENT_TYPE_WEB", in field: String = "captchaResponse"
    )
        -> [String: Any]
    {
        rest.merging([field: token, "clientType": type, "recaptchaVersion": "RECAPTCHA_ENTERPRISE"]) { $1 }
    }

    private static let password = ["email": "v@example.org", "password": "secret!"]

    @Test("a password signs in with a token of the script, once")
    func signsIn() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let good = body(try token(fixture, "signInWithPassword"), RecaptchaTests.password)
        let answer = try fixture.v1("signInWithPassword", good)
        #expect(answer.status == 200, "\(answer)")
        let again = try fixture.v1("signInWithPassword", good)
        #expect(again.errorCode == "INVALID_RECAPTCHA_TOKEN")
        #expect(again.diagnosis.contains("unknown or was used already"))
        // Nobody needs a token for other methods, and administrators need none.
        #expect(try fixture.v1("signUp", [:]).status == 200)
        let mail = ["requestType": "PASSWORD_RESET", "email": "v@example.org"]
        #expect(try fixture.owner("POST", "v1/projects/demo-app/accounts:sendOobCode", mail).status == 200)
    }

    private struct Refusal: Sendable {
        let code: String
        let token: @Sendable (RecaptchaTests, FirebaseFixture) throws -> String?
        var change: [String: String?] = [:]
    }

    private static let refusals: [Refusal] = [
        Refusal(code: "MISSING_RECAPTCHA_TOKEN") { _, _ in nil },
        Refusal(code: "INVALID_RECAPTCHA_TOKEN") { _, _ in "NO_RECAPTCHA" },
        Refusal(code: "INVALID_RECAPTCHA_TOKEN") { try $0.token($1, "signInWithPassword", key: "another-key") },
        Refusal(code: "INVALID_RECAPTCHA_TOKEN") {
            let token = try $0.token($1, "signInWithPassword")
            try $1.advance("121s")
            return token
        },
        Refusal(code: "INVALID_RECAPTCHA_ACTION") { try $0.token($1, "signUpPassword") },
        Refusal(code: "INVALID_RECAPTCHA_SCORE") { try $0.token($1, "signInWithPassword", score: "0.3") },
        Refusal(code: "INVALID_RECAPTCHA_SCORE") { _, _ in "bot" },
        Refusal(code: "MISSING_CLIENT_TYPE", token: { _, _ in "from-a-device" }, change: ["clientType": nil]),
        Refusal(
            code: "MISSING_CLIENT_TYPE", token: { _, _ in "from-a-device" },
            change: ["clientType": "CLIENT_TYPE_UNSPECIFIED"]),
        Refusal(
            code: "MISSING_RECAPTCHA_VERSION", token: { _, _ in "from-a-device" }, change: ["recaptchaVersion": nil]),
        Refusal(
            code: "INVALID_RECAPTCHA_VERSION", token: { _, _ in "from-a-device" }, change: ["recaptchaVersion": "7"]),
    ]

    @Test("a request without a good token is refused by name, or noted where nothing is enforced", arguments: refusals)
    private func refused(_ refusal: Refusal) throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        func send() throws -> Answer {
            var fields = body("", RecaptchaTests.password)
            fields["captchaResponse"] = try refusal.token(self, fixture)
            for (name, value) in refusal.change { fields[name] = value }
            return try fixture.v1("signInWithPassword", fields)
        }
        let answer = try send()
        #expect(answer.errorCode == refusal.code, "\(answer)")
        let audit: [String: Any] = [
            "emailPasswordEnforcementState": "AUDIT", "managedRules": [["endScore": 0.3, "action": "BLOCK"]],
            "recaptchaKeys": [["key": "projects/123456789012/keys/web-key", "type": "WEB"]],
        ]
        #expect(try patch(fixture, audit).status == 200)
        let audited = try send()
        #expect(audited.status == 200, "\(audited)")
        #expect(audited.note.contains(refusal.code))
    }

    @Test("sign-ups, resets and sign-in links need a token for their own action")
    func actions() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let user = ["email": "n@example.org", "password": "secret!"]
        #expect(try fixture.v1("signUp", user).errorCode == "MISSING_RECAPTCHA_TOKEN")
        #expect(try fixture.v1("signUp", body(token(fixture, "signUpPassword"), user)).status == 200)
        for kind in ["PASSWORD_RESET", "EMAIL_SIGNIN"] {
            let mail = ["requestType": kind, "email": "v@example.org", "continueUrl": "http://localhost/"]
            #expect(try fixture.v1("sendOobCode", mail).errorCode == "MISSING_RECAPTCHA_TOKEN")
            let sent = try fixture.v1("sendOobCode", body(token(fixture, "getOobCode"), mail, in: "captchaResp"))
            #expect(sent.status == 200, "\(sent)")
        }
        let idToken =
            try fixture.v1("signInWithPassword", body("from-a-device", RecaptchaTests.password))["idToken"] ?? ""
        #expect(try fixture.v1("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": idToken]).status == 200)
        // In emulator mode the web SDK sends a token of its own.
        #expect(try fixture.v1("signInWithPassword", body("token", RecaptchaTests.password)).status == 200)
        let real = try fixture.hosted("signInWithPassword", body("token", RecaptchaTests.password))
        #expect(real.errorCode == "INVALID_RECAPTCHA_TOKEN")
    }

    @Test("texts need a token, but for those to test numbers; a bad one is a bad app credential")
    func texts() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let number = ["phoneNumber": "+15555550177"]
        #expect(try fixture.v1("sendVerificationCode", number).errorCode == "MISSING_RECAPTCHA_TOKEN")
        #expect(
            try fixture.v1("sendVerificationCode", body("x", number)).errorCode == "INVALID_APP_CREDENTIAL")
        #expect(
            try fixture.v1("sendVerificationCode", body(token(fixture, "sendVerificationCode"), number)).status == 200)
        let first = try fixture.v1(
            "signInWithPassword", body("from-a-device", ["email": "u@example.org", "password": "secret!"]))
        func start(_ info: [String: Any]) throws -> Answer {
            try fixture.v2(
                "accounts/mfaSignIn:start",
                [
                    "mfaPendingCredential": first["mfaPendingCredential"] ?? "", "mfaEnrollmentId": "f",
                    "phoneSignInInfo": info,
                ])
        }
        #expect(try start([:]).errorCode == "MISSING_RECAPTCHA_TOKEN")
        #expect(try start(body(token(fixture, "sendVerificationCode"), [:])).errorCode == "INVALID_APP_CREDENTIAL")
        let second = try start(body(token(fixture, "mfaSmsSignIn"), [:]))
        #expect(second.status == 200, "\(second)")
        // With AUDIT, the SDK falls back to reCAPTCHA v2 after a bad token.
        let audit: [String: Any] = ["phoneEnforcementState": "AUDIT", "useSmsBotScore": true]
        #expect(try patch(fixture, audit).status == 200)
        #expect(try fixture.v1("sendVerificationCode", number).status == 200)
        #expect(
            try fixture.v1("sendVerificationCode", body("x", number)).errorCode == "INVALID_APP_CREDENTIAL")
        let fallback = body("NO_RECAPTCHA", number).merging(["recaptchaToken": "v2"]) { $1 }
        #expect(try fixture.v1("sendVerificationCode", fallback).status == 200)
    }

    @Test("v2/recaptchaConfig has a key for each platform once something is asked for; a tenant has its own settings")
    func configuration() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let web = try read(fixture)
        #expect(web["recaptchaKey"] == "projects/123456789012/keys/web-key")
        #expect(states(web) == ["ENFORCE", "ENFORCE"])
        #expect(web.json["useSmsBotScore"] as? Bool == true)
        let keys = try Set(["WEB", "IOS", "ANDROID"].map { try read(fixture, $0)["recaptchaKey"] ?? "" })
        #expect(keys.count == 3)
        let tenant = try read(fixture, tenant: "corp")
        #expect(states(tenant) == ["ENFORCEMENT_STATE_UNSPECIFIED", "ENFORCEMENT_STATE_UNSPECIFIED"])
        #expect(tenant["recaptchaKey"] == nil)
        let corp = RecaptchaTests.password.merging(["tenantId": "corp"]) { $1 }
        #expect(try fixture.v1("signInWithPassword", corp).errorCode != "MISSING_RECAPTCHA_TOKEN")
        let enforced: [String: Any] = ["recaptchaConfig": ["emailPasswordEnforcementState": "ENFORCE"]]
        _ = try fixture.owner(
            "PATCH", "v2/projects/demo-app/tenants/corp?updateMask=recaptchaConfig", enforced)
        #expect(try fixture.v1("signInWithPassword", corp).errorCode == "MISSING_RECAPTCHA_TOKEN")
        #expect(states(try read(fixture, tenant: "corp")).first == "ENFORCE")
        // recaptcha#client-off
        #expect(
            try patch(fixture, ["emailPasswordEnforcementState": "OFF", "phoneEnforcementState": "OFF"]).status == 200)
        let off = try read(fixture)
        #expect(states(off) == ["OFF", "OFF"])
        #expect(off["recaptchaKey"] == nil)
        // firebase-js-sdk, pull request 6656
        let version = try fixture.client.request(
            "GET", "/v2/recaptchaConfig?key=demo-api-key&clientType=CLIENT_TYPE_WEB&version=V3",
            headers: ["Host": "identitytoolkit.googleapis.com"])
        #expect(
            version.message
                == "Invalid value at 'version' (type.googleapis.com/google.cloud.identitytoolkit.v2.GetRecaptchaConfigRequest."
                + "RecaptchaVersion), \"V3\"")
    }

    private static let scores =
        "must be a value between 0.0 and 1.0, at 11 discrete values; e.g. 0.1, 0.2, 0.3, 0.4, ... 0.9, 1.0."

    @Test("a configuration that makes no sense is refused in production's words; one that is cleared keeps the phone's")
    func settings() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let type = "type.googleapis.com/google.cloud.identitytoolkit.admin.v2"
        for (config, message) in [
            (
                ["emailPasswordEnforcementState": "SOMETIMES"],
                "Invalid value at 'config.recaptcha_config.email_password_enforcement_state' (\(type).RecaptchaConfig."
                    + "RecaptchaProviderEnforcementState), \"SOMETIMES\""
            ),
            (
                ["managedRules": [["endScore": 0.35, "action": "BLOCK"]]],
                "INVALID_CONFIG : The end score in reCAPTCHA managed rules \(RecaptchaTests.scores)"
            ),
            (
                ["managedRules": [["endScore": 1.5, "action": "BLOCK"]]],
                "INVALID_CONFIG : The end score in reCAPTCHA managed rules \(RecaptchaTests.scores)"
            ),
            (
                ["managedRules": [["endScore": 0.3]]],
                "INVALID_CONFIG : The action in reCAPTCHA managed rules must be set."
            ),
            (
                ["phoneEnforcementState": "OFF", "useSmsBotScore": true],
                "INVALID_RECAPTCHA_PHONE_AUTH_CONFIGURATION : Phone auth enforcement state must be aligned with toll fraud or "
                    + "bot score enablement."
            ),
            (
                [
                    "phoneEnforcementState": "AUDIT", "useSmsTollFraudProtection": true,
                    "tollFraudManagedRules": [["startScore": 0.35, "action": "BLOCK"]],
                ], "INVALID_CONFIG : The start score in reCAPTCHA managed rules \(RecaptchaTests.scores)"
            ), (["recaptchaKeys": [["key": "projects/demo-app/keys/k", "type": "WEB"]]], "INVALID_SITE_KEY"),
        ] as [([String: Any], String)] {
            let answer = try patch(fixture, config)
            #expect(answer.message == message)
            #expect(answer.status == 400)
        }
        #expect(states(try read(fixture)) == ["ENFORCE", "ENFORCE"])
        // A change of something else leaves the seed's settings alone.
        let other = try fixture.owner(
            "PATCH", "\(RecaptchaTests.config)?updateMask=autodeleteAnonymousUsers", ["autodeleteAnonymousUsers": true])
        #expect((other.json["recaptchaConfig"] as? [String: Any])?["phoneEnforcementState"] as? String == "ENFORCE")
        // recaptcha#clear
        let cleared = try patch(fixture, nil)
        let config = cleared.json["recaptchaConfig"] as? [String: Any]
        #expect(config?["phoneEnforcementState"] as? String == "ENFORCE")
        #expect(config?["managedRules"] == nil)
        #expect(states(try read(fixture)) == ["ENFORCEMENT_STATE_UNSPECIFIED", "ENFORCE"])
    }

    @Test("the scripts name the daemon as they were asked for, and faults change the tokens")
    func scripts() throws {
        let fixture = try FirebaseFixture(seed: RecaptchaTests.seed)
        let own = try fixture.client.get("\(RecaptchaTests.script).js?render=web-key&onload=begin")
        #expect(own.status == 200)
        #expect(own.text.contains("/www.google.com\", true, \"begin\")"))
        let real = try fixture.client.request(
            "GET", "/recaptcha/api.js?render=explicit", headers: ["Host": "www.google.com"])
        #expect(real.text.contains("://www.google.com\", false, \"\")"))
        let order: [String: Any] = [
            "match": ["path": "/recaptcha/enterprise/reload"], "effect": ["response": ["token": "forged"]],
        ]
        #expect(try fixture.client.post("\(AppleFixture.control)/faults", json: order).status == 201)
        #expect(try token(fixture, "signInWithPassword") == "forged")
        let bad = try fixture.client.post("\(RecaptchaTests.script)/reload", form: ["action": "x"])
        #expect(bad.status == 400)
    }
}
