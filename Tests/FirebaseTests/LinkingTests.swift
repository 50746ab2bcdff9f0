import Foundation
import TestSupport
import Testing

@Suite("Firebase: linking, collisions and unlinking")
struct LinkingTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func linkApple(_ account: String, nonce: String, to idToken: String?) throws -> Answer {
        let credential = try fixture.apple(account, nonce: FirebaseFixture.sha256(nonce))
        return try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"], nonce: nonce),
            ["idToken": idToken ?? ""])
    }

    private func linkGitHub(_ account: String, to idToken: String?, _ more: [String: Any] = [:]) throws -> Answer {
        try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken(account)),
            ["idToken": idToken ?? ""].merging(more) { $1 })
    }

    @Test("an anonymous user takes an identity, and keeps its ID")
    func anonymousUpgrade() throws {
        let anonymous = try fixture.signUpAnonymously()
        #expect(anonymous.claims()["provider_id"] as? String == "anonymous")
        let linked = try linkApple("ada", nonce: "n", to: anonymous["idToken"])
        #expect(linked.status == 200)
        #expect(linked["localId"] == anonymous["localId"])
        #expect(linked["email"] == "ada@example.com")
        #expect(linked.json["isNewUser"] == nil)
        #expect(try fixture.providers(linked["idToken"]) == ["apple.com"])
        #expect((linked.claims()["firebase"] as? [String: Any])?["sign_in_provider"] as? String == "apple.com")
    }

    @Test("another user's identity: 200 with errorMessage and a credential that works for ten minutes")
    func alreadyLinked() throws {
        let owner = try fixture.signInWithApple()
        let anonymous = try fixture.signUpAnonymously()
        let refused = try linkApple("ada", nonce: "n", to: anonymous["idToken"])
        #expect(refused.status == 200)
        #expect(refused["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED")
        #expect(refused["oauthIdToken"] != nil)
        #expect(refused["localId"] == nil)
        #expect(refused["idToken"] == nil)
        #expect(refused.diagnosis.contains("updated credential"))
        // The credential itself can't be used again.
        let token = refused["oauthIdToken"]
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: token, nonce: "n")).message
                .contains("Duplicate credential"))
        // The SDK sends the updated credential so: the tokens, no nonce, and the pending token.
        let pending: [String: Any] = ["pendingToken": refused["pendingToken"] ?? ""]
        let signedIn = try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: token), pending)
        #expect(signedIn["localId"] == owner["localId"])
        let again = try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: token), pending)
        #expect(again["localId"] == owner["localId"])

        let late = try linkApple("ada", nonce: "m", to: anonymous["idToken"])
        try fixture.advance("11m")
        let expired = try fixture.assertion("providerId=apple.com", ["pendingToken": late["pendingToken"] ?? ""])
        #expect(expired.message == "INVALID_PENDING_TOKEN")
        let bare = try fixture.v1(
            "signInWithIdp",
            [
                "requestUri": "http://localhost", "idToken": fixture.signUpAnonymously()["idToken"] ?? "",
                "postBody": FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace")),
            ])
        #expect(bare.status == 200)
        let other = try fixture.v1(
            "signInWithIdp",
            [
                "requestUri": "http://localhost", "idToken": fixture.signUpAnonymously()["idToken"] ?? "",
                "postBody": FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace")),
            ])
        #expect(other.status == 400)
        #expect(other.message == "FEDERATED_USER_ID_ALREADY_LINKED")
        let hosted = try fixture.hosted(
            "signInWithIdp",
            [
                "requestUri": "http://localhost",
                "idToken": fixture.hosted("signUp", ["returnSecureToken": true])["idToken"] ?? "",
                "postBody": FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace")),
            ])
        #expect(
            hosted.message
                == "FEDERATED_USER_ID_ALREADY_LINKED : This credential is already associated with a different user account."
        )
    }

    @Test("another user's address: EMAIL_EXISTS with the credential")
    func emailExists() throws {
        _ = try fixture.signUp("grace@example.com")
        let anonymous = try fixture.signUpAnonymously()
        let refused = try linkGitHub("grace", to: anonymous["idToken"])
        #expect(refused.status == 200)
        #expect(refused["errorMessage"] == "EMAIL_EXISTS")
        #expect(refused["pendingToken"] != nil)
        #expect(refused["oauthAccessToken"] != nil)
    }

    @Test(
        "a provider twice: PROVIDER_ALREADY_LINKED with the credential, and at the daemon's own address the emulator's word"
    )
    func twice() throws {
        let user = try fixture.signUp("someone@example.org")
        #expect(try linkGitHub("ada", to: user["idToken"]).status == 200)
        let again = try linkGitHub("grace", to: user["idToken"])
        #expect(again.status == 200)
        #expect(again["errorMessage"] == "PROVIDER_ALREADY_LINKED")
        // The official suite has this: firebase-tools' idp.spec.ts, "should return error if IDP account is already
        // linked to the same user"
        let same = try linkGitHub("ada", to: user["idToken"])
        #expect(same.status == 200 && same["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED")
    }

    @Test("reauthentication: the same person passes, a stranger is USER_NOT_FOUND, nobody is made")
    func reauthentication() throws {
        let user = try fixture.signInWithApple("ada")
        let again = try fixture.signInWithApple("ada", ["autoCreate": false])
        #expect(again["localId"] == user["localId"])
        let stranger = try fixture.signInWithApple("grace", ["autoCreate": false])
        #expect(stranger.status == 400)
        #expect(stranger.message == "USER_NOT_FOUND")
        #expect(try fixture.signInWithApple("grace", ["autoCreate": true, "x": 1]).json["isNewUser"] as? Bool == true)
    }

    // MARK: - One account for each address

    @Test("an untrusted provider after a trusted one: needConfirmation, and nothing changes")
    func unconfirmed() throws {
        let owner = try fixture.signInWithApple()
        let answer = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken()))
        #expect(answer.status == 200)
        #expect(answer.json["needConfirmation"] as? Bool == true)
        #expect(answer["localId"] == owner["localId"])
        #expect(answer["email"] == "ada@example.com")
        #expect(answer.json["verifiedProvider"] as? [String] == ["apple.com"])
        #expect(answer["idToken"] == nil)
        #expect(answer["oauthAccessToken"] != nil)
        #expect(try fixture.providers(owner["idToken"]) == ["apple.com"])
        // The remedy is to sign in as before, and to link with the credential of the refusal.
        let linked = try fixture.assertion(
            "providerId=github.com", ["idToken": owner["idToken"] ?? "", "pendingToken": answer["pendingToken"] ?? ""])
        #expect(linked.status == 200)
        #expect(try fixture.providers(linked["idToken"]) == ["apple.com", "github.com"])
    }

    @Test("with a password only, verifiedProvider is left out")
    func unconfirmedPassword() throws {
        _ = try fixture.signUp("ada@example.com")
        let answer = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken()))
        #expect(answer.json["needConfirmation"] as? Bool == true)
        #expect(answer.json["verifiedProvider"] == nil)
    }

    @Test("a trusted provider takes the address over: untrusted identities and the password go")
    func takeover() throws {
        let password = try fixture.signUp("ada@example.com")
        let apple = try fixture.signInWithApple()
        #expect(apple["localId"] == password["localId"])
        #expect(apple.json["isNewUser"] == nil)
        #expect(apple.json["emailVerified"] as? Bool == true)
        #expect(try fixture.providers(apple["idToken"]) == ["apple.com"])
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.com", "password": "correct horse"]).message
                == "INVALID_LOGIN_CREDENTIALS")

        let gitHub = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace")))
        #expect(gitHub.json["isNewUser"] as? Bool == true)
        try fixture.order(["provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": true])
        let grace = try fixture.signInWithApple("grace")
        #expect(grace["localId"] == gitHub["localId"])
        #expect(try fixture.providers(grace["idToken"]) == ["apple.com"])
    }

    @Test("two trusted providers are linked without a word; a Workspace address isn't Google's to vouch for")
    func trusted() throws {
        let fixture = try FirebaseFixture(
            seed:
                #"{"accounts":[{"id":"gil","email":"gil@gmail.com","apple":{"shareEmail":true}},{"id":"wil","email":"wil@example.com","apple":{"shareEmail":true}}]}"#
        )
        let apple = try fixture.signInWithApple("gil")
        let google = try fixture.assertion(
            FirebaseFixture.postBody("google.com", idToken: fixture.google("gil")["idToken"]))
        #expect(google["localId"] == apple["localId"])
        #expect(try fixture.providers(google["idToken"]) == ["apple.com", "google.com"])
        _ = try fixture.signInWithApple("wil")
        let workspace = try fixture.assertion(
            FirebaseFixture.postBody("google.com", idToken: fixture.google("wil")["idToken"]))
        #expect(workspace.json["needConfirmation"] as? Bool == true)
    }

    @Test("where addresses may be shared, a second user keeps the address with the provider's entry")
    func sharedAddresses() throws {
        let fixture = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","oneAccountPerEmail":false}]}}"#)
        let apple = try fixture.signInWithApple()
        let gitHub = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken()))
        #expect(gitHub["localId"] != apple["localId"])
        #expect(gitHub.claims()["email"] == nil)
        let user = try fixture.lookup(gitHub["idToken"])
        #expect(user["email"] == nil)
        #expect((user["providerUserInfo"] as? [[String: Any]])?.first?["email"] as? String == "ada@example.com")
    }

    // MARK: - Unlinking

    @Test("unlinking, the last provider included; the identity is free again")
    func unlinking() throws {
        let user = try fixture.signUp("someone@example.org")
        let linked = try linkGitHub("ada", to: user["idToken"])
        let body: [String: Any] = [
            "idToken": linked["idToken"] ?? "", "deleteProvider": ["github.com"], "returnSecureToken": true,
        ]
        let answer = try fixture.legacy("setAccountInfo", body)
        #expect(answer.status == 200)
        #expect(try fixture.providers(linked["idToken"]) == ["password"])
        let bare = try fixture.legacy(
            "setAccountInfo", ["idToken": linked["idToken"] ?? "", "deleteProvider": ["password"]])
        #expect(bare.status == 200)
        #expect(bare.json["providerUserInfo"] == nil)
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace")))
                .json[
                    "isNewUser"] as? Bool == true)
    }

    @Test("a disabled user can't sign in, link or refresh")
    func disabled() throws {
        let fixture = try FirebaseFixture(
            seed:
                #"{"firebase":{"projects":[{"id":"demo-app","users":[{"localId":"off","email":"off@example.com","password":"secret!","disabled":true}]}]}}"#
        )
        let answer = try fixture.v1("signInWithPassword", ["email": "off@example.com", "password": "secret!"])
        #expect(answer.message == "USER_DISABLED")
    }
}
