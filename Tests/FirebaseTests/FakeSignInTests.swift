import Foundation
import TestSupport
import Testing

/// A project with the Emulator Suite's defaults has no providers, and its pop-ups work all the same.
@Suite("Firebase: sign-in by a page with fake credentials")
struct FakeSignInTests {
    private static let key = "demo-other"

    private func begin(
        _ fixture: FirebaseFixture, _ provider: String, key: String = key, _ more: [String: String] = [:]
    ) throws -> Answer {
        let query = [
            "apiKey": key, "appName": "[DEFAULT]", "authType": "signInViaPopup", "providerId": provider,
            "redirectUrl": "http://localhost:3000/", "eventId": "E",
        ].merging(more) { $1 }
        return try fixture.client.get("/emulator/auth/handler?\(TestClient.encode(query))")
    }

    /// Posts the page's form with a button.
    private func press(
        _ fixture: FirebaseFixture, _ page: Answer, _ name: String, _ value: String
    ) throws -> Answer {
        let action = Answer.attribute("action", of: page.text.components(separatedBy: "<form ").last ?? "")
        let origin = "http://localhost:\(fixture.client.port)"
        try #require(action.hasPrefix("\(origin)/demo-other.firebaseapp.com/__/auth/handler"), "\(page)")
        return try fixture.client.post(
            String(action.dropFirst(origin.count)), form: page.inputs.merging([name: value]) { $1 })
    }

    private func event(_ page: Answer) throws -> [String: Any] {
        let text = Answer.attribute("data-event", of: page.text)
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func signIn(_ fixture: FirebaseFixture, _ page: Answer) throws -> Answer {
        let url = try #require(try event(page)["urlResponse"] as? String)
        #expect(url.hasPrefix("https://demo-other.firebaseapp.com/__/auth/handler?"))
        return try fixture.v1("signInWithIdp", ["requestUri": url, "returnSecureToken": true], key: Self.key)
    }

    @Test("the person is chosen", arguments: ["google.com", "apple.com", "twitter.com", "oidc.any", "saml.any"])
    func chosen(provider: String) throws {
        let fixture = try FirebaseFixture()
        let page = try begin(fixture, provider)
        #expect(page.status == 200)
        #expect(page.text.contains("Ada Lovelace"))
        #expect(page.text.contains(provider))
        let signedIn = try signIn(fixture, try press(fixture, page, "account", "ada"))
        #expect(signedIn["providerId"] == provider, "\(signedIn)")
        #expect(signedIn["email"] == "ada@example.com")
        // The same person is the same user.
        let again = try signIn(fixture, try press(fixture, try begin(fixture, provider), "account", "ada"))
        #expect(again["localId"] == signedIn["localId"])
        let other = try signIn(fixture, try press(fixture, try begin(fixture, provider), "account", "grace"))
        #expect(other["localId"] != signedIn["localId"])
    }

    @Test("a cancel, a search, nobody, and a form that comes too late")
    func others() throws {
        let fixture = try FirebaseFixture()
        let page = try begin(fixture, "google.com")
        #expect(try press(fixture, page, "account", "nobody").text.contains("Ada Lovelace"))
        let found = try press(fixture, page, "action", "search")
        #expect(found.text.contains("Grace Hopper"))
        let cancelled = try event(try press(fixture, page, "action", "cancel"))
        #expect((cancelled["error"] as? [String: String])?["code"] == "auth/user-cancelled")
        let late = try press(fixture, page, "account", "ada")
        #expect(late.status == 400)
        #expect(late.text.contains("No such sign-in"))
        #expect(!late.diagnosis.isEmpty)
    }

    @Test("orders and the seed's interaction answer without a page")
    func unasked() throws {
        let fixture = try FirebaseFixture(seed: #"{"interaction": {"mode": "auto", "account": "grace"}}"#)
        let signedIn = try signIn(fixture, try begin(fixture, "google.com"))
        #expect(signedIn["email"] == "grace@example.com")
        try fixture.order(["provider": "google", "outcome": "cancel"])
        let cancelled = try event(try begin(fixture, "google.com"))
        #expect((cancelled["error"] as? [String: String])?["code"] == "auth/user-cancelled")
        try fixture.order(["provider": "github", "outcome": "error", "error": "application_suspended"])
        let failed = try event(try begin(fixture, "github.com"))
        #expect((failed["error"] as? [String: String])?["code"] == "auth/internal-error")
        let nobody = try FirebaseFixture(seed: #"{"interaction": {"mode": "auto", "account": "ada"}}"#)
        for id in ["ada", "grace", "linus"] {
            _ = try nobody.client.request("DELETE", "\(FirebaseFixture.control)/accounts/\(id)")
        }
        #expect(try begin(nobody, "google.com").status == 400)
    }

    @Test("a project that takes no fake credentials, or has the provider, has no such page")
    func genuine() throws {
        let fixture = try FirebaseFixture()
        let refused = try event(try begin(fixture, "twitter.com", key: FirebaseFixture.key))
        #expect((refused["error"] as? [String: String])?["code"] == "auth/operation-not-allowed")
        let taking = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "acceptFakeCredentials": true}]}}"#)
        let genuine = try begin(taking, "google.com", key: FirebaseFixture.key)
        #expect(genuine.location.contains("/accounts.google.com/"))
        #expect(try begin(taking, "twitter.com", key: FirebaseFixture.key).text.contains("Ada Lovelace"))
    }
}
