import Foundation
import JOSE
import TestSupport
import Testing

/// Custom tokens as an Admin SDK makes them. Their signatures can't be verified: the daemon has no service account's
/// key.
enum CustomToken {
    static let header = ["alg": "RS256", "typ": "JWT"]
    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    static func signedByNobody(_ changes: [String: Any?], header: [String: Any] = header) throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        let account = "firebase-adminsdk@demo-app.iam.gserviceaccount.com"
        var claims: [String: Any] = ["iss": account, "sub": account, "aud": audience, "iat": now, "exp": now + 3600]
        for (name, value) in changes { claims[name] = value }
        let parts = try [header, claims].map {
            Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: $0)))
        }
        return parts.joined(separator: ".") + ".c2lnbmF0dXJl"
    }
}

/// Answers that were recorded at production Identity Toolkit in September 2026: the public repository t-k/fireemu,
/// `conformance/auth-credential-production.json`. Each one is named by the program and the step there.
@Suite("Firebase as production: tokens")
struct ProductionTokenTests {
    private let production: Production

    init() throws { production = try Production() }

    private func token(_ changes: [String: Any?] = [:], header: [String: Any] = CustomToken.header) throws -> String {
        try CustomToken.signedByNobody(["uid": "custom"].merging(changes) { $1 }, header: header)
    }

    private func signIn(_ token: String, _ more: [String: Any] = ["returnSecureToken": true]) throws -> Answer {
        try production.client("signInWithCustomToken", more.merging(["token": token]) { $1 })
    }

    private func header(_ token: String?) -> [String: Any] {
        let part = token?.split(separator: ".").first ?? ""
        return (try? JSONSerialization.jsonObject(with: Data(Base64URL.decode(part) ?? [])) as? [String: Any]) ?? [:]
    }

    // MARK: - Without a session

