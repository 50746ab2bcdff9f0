import Foundation
import HTTPServer
import TestSupport
import Testing

@Suite("What blocking functions are asked about")
struct BlockingFunctionEventTests {
    @Test("every way of signing in is asked about, but anonymous users, custom tokens and administrators aren't")
    func methods() throws {
        let setup = try FunctionSetup()
        let fixture = setup.fixture
        _ = try fixture.signUpAnonymously()
        _ = try fixture.admin("POST", "/accounts", ["email": "bob@example.org", "password": "correct horse"])
        _ = try fixture.v1("signInWithCustomToken", ["token": #"{"uid": "abc"}"#])
        #expect(setup.events == [])
        let session = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550101"])["sessionInfo"] ?? ""
        let code = try fixture.message("+15555550101")
        #expect(try fixture.v1("signInWithPhoneNumber", ["sessionInfo": session, "code": code]).status == 200)
        #expect(setup.events == ["beforeCreate phone", "beforeSignIn phone"])
        _ = try fixture.v1(
            "sendOobCode",
            ["requestType": "EMAIL_SIGNIN", "email": "ada@example.org", "continueUrl": "http://localhost/"])
        let link = try fixture.mail("ada@example.org")["oobCode"] as? String ?? ""
        let linked = try fixture.v1("signInWithEmailLink", ["email": "ada@example.org", "oobCode": link])
        #expect(linked.status == 200)
        #expect(setup.events.suffix(2) == ["beforeCreate emailLink", "beforeSignIn emailLink"])
        // Adding a password isn't a sign-in; adding another provider's identity is. A new password ends earlier tokens.
        let withPassword = try fixture.v1(
            "signUp", ["idToken": linked["idToken"] ?? "", "email": "ada@example.org", "password": "correct horse"])
        #expect(setup.events.count == 4)
        let token = withPassword["idToken"] ?? ""
        #expect(try fixture.signInWithApple("ada", ["idToken": token]).status == 200)
        #expect(setup.events.suffix(1) == ["beforeSignIn apple.com"])
        let authenticator = try SoftwareAuthenticator()
        let start = try fixture.v2("accounts/passkeyEnrollment:start", ["idToken": token])
        let options = start.json["credentialCreationOptions"] as? [String: Any]
        let made = try authenticator.registration(options?["challenge"] as? String ?? "")
        _ = try fixture.v2(
            "accounts/passkeyEnrollment:finalize",
            ["idToken": token, "authenticatorRegistrationResponse": made])
        authenticator.signCount = 2
        let request =
            try fixture.v2("accounts/passkeySignIn:start", [:]).json["credentialRequestOptions"] as? [String: Any]
        let proof = try authenticator.assertion(request?["challenge"] as? String ?? "")
        #expect(
            try fixture.v2("accounts/passkeySignIn:finalize", ["authenticatorAuthenticationResponse": proof]).status
                == 200)
        #expect(setup.events.suffix(1) == ["beforeSignIn passkey"])
    }

    @Test("a function may call the daemon meanwhile, but who signs in mustn't change by that")
    func callback() throws {
        let fixture = try FirebaseFixture()
        let number = "+15555550103"
        let receiver = try Receiver { _ in
            let made = try? fixture.admin("POST", "/accounts", ["phoneNumber": number])
            return .now(
                Response(status: made?.status == 200 ? 200 : 500, contentType: "application/json", body: "{}"))
        }
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=blockingFunctions",
            ["blockingFunctions": ["triggers": ["beforeCreate": ["functionUri": receiver.url]]]], version: "v2")
        func signIn() throws -> Answer {
            let session = try fixture.v1("sendVerificationCode", ["phoneNumber": number])["sessionInfo"] ?? ""
            return try fixture.v1(
                "signInWithPhoneNumber", ["sessionInfo": session, "code": try fixture.message(number)])
        }
        #expect(try signIn().message == "USER_NOT_FOUND")
        let signedIn = try signIn()
        #expect(signedIn.status == 200 && signedIn.json["isNewUser"] as? Bool == false)
        #expect(receiver.requests.count == 1)
    }

    @Test("a link that a function refuses isn't made")
    func link() throws {
        let setup = try FunctionSetup(["beforeSignIn"])
        let idToken = try setup.fixture.signUp("ada@example.org")["idToken"] ?? ""
        setup.answer("beforeSignIn", status: 403, "no")
        #expect(
            try setup.fixture.signInWithApple("ada", ["idToken": idToken]).errorCode
                == "BLOCKING_FUNCTION_ERROR_RESPONSE")
        #expect(try setup.fixture.providers(idToken) == ["password"])
    }

    @Test("a provider's tokens are told where the project says so", arguments: [true, false])
    func credentials(isForwarded: Bool) throws {
        let setup = try FunctionSetup(forwards: isForwarded ? ["idToken", "accessToken", "refreshToken"] : [])
        let google = try setup.fixture.google()
        let answer = try setup.fixture.assertion(
            FirebaseFixture.postBody(
                "google.com", idToken: google["idToken"], accessToken: google["accessToken"]))
        #expect(answer.status == 200)
        let asked = try #require(setup.asked.first)
        #expect(asked["sign_in_method"] as? String == "google.com")
        #expect((asked["raw_user_info"] as? String)?.contains("ada@example.com") == true)
        #expect((asked["oauth_id_token"] as? String == google["idToken"]) == isForwarded)
        #expect((asked["oauth_access_token"] as? String == google["accessToken"]) == isForwarded)
    }

    @Test("who has a second factor is asked about once it was shown")
    func secondFactor() throws {
        let setup = try FunctionSetup(["beforeSignIn"])
        let fixture = setup.fixture
        let made = try fixture.signUp("ada@example.org")
        _ = try fixture.admin(
            "POST", "/accounts:update",
            [
                "localId": made["localId"] ?? "", "emailVerified": true,
                "mfa": ["enrollments": [["mfaEnrollmentId": "phone-1", "phoneInfo": "+15555550102"]]],
            ])
        let first = try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        let pending = try #require(first["mfaPendingCredential"])
        #expect(setup.events.count == 1)
        try setup.answer("beforeSignIn", everyChange)
        let start = try fixture.v2(
            "accounts/mfaSignIn:start", ["mfaPendingCredential": pending, "mfaEnrollmentId": "phone-1"])
        let session = (start.json["phoneResponseInfo"] as? [String: String])?["sessionInfo"] ?? ""
        let answer = try fixture.v2(
            "accounts/mfaSignIn:finalize",
            [
                "mfaPendingCredential": pending,
                "phoneVerificationInfo": ["sessionInfo": session, "code": try fixture.message("+15555550102")],
            ])
        #expect(answer.claims()["session"] as? Int == 7 && answer.claims()["name"] as? String == "Grace")
        let asked = try #require(setup.asked.last)
        #expect(asked["sign_in_second_factor"] as? String == "phone")
        let factors = (asked["user_record"] as? [String: Any])?["multi_factor"] as? [String: [[String: Any]]]
        #expect(factors?["enrolled_factors"]?.first?["phone_number"] as? String == "+15555550102")
    }
}
