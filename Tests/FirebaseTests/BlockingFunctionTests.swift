import Foundation
import HTTPServer
import JOSE
import JSON
import Synchronization
import TestSupport
import Testing

/// A daemon whose project asks a function, and the function.
private final class Setup {
    let fixture: FirebaseFixture
    let receiver: Receiver
    private let answers: Answers

    /// What the function answers, by event.
    final class Answers: Sendable {
        let bodies = Mutex<[String: (status: Int, body: String)]>([:])
    }

    init(_ events: [String] = ["beforeCreate", "beforeSignIn"], forwards: [String] = [], seed: String? = nil) throws {
        let answers = Answers()
        self.answers = answers
        receiver = try Receiver { request in
            let event = Setup.claims(request)["event_type"] as? String ?? ""
            let (status, body) = answers.bodies.withLock { $0[event] } ?? (200, "{}")
            return .now(Response(status: status, contentType: "application/json", body: body))
        }
        fixture = try FirebaseFixture(seed: seed)
        let triggers = Dictionary(uniqueKeysWithValues: events.map { ($0, ["functionUri": receiver.url]) })
        let functions: [String: Any] = [
            "triggers": triggers,
            "forwardInboundCredentials": Dictionary(uniqueKeysWithValues: forwards.map { ($0, true) }),
        ]
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=blockingFunctions", ["blockingFunctions": functions], version: "v2")
    }

    func answer(_ event: String, _ record: [String: Any], status: Int = 200) throws {
        let body = try JSONSerialization.data(withJSONObject: ["userRecord": record])
        answers.bodies.withLock { $0[event] = (status, String(decoding: body, as: UTF8.self)) }
    }

    func answer(_ event: String, status: Int, _ body: String) { answers.bodies.withLock { $0[event] = (status, body) } }

    /// The claims of the tokens that the function got.
    var asked: [[String: Any]] { receiver.requests.map(Setup.claims) }
    var events: [String] { asked.map { "\($0["event_type"] ?? "") \($0["sign_in_method"] ?? "")" } }

    static func claims(_ request: Request) -> [String: Any] {
        let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let token = (body?["data"] as? [String: Any])?["jwt"] as? String ?? ""
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return [:] }
        return (try? JSONSerialization.jsonObject(with: Data(claims))) as? [String: Any] ?? [:]
    }
}

private var everything: [String: Any] {
    [
        "updateMask": "displayName,photoURL,emailVerified,customClaims,sessionClaims", "displayName": "Grace",
        "photoURL": "https://example.com/grace.png", "emailVerified": true, "customClaims": ["role": "admin"],
        "sessionClaims": ["session": 7],
    ]
}

@Suite("Blocking functions")
struct BlockingFunctionTests {
    @Test("what they want changed is changed, before a user is created and before it signs in")
    func changes() throws {
        let setup = try Setup()
        try setup.answer("beforeCreate", everything)
        let made = try setup.fixture.signUp("ada@example.org")
        #expect(made.status == 200 && made["displayName"] == "Grace")
        #expect(made.claims()["name"] as? String == "Grace")
        #expect(made.claims()["picture"] as? String == "https://example.com/grace.png")
        #expect(made.claims()["email_verified"] as? Bool == true)
        #expect(made.claims()["role"] as? String == "admin")
        // A session begins at the sign-in, not at the creation.
        #expect(made.claims()["session"] == nil)
        try setup.answer(
            "beforeSignIn",
            [
                "updateMask": "displayName,photoUrl,sessionClaims", "displayName": "Joan",
                "sessionClaims": ["session": 7],
            ])
        let signedIn = try setup.fixture.v1(
            "signInWithPassword", ["email": "ada@example.org", "password": "correct horse"])
        #expect(signedIn["displayName"] == "Joan")
        #expect(signedIn.claims()["picture"] == nil)
        #expect(signedIn.claims()["role"] as? String == "admin" && signedIn.claims()["session"] as? Int == 7)
        let refreshed = try setup.fixture.refresh(signedIn["refreshToken"])
        #expect(refreshed.claims("id_token")["session"] as? Int == 7)
        #expect(setup.events == ["beforeCreate password", "beforeSignIn password", "beforeSignIn password"])
    }