    @Test("a sign-in without returnSecureToken brings a legacy token, which is good for two weeks and opens no session")
    func legacyToken() throws {
        // id-token/without-return-secure-token, step password-sign-in
        let made = try production.signUp("legacy")
        let answer = try production.client(
            "signInWithPassword", ["email": "legacy@example.org", "password": "password123"])
        #expect(answer.names == ["displayName", "email", "idToken", "kind", "localId", "registered"])
        let claims = answer.claims()
        #expect(
            claims.keys.sorted() == ["aud", "email", "exp", "iat", "iss", "sign_in_provider", "user_id", "verified"])
        #expect(claims["iss"] as? String == "https://identitytoolkit.google.com/")
        #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 1_209_600)
        #expect(header(answer["idToken"])["typ"] == nil)
        let idToken = answer["idToken"] ?? ""
        // steps lookup-with-legacy-password-token, update-with-legacy-password-token and cookie-from-legacy-password-token
        #expect(try production.client("lookup", ["idToken": idToken]).status == 200)
        #expect(
            try production.client("update", ["idToken": idToken, "displayName": "L"])["localId"] == made["localId"])
        #expect(try production.admin(":createSessionCookie", ["idToken": idToken]).message == "INVALID_ID_TOKEN")
        // auth-action, legacy-token#admin-lookup-a: it counts as a sign-in, not as a refresh
        _ = try production.create("a")
        _ = try production.client("signInWithPassword", ["email": "a@example.org", "password": "password123"])
        #expect(try production.user("a")["lastLoginAt"] != nil)
        #expect(try production.user("a")["lastRefreshAt"] == nil)
        // step password-sign-up: a sign-up always begins a session.
        let signedUp = try production.client("signUp", ["email": "b@example.org", "password": "password123"])
        #expect(signedUp["refreshToken"] != nil)
        // At the daemon's own address every sign-in begins one, as in the official emulator.
        let emulated = try production.fixture.v1(
            "signInWithPassword", ["email": "legacy@example.org", "password": "password123"])
        #expect(emulated["refreshToken"] != nil)
    }

    @Test("a custom token's claims are extra claims of the legacy token; an upgrade ends it")
    func legacyCustomToken() throws {
        // steps custom-sign-in, custom-sign-in-with-claims
        let answer = try signIn(token(["claims": ["role": "developer"]]), [:])
        #expect(answer.names == ["idToken", "isNewUser", "kind"])
        #expect(
            answer.claims().keys.sorted() == [
                "aud", "exp", "extra_claims", "iat", "iss", "sign_in_provider", "user_id",
            ])
        // steps sign-up-upgrade-with-legacy-token and delete-with-legacy-custom-token
        try production.fixture.advance("2s")
        let idToken = answer["idToken"] ?? ""
        let upgraded = try production.client(
            "signUp", ["idToken": idToken, "email": "up@example.org", "password": "password123"])
        #expect(upgraded["localId"] == "custom")
        #expect(try production.client("delete", ["idToken": idToken]).message == "TOKEN_EXPIRED")
    }

    // MARK: - Custom tokens

    private struct Assertion: Sendable {
        /// A JSON object with claims to set; those that are null are left out.
        let claims: String
        let message: String
    }

    private static let assertions = [
        Assertion(claims: #"{"iat":-600}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"exp":7200}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"exp":null}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"iat":null}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"sub":"someone-else@example.com"}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"aud":"https://example.com"}"#, message: "INVALID_CUSTOM_TOKEN"),
        Assertion(claims: #"{"uid":null}"#, message: "MISSING_IDENTIFIER"),
        Assertion(
            claims: #"{"uid":""}"#,
            message: "INVALID_IDENTIFIER : Invalid user ID length. Expect to have length between 1 and 128."),
        Assertion(claims: #"{"claims":["role"]}"#, message: "INVALID_CLAIMS"),
        Assertion(
            claims: """
                {"iss":"firebase-adminsdk@other-project.iam.gserviceaccount.com",\
                "sub":"firebase-adminsdk@other-project.iam.gserviceaccount.com"}
                """, message: "CREDENTIAL_MISMATCH"),
        Assertion(claims: #"{"claims":{"user_id":"someone-else"}}"#, message: ""),
        Assertion(claims: #"{"uid":12345}"#, message: ""),
    ]

    @Test("what a service account may say in a custom token", arguments: assertions)
    private func customTokens(_ assertion: Assertion) throws {
        // custom-token/sign-in and custom-token/validation; times are relative here.
        let changes = try JSONSerialization.jsonObject(with: Data(assertion.claims.utf8)) as? [String: Any] ?? [:]
        let now = Int(Date().timeIntervalSince1970)
        let claims = changes.mapValues { value -> Any? in
            if value is NSNull {
                nil
            } else if let seconds = value as? Int, seconds == -600 || seconds == 7200 {
                now + abs(seconds)
            } else {
                value
            }
        }
        #expect(try signIn(token(claims)).message == assertion.message, "\(assertion.claims)")
    }

    @Test("a custom token's form")
    func customTokenForm() throws {
        // custom-token/validation, steps alg-none, stripped-signature, empty, json-object-token, missing-token
        #expect(try signIn(token([:], header: ["alg": "none"])).message == "INVALID_CUSTOM_TOKEN")
        let parts = try token().split(separator: ".")
        #expect(
            try signIn("\(parts[0]).\(parts[1]).").message == "INVALID_CUSTOM_TOKEN : Missing signature.")
        for text in ["", "not-a-jwt", #"{"uid":"fake"}"#] {
            #expect(
                try signIn(text).message
                    == "INVALID_CUSTOM_TOKEN : Invalid assertion format. 3 dot separated segments required.")
        }
        #expect(try production.client("signInWithCustomToken", [:]).message == "MISSING_CUSTOM_TOKEN")
        // custom-token/sign-in, step claims-over-limit: more than an administrator can set
        let claims = ["k": String(repeating: "x", count: 993)]
        #expect(try signIn(token(["claims": claims])).claims()["k"] as? String == claims["k"])
    }

    @Test("tokens are taken for five minutes after their end")
    func leeway() throws {
        // expiry/one-hour, steps …-at-exp-plus-299 and …-at-exp-plus-300
        try production.fixture.freeze()
        let user = try production.signUp("expiry")
        let now = user.claims()["iat"] as? Int ?? 0
        let custom = try token(["iat": now, "exp": now + 3600])
        let idToken = user["idToken"] ?? ""
        try production.fixture.advance("3899s")
        #expect(try production.client("lookup", ["idToken": idToken]).status == 200)
        #expect(try production.admin(":createSessionCookie", ["idToken": idToken]).status == 200)
        #expect(try signIn(custom).status == 200)
        try production.fixture.advance("1s")
        #expect(try production.client("lookup", ["idToken": idToken]).message == "INVALID_ID_TOKEN")
        #expect(try production.admin(":createSessionCookie", ["idToken": idToken]).message == "INVALID_ID_TOKEN")
        #expect(try signIn(custom).message == "INVALID_CUSTOM_TOKEN")
    }

    @Test("a session cookie says no type in its header")
    func cookieHeader() throws {
        // session-cookie/durations, steps minimum and fractional
        let idToken = try production.signUp("cookie")["idToken"] ?? ""
        let answer = try production.admin(":createSessionCookie", ["idToken": idToken, "validDuration": 300])
        #expect(Set(header(answer["sessionCookie"]).keys) == ["alg", "kid"])
        #expect(
            try production.admin(":createSessionCookie", ["idToken": idToken, "validDuration": 3600.5]).message
                == "Invalid value at 'valid_duration' (TYPE_INT64), 3600.5")
    }
}
