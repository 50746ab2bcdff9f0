import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Apple: the native flow")
struct NativeTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    @Test("the first time brings name and address, later ones don't")
    func firstTime() throws {
        let first = try fixture.native(["nonce": "hash", "state": "x"])
        #expect(first.status == 200)
        #expect(first["state"] == "x")
        #expect(first["email"] == "ada@example.com")
        #expect(first.json["fullName"] as? [String: String] == ["givenName": "Ada", "familyName": "Lovelace"])
        #expect(
            first.json["authorizedScopes"] as? [String] == ["fullName", "email"])
        #expect(first.json["realUserStatus"] as? Int == 2)
        let claims = AppleFixture.claims(first["identityToken"] ?? "")
        #expect(claims["sub"] as? String == first["user"])
        #expect(claims["aud"] as? String == AppleFixture.app)
        #expect(claims["nonce"] as? String == "hash")
        #expect(claims["c_hash"] as? String == Algorithm.rs256.leftHalf(of: first["authorizationCode"] ?? ""))
        #expect(claims["real_user_status"] as? Int == 2)
        let second = try fixture.native()
        #expect(second["user"] == first["user"])
        #expect(second["email"] == nil)
        #expect(second.json["fullName"] == nil)
        #expect(second["state"] == nil)
        #expect(AppleFixture.claims(second["identityToken"] ?? "")["email"] as? String == "ada@example.com")
        #expect(AppleFixture.claims(second["identityToken"] ?? "")["real_user_status"] == nil)
    }

    @Test("what the device says of a new user", arguments: [("ada", 2), ("grace", 1), ("linus", 0)])
    func realUserStatus(account: String, status: Int) throws {
        let answer = try fixture.native(["account": account])
        #expect(answer.json["realUserStatus"] as? Int == status)
        #expect(AppleFixture.claims(answer["identityToken"] ?? "")["real_user_status"] as? Int == status)
    }

    @Test("an app and a web service under one primary app share consent; another team's doesn't")
    func grouping() throws {
        let web = try fixture.authorize([
            "response_mode": "form_post", "scope": "name email", "response_type": "code id_token",
        ])
        #expect(web.inputs["user"] != nil)
        let native = try fixture.native()
        #expect(native["email"] == nil)
        #expect(native["user"] == AppleFixture.claims(web.inputs["id_token"] ?? "")["sub"] as? String)
        #expect(try fixture.native(["client": "com.example.app.watch"])["email"] == nil)
        #expect(try fixture.native(["client": "com.example.acquired"])["email"] != nil)
    }

    @Test(
        "ordered outcomes become ASAuthorizationError",
        arguments: [
            (["outcome": "cancel"], 1001, "canceled"), (["outcome": "error", "error": "unknown"], 1000, "unknown"),
            (["outcome": "error", "error": "invalidResponse"], 1002, "invalidResponse"),
            (["outcome": "error", "error": "notHandled"], 1003, "notHandled"),
            (["outcome": "error", "error": "failed"], 1004, "failed"),
            (["outcome": "error", "error": "notInteractive"], 1005, "notInteractive"),
            (["outcome": "error", "error": "server_error"], 1004, "failed"),
        ] as [([String: String], Int, String)])
    func errors(outcome: [String: String], code: Int, name: String) throws {
        _ = try fixture.order(outcome)
        let answer = try fixture.native()
        #expect(answer.status == 409)
        let error = answer.json["error"] as? [String: Any]
        #expect(error?["domain"] as? String == "com.apple.AuthenticationServices.AuthorizationError")
        #expect(error?["code"] as? Int == code)
        #expect(error?["name"] as? String == name)
        #expect(error?["message"] as? String == answer.diagnosis)
    }

    @Test(
        "an App ID that isn't registered, or a Services ID, is error 1000",
        arguments: ["com.nope", AppleFixture.service])
    func unknownClient(client: String) throws {
        let answer = try fixture.native(["client": client])
        #expect(answer.status == 409)
        #expect((answer.json["error"] as? [String: Any])?["code"] as? Int == 1000)
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test(
        "a body that can't be is refused with its place",
        arguments: [
            ("{}", 400, "$"), (#"{"client":7}"#, 400, "$.client"),
            (#"{"client":"com.example.app","scopes":["name"]}"#, 400, "$.scopes[0]"),
            (#"{"client":"com.example.app","account":"nobody"}"#, 404, "$.account"),
            (#"{"client":"com.example.app","nonce":1}"#, 400, "$.nonce"),
            (#"{"client":"com.example.app","nonse":"x"}"#, 400, "$.nonse"), ("", 400, "$"), ("nope", 400, "$"),
        ])
    func badBody(body: String, status: Int, path: String) throws {
        let answer = try fixture.client.request(
            "POST", "\(AppleFixture.control)/apple/authorizations", body: Array(body.utf8))
        #expect(answer.status == status)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
    }

    @Test("credential states")
    func credentialStates() throws {
        func state(_ client: String, _ user: String) throws -> Answer {
            try fixture.client.get("\(AppleFixture.control)/apple/credential-state?client=\(client)&user=\(user)")
        }
        let user = try fixture.native()["user"] ?? ""
        #expect(try state(AppleFixture.app, user)["state"] == "authorized")
        #expect(try state(AppleFixture.app, user).json["rawValue"] as? Int == 1)
        #expect(try state(AppleFixture.service, user)["state"] == "authorized")
        #expect(try state(AppleFixture.app, "000000.x.0000")["state"] == "notFound")
        #expect(try state("com.example.acquired", user)["state"] == "transferred")
        #expect(try state("com.nope", user).status == 404)
        #expect(try fixture.client.get("\(AppleFixture.control)/apple/credential-state").status == 400)
    }

    @Test("with a fixed clock and seed two runs give the same bytes")
    func reproducible() throws {
        let seed = #"{"clock":{"set":"2030-01-01T00:00:00Z","freeze":true},"randomSeed":"tests"}"#
        func run(_ seed: String) throws -> [String] {
            let fixture = try AppleFixture(seed: seed)
            let native = try fixture.native(["nonce": "n"])
            let code = try fixture.code(["response_type": "code id_token"])
            let token = try fixture.token(["code": code, "client_secret": AppleFixture.secret(now: 1_893_456_000)])
            return [native.text, code, token.text]
        }
        let first = try run(seed)
        #expect(try run(seed) == first)
        #expect(try run(seed.replacingOccurrences(of: "tests", with: "other"))[1] != first[1])
    }
}
