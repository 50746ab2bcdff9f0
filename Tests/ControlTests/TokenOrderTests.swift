import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Tokens without a sign-in")
struct TokenOrderTests {
    let fixture: FaultFixture
    static let path = "\(FaultFixture.api)/tokens"

    init() throws { fixture = try FaultFixture() }

    @Test("PyJWT verifies what is whole", .pyJWT)
    func whole() throws {
        let apple = try fixture.client.post(
            TokenOrderTests.path,
            json: ["provider": "apple", "client": AppleFixture.app, "account": "grace", "nonce": "n"])
        #expect(apple.status == 201)
        let google = try fixture.client.post(
            TokenOrderTests.path, json: ["provider": "google", "client": "example.apps.googleusercontent.com"])
        let verdicts = try TokenVerifier.verify([
            .init(
                apple["token"], keys: fixture.client.get("/appleid.apple.com/auth/keys").text,
                audience: AppleFixture.app, issuer: AppleFixture.issuer),
            .init(
                google["token"], keys: fixture.client.get("/www.googleapis.com/oauth2/v3/certs").text,
                audience: "example.apps.googleusercontent.com", issuer: "https://accounts.google.com",
                requires: ["iss", "sub", "aud", "azp", "exp", "iat"]),
        ])
        let identity = try #require(verdicts[0].claims, "\(verdicts[0])")
        #expect(identity["nonce"] as? String == "n")
        #expect((identity["email"] as? String)?.hasSuffix("@privaterelay.appleid.com") ?? false)
        #expect(verdicts[1].claims?["email"] as? String == "ada@example.com", "\(verdicts[1])")
        // The call has granted nothing: the next sign-in is still the first.
        let native = try fixture.client.post(
            Site.natives[0].path, json: ["client": AppleFixture.app, "account": "grace", "scopes": ["fullName"]])
        #expect(native.json["fullName"] != nil)
        #expect(native["user"] == identity["sub"] as? String)
        let facebook = try fixture.client.post(
            TokenOrderTests.path, json: ["provider": "facebook", "client": "1234567890", "account": "ada"])
        #expect((facebook.json["claims"] as? [String: Any])?["iss"] as? String == "https://www.facebook.com")
    }

    @Test("broken on order", arguments: ["invalid", "unknownKey", "wrongAlgorithm", "none"])
    func broken(signature: String) throws {
        let answer = try fixture.client.post(
            TokenOrderTests.path,
            json: [
                "provider": "apple", "client": AppleFixture.app, "signature": signature,
                "claims": ["aud": "other", "sub": NSNull(), "exp": "-1h"],
            ] as [String: Any])
        #expect(answer.status == 201)
        let claims = answer.json["claims"] as? [String: Any] ?? [:]
        #expect(claims["aud"] as? String == "other")
        #expect(claims["sub"] == nil)
        #expect((claims["exp"] as? Int ?? 0) < (claims["iat"] as? Int ?? 0))
        #expect((answer.json["header"] as? [String: Any])?["alg"] != nil)
    }

    @Test("a claim's time may be later than now", arguments: ["1h", "+1h"])
    func later(text: String) throws {
        let answer = try fixture.client.post(
            TokenOrderTests.path,
            json: ["provider": "apple", "client": AppleFixture.app, "claims": ["exp": text]] as [String: Any])
        let claims = answer.json["claims"] as? [String: Any] ?? [:]
        #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 3_600)
    }

    @Test("a time that is a text, and no duration, is signed as it is, with a note", arguments: ["-1hr", "yesterday"])
    func textForTime(text: String) throws {
        let answer = try fixture.client.post(
            TokenOrderTests.path,
            json: ["provider": "apple", "client": AppleFixture.app, "claims": ["exp": text]] as [String: Any])
        #expect(answer.status == 201)
        #expect((answer.json["claims"] as? [String: Any])?["exp"] as? String == text)
        #expect(answer.note.contains("exp is the text \"\(text)\", which isn't a valid time"), "\(answer)")
    }

    @Test("a Firebase user's token is taken by Firebase")
    func firebase() throws {
        let client = fixture.client
        _ = try client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
            json: ["email": "ada@example.com", "password": "correct horse"])
        let minted = try client.post(
            TokenOrderTests.path, json: ["provider": "firebase", "client": "demo-app", "account": "ada"])
        #expect(minted.status == 201)
        let lookup = try client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=demo-api-key",
            json: ["idToken": minted["token"] ?? ""])
        #expect((lookup.json["users"] as? [[String: Any]])?.first?["email"] as? String == "ada@example.com")
    }

    @Test(
        "what can't be minted is refused with its place",
        arguments: [
            (#"{"provider":"github","client":"Iv1.0123456789abcdef"}"#, 400, "$.provider"),
            (#"{"provider":"apple","client":"com.example.ap"}"#, 404, "$.client"),
            (#"{"provider":"google","client":"x"}"#, 404, "$.client"),
            (#"{"provider":"facebook","client":"x"}"#, 404, "$.client"),
            (#"{"provider":"firebase","client":"nothing"}"#, 404, "$.client"),
            (#"{"provider":"firebase","client":"demo-app"}"#, 404, "$.account"),
            (#"{"provider":"apple","client":"com.example.app","account":"nobody"}"#, 404, "$.account"),
            (#"{"provider":"apple","client":"com.example.app","signature":"bad"}"#, 400, "$.signature"),
            (#"{"provider":"apple"}"#, 400, "$"),
        ])
    func refused(body: String, status: Int, path: String) throws {
        let answer = try fixture.client.request("POST", TokenOrderTests.path, body: Array(body.utf8))
        #expect(answer.status == status)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
    }
}
