import Foundation
import TestSupport
import Testing

/// Firebase's guides, followed step by step with the requests of the Apple SDK.
@Suite("Firebase's guides, walked")
struct GuideTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    /// "Generate a random string — a nonce"; its SHA-256 goes to Apple, the string itself to Firebase.
    private func appleCredential(_ account: String, _ nonce: String, name: String? = nil) throws -> (
        body: String, code: String?
    ) {
        let device = try fixture.apple(account, nonce: FirebaseFixture.sha256(nonce))
        let body = FirebaseFixture.postBody("apple.com", idToken: device["identityToken"], nonce: nonce, user: name)
        return (body, device["authorizationCode"])
    }

    @Test("Authenticate using Apple: sign in, wrong nonce, reauthenticate, link, updated credential, revoke and delete")
    func apple() throws {
        // Sign in with Apple and exchange the response for a Firebase credential.
        let name = #"{"name":{"firstName":"Ada","lastName":"Lovelace"}}"#
        let signedIn = try fixture.assertion(appleCredential("ada", "nonce-1", name: name).body)
        #expect(signedIn.status == 200)
        let user = try fixture.legacy("getAccountInfo", ["idToken": signedIn["idToken"] ?? ""])
        let first = (user.json["users"] as? [[String: Any]])?.first
        #expect(first?["displayName"] as? String == "Ada Lovelace")
        #expect(first?["photoUrl"] == nil)

        // "If the nonce doesn't match": MISSING_OR_INVALID_NONCE, 17094.
        let device = try fixture.apple("ada", nonce: FirebaseFixture.sha256("nonce-2"))
        let wrong = try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: device["identityToken"], nonce: "nonce-3"))
        #expect(wrong.errorCode == "MISSING_OR_INVALID_NONCE")
        #expect(SDKErrors.number(of: wrong.errorCode) == 17094)

        // Reauthentication and account linking: user.reauthenticate(with:), with a new credential.
        try fixture.advance("10m")
        let stale = try fixture.legacy("deleteAccount", ["idToken": signedIn["idToken"] ?? ""])
        #expect(SDKErrors.number(of: stale.errorCode) == 17014)
        let again = try fixture.assertion(appleCredential("ada", "nonce-4").body, ["autoCreate": false])
        #expect(again["localId"] == signedIn["localId"])

        // The steps are user.link(with:) to another user, who turns out to have the Apple account already, and the
        // updated credential.
        let other = try fixture.signUp("someone@example.org")
        let link = try fixture.assertion(appleCredential("ada", "nonce-5").body, ["idToken": other["idToken"] ?? ""])
        #expect(link.status == 200)
        #expect(SDKErrors.number(of: link.errorCode) == 17025)
        let updated: [String: Any] = ["pendingToken": link["pendingToken"] ?? ""]
        let retrieved = try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: link["oauthIdToken"]), updated)
        #expect(retrieved["localId"] == signedIn["localId"])

        // An account that nobody has is linked.
        let linked = try fixture.assertion(
            appleCredential("grace", "nonce-6").body, ["idToken": other["idToken"] ?? ""])
        #expect(linked["localId"] == other["localId"])
        #expect(try fixture.providers(linked["idToken"]) == ["apple.com", "password"])

        // Token revocation: reauthenticate to get an authorization code, revoke it, delete the user.
        let (body, code) = try appleCredential("ada", "nonce-7")
        let last = try fixture.assertion(body, ["autoCreate": false])
        let revoked = try fixture.v2(
            "accounts:revokeToken",
            ["providerId": "apple.com", "tokenType": "3", "token": code ?? "", "idToken": last["idToken"] ?? ""])
        #expect(revoked.status == 200)
        #expect(try fixture.legacy("deleteAccount", ["idToken": last["idToken"] ?? ""]).status == 200)
        // The person is new to the app again: Apple sends the name as the first time.
        let fresh = try fixture.apple("ada", nonce: FirebaseFixture.sha256("nonce-8"))
        #expect((fresh.json["fullName"] as? [String: Any])?["givenName"] as? String == "Ada")
        let made = try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: fresh["identityToken"], nonce: "nonce-8"))
        #expect(made.json["isNewUser"] as? Bool == true)
    }

    @Test("Authenticate using GitHub: custom parameters and scopes, sign in, call the API, link, reauthenticate")
    func gitHub() throws {
        // provider.customParameters = ["allow_signup": "false"]; provider.scopes = ["user:email"]
        let session = "QRSTUVWXYZ"
        func credential(_ account: String) throws -> [String: Any] {
            let query = [
                "apiKey": FirebaseFixture.key, "authType": "signInWithRedirect", "ibi": "com.example.app",
                "clientId": "1-a.apps.googleusercontent.com", "sessionId": FirebaseFixture.sha256(session),
                "eventId": "ABCDEFGHIJ", "providerId": "github.com", "scopes": "user:email",
                "customParameters": #"{"allow_signup":"false"}"#,
            ]
            let begun = try fixture.client.get("/emulator/auth/handler?\(TestClient.encode(query))")
            #expect(begun.redirect["allow_signup"] == "false")
            #expect(begun.redirect["scope"] == "user:email")
            // The person signs in and authorizes on GitHub's page.
            try fixture.order(["provider": "github", "outcome": "approve", "account": account])
            let origin = "http://localhost:\(fixture.client.port)"
            let authorized = try fixture.client.get(String(begun.location.dropFirst(origin.count)))
            let handled = try fixture.client.get(String(authorized.location.dropFirst(origin.count)))
            let inner = handled.redirect["deep_link_id"] ?? ""
            let link = Answer.fields(String(inner.drop { $0 != "?" }.dropFirst()))["link"] ?? ""
            return ["requestUri": link, "sessionId": session, "postBody": "providerId=github.com"]
        }
        let all: [String: Any] = ["returnSecureToken": true, "returnIdpCredential": true, "autoCreate": true]
        let signedIn = try fixture.legacy("verifyAssertion", credential("ada").merging(all) { $1 })
        #expect(signedIn.status == 200)
        #expect(signedIn["username"] == "ada")

        // "Use the OAuth access token to call the GitHub API": GET /user
        let token = signedIn["oauthAccessToken"] ?? ""
        let user = try fixture.client.get(
            "/api.github.com/user", headers: ["Authorization": "Bearer \(token)", "User-Agent": "app"])
        #expect(user["login"] == "ada")
        #expect(
            try fixture.client.get(
                "/api.github.com/user/emails", headers: ["Authorization": "token \(token)", "User-Agent": "app"]
            ).status == 200)

        // "If you already have a token": GitHubAuthProvider.credential(withToken:)
        let direct = try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: token))
        #expect(direct["localId"] == signedIn["localId"])

        // Link to an existing user, and reauthenticate.
        let password = try fixture.signUp("someone@example.org")
        let linking = try fixture.legacy(
            "verifyAssertion",
            credential("grace").merging(all) { $1 }.merging(["idToken": password["idToken"] ?? ""]) { $1 })
        #expect(linking["localId"] == password["localId"])
        let again = try fixture.legacy(
            "verifyAssertion", credential("grace").merging(all) { $1 }.merging(["autoCreate": false]) { $1 })
        #expect(again["localId"] == password["localId"])
    }

    @Test("Link multiple auth providers: password, Google, Facebook, Apple and GitHub on one user; unlink")
    func linking() throws {
        let fixture = try FirebaseFixture(
            seed:
                #"{"accounts":[{"id":"mo","name":{"given":"Mo"},"email":"mo@example.org","apple":{"shareEmail":true}}]}"#
        )
        let start = try fixture.signUp("mo@example.org")
        var idToken = start["idToken"] ?? ""
        func link(_ body: String) throws {
            let answer = try fixture.assertion(body, ["idToken": idToken])
            #expect(answer.status == 200, "\(answer)")
            #expect(answer["localId"] == start["localId"])
            idToken = answer["idToken"] ?? ""
        }
        let google = try fixture.google("mo")
        try link(FirebaseFixture.postBody("google.com", idToken: google["idToken"], accessToken: google["accessToken"]))
        try link(FirebaseFixture.postBody("facebook.com", accessToken: fixture.facebook("mo")["accessToken"]))
        let apple = try fixture.apple("mo", nonce: FirebaseFixture.sha256("n"))
        try link(FirebaseFixture.postBody("apple.com", idToken: apple["identityToken"], nonce: "n"))
        try link(FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("mo")))
        #expect(
            try fixture.providers(idToken) == ["google.com", "facebook.com", "apple.com", "github.com", "password"])
        // Each way to sign in leads to the same user.
        let byGitHub = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("mo")))
        #expect(byGitHub["localId"] == start["localId"])

        // user.unlink(fromProvider:)
        for provider in ["facebook.com", "google.com", "password", "apple.com", "github.com"] {
            let answer = try fixture.legacy(
                "setAccountInfo", ["idToken": idToken, "deleteProvider": [provider], "returnSecureToken": true])
            #expect(answer.status == 200)
            #expect(try fixture.providers(idToken).contains(provider) == false)
        }
        #expect(try fixture.providers(idToken).isEmpty)
    }
}
