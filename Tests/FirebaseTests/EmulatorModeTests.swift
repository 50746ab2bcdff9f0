import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Firebase: what SDKs in emulator mode meet, and those at the real host don't")
struct EmulatorModeTests {
    private let fixture: FirebaseFixture
    private static let project = "demo-suite"

    init() throws { fixture = try FirebaseFixture() }

    private func call(_ name: String, _ body: [String: Any]) throws -> Answer {
        try fixture.v1(name, body, key: EmulatorModeTests.project)
    }

    private func fake(_ fields: [String: String], _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = ["requestUri": "http://localhost", "postBody": TestClient.encode(fields)]
        return try call("signInWithIdp", body.merging(more) { $1 })
    }

    private func codes(_ address: String) throws -> [[String: Any]] {
        let path = "/emulator/v1/projects/\(EmulatorModeTests.project)/oobCodes"
        let codes = try fixture.client.get(path).json["oobCodes"] as? [[String: Any]] ?? []
        return codes.filter { $0["email"] as? String == address }
    }

    @Test("a link by e-mail leaves an unverified address its password, and needs no continueUrl")
    func emailLink() throws {
        _ = try call("signUp", ["email": "ada@example.org", "password": "correct horse"])
        #expect(try call("sendOobCode", ["requestType": "EMAIL_SIGNIN", "email": "ada@example.org"]).status == 200)
        let code = try #require(try codes("ada@example.org").first?["oobCode"] as? String)
        let purpose = try call("resetPassword", ["oobCode": code])
        #expect(purpose["requestType"] == "EMAIL_SIGNIN")
        #expect(purpose["email"] == nil)
        #expect(try call("signInWithEmailLink", ["email": "ada@example.org", "oobCode": code]).status == 200)
        let methods = try call("createAuthUri", ["identifier": "ada@example.org", "continueUri": "http://localhost"])
        #expect(methods.json["signinMethods"] as? [String] == ["password", "emailLink"])
        #expect(methods.json["allProviders"] as? [String] == ["password"])
    }

