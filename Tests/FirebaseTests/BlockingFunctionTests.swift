import Foundation
import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing

@Suite("Blocking functions")
struct BlockingFunctionTests {
    @Test("what they want changed is changed, before a user is created and before it signs in")
    func changes() throws {
        let setup = try FunctionSetup()
        try setup.answer("beforeCreate", everyChange)
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
        let setup = try FunctionSetup()
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
        let setup = try FunctionSetup()
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
        let setup = try FunctionSetup()
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
        // The user was created, and isn't signed in.
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
        let setup = try FunctionSetup(["beforeSignIn"])
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
        let setup = try FunctionSetup()
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
        // The request is recorded after it has ended.
        let recorded = "\(FirebaseFixture.control)/requests?path=/events&wait=20s"
        let kept = try fixture.client.get(recorded).json["requests"]
        #expect((kept as? [[String: Any]])?.count == 1)
    }

    @Test("who is disabled by a function exists, and doesn't sign in", arguments: ["beforeCreate", "beforeSignIn"])
    func disabled(event: String) throws {
        let setup = try FunctionSetup()
        try setup.answer(event, ["updateMask": "disabled", "disabled": true])
        #expect(try setup.fixture.signUp("ada@example.org").message == "USER_DISABLED")
        let found = try setup.fixture.admin("POST", "/accounts:lookup", ["email": ["ada@example.org"]])
        #expect((found.json["users"] as? [[String: Any]])?.first?["disabled"] as? Bool == true)
        #expect(setup.events.count == (event == "beforeCreate" ? 1 : 2))
    }
}
