import Foundation
import TestSupport
import Testing

/// A project with the Emulator Suite's defaults has no providers, but its pop-ups work all the same.
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
        // A person who signs in again is the same user.
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

    /// The fields are those of the official emulator's page: firebase-js-sdk,
    /// packages/auth/test/integration/webdriver/util/idp_page.ts.
    @Test(
        "an account is added with an address only, or with a name, a screen name and a picture; it goes with the project's users"
    )
    func added() throws {
        let fixture = try FirebaseFixture()
        let page = try begin(fixture, "google.com")
        #expect(page.text.contains("<title>Auth Emulator IDP Login Widget"))
        for mark in [
            #"id="email-input""#, #"id="display-name-input""#, #"id="screen-name-input""#, #"id="profile-photo-input""#,
            #"id="sign-in""#, #"id="accounts-list""#, #"class="js-new-account""#, "toggleForm", #"id="main-form""#,
            #"id="add-account-button""#, #"id="add-user""#, #"id="autogen-button""#, #"id="back-button""#,
        ] { #expect(page.text.contains(mark), "\(mark)") }
        func add(_ fields: [String: String]) throws -> Answer {
            let page = try begin(fixture, "google.com")
            let action = Answer.attribute("action", of: page.text.components(separatedBy: "<form ").last ?? "")
            let origin = "http://localhost:\(fixture.client.port)"
            let form = page.inputs.merging(["action": "make"]) { $1 }.merging(fields) { $1 }
            return try fixture.client.post(String(action.dropFirst(origin.count)), form: form)
        }
        for (address, problem) in [("", "Email required"), ("only", "Missing &quot;@&quot;")] {
            let refused = try add(["email": address])
            #expect(refused.status == 422 && refused.text.contains(problem), "\(refused)")
        }
        let only = try signIn(fixture, try add(["email": "only@mail.test"]))
        #expect(only["email"] == "only@mail.test" && only["displayName"] == nil, "\(only)")
        let whole = try signIn(
            fixture,
            try add([
                "email": "bob@mail.test", "displayName": "Bob", "screenName": "bobby",
                "photoUrl": "http://localhost/bob.png",
            ]))
        #expect(whole["displayName"] == "Bob" && whole["photoUrl"] == "http://localhost/bob.png", "\(whole)")
        // The page offers the project's users at this provider, and no others.
        let again = try begin(fixture, "google.com")
        #expect(again.text.contains("only@mail.test") && again.text.contains("(No display name)"))
        #expect(try !begin(fixture, "github.com").text.contains("bob@mail.test"))
        let rawID = (whole["federatedId"] ?? "").components(separatedBy: "/").last ?? ""
        let chosen = try signIn(fixture, try press(fixture, again, "identity", rawID))
        #expect(chosen["localId"] == whole["localId"], "\(chosen)")
        #expect(try press(fixture, try begin(fixture, "google.com"), "identity", "x").text.contains("bob@mail.test"))
        // After the accounts are cleared, the address is free again.
        _ = try fixture.client.request("DELETE", "/emulator/v1/projects/\(Self.key)/accounts")
        #expect(try !begin(fixture, "google.com").text.contains("bob@mail.test"))
        let anew = try signIn(fixture, try add(["email": "bob@mail.test"]))
        #expect(anew.json["isNewUser"] as? Bool == true && anew["localId"] != whole["localId"])
    }

    @Test("who has signed in is listed once, among the project's users")
    func listedOnce() throws {
        let fixture = try FirebaseFixture()
        _ = try signIn(fixture, try press(fixture, try begin(fixture, "google.com"), "account", "ada"))
        let page = try begin(fixture, "google.com").text
        #expect(page.components(separatedBy: "ada@example.com").count == 2)
        #expect(page.contains("grace@example.com"))
    }

    /// The official suite has this: firebase-tools, src/emulator/auth/idp.spec.ts, "should create new account with IDP
    /// from production Google ID token".
    @Test(
        "a signed token of a provider that the project hasn't is taken at the daemon's own address, and nonsense isn't")
    func signedTokens() throws {
        let fixture = try FirebaseFixture()
        func signIn(_ credential: String) throws -> Answer {
            try fixture.v1(
                "signInWithIdp",
                ["requestUri": "http://localhost", "postBody": "providerId=google.com&\(credential)"], key: Self.key)
        }
        let signedIn = try signIn("id_token=\(fixture.google()["idToken"] ?? "")")
        #expect(signedIn["email"] == "ada@example.com", "\(signedIn)")
        let nonsense = try signIn("id_token=abc")
        #expect(
            nonsense.message
                == "INVALID_IDP_RESPONSE : Unable to parse id_token: abc ((Auth Emulator only accepts strict JSON or JWTs as fake id_tokens.))"
        )
        // A project that has the provider checks the token.
        let taking = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "acceptFakeCredentials": true}]}}"#)
        let token = try taking.google()["idToken"] ?? ""
        let tampered = try taking.assertion("providerId=google.com&id_token=\(token.dropLast(8))AAAAAAAA")
        #expect(tampered.errorCode == "INVALID_IDP_RESPONSE", "\(tampered)")
    }

    @Test("a signed token that is accepted unchecked has a note, which says whether a check would refuse it")
    func unchecked() throws {
        let fixture = try FirebaseFixture()
        func signIn(_ token: String, nonce: String?, key: String = Self.key) throws -> Answer {
            let postBody = FirebaseFixture.postBody("apple.com", idToken: token, nonce: nonce)
            return try fixture.v1("signInWithIdp", ["requestUri": "http://localhost", "postBody": postBody], key: key)
        }
        let token = try fixture.apple()["identityToken"] ?? ""
        let google = try fixture.google()["idToken"] ?? ""
        let raw = FirebaseFixture.rawNonce
        let refused = "a check would refuse it"
        for (answer, words) in [
            (try signIn(token, nonce: nil), refused), (try signIn(token, nonce: raw), "any aud is accepted"),
            // The nonce is used up.
            (try signIn(token, nonce: raw), refused),
            (try signIn("\(token.dropLast(8))AAAAAAAA", nonce: raw), "its signature is invalid"),
            (try signIn(google, nonce: nil, key: "demo-another"), "send providerId=google.com"),
        ] {
            #expect(answer.status == 200)
            #expect(answer.note.contains(words), "\(answer)")
        }
        #expect(try signIn(#"{"sub":"abc"}"#, nonce: nil).note.isEmpty)
        // A project that has the provider checks the token.
        let checked = try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: token, nonce: raw))
        #expect(checked.status == 200 && checked.note.isEmpty, "\(checked)")
    }
}
