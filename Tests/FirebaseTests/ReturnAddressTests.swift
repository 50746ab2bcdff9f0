import Foundation
import TestSupport
import Testing

/// The address to which a sign-in returns gets the secrets that redeem it, so only an app or page of the project may be
/// that.
@Suite("Firebase: where a sign-in goes")
struct ReturnAddressTests {
    let fixture: FirebaseFixture

    /// Starts a daemon with a second project, which has no bundle IDs.
    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"interaction": {"mode": "auto", "account": "ada"},
                 "firebase": {"projects": [{"id": "open-app", "apiKeys": ["open-key"], "authorizedDomains": ["app.example"],
                   "providers": {"github.com": {"clientID": "Iv1.0123456789abcdef", "clientSecret": "github-secret-for-tests"}}}]}}
                """)
    }

    private func handler(_ fields: [String: String], key: String = "open-key") throws -> Answer {
        let query = ["apiKey": key, "providerId": "github.com", "eventId": "E"].merging(fields) { $1 }
        return try fixture.client.get("/emulator/auth/handler?\(TestClient.encode(query))")
    }

    private static let hostile = [
        "https://evil.example/?", "https", "javascript:alert(1)//", "javascript", "data", "a.b\r\nX: y", "a.b\nc",
        "a.b c", "a.b/",
        "a.b?", "a.b#", "a.b:", "a.b\\", "a.b@c", "a.b%2F", "é.b", "a.b\u{0}", ".", "-a.b",
        String(repeating: "a.", count: 200) + "b",
    ]

    @Test("an app is named by an identifier only", arguments: hostile)
    func identifiers(text: String) throws {
        for fields in [
            ["ibi": text], ["ibi": "com.example.app", "clientId": text],
            ["ibi": "com.example.app", "clientId": text + ".apps.googleusercontent.com"],
            ["ibi": text, "appId": "1:2:ios:3"],
            ["ibi": "com.example.app", "appId": "1:" + text],
        ] {
            // Within the ID of an app or client, these texts are harmless.
            if fields["ibi"] != text, ["https", "javascript", "data", ".", "-a.b", "a.b:"].contains(text),
                fields["clientId"] != text
            {
                continue
            }
            for key in ["open-key", FirebaseFixture.key] {
                let answer = try handler(fields, key: key)
                #expect(answer.status == 400, "\(fields)")
                #expect(answer.header("Location") == nil)
                #expect(!answer.diagnosis.isEmpty)
            }
        }
    }

    @Test("at a project with bundle IDs, one of those; elsewhere any")
    func registered() throws {
        for fields in [
            ["ibi": "com.evil.app"], ["clientId": "1-a.apps.googleusercontent.com"],
            ["ibi": "com.evil.app", "clientId": "1-a.apps.googleusercontent.com"],
            ["ibi": "com.evil.app", "appId": "1:2:ios:3"],
        ] {
            let refused = try handler(fields, key: FirebaseFixture.key)
            #expect(refused.status == 400)
            #expect(refused.text.contains("The mobile app identifier is not registered for the current project."))
            #expect(try handler(fields).status == 302)
        }
        #expect(try handler(["ibi": "com.example.app"], key: FirebaseFixture.key).status == 302)
        let client = try handler(["ibi": "com.example.app", "clientId": "com.evil"], key: FirebaseFixture.key)
        #expect(client.text.contains("The OAuth client ID provided is either invalid"))
    }

    @Test("a page is one of the project's domains, or this machine's")
    func pages() throws {
        for (url, status) in [
            ("https://app.example/x", 302), ("http://localhost:5000/", 302), ("http://127.0.0.1:1/", 302),
            ("https://open-app.firebaseapp.com/", 302), ("https://evil.example/", 400), ("javascript:alert(1)", 400),
            ("javascript://app.example/%0aalert(1)", 400), ("https://app.example@evil.example/", 400),
            ("https://evil.example\\@app.example/", 400), ("//app.example", 400), ("data:text/html,x", 400),
            ("https://app.example.evil.example/", 400),
            // The SDKs accept an authorized domain's subdomains, too, but no other domain that ends like it.
            ("https://sub.app.example/x", 302), ("https://evilapp.example/x", 400),
        ] {
            let answer = try handler(["redirectUrl": url])
            #expect(answer.status == status, "\(url)")
            if status == 400 { #expect(!answer.diagnosis.isEmpty) }
        }
    }

    @Test("the answer is posted to the page that asked, not to whoever opened the window")
    func opener() throws {
        func page(_ fields: [String: String]) throws -> String {
            // A missing provider is answered without a redirect.
            try handler(["providerId": "google.com", "authType": "signInViaPopup"].merging(fields) { $1 }).text
        }
        let known = try page(["redirectUrl": "https://app.example:8443/x?y"])
        #expect(Answer.attribute("data-origin", of: known) == "https://app.example:8443")
        let unknown = try page([:])
        #expect(unknown.contains("data-origin=\"\""))
        #expect(!unknown.contains("},'*')"))
    }

    @Test("a link whose continueUrl was changed leads nowhere, and does nothing")
    func actionLinks() throws {
        let sent = try fixture.v1(
            "sendOobCode",
            ["requestType": "EMAIL_SIGNIN", "email": "ada@example.org", "continueUrl": "http://localhost:5000/done"])
        #expect(sent.status == 200)
        let link = try #require(try fixture.mail("ada@example.org")["oobLink"] as? String)
        let path = String(link[(link.range(of: "/emulator/")?.lowerBound ?? link.startIndex)...])
        for target in [
            "https://evil.example/", "javascript:alert(1)", "javascript://localhost/%0aalert(1)", "//evil.example",
        ] {
            let field = TestClient.encode(["continueUrl": target])
            let changed = path.replacing(try Regex("continueUrl=[^&]*"), with: field)
            let answer = try fixture.client.get(changed)
            #expect(answer.status == 400)
            #expect(answer.header("Location") == nil)
            #expect(!answer.diagnosis.isEmpty)
        }
        let good = try fixture.client.get(path)
        #expect(good.location.hasPrefix("http://localhost:5000/done?"))
    }

    @Test("createAuthUri takes web addresses only")
    func createAuthUri() throws {
        for target in ["javascript://localhost/%0aalert(1)", "data://x", "ftp://localhost/"] {
            let answer = try fixture.v1("createAuthUri", ["providerId": "github.com", "continueUri": target])
            #expect(answer.errorCode == "INVALID_CONTINUE_URI")
        }
    }
}
