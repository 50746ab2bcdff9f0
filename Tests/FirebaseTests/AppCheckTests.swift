import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Firebase: App Check")
struct AppCheckTests {
    private static let app = "1:123456789012:web:abc"
    private static let seed = """
        {"firebase":{"projects":[{"id":"demo-app","number":"123456789012","recaptchaTokens":{"bot":0.4},
          "appCheck":{"enforced":true,"apps":[{"id":"\(app)","debugTokens":["6d8b25c2-debug"],"tokenLifetime":"30m"}]}}]}}
        """
    private static let host = "/firebaseappcheck.googleapis.com/v1/projects"

    private let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture(seed: AppCheckTests.seed) }

    private func exchange(
        _ method: String, _ body: [String: Any], app: String = app, project: String = "demo-app", isAdmin: Bool = false
    ) throws -> Answer {
        try fixture.client.request(
            "POST", "\(AppCheckTests.host)/\(project)/apps/\(app):\(method)\(isAdmin ? "" : "?key=demo-api-key")",
            headers: ["Content-Type": "application/json"].merging(isAdmin ? ["Authorization": "Bearer owner"] : [:]) {
                $1
            },
            body: Array(try JSONSerialization.data(withJSONObject: body)))
    }

    private func debugToken() throws -> String {
        try exchange("exchangeDebugToken", ["debug_token": "6d8b25c2-debug"])["token"] ?? ""
    }

    private func signUp(_ token: String?, host: String? = nil) throws -> Answer {
        var headers = ["Content-Type": "application/json"]
        headers["X-Firebase-AppCheck"] = token
        headers["Host"] = host
        let place = host == nil ? FirebaseFixture.toolkit : ""
        return try fixture.client.request(
            "POST", "\(place)/v1/accounts:signUp?key=demo-api-key", headers: headers, body: Array("{}".utf8))
    }

    private func admin(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Answer {
        try fixture.client.request(
            method, "/firebaseappcheck.googleapis.com\(path)",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
            body: body.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? [])
    }

    @Test("a debug token of the seed brings a token that verifies by the published keys")
    func debug() throws {
        let answer = try exchange("exchangeDebugToken", ["debug_token": "6d8b25c2-debug"])
        #expect(answer["ttl"] == "1800s", "\(answer)")
        let token = try JWS(parsing: answer["token"] ?? "")
        #expect(token.algorithm == "RS256")
        #expect(token.header["typ"]?.string == "JWT")
        #expect(token.claims["sub"]?.string == AppCheckTests.app)
        #expect(token.claims["iss"]?.string == "https://firebaseappcheck.googleapis.com/123456789012")
        #expect(
            token.claims["aud"]?.array?.compactMap(\.string) == ["projects/123456789012", "projects/demo-app"])
        let jwks = try fixture.client.get("/firebaseappcheck.googleapis.com/v1/jwks")
        let keys = jwks.json["keys"] as? [[String: String]] ?? []
        #expect(keys.contains { $0["kid"] == token.keyID && $0["kty"] == "RSA" })
        // The web SDK's host: firebase-js-sdk, packages/app-check/src/constants.ts
        let web = try fixture.client.get("/v1/jwks", headers: ["Host": "content-firebaseappcheck.googleapis.com"])
        #expect(web.body == jwks.body)
        let limited = try exchange("exchangeDebugToken", ["debugToken": "6d8b25c2-debug", "limitedUse": true])
        #expect(limited["ttl"] == "300s")
        #expect(
            try exchange("exchangeDebugToken", ["debugToken": "6d8b25c2-debug"], project: "123456789012").status == 200)
    }

    @Test(
        "what attests no app is refused",
        arguments: [
            ("exchangeDebugToken", ["debugToken": "another"], app, "doesn't list this debug token"),
            ("exchangeDebugToken", ["debugToken": "6d8b25c2-debug"], "1:2:web:x", "doesn't list the app"),
            ("exchangeRecaptchaEnterpriseToken", ["recaptchaEnterpriseToken": "x"], app, "unknown or was used"),
            ("exchangeRecaptchaV3Token", ["recaptcha_v3_token": "bot"], app, "score is 0.4"),
            (
                "exchangeAppAttestAttestation", ["attestationStatement": "eA", "keyId": "eA", "challenge": "eA"], app,
                "challenge is unknown"
            ),
        ])
    func refused(method: String, body: [String: String], app: String, reason: String) throws {
        let answer = try exchange(method, body, app: app)
        #expect(answer.status == 403)
        #expect(answer.message == "App attestation failed.")
        #expect((answer.json["error"] as? [String: Any])?["status"] as? String == "PERMISSION_DENIED")
        #expect(answer.diagnosis.contains(reason))
    }

    @Test("devices and reCAPTCHA get tokens, too; a challenge works once")
    func providers() throws {
        let token =
            try fixture.client.post(
                "/www.google.com/recaptcha/enterprise/reload", form: ["k": "any", "action": "fire_app_check"])["token"]
            ?? ""
        let body = ["recaptcha_enterprise_token": token]
        #expect(try exchange("exchangeRecaptchaEnterpriseToken", body).status == 200)
        #expect(try exchange("exchangeRecaptchaEnterpriseToken", body).status == 403)
        #expect(try exchange("exchangeDeviceCheckToken", ["deviceToken": "eA=="])["token"]?.isEmpty == false)
        #expect(try exchange("exchangePlayIntegrityToken", [:]).message == "MISSING_PLAY_INTEGRITY_TOKEN")
        let challenge = try exchange("generateAppAttestChallenge", [:])["challenge"] ?? ""
        let statement = ["attestationStatement": "eA==", "keyId": "eA==", "challenge": challenge]
        let attested = try exchange("exchangeAppAttestAttestation", statement)
        let inner = attested.json["appCheckToken"] as? [String: String]
        #expect(try signUp(inner?["token"]).status == 200, "\(attested)")
        #expect(try exchange("exchangeAppAttestAttestation", statement).status == 403)
        let next = try exchange("generateAppAttestChallenge", [:])["challenge"] ?? ""
        let assertion = ["artifact": attested["artifact"] ?? "", "assertion": "eA==", "challenge": next]
        #expect(try exchange("exchangeAppAttestAssertion", assertion)["token"]?.isEmpty == false)
        #expect(try exchange("exchangeNothing", [:]).status == 404)
    }

    @Test("an Admin SDK mints tokens for its own apps, and consumes tokens")
    func administrators() throws {
        let parts = try [["alg": "RS256"], ["app_id": AppCheckTests.app]].map {
            Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: $0)))
        }
        let custom = ["customToken": "\(parts[0]).\(parts[1]).c2ln"]
        #expect(try exchange("exchangeCustomToken", custom).status == 403)
        let token = try exchange("exchangeCustomToken", custom, isAdmin: true)["token"] ?? ""
        #expect(try signUp(token).status == 200)
        let path = "/v1beta/projects/demo-app:verifyAppCheckToken"
        #expect(try admin("POST", path, ["app_check_token": token]).json.isEmpty)
        #expect(try admin("POST", path, ["app_check_token": token]).json["alreadyConsumed"] as? Bool == true)
        // The ID of a consumed token is no challenge, and stays consumed.
        let id = AppleFixture.claims(token)["jti"] as? String ?? ""
        let statement = ["attestationStatement": "eA==", "keyId": "eA==", "challenge": id]
        #expect(!id.isEmpty)
        #expect(try exchange("exchangeAppAttestAttestation", statement).status == 403)
        #expect(try admin("POST", path, ["app_check_token": token]).json["alreadyConsumed"] as? Bool == true)
        #expect(try admin("POST", path, ["app_check_token": "x.y.z"]).status == 400)
    }

    @Test("Identity Toolkit refuses a call without a good token at both addresses, but no administrator's")
    func enforced() throws {
        let good = try debugToken()
        #expect(try signUp(good).status == 200)
        #expect(try signUp(good, host: "identitytoolkit.googleapis.com").status == 200)
        for (token, reason) in [
            (nil, "X-Firebase-AppCheck is missing"), ("x", "can't be read"),
            (try fixture.google()["idToken"], "signature isn't App Check's"),
        ] as [(String?, String)] {
            let refused = try signUp(token)
            // firebase-ios-sdk, issue 13636
            let error = refused.json["error"] as? [String: Any]
            #expect(refused.status == 401)
            #expect(error?["message"] as? String == "Firebase App Check token is invalid.")
            #expect(error?["status"] as? String == "UNAUTHENTICATED")
            #expect((error?["errors"] as? [[String: String]])?.first?["reason"] == "unauthorized")
            #expect(refused.diagnosis.contains(reason))
        }
        try fixture.advance("31m")
        #expect(try signUp(good).diagnosis.contains("the App Check token has expired"))
        #expect(try fixture.owner("POST", "v1/projects/demo-app/accounts", [:]).status == 200)
    }

    @Test("an administrator turns enforcement off and on")
    func service() throws {
        let path = "/v1/projects/demo-app/services/identitytoolkit.googleapis.com"
        #expect(try admin("GET", path)["enforcementMode"] == "ENFORCED")
        #expect(try admin("PATCH", path, ["enforcementMode": "UNENFORCED"])["enforcementMode"] == "UNENFORCED")
        #expect(try signUp(nil).status == 200)
        #expect(try admin("PATCH", path, ["enforcementMode": "SOMETIMES"]).status == 400)
        _ = try admin("PATCH", path, ["enforcementMode": "ENFORCED"])
        #expect(try signUp(nil).status == 401)
        #expect(try admin("GET", "/v1/projects/demo-app/services/firestore.googleapis.com").status == 400)
        #expect(try fixture.client.get("/firebaseappcheck.googleapis.com\(path)?key=demo-api-key").status == 403)
    }
}