    @Test("they are told who it is, and the user gets the ID that they were told")
    func token() throws {
        let setup = try Setup()
        let made = try setup.fixture.signUp("ada@example.org")
        let asked = try #require(setup.asked.first)
        #expect(asked["iss"] as? String == "https://securetoken.google.com/demo-app")
        #expect(asked["aud"] as? String == setup.receiver.url)
        #expect(asked["sub"] as? String == made["localId"])
        #expect((asked["exp"] as? Int ?? 0) - (asked["iat"] as? Int ?? 0) == 600)
        #expect((asked["event_id"] as? String)?.isEmpty == false)
        let record = try #require(asked["user_record"] as? [String: Any])
        #expect(record["uid"] as? String == made["localId"])
        #expect(record["email"] as? String == "ada@example.org" && record["email_verified"] as? Bool == false)
        let metadata = try #require(record["metadata"] as? [String: Int])
        #expect((metadata["creation_time"] ?? 0) > 1_000_000_000_000)
        let provider = (record["provider_data"] as? [[String: Any]])?.first
        #expect(provider?["provider_id"] as? String == "password" && provider?["uid"] as? String == "ada@example.org")
        let request = try #require(setup.receiver.requests.first)
        #expect(request.contentType == "application/json")
    }

    @Test(
        "at the daemon's own address the token is unsigned, and where the real host was named it is signed as ID tokens are"
    )
    func signature() throws {
        let setup = try Setup()
        func token(_ place: Int) throws -> JWS {
            let body = try JSONSerialization.jsonObject(with: Data(setup.receiver.requests[place].body))
            let data = (body as? [String: Any])?["data"] as? [String: String]
            return try JWS(parsing: data?["jwt"] ?? "")
        }
        _ = try setup.fixture.signUp("ada@example.org")
        #expect(try token(0).algorithm == "none")
        _ = try setup.fixture.hosted("signUp", ["email": "bob@example.org", "password": "correct horse"])
        let signed = try token(2)
        #expect(signed.algorithm == "RS256")
        let path = "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
        let keys = try setup.fixture.client.get(path).json["keys"] as? [[String: Any]] ?? []
        let jwk = try #require(keys.first { $0["kid"] as? String == signed.keyID })
        let text = String(decoding: try JSONSerialization.data(withJSONObject: jwk), as: UTF8.self)
        #expect(signed.verify(with: try Key(jwk: JSONValue(parsing: text)), algorithm: .rs256) == .valid)
    }

