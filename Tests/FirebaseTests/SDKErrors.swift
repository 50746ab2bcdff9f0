import Foundation
import JOSE
import TestSupport
import Testing

/// The Apple SDK's errors for a server's messages: the part before the first colon must be one of these.
/// <https://github.com/firebase/firebase-ios-sdk/blob/main/FirebaseAuth/Sources/Swift/Backend/AuthBackend.swift>
enum SDKErrors {
    static func number(of code: String) -> Int { numbers[code] ?? 17999 }

    static let numbers: [String: Int] = [
        "INVALID_CUSTOM_TOKEN": 17000, "CREDENTIAL_MISMATCH": 17002, "INVALID_IDP_RESPONSE": 17004,
        "INVALID_PENDING_TOKEN": 17004, "INVALID_LOGIN_CREDENTIALS": 17004, "USER_DISABLED": 17005,
        "OPERATION_NOT_ALLOWED": 17006, "PASSWORD_LOGIN_DISABLED": 17006, "EMAIL_EXISTS": 17007, "INVALID_EMAIL": 17008,
        "INVALID_IDENTIFIER": 17008, "INVALID_PASSWORD": 17009, "TOO_MANY_ATTEMPTS_TRY_LATER": 17010,
        "USER_NOT_FOUND": 17011, "EMAIL_NOT_FOUND": 17011, "CREDENTIAL_TOO_OLD_LOGIN_AGAIN": 17014,
        "INVALID_ID_TOKEN": 17017, "TOKEN_EXPIRED": 17021, "FEDERATED_USER_ID_ALREADY_LINKED": 17025,
        "WEAK_PASSWORD": 17026, "EXPIRED_OOB_CODE": 17029, "INVALID_OOB_CODE": 17030, "MISSING_EMAIL": 17034,
        "UNAUTHORIZED_DOMAIN": 17038, "INVALID_CONTINUE_URI": 17039, "MISSING_CONTINUE_URI": 17040,
        "INVALID_PHONE_NUMBER": 17042, "INVALID_CODE": 17044, "INVALID_SESSION_INFO": 17046, "SESSION_EXPIRED": 17051,
        "INVALID_PROVIDER_ID": 17071, "TENANT_ID_MISMATCH": 17072, "UNSUPPORTED_TENANT_OPERATION": 17073,
        "ADMIN_ONLY_OPERATION": 17085,
        "UNVERIFIED_EMAIL": 17086,
        "MISSING_OR_INVALID_NONCE": 17094, "BLOCKING_FUNCTION_ERROR_RESPONSE": 17105,
    ]
}