    @Test("the same link takes the password away where the real host was named")
    func hostedEmailLink() throws {
        _ = try fixture.signUp("ada@example.org")
        _ = try fixture.v1(
            "sendOobCode",
            ["requestType": "EMAIL_SIGNIN", "email": "ada@example.org", "continueUrl": "http://localhost"])
        let code = try fixture.mail("ada@example.org")["oobCode"] ?? ""
        #expect(try fixture.hosted("signInWithEmailLink", ["email": "ada@example.org", "oobCode": code]).status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"]).status
                == 400)
    }

    @Test("createAuthUri gives the session ID back, finds a provider's address, and lists nothing as an empty list")
    func methods() throws {
        let nobody = try call(
            "createAuthUri", ["identifier": "no@example.org", "continueUri": "http://localhost", "sessionId": "mine"])
        #expect(nobody["sessionId"] == "mine")
        #expect(nobody.json["signinMethods"] as? [String] == [])
        _ = try fake(["providerId": "google.com", "id_token": #"{"sub":"1","email":"old@example.org"}"#])
        let again = try fake(["providerId": "google.com", "id_token": #"{"sub":"1","email":"new@example.org"}"#])
        let found = try call("createAuthUri", ["identifier": "NEW@example.org", "continueUri": "http://localhost"])
        #expect(found.json["signinMethods"] as? [String] == ["google.com"])
        let user = try call("lookup", ["idToken": again["idToken"] ?? ""]).json["users"] as? [[String: Any]]
        #expect(user?.first?["email"] as? String == "old@example.org")
    }

    @Test("a fake Google token brings Google's profile, and a verified one takes the address over")
    func googleProfile() throws {
        let password = try call(
            "signUp", ["email": "foo@example.com", "password": "correct horse", "displayName": "Foo"])
        let token = #"{"sub":"9","email":"foo@example.com","email_verified":true,"given_name":"Ada","family_name":"L"}"#
        let answer = try fake(["providerId": "google.com", "id_token": token])
        #expect(answer["localId"] == password["localId"])
        #expect(answer["firstName"] == "Ada")
        #expect(answer["lastName"] == "L")
        let raw = try JSONSerialization.jsonObject(with: Data((answer["rawUserInfo"] ?? "").utf8)) as? [String: Any]
        #expect(raw?["id"] as? String == "9")
        #expect(raw?["verified_email"] as? Bool == true)
        #expect((raw?["granted_scopes"] as? String)?.hasSuffix("userinfo.email") ?? false)
        let users = try call("lookup", ["idToken": answer["idToken"] ?? ""]).json["users"] as? [[String: Any]]
        #expect(users?.first?["displayName"] == nil)
        let screen = try fake(["providerId": "github.com", "id_token": #"{"sub":"7","screen_name":"ada"}"#])
        let seen = try call("lookup", ["idToken": screen["idToken"] ?? ""]).json["users"] as? [[String: Any]]
        #expect(seen?.first?["screenName"] as? String == "ada")
    }

    // The official suite has this: firebase-tools, src/emulator/auth/idp.spec.ts, "should create new account with IDP
    // from production ID token"
    @Test("a real token's signature isn't read where the project hasn't the provider", arguments: ["", "00", "0"])
    func signature(text: String) throws {
        let header = Base64URL.encode(Array(#"{"alg":"RS256","kid":"1"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"sub":"7","email":"ada@gmail.com","email_verified":true}"#.utf8))
        let token = "\(header).\(claims).\(text)"
        let answer = try fake(["providerId": "google.com", "id_token": token])
        #expect(answer["email"] == "ada@gmail.com", "\(answer)")
        #expect(answer["oauthIdToken"] == token)
        let short = try fake(["providerId": "google.com", "id_token": "\(header).\(claims)"])
        #expect(short.message.hasPrefix("INVALID_IDP_RESPONSE : Unable to parse id_token"))
    }

    @Test("a fake SAML response needs a subject, and its attributes become the profile")
    func saml() throws {
        func signIn(_ response: String) throws -> Answer {
            try fake([
                "providerId": "saml.corp", "id_token": #"{"sub":"42","email":"a@example.org"}"#,
                "SAMLResponse": response,
            ])
        }
        for (response, missing) in [
            ("{}", "assertion"), (#"{"assertion":{}}"#, "assertion.subject"),
            (#"{"assertion":{"subject":{}}}"#, "assertion.subject.nameId"),
        ] {
            #expect(try signIn(response).message == "INVALID_IDP_RESPONSE ((Missing \(missing) in SAMLResponse.))")
        }
        #expect(try signIn("<xml/>").errorCode == "INVALID_IDP_RESPONSE")
        let answer = try signIn(
            #"{"assertion":{"subject":{"nameId":"b@example.org"},"attributeStatements":{"role":"tester"}}}"#)
        #expect(answer["email"] == "b@example.org")
        #expect(answer["federatedId"] == "42")
        #expect(answer.json["emailVerified"] as? Bool == true)
        #expect(answer["rawUserInfo"] == #"{"role":"tester"}"#)
        let firebase = answer.claims()["firebase"] as? [String: Any]
        #expect((firebase?["sign_in_attributes"] as? [String: Any])?["role"] as? String == "tester")
    }

    @Test("a sign-up brings its own second factors, each number once, with IDs that are made here")
    func factors() throws {
        let phone = ["phoneInfo": "+15555550100", "mfaEnrollmentId": "mine"]
        let made = try call(
            "signUp",
            [
                "email": "ada@example.org", "password": "correct horse",
                "mfaInfo": [phone, phone, ["phoneInfo": "+15555550101"]],
            ])
        let users = try call("lookup", ["idToken": made["idToken"] ?? ""]).json["users"] as? [[String: Any]]
        let factors = users?.first?["mfaInfo"] as? [[String: Any]] ?? []
        #expect(factors.map { $0["phoneInfo"] as? String } == ["+15555550100", "+15555550101"])
        #expect(!factors.contains { $0["mfaEnrollmentId"] as? String == "mine" })
        #expect(
            try call(
                "signUp", ["email": "b@example.org", "password": "correct horse", "mfaInfo": [["phoneInfo": "1"]]]
            )
            .message == "INVALID_MFA_PHONE_NUMBER : Invalid format.")
        // A project that refuses fake credentials refuses such factors, too.
        let strict = try fixture.v1(
            "signUp", ["email": "ada@example.org", "password": "correct horse", "mfaInfo": [phone]])
        #expect(try fixture.lookup(strict["idToken"])["mfaInfo"] == nil)
    }

    @Test("a project that no seed has tells the settings and the number of the official emulator's")
    func settings() throws {
        let config = try fixture.admin("GET", "/config", version: "v2", project: EmulatorModeTests.project)
        let signIn = try #require(config.json["signIn"] as? [String: Any])
        #expect(signIn.keys.sorted() == ["allowDuplicateEmails"])
        let user = try call("signUp", ["returnSecureToken": true])
        let refreshed = try fixture.client.post(
            "/securetoken.googleapis.com/v1/token?key=\(EmulatorModeTests.project)",
            form: ["grant_type": "refresh_token", "refresh_token": user["refreshToken"] ?? ""])
        #expect(refreshed["project_id"] == "12345")
    }

    @Test("where users may share an address, it isn't copied from a provider")
    func sharedAddresses() throws {
        _ = try fixture.client.post(
            "/emulator/v1/projects/\(EmulatorModeTests.project)/config",
            json: ["signIn": ["allowDuplicateEmails": true]], method: "PATCH")
        let made = try fake(["providerId": "google.com", "id_token": #"{"sub":"1","email":"a@example.org"}"#])
        let users = try call("lookup", ["idToken": made["idToken"] ?? ""]).json["users"] as? [[String: Any]]
        #expect(users?.first?["email"] == nil)
        let methods = try call("createAuthUri", ["identifier": "a@example.org", "continueUri": "http://localhost"])
        #expect(methods.json["registered"] as? Bool == true)
        #expect(methods.json["signinMethods"] as? [String] == [])
    }
}