    @Test("a refusal is passed on, and nobody is created")
    func refusal() throws {
        let setup = try Setup()
        let body = #"{"error":{"message":"only ours","status":"PERMISSION_DENIED"}}"#
        setup.answer("beforeCreate", status: 403, body)
        let refused = try setup.fixture.signUp("ada@example.org")
        #expect(refused.status == 400)
        #expect(
            refused.message
                == "BLOCKING_FUNCTION_ERROR_RESPONSE : ((HTTP request to \(setup.receiver.url) returned HTTP error 403: \(body)))"
        )
        let hosted = try setup.fixture.hosted("signUp", ["email": "ada@example.org", "password": "correct horse"])
        #expect(hosted.status == 400)
        #expect(
            hosted.message == "BLOCKING_FUNCTION_ERROR_RESPONSE : HTTP Cloud Function returned an error: \(body)")
        let found = try setup.fixture.admin("POST", "/accounts:lookup", ["email": ["ada@example.org"]])
        #expect(found.json["users"] == nil)
        setup.answer("beforeCreate", status: 200, "{}")
        setup.answer("beforeSignIn", status: 400, "no")
        #expect(try setup.fixture.signUp("ada@example.org").errorCode == "BLOCKING_FUNCTION_ERROR_RESPONSE")
        // It was created, and isn't signed in.
        #expect(try setup.fixture.signUp("ada@example.org").errorCode == "EMAIL_EXISTS")
    }

    @Test(
        "an answer that can't be used is refused",
        arguments: [
            ("gibberish", "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Response body is not valid JSON.))", 500),
            ("[]", "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Response body is not valid JSON.))", 500),
            (
                #"{"userRecord": {"displayName": "Eve"}}"#,
                "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Response UserRecord is missing updateMask.))", 400
            ),
            (
                #"{"userRecord": {"updateMask": "sessionClaims", "sessionClaims": 7}}"#,
                "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Response has malformed session claims.))", 400
            ),
            (#"{"userRecord": {"updateMask": "customClaims", "customClaims": 7}}"#, "INVALID_CLAIMS", 400),
            (
                #"{"userRecord": {"updateMask": "customClaims", "customClaims": {"iss": "me"}}}"#,
                "FORBIDDEN_CLAIM : iss", 400
            ),
            (
                #"{"userRecord": {"updateMask": "sessionClaims", "sessionClaims": {"firebase": {}}}}"#,
                "FORBIDDEN_CLAIM : firebase", 400
            ),
        ])
    func malformed(body: String, message: String, status: Int) throws {
        let setup = try Setup(["beforeSignIn"])
        setup.answer("beforeSignIn", status: 200, body)
        let refused = try setup.fixture.signUp("ada@example.org")
        #expect(refused.message == message && refused.status == status)
    }

    @Test(
        "an answer that changes nothing is fine",
        arguments: [
            "{}", #"{"userRecord": {"updateMask": ""}}"#,
            #"{"userRecord": {"updateMask": "uid,email", "uid": "x", "email": "eve@example.org"}}"#,
            #"{"userRecord": null}"#,
        ])
    func nothing(body: String) throws {
        let setup = try Setup()
        setup.answer("beforeCreate", status: 200, body)
        setup.answer("beforeSignIn", status: 200, body)
        let made = try setup.fixture.signUp("ada@example.org")
        #expect(made.status == 200 && made["email"] == "ada@example.org" && made["localId"] != "x")
    }

    @Test("a function that isn't there can't be asked; one that says nothing is given seven seconds")
    func unreachable() throws {
        let receiver = try Receiver { _ in .later { _ in } }
        let fixture = try FirebaseFixture()
        func sign(_ uri: String) throws -> Answer {
            _ = try fixture.admin(
                "PATCH", "/config?updateMask=blockingFunctions.triggers",
                ["blockingFunctions": ["triggers": ["beforeCreate": ["functionUri": uri]]]], version: "v2")
            return try fixture.signUp("ada@example.org")
        }
        let refused = try sign("http://127.0.0.1:1/none")
        #expect(refused.status == 500)
        #expect(
            refused.message
                == "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Failed to make request to http://127.0.0.1:1/none.))")
        let began = ContinuousClock.now
        let late = try sign(receiver.url)
        #expect(
            late.message
                == "BLOCKING_FUNCTION_ERROR_RESPONSE : ((Deadline exceeded making request to \(receiver.url).))")
        #expect(ContinuousClock.now - began >= .seconds(7))
        let kept = try fixture.client.get("\(FirebaseFixture.control)/requests?path=/events").json["requests"]
        #expect((kept as? [[String: Any]])?.count == 1)
    }

    @Test("who is disabled by a function exists, and doesn't sign in", arguments: ["beforeCreate", "beforeSignIn"])
    func disabled(event: String) throws {
        let setup = try Setup()
        try setup.answer(event, ["updateMask": "disabled", "disabled": true])
        #expect(try setup.fixture.signUp("ada@example.org").message == "USER_DISABLED")
        let found = try setup.fixture.admin("POST", "/accounts:lookup", ["email": ["ada@example.org"]])
        #expect((found.json["users"] as? [[String: Any]])?.first?["disabled"] as? Bool == true)
        #expect(setup.events.count == (event == "beforeCreate" ? 1 : 2))
    }

    @Test("every way of signing in is asked about, but anonymous users, custom tokens and administrators aren't")
    func methods() throws {
        let setup = try Setup()
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
        // A password beside it isn't a sign-in; another provider's identity is.
        _ = try fixture.v1(
            "signUp", ["idToken": linked["idToken"] ?? "", "email": "ada@example.org", "password": "correct horse"])
        #expect(setup.events.count == 4)
        #expect(try fixture.signInWithApple("ada", ["idToken": linked["idToken"] ?? ""]).status == 200)
        #expect(setup.events.suffix(1) == ["beforeSignIn apple.com"])
        let authenticator = try SoftwareAuthenticator()
        let start = try fixture.v2("accounts/passkeyEnrollment:start", ["idToken": linked["idToken"] ?? ""])
        let options = start.json["credentialCreationOptions"] as? [String: Any]
        let made = try authenticator.registration(options?["challenge"] as? String ?? "")
        _ = try fixture.v2(
            "accounts/passkeyEnrollment:finalize",
            ["idToken": linked["idToken"] ?? "", "authenticatorRegistrationResponse": made])
        authenticator.signCount = 2
        let request =
            try fixture.v2("accounts/passkeySignIn:start", [:]).json["credentialRequestOptions"] as? [String: Any]
        let proof = try authenticator.assertion(request?["challenge"] as? String ?? "")
        #expect(
            try fixture.v2("accounts/passkeySignIn:finalize", ["authenticatorAuthenticationResponse": proof]).status
                == 200)
        #expect(setup.events.suffix(1) == ["beforeSignIn passkey"])
    }

    @Test("a link that a function refuses isn't made")
    func link() throws {
        let setup = try Setup(["beforeSignIn"])
        let idToken = try setup.fixture.signUp("ada@example.org")["idToken"] ?? ""
        setup.answer("beforeSignIn", status: 403, "no")
        #expect(
            try setup.fixture.signInWithApple("ada", ["idToken": idToken]).errorCode
                == "BLOCKING_FUNCTION_ERROR_RESPONSE")
        #expect(try setup.fixture.providers(idToken) == ["password"])
    }

    @Test("a provider's tokens are told where the project says so", arguments: [true, false])
    func credentials(isForwarded: Bool) throws {
        let setup = try Setup(forwards: isForwarded ? ["idToken", "accessToken", "refreshToken"] : [])
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
        let setup = try Setup(["beforeSignIn"])
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
        try setup.answer("beforeSignIn", everything)
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

    @Test("the configuration is checked, told, and emptied by an update without a mask")
    func configuration() throws {
        let fixture = try FirebaseFixture()
        func patch(_ functions: [String: Any], mask: String = "?updateMask=blockingFunctions") throws -> Answer {
            try fixture.admin("PATCH", "/config\(mask)", ["blockingFunctions": functions], version: "v2")
        }
        func kept() throws -> String {
            let functions = try fixture.admin("GET", "/config", version: "v2").json["blockingFunctions"] ?? [:]
            return String(
                decoding: try JSONSerialization.data(withJSONObject: functions, options: [.sortedKeys]), as: UTF8.self)
        }
        #expect(try kept() == "{}")
        let uri = "http://localhost:5001/demo/beforeCreate"
        #expect(
            try patch(["triggers": ["beforeCreate": ["functionUri": uri], "beforeSignIn": ["functionUri": ""]]]).status
                == 200)
        let triggers = #""triggers":{"beforeCreate":{"functionUri":"http:\/\/localhost:5001\/demo\/beforeCreate"}}"#
        #expect(try kept() == "{\(triggers)}")
        let mask = "?updateMask=blockingFunctions.forwardInboundCredentials.idToken"
        #expect(
            try patch(["forwardInboundCredentials": ["idToken": true, "accessToken": true]], mask: mask).status == 200)
        #expect(try kept() == #"{"forwardInboundCredentials":{"idToken":true},"# + "\(triggers)}")
        for (event, uri) in [
            ("beforeLunch", uri), ("beforeCreate", "nowhere"), ("beforeCreate", "ftp://localhost/"),
            ("beforeCreate", "https://example.com/function"),
        ] {
            let refused = try patch(["triggers": [event: ["functionUri": uri]]])
            #expect(refused.status == 400 && refused.errorCode == "INVALID_BLOCKING_FUNCTION", "\(event) \(uri)")
        }
        #expect(try fixture.admin("PATCH", "/config", ["signIn": [:]], version: "v2").status == 200)
        #expect(try kept() == "{}")
    }

    @Test("a seed has functions, at this machine or at hosts that it names")
    func seeded() throws {
        let receiver = try Receiver { _ in
            .now(Response(status: 403, contentType: "application/json", body: #"{"error":{"message":"no"}}"#))
        }
        func seed(_ uri: String, hosts: String) -> String {
            """
            {"firebase": {"projects": [{"id": "demo-app", "blockingFunctions":
             {"triggers": {"beforeCreate": {"functionUri": "\(uri)"}}, "allowedHosts": [\(hosts)]}}]}}
            """
        }
        let fixture = try FirebaseFixture(seed: seed(receiver.url, hosts: ""))
        #expect(try fixture.signUp("ada@example.org").errorCode == "BLOCKING_FUNCTION_ERROR_RESPONSE")
        let elsewhere = "https://functions.example.com/before"
        #expect(throws: (any Error).self) { try FirebaseFixture(seed: seed(elsewhere, hosts: "")) }
        let allowed = try FirebaseFixture(seed: seed(elsewhere, hosts: #""functions.example.com""#))
        let patched = try allowed.admin(
            "PATCH", "/config?updateMask=blockingFunctions.triggers",
            ["blockingFunctions": ["triggers": ["beforeSignIn": ["functionUri": elsewhere]]]], version: "v2")
        #expect(patched.status == 200)
    }
}