@Suite("The documentation's table of the Apple SDK's errors")
struct SDKErrorTableTests {
    /// A request for each message, which returns the answer with it.
    private static let ways: [String: @Sendable (FirebaseFixture) throws -> Answer] = [
        "INVALID_CUSTOM_TOKEN": { try $0.v1("signInWithCustomToken", ["token": "x"]) },
        "CREDENTIAL_MISMATCH": { fixture in
            let now = Int(Date().timeIntervalSince1970)
            let account = "firebase-adminsdk@other.iam.gserviceaccount.com"
            let claims: [String: Any] = ["iss": account, "sub": account, "iat": now, "exp": now + 3600]
            let parts = try [["alg": "RS256"], claims].map {
                Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: $0)))
            }
            return try fixture.hosted("signInWithCustomToken", ["token": "\(parts[0]).\(parts[1]).c2ln"])
        },
        "EXPIRED_OOB_CODE": { fixture in
            let code = try reset(fixture)
            try fixture.advance("61m")
            return try fixture.v1("resetPassword", ["oobCode": code])
        },
        "INVALID_OOB_CODE": { fixture in
            let body = ["oobCode": try reset(fixture), "newPassword": "another one"]
            _ = try fixture.v1("resetPassword", body)
            return try fixture.v1("resetPassword", body)
        },
        "UNAUTHORIZED_DOMAIN": { fixture in
            let email = try fixture.signUp("a@example.org")["email"] ?? ""
            return try fixture.v1(
                "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": email, "continueUrl": "https://unknown.example/"])
        },
        "INVALID_PHONE_NUMBER": { try $0.v1("sendVerificationCode", ["phoneNumber": "15555550100"]) },
        "INVALID_CODE": { fixture in
            try fixture.v1("signInWithPhoneNumber", ["sessionInfo": text(fixture), "code": "x"])
        },
        "INVALID_SESSION_INFO": { try $0.v1("signInWithPhoneNumber", ["sessionInfo": "x", "code": "123456"]) },
        "SESSION_EXPIRED": { fixture in
            let session = try text(fixture)
            let body = ["sessionInfo": session, "code": try fixture.message("+15555550100")]
            _ = try fixture.v1("signInWithPhoneNumber", body)
            return try fixture.v1("signInWithPhoneNumber", body)
        },
        "INVALID_IDP_RESPONSE": { try $0.assertion("providerId=apple.com&id_token=x") },
        "INVALID_PENDING_TOKEN": { try $0.assertion("providerId=apple.com", ["pendingToken": "x"]) },
        "INVALID_LOGIN_CREDENTIALS": { try $0.v1("signInWithPassword", ["email": "no@example.org", "password": "x"]) },
        "USER_DISABLED": { try $0.v1("signInWithPassword", ["email": "off@example.com", "password": "secret!"]) },
        "OPERATION_NOT_ALLOWED": { try $0.assertion("providerId=twitter.com&access_token=x") },
        "PASSWORD_LOGIN_DISABLED": {
            try $0.v1("signInWithPassword", ["email": "a@example.org", "password": "x"], key: "closed-key")
        },
        "EMAIL_EXISTS": {
            _ = try $0.signUp("taken@example.org")
            return try $0.signUp("taken@example.org")
        },
        "INVALID_EMAIL": { try $0.signUp("nonsense") },
        "INVALID_IDENTIFIER": { try $0.v1("createAuthUri", ["identifier": "x", "continueUri": "http://localhost"]) },
        "INVALID_PASSWORD": {
            try $0.v1("signInWithPassword", ["email": "on@example.com", "password": "x"], key: "open-key")
        },
        "EMAIL_NOT_FOUND": {
            try $0.v1("signInWithPassword", ["email": "no@example.com", "password": "x"], key: "open-key")
        },
        "USER_NOT_FOUND": { try $0.signInWithApple("linus", ["autoCreate": false]) },
        "needConfirmation": {
            _ = try $0.signInWithApple("ada")
            return try $0.assertion(FirebaseFixture.postBody("github.com", accessToken: $0.gitHubToken()))
        },
        "CREDENTIAL_TOO_OLD_LOGIN_AGAIN": {
            let user = try $0.signUp("old@example.org")
            try $0.advance("6m")
            return try $0.v1("delete", ["idToken": user["idToken"] ?? ""])
        },
        "INVALID_ID_TOKEN": { try $0.v1("lookup", ["idToken": "x"]) },
        "TOKEN_EXPIRED": {
            let user = try $0.signUp("over@example.org")
            try $0.advance("10s")
            _ = try $0.v1("update", ["idToken": user["idToken"] ?? "", "password": "another one"])
            return try $0.refresh(user["refreshToken"])
        },
        "FEDERATED_USER_ID_ALREADY_LINKED": {
            _ = try $0.signInWithApple("grace")
            return try $0.signInWithApple("grace", ["idToken": $0.signUpAnonymously()["idToken"] ?? ""])
        },
        "WEAK_PASSWORD": { try $0.signUp("weak@example.org", password: "x") },
        "MISSING_EMAIL": { try $0.v1("signInWithPassword", ["password": "x"]) },
        "INVALID_CONTINUE_URI": { try $0.v1("createAuthUri", ["identifier": "a@example.org", "continueUri": "x"]) },
        "MISSING_CONTINUE_URI": { try $0.v1("createAuthUri", ["identifier": "a@example.org"]) },
        "INVALID_PROVIDER_ID": {
            try $0.v2(
                "accounts:revokeToken",
                [
                    "providerId": "github.com", "tokenType": "3", "token": "x",
                    "idToken": $0.signUpAnonymously()["idToken"] ?? "",
                ])
        },
        "TENANT_ID_MISMATCH": {
            let user = try $0.v1("signUp", ["tenantId": "corp"])
            return try $0.v1("lookup", ["idToken": user["idToken"] ?? "", "tenantId": "other"])
        },
        "UNSUPPORTED_TENANT_OPERATION": {
            try $0.v1("sendVerificationCode", ["phoneNumber": "+15555550100", "tenantId": "corp"])
        },
        "ADMIN_ONLY_OPERATION": { try $0.v1("signUp", [:], key: "closed-key") },
        "BLOCKING_FUNCTION_ERROR_RESPONSE": {
            try $0.v1("signUp", ["email": "a@example.org", "password": "correct horse"], key: "asking-key")
        },
        "MISSING_OR_INVALID_NONCE": {
            try $0.assertion(
                FirebaseFixture.postBody("apple.com", idToken: $0.apple("ada")["identityToken"], nonce: "wrong"))
        },
    ]

    /// Returns the code of a password reset.
    /// A request for each message of the second table that a single request has. Those of second factors are in
    /// `SecondFactorTests`.
    private static let furtherWays: [String: @Sendable (FirebaseFixture) throws -> Answer] = [
        "MISSING_MFA_PENDING_CREDENTIAL": { try $0.v2("accounts/mfaSignIn:start", ["mfaEnrollmentId": "x"]) },
        "MISSING_RECAPTCHA_TOKEN": { try enforced($0, ["captchaResponse": nil]) },
        "INVALID_RECAPTCHA_TOKEN": { try enforced($0, [:]) },
        "INVALID_RECAPTCHA_ACTION": { fixture in
            // A project has a key when it enforces.
            _ = try enforced(fixture, [:])
            let answer = try fixture.client.get(
                "/v2/recaptchaConfig?key=demo-api-key&clientType=CLIENT_TYPE_WEB&version=RECAPTCHA_ENTERPRISE",
                headers: ["Host": "identitytoolkit.googleapis.com"])
            let key = answer["recaptchaKey"]?.split(separator: "/").last.map(String.init) ?? ""
            let token = try fixture.client.post(
                "/www.google.com/recaptcha/enterprise/reload", form: ["k": key, "action": "getOobCode"])
            return try enforced(fixture, ["captchaResponse": token["token"]])
        },
        "INVALID_RECAPTCHA_VERSION": { try enforced($0, ["recaptchaVersion": "7"]) },
        "MISSING_CLIENT_TYPE": { try recaptcha($0, "") },
        "MISSING_RECAPTCHA_VERSION": { try recaptcha($0, "&clientType=CLIENT_TYPE_WEB") },
        "INVALID_REQ_TYPE": { fixture in
            try Production(fixture).admin("/accounts:sendOobCode", ["requestType": "OOB_REQ_TYPE_UNSPECIFIED"])
        },
        "INVALID_HOSTING_LINK_DOMAIN": { fixture in
            let production = Production(fixture)
            _ = try production.create("link")
            let body = ["requestType": "PASSWORD_RESET", "email": "link@example.org", "linkDomain": "x.example"]
            return try production.admin("/accounts:sendOobCode", body)
        },
    ]

    /// Signs in where reCAPTCHA is enforced, with a token that nobody gave out.
    private static func enforced(_ fixture: FirebaseFixture, _ changes: [String: String?]) throws -> Answer {
        _ = try fixture.owner(
            "PATCH", "v2/projects/demo-app/config?updateMask=recaptchaConfig",
            ["recaptchaConfig": ["emailPasswordEnforcementState": "ENFORCE"]])
        var body: [String: Any] = [
            "email": "a@example.org", "password": "password123", "captchaResponse": "x",
            "clientType": "CLIENT_TYPE_WEB", "recaptchaVersion": "RECAPTCHA_ENTERPRISE",
        ]
        for (name, value) in changes { body[name] = value }
        return try fixture.hosted("signInWithPassword", body)
    }

    private static func recaptcha(_ fixture: FirebaseFixture, _ query: String) throws -> Answer {
        try fixture.client.get(
            "/v2/recaptchaConfig?key=demo-api-key\(query)", headers: ["Host": "identitytoolkit.googleapis.com"])
    }

    private static func reset(_ fixture: FirebaseFixture) throws -> String {
        _ = try fixture.signUp("reset@example.org")
        _ = try fixture.v1("sendOobCode", ["requestType": "PASSWORD_RESET", "email": "reset@example.org"])
        return try fixture.mail("reset@example.org")["oobCode"] as? String ?? ""
    }

    /// Returns the session of a code in a text message.
    private static func text(_ fixture: FirebaseFixture) throws -> String {
        try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550100"])["sessionInfo"] ?? ""
    }

    @Test("every row is sent as it says, and the SDK makes its number of it")
    func table() throws {
        let page = try Repository.read("docs/errors/firebase.md")
        let rows = (page.components(separatedBy: "## The other codes").first ?? "").matches(
            of: /\| (\d{5}) `(\w+)` \| `([A-Za-z_]+)[^`]*` \|/)
        #expect(rows.count >= 24)
        for row in rows {
            let code = String(row.3)
            let fixture = try FirebaseFixture(
                seed: """
                    {"firebase":{"projects":[
                      {"id":"demo-app","users":[{"localId":"off","email":"off@example.com","password":"secret!","disabled":true}]},
                      {"id":"open","apiKeys":["open-key"],"emailEnumerationProtection":false,"providers":{"password":{}},
                       "users":[{"localId":"on","email":"on@example.com","password":"secret!"}]},
                      {"id":"asking","apiKeys":["asking-key"],"providers":{"password":{}},
                       "blockingFunctions":{"triggers":{"beforeCreate":{"functionUri":"http://127.0.0.1:1/"}}}},
                      {"id":"closed","apiKeys":["closed-key"],"providers":{}}]}}
                    """)
            let way = try #require(SDKErrorTableTests.ways[code], "no way to \(code) is known to this test")
            let answer = try way(fixture)
            if code == "needConfirmation" {
                #expect(answer.json["needConfirmation"] as? Bool == true)
                #expect(row.1 == "17012")
                continue
            }
            #expect(answer.errorCode == code, "\(answer)")
            #expect(SDKErrors.number(of: answer.errorCode) == Int(row.1), "\(code)")
            #expect(!answer.diagnosis.isEmpty)
        }
        #expect(Set(rows.map { String($0.3) }) == Set(SDKErrorTableTests.ways.keys))
    }

    @Test("every other message can be had as its row says, and no code of the SDK is missing")
    func others() throws {
        let page = try Repository.read("docs/errors/firebase.md")
        let rows = page.matches(of: /\| (\d{5}) `(\w+)` \| `([A-Z_]+)` \| a fault \|/)
        #expect(rows.count == 17)
        let fixture = try FirebaseFixture()
        for row in rows {
            let order: [String: Any] = ["match": ["path": "/v1/accounts:signUp"], "effect": ["error": String(row.3)]]
            let ordered = try fixture.client.post("\(AppleFixture.control)/faults", json: order)
            #expect(ordered.status == 201, "\(ordered)")
            let answer = try fixture.v1("signUp", ["email": "a@example.org", "password": "password123"])
            #expect(answer.errorCode == row.3 && !answer.diagnosis.isEmpty, "\(answer)")
        }
        for (code, way) in SDKErrorTableTests.furtherWays {
            #expect(page.contains(" | `\(code)` | "), "\(code)")
            // Each changes the project, and the order is that of a dictionary.
            let answer = try way(FirebaseFixture())
            #expect(answer.errorCode == code, "\(code): \(answer)")
        }
        // firebase-ios-sdk, FirebaseAuth/Sources/Swift/Utilities/AuthErrors.swift
        let numbers =
            [17000, 17002, 17004, 17075, 17076, 17078, 17093, 17094, 17105, 17214, 17995, 17999, 18000]
            + Array(17005...17012) + Array(17014...17017) + Array(17020...17021) + Array(17023...17026)
            + Array(17028...17034) + Array(17036...17048) + Array(17051...17063) + Array(17066...17067)
            + Array(17071...17073) + Array(17081...17090) + Array(17200...17211)
        for number in numbers { #expect(page.contains("\(number) `"), "\(number)") }
    }
}
