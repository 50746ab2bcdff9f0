import Foundation
import TestSupport
import Testing

@Suite("Firebase: users, passwords and profiles")
struct AccountTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    @Test("sign up, sign in, look up; the same by the names of both versions")
    func password() throws {
        let made = try fixture.legacy(
            "signupNewUser", ["email": "Ada@Example.org", "password": "secret!", "displayName": "Ada"])
        #expect(made.status == 200)
        #expect(made["email"] == "ada@example.org")
        #expect(made["kind"] == "identitytoolkit#SignupNewUserResponse")
        for answer in [
            try fixture.legacy("verifyPassword", ["email": "ada@example.org", "password": "secret!"]),
            try fixture.v1("signInWithPassword", ["email": "ADA@example.org", "password": "secret!"]),
        ] {
            #expect(answer["localId"] == made["localId"])
            #expect(answer["displayName"] == "Ada")
            #expect(answer.json["registered"] as? Bool == true)
            let user = try fixture.lookup(answer["idToken"])
            #expect(user["passwordHash"] as? String == "UkVEQUNURUQ=")
            #expect(user["emailVerified"] as? Bool == false)
            #expect((user["createdAt"] as? String)?.count == 13)
            #expect(try fixture.providers(answer["idToken"]) == ["password"])
        }
    }

    @Test("refusals of sign-up and sign-in, with enumeration protection and without")
    func refusals() throws {
        _ = try fixture.signUp("ada@example.org")
        let table: [(String, [String: Any], String)] = [
            ("signUp", ["email": "ada@example.org", "password": "secret!"], "EMAIL_EXISTS"),
            (
                "signUp", ["email": "b@example.org", "password": "short"],
                "WEAK_PASSWORD : Password should be at least 6 characters"
            ),
            ("signUp", ["email": "b@example.org"], "MISSING_PASSWORD"),
            ("signUp", ["password": "secret!"], "MISSING_EMAIL"),
            ("signUp", ["email": "nonsense", "password": "secret!"], "INVALID_EMAIL"),
            ("signInWithPassword", ["email": "ada@example.org", "password": "wrong"], "INVALID_LOGIN_CREDENTIALS"),
            ("signInWithPassword", ["email": "no@example.org", "password": "wrong"], "INVALID_LOGIN_CREDENTIALS"),
            ("signInWithPassword", ["email": "ada@example.org"], "MISSING_PASSWORD"),
            ("signInWithPassword", ["password": "x"], "MISSING_EMAIL"),
            ("signInWithPassword", ["email": "x", "password": "x"], "INVALID_EMAIL"),
        ]
        for (endpoint, body, message) in table {
            let answer = try fixture.v1(endpoint, body)
            #expect(answer.status == 400)
            #expect(answer.message == message)
            #expect(!answer.diagnosis.isEmpty)
            let errors = (answer.json["error"] as? [String: Any])?["errors"] as? [[String: String]]
            #expect(errors?.first?["domain"] == "global")
            #expect(errors?.first?["reason"] == "invalid")
        }
        let open = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","emailEnumerationProtection":false}]}}"#)
        _ = try open.signUp("ada@example.org")
        #expect(
            try open.v1("signInWithPassword", ["email": "ada@example.org", "password": "x"]).message
                == "INVALID_PASSWORD")
        #expect(
            try open.v1("signInWithPassword", ["email": "b@example.org", "password": "x"]).message == "EMAIL_NOT_FOUND")
        let methods = try open.v1(
            "createAuthUri", ["identifier": "ada@example.org", "continueUri": "http://localhost"])
        #expect(methods.json["registered"] as? Bool == true)
        #expect(methods.json["signinMethods"] as? [String] == ["password"])
        let hidden = try fixture.v1(
            "createAuthUri", ["identifier": "ada@example.org", "continueUri": "http://localhost"])
        #expect(Set(hidden.json.keys) == ["kind", "sessionId"])
    }

    @Test("methods that are switched off")
    func switchedOff() throws {
        let fixture = try FirebaseFixture(
            seed:
                #"{"firebase":{"projects":[{"id":"demo-app","providers":{"password":{"enabled":false},"anonymous":{"enabled":false}}}]}}"#
        )
        #expect(try fixture.signUp("a@example.org").message == "OPERATION_NOT_ALLOWED")
        #expect(try fixture.signUpAnonymously().message == "ADMIN_ONLY_OPERATION")
        #expect(
            try fixture.v1("signInWithPassword", ["email": "a@example.org", "password": "x"]).message
                == "PASSWORD_LOGIN_DISABLED")
    }

    @Test("a password for who is signed in: linked to the anonymous user, or to the user with Apple's identity")
    func linkPassword() throws {
        let anonymous = try fixture.signUpAnonymously()
        let linked = try fixture.v1(
            "signUp", ["idToken": anonymous["idToken"] ?? "", "email": "a@example.org", "password": "secret!"])
        #expect(linked["localId"] == anonymous["localId"])
        #expect(linked["idToken"] != nil)
        let apple = try fixture.signInWithApple()
        let both = try fixture.v1(
            "signUp", ["idToken": apple["idToken"] ?? "", "email": "ada@example.com", "password": "secret!"])
        #expect(try fixture.providers(both["idToken"]) == ["apple.com", "password"])
        let taken = try fixture.v1(
            "signUp", ["idToken": both["idToken"] ?? "", "email": "a@example.org", "password": "secret!"])
        #expect(taken.message == "EMAIL_EXISTS")
    }

    @Test("profile changes need no recent sign-in; address, password and deletion do")
    func updates() throws {
        let user = try fixture.signUp("a@example.org")
        let token = user["idToken"] ?? ""
        try fixture.advance("6m")
        let named = try fixture.v1(
            "update",
            ["idToken": token, "displayName": "A", "photoUrl": "https://example.com/a.png", "returnSecureToken": true])
        #expect(named["displayName"] == "A")
        // The answer has no new tokens: the next token has the name (auth-account, client/profile).
        #expect(named["idToken"] == nil)
        #expect(try fixture.refresh(user["refreshToken"]).claims("id_token")["name"] as? String == "A")
        for body in [["password": "new password"], ["email": "b@example.org"]] {
            let answer = try fixture.v1("update", body.merging(["idToken": token]) { $1 })
            #expect(answer.message == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            #expect(answer.diagnosis.contains("reauthenticate"))
        }
        #expect(try fixture.legacy("deleteAccount", ["idToken": token]).message == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        let cleared = try fixture.v1("update", ["idToken": token, "deleteAttribute": ["DISPLAY_NAME", "PHOTO_URL"]])
        #expect(cleared["displayName"] == nil)
        let again = try fixture.v1("signInWithPassword", ["email": "a@example.org", "password": "correct horse"])
        #expect(
            try fixture.v1("update", ["idToken": again["idToken"] ?? "", "email": "b@example.org"]).message
                == "OPERATION_NOT_ALLOWED : Please verify the new email before changing email.")
        #expect(
            try fixture.v1("update", ["idToken": again["idToken"] ?? "", "password": "tiny"]).errorCode
                == "WEAK_PASSWORD")
        #expect(try fixture.v1("delete", ["idToken": again["idToken"] ?? ""]).status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "a@example.org", "password": "correct horse"]).status == 400)
    }

    @Test("an address is changed at once without enumeration protection, unless it is taken")
    func changeEmail() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","emailEnumerationProtection":false}]}}"#)
        _ = try fixture.signUp("taken@example.org")
        let user = try fixture.signUp("a@example.org")
        let taken = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "email": "taken@example.org"])
        #expect(taken.message == "EMAIL_EXISTS")
        #expect(try fixture.v1("update", ["idToken": user["idToken"] ?? "", "email": "x"]).message == "INVALID_EMAIL")
        let changed = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "email": "b@example.org"])
        #expect(changed["email"] == "b@example.org")
        #expect(changed["idToken"] != nil)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "b@example.org", "password": "correct horse"]).status == 200)
    }

    @Test("wrong types are refused as Google's API refuses them, unknown fields ignored")
    func types() throws {
        for (body, field, type) in [
            (["email": true], "email", "TYPE_STRING"),
            (["returnIdpCredential": "yes"], "return_idp_credential", "TYPE_BOOL"),
        ] as [([String: Any], String, String)] {
            let endpoint = field == "email" ? "signUp" : "signInWithIdp"
            let all: [String: Any] = [
                "requestUri": "http://localhost",
                "postBody": FirebaseFixture.postBody("github.com", accessToken: try fixture.gitHubToken()),
            ]
            let answer = try fixture.v1(endpoint, endpoint == "signUp" ? body : all.merging(body) { $1 })
            #expect(answer.status == 400)
            #expect(answer.message.hasPrefix("Invalid value at '\(field)' (\(type)), "))
            let error = answer.json["error"] as? [String: Any]
            #expect(error?["status"] as? String == "INVALID_ARGUMENT")
            let violation = ((error?["details"] as? [[String: Any]])?.first?["fieldViolations"] as? [[String: String]])?
                .first
            #expect(violation?["field"] == field)
        }
        #expect(try fixture.v1("signUp", ["nonsense": ["a": 1]]).status == 200)
        for body in ["{", "[]", "7", "null"] {
            let answer = try fixture.client.request(
                "POST", "\(FirebaseFixture.toolkit)/v1/accounts:signUp?key=\(FirebaseFixture.key)",
                headers: ["Content-Type": "application/json"], body: Array(body.utf8))
            #expect(answer.status == 400)
            #expect(answer.message.hasPrefix("Invalid JSON payload received."))
        }
    }

    @Test("small operations, CORS, and methods that aren't there")
    func rest() throws {
        let config = try fixture.client.get("\(FirebaseFixture.legacy)/getProjectConfig?key=\(FirebaseFixture.key)")
        #expect((config.json["authorizedDomains"] as? [String])?.contains("demo-app.firebaseapp.com") ?? false)
        let recaptcha = try fixture.client.get(
            "\(FirebaseFixture.toolkit)/v2/recaptchaConfig?key=\(FirebaseFixture.key)&clientType=CLIENT_TYPE_IOS")
        #expect(
            (recaptcha.json["recaptchaEnforcementState"] as? [[String: String]])?.first?["enforcementState"] == "OFF")
        let missing = try fixture.v1("nothing", [:])
        #expect(missing.status == 404)
        #expect(missing.header("Content-Type")?.hasPrefix("text/html") ?? false)
        #expect(!missing.diagnosis.isEmpty)
        let old = try fixture.v1("verifyPassword", [:])
        #expect(old.status == 404)
        #expect(old.diagnosis.contains("send POST /v1/accounts:signInWithPassword"), "\(old)")
        #expect(!old.diagnosis.contains("did you mean"), "\(old)")
        let preflight = try fixture.client.request(
            "OPTIONS", "\(FirebaseFixture.toolkit)/v1/accounts:signUp", headers: ["Origin": "http://app.example"])
        #expect(preflight.header("Access-Control-Allow-Origin") == "http://app.example")
    }
}
