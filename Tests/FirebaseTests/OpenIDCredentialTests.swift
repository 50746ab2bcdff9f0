import Foundation
import TestSupport
import Testing
import Understudy

/// The issuer is our own Google: any issuer that is played would do.
@Suite("Firebase: credentials of OpenID providers")
struct OpenIDCredentialTests {
    static let client = #""issuer":"https://accounts.google.com","clientID":"example.apps.googleusercontent.com""#
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"firebase":{"projects":[{"id":"demo-app","providers":{"oidc.corp":{\(OpenIDCredentialTests.client)},
                  "oidc.off":{\(OpenIDCredentialTests.client),"enabled":false},
                  "oidc.other":{"issuer":"https://accounts.google.com","clientID":"other-client"},
                  "oidc.away":{"issuer":"https://away.example","clientID":"c"}}}]}}
                """, isAlone: true)
    }

    /// Returns an ID token of the issuer's, changed by `order`.
    private func token(
        nonce: String? = FirebaseFixture.sha256(FirebaseFixture.rawNonce), _ order: [String: Any] = [:],
        world: String = ""
    ) throws -> String {
        var body: [String: Any] = [
            "provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada",
        ]
        body["nonce"] = nonce
        let answer = try fixture.client.post(
            "\(world)\(FirebaseFixture.control)/tokens", json: body.merging(order) { $1 })
        return try #require(answer["token"], "\(answer)")
    }

    private func signIn(
        _ token: String?, nonce: String? = FirebaseFixture.rawNonce, provider: String = "oidc.corp",
        _ more: [String: Any] = [:]
    ) throws -> Answer {
        try fixture.assertion(FirebaseFixture.postBody(provider, idToken: token, nonce: nonce), more)
    }

    @Test("an ID token with its nonce signs in, once; the pending token stands for it")
    func signsIn() throws {
        let token = try token()
        let first = try signIn(token)
        #expect(first.status == 200, "\(first)")
        let subject = try #require(first["federatedId"]).replacingOccurrences(of: "oidc.corp/", with: "")
        #expect(first["providerId"] == "oidc.corp")
        #expect(first["email"] == "ada@example.com")
        #expect(first.json["emailVerified"] as? Bool == true)
        #expect(first["oauthIdToken"] == token)
        #expect(first["oauthAccessToken"] == nil)
        #expect((first["rawUserInfo"] ?? "").contains(subject))
        let firebase = first.claims()["firebase"] as? [String: Any]
        #expect(firebase?["sign_in_provider"] as? String == "oidc.corp")
        #expect((firebase?["identities"] as? [String: Any])?["oidc.corp"] as? [String] == [subject])
        #expect(try signIn(token).message.contains("Duplicate credential received"))
        let pending = try fixture.legacy(
            "verifyAssertion", ["requestUri": "http://localhost", "pendingToken": first["pendingToken"] ?? ""])
        #expect(pending["localId"] == first["localId"])
    }

    @Test("a token without a nonce is taken as it is, again and again, in any world")
    func withoutNonce() throws {
        let plain = try token(nonce: nil)
        for _ in 0..<2 { #expect(try signIn(plain, nonce: nil).status == 200) }
        let elsewhere = try fixture.client.post(
            "/~w1\(FirebaseFixture.toolkit)/v1/accounts:signInWithIdp?key=\(FirebaseFixture.key)",
            json: [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": "providerId=oidc.corp&id_token=\(try token(nonce: nil, world: "/~w1"))",
            ])
        #expect(elsewhere.status == 200, "\(elsewhere)")
    }

    @Test("claims beside the standard ones are attributes of the sign-in, also after a refresh")
    func attributes() throws {
        let token = try token(nonce: nil, ["claims": ["groups": ["staff", "dev"], "locale": "en"]])
        let signedIn = try signIn(token, nonce: nil)
        func attributes(_ answer: Answer, _ name: String) -> [String: [String]]? {
            (answer.claims(name)["firebase"] as? [String: Any])?["sign_in_attributes"] as? [String: [String]]
        }
        #expect(attributes(signedIn, "idToken") == ["groups": ["staff", "dev"]], "\(signedIn)")
        #expect(attributes(try fixture.refresh(signedIn["refreshToken"]), "id_token") == ["groups": ["staff", "dev"]])
        let changed = try fixture.v1(
            "update", ["idToken": signedIn["idToken"] ?? "", "password": "correct horse", "returnSecureToken": true])
        #expect(attributes(changed, "idToken") == ["groups": ["staff", "dev"]])
    }

    private struct Refusal: Sendable {
        let order: String
        var provider = "oidc.corp"
        var nonce: String? = FirebaseFixture.rawNonce
        let message: String
    }

    private static let refusals = [
        Refusal(
            order: #"{"claims":{"aud":"other"}}"#,
            message: "INVALID_IDP_RESPONSE : The audience in ID Token [other] does not match the expected audience "
                + "example.apps.googleusercontent.com."),
        Refusal(
            order: #"{"claims":{"iss":"https://x.example"}}"#,
            message:
                "INVALID_IDP_RESPONSE : The issuer in ID Token https://x.example does not match the expected one in "
                + "config: https://accounts.google.com."),
        Refusal(order: #"{"claims":{"sub":null}}"#, message: "does not contain user's identity in 'sub' claim"),
        Refusal(order: #"{"claims":{"exp":"-1h"}}"#, message: "is stale to sign-in."),
        Refusal(order: #"{"signature":"invalid"}"#, message: "Unable to verify the ID Token signature."),
        Refusal(order: #"{"signature":"unknownKey"}"#, message: "Unable to verify the ID Token signature."),
        Refusal(order: #"{"signature":"wrongAlgorithm"}"#, message: "Unable to verify the ID Token signature."),
        Refusal(order: #"{"header":{"kid":null}}"#, message: "Unable to verify the ID Token signature."),
        Refusal(order: "{}", nonce: nil, message: "MISSING_OR_INVALID_NONCE : Nonce is missing in the request."),
        Refusal(order: "{}", nonce: "another", message: "does not match the SHA256 hash of the raw nonce"),
        Refusal(
            order: "{}", provider: "oidc.other",
            message: "does not match the expected audience other-client."),
        Refusal(
            order: "{}", provider: "oidc.away",
            message: "INVALID_IDP_RESPONSE : Error connecting to the given credential's issuer."),
        Refusal(
            order: "{}", provider: "oidc.off",
            message: "OPERATION_NOT_ALLOWED : The identity provider configuration is disabled."),
        Refusal(
            order: "{}", provider: "oidc.Corp",
            message: "OPERATION_NOT_ALLOWED : The identity provider configuration is not found."),
    ]

    @Test("each refusal, in production's words", arguments: refusals.indices)
    func refused(place: Int) throws {
        let refusal = OpenIDCredentialTests.refusals[place]
        let order = try JSONSerialization.jsonObject(with: Data(refusal.order.utf8)) as? [String: Any] ?? [:]
        let answer = try signIn(try token(order), nonce: refusal.nonce, provider: refusal.provider)
        #expect(answer.status == 400)
        #expect(answer.message.contains(refusal.message), "\(answer)")
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("what is no token, and nothing at all")
    func noToken() throws {
        #expect(try signIn("garbage").message.contains("Unable to parse the ID Token."))
        #expect(try signIn(nil).errorCode == "INVALID_CREDENTIAL_OR_PROVIDER_ID")
        #expect(try signIn("garbage", provider: "oidc.nobody").message.contains("configuration is not found"))
    }

    @Test("links to who is signed in, once, and to nobody else")
    func links() throws {
        let anonymous = try fixture.signUpAnonymously()
        let linked = try signIn(try token(nonce: nil), nonce: nil, ["idToken": anonymous["idToken"] ?? ""])
        #expect(linked["localId"] == anonymous["localId"], "\(linked)")
        #expect(try fixture.providers(linked["idToken"]) == ["oidc.corp"])
        let again = try signIn(try token(nonce: nil), nonce: nil, ["idToken": linked["idToken"] ?? ""])
        #expect(again["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED")
        let other = try fixture.signUpAnonymously()
        let taken = try signIn(try token(nonce: nil), nonce: nil, ["idToken": other["idToken"] ?? ""])
        #expect(taken.errorCode == "FEDERATED_USER_ID_ALREADY_LINKED")
        #expect(taken["pendingToken"] != nil)
    }

    @Test("an address that the issuer hasn't verified doesn't take an account over", arguments: [true, false])
    func collision(isVerified: Bool) throws {
        let owner = try fixture.signUp("ada@example.com")
        let token = try token(nonce: nil, ["claims": ["email_verified": isVerified]])
        let answer = try signIn(token, nonce: nil)
        #expect(answer["localId"] == owner["localId"])
        #expect((answer.json["needConfirmation"] as? Bool ?? false) == !isVerified, "\(answer)")
        #expect((answer["idToken"] != nil) == isVerified)
    }

    @Test("createAuthUri asks the issuer for an ID token, with a nonce of Firebase's")
    func createAuthUri() throws {
        let body: [String: Any] = ["providerId": "oidc.corp", "continueUri": "https://example.com/back"]
        let answer = try fixture.v1("createAuthUri", body)
        let uri = try #require(answer["authUri"], "\(answer)")
        #expect(uri.contains("/accounts.google.com/o/oauth2/v2/auth?"))
        let query = Answer.fields(String(uri.drop { $0 != "?" }.dropFirst()))
        #expect(query["response_type"] == "id_token")
        #expect(query["client_id"] == "example.apps.googleusercontent.com")
        #expect(query["redirect_uri"] == "https://example.com/back")
        #expect(query["scope"] == "openid email profile")
        #expect(query["response_mode"] == nil)
        #expect(query["nonce"]?.count == 64)
        #expect(answer["sessionId"] != nil)
        let away = try fixture.v1("createAuthUri", body.merging(["providerId": "oidc.away"]) { $1 })
        #expect(away.message.contains("Error connecting to the given credential's issuer."))
        // The token must have this nonce, and no other.
        let state = try #require(query["state"])
        let wrong = try fixture.v1(
            "signInWithIdp",
            [
                "requestUri": "https://example.com/back#state=\(state)&id_token=\(try token(nonce: "another"))",
                "sessionId": answer["sessionId"] ?? "", "returnSecureToken": true,
            ])
        #expect(wrong.errorCode == "MISSING_OR_INVALID_NONCE", "\(wrong)")
    }

    @Test(
        "mistakes in a seed are named",
        arguments: [
            (#""oidc.a b":{"issuer":"https://a.example","clientID":"c"}"#, "the ID may hold letters"),
            (#""oidc.a":{"issuer":"http://a.example","clientID":"c"}"#, "Firebase takes https issuers only"),
            (#""oidc.a":{"issuer":"https://a.example?x","clientID":"c"}"#, "Firebase takes https issuers only"),
            (#""oidc.a":{"issuer":"https://a.example","clientID":"c","responseType":"code"}"#, "needs a clientSecret"),
            (#""oidc.a":{"clientID":"c"}"#, #"the key "issuer" is missing"#),
            (#""oidc.":{}"#, #"unknown key "oidc.""#),
            (#""oidcx":{}"#, "unknown key"),
        ])
    func seedMistakes(provider: String, message: String) {
        let seed = #"{"firebase":{"projects":[{"id":"p","providers":{\#(provider)}}]}}"#
        let faults = SeedInput.faults(in: [.json(seed)])
        #expect(faults.contains { $0.contains(message) }, "\(faults)")
    }
}
