import Foundation
import TestSupport
import Testing

/// Behaviour that the official SDKs' and the official emulator's own suites expect, and apps rely on.
@Suite("Firebase: as the official suites have it")
struct OfficialSuiteTests {
    private let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture(seed: #"{"accounts":[{"id":"max","email":"max@gmail.com"}]}"#) }

    // https://github.com/firebase/firebase-ios-sdk/issues/12358, https://github.com/firebase/firebaseui-web/issues/449
    @Test("a link leaves the user's own name and picture alone")
    func linkedName() throws {
        let user = try fixture.signUpAnonymously()
        let google = try fixture.google("ada")
        let linked = try fixture.assertion(
            FirebaseFixture.postBody("google.com", idToken: google["idToken"]), ["idToken": user["idToken"] ?? ""])
        #expect(linked.status == 200, "\(linked)")
        #expect(linked.claims()["name"] == nil)
        let seen = try fixture.lookup(linked["idToken"])
        #expect(seen["displayName"] == nil)
        #expect(seen["photoUrl"] == nil)
        let info = (seen["providerUserInfo"] as? [[String: Any]])?.first
        #expect(info?["displayName"] != nil)
    }

    // https://github.com/firebase/firebase-tools/issues/4756
    @Test("of an ID token that the app got, the profile is the token's claims; of an access token it is Google's")
    func googleProfile() throws {
        let google = try fixture.google("ada")
        func profile(_ body: String) throws -> Set<String> {
            let text = try fixture.assertion(body)["rawUserInfo"] ?? ""
            return Set((try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]).keys)
        }
        let claims = try profile(
            FirebaseFixture.postBody("google.com", idToken: google["idToken"], accessToken: google["accessToken"]))
        #expect(claims.isSuperset(of: ["sub", "email_verified", "iss", "aud", "exp"]))
        #expect(claims.isDisjoint(with: ["id", "verified_email", "granted_scopes"]))
        let own = try profile(FirebaseFixture.postBody("google.com", accessToken: google["accessToken"]))
        #expect(own.isSuperset(of: ["id", "verified_email", "granted_scopes"]))
    }

    // https://firebase.google.com/docs/auth/users#verified_email_addresses
    @Test("Google takes over the account of a Gmail address that another provider made")
    func gmail() throws {
        let gitHub = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("max")))
        let google = try fixture.assertion(
            FirebaseFixture.postBody("google.com", idToken: fixture.google("max")["idToken"]))
        #expect(google["localId"] == gitHub["localId"], "\(google)")
        #expect(google.json["needConfirmation"] == nil)
    }

    // firebase-tools, src/emulator/auth/handlers.ts
    @Test("a program is told how to go on from a link that resets a password")
    func passwordTemplate() throws {
        _ = try fixture.signUp("a@example.org")
        _ = try fixture.v1("sendOobCode", ["requestType": "PASSWORD_RESET", "email": "a@example.org"])
        let link = try #require(URLComponents(string: try fixture.mail("a@example.org")["oobLink"] as? String ?? ""))
        let path = "\(link.path)?\(link.percentEncodedQuery ?? "")"
        for more in ["", "&newPassword=NEW_PASSWORD_HERE"] {
            let answer = try fixture.client.get(path + more)
            #expect(answer.status == 400)
            let told = answer.json["authEmulator"] as? [String: String]
            #expect(told?["urlTemplate"]?.hasSuffix("&newPassword=NEW_PASSWORD_HERE") ?? false)
        }
        #expect(try fixture.client.get(path + "&newPassword=another").status == 200)
        #expect(try fixture.v1("signInWithPassword", ["email": "a@example.org", "password": "another"]).status == 200)
    }
}
