import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Sign-in pages of every provider")
struct SignInPageTests {
    struct Place: Sendable, CustomTestStringConvertible {
        let name: String
        let path: String
        var query: [String: String] = [:]
        /// The name in the heading, if it isn't the provider's.
        var heading: String?

        var testDescription: String { name }
        var address: String { "\(path)?\(TestClient.encode(query))" }
    }

    private static let callback = "http://localhost:3000/callback"

    static let places = [
        Place(
            name: "Apple", path: "/appleid.apple.com/auth/authorize",
            query: [
                "client_id": "com.example.web", "redirect_uri": "https://example.com/callback", "response_type": "code",
            ]),
        Place(
            name: "Google", path: "/accounts.google.com/o/oauth2/v2/auth",
            query: [
                "client_id": "example.apps.googleusercontent.com", "redirect_uri": callback, "response_type": "code",
                "scope": "openid email",
            ]),
        Place(
            name: "Facebook", path: "/www.facebook.com/dialog/oauth",
            query: ["client_id": "1234567890", "redirect_uri": callback, "scope": "email"]),
        Place(
            name: "Example Corp", path: "/oidc/corp/authorize",
            query: [
                "client_id": "web", "redirect_uri": callback, "response_type": "code", "scope": "openid email",
                "prompt": "consent",
            ]),
        Place(
            name: "Firebase", path: "/emulator/auth/handler",
            query: ["apiKey": "demo-unseeded", "providerId": "twitter.com", "authType": "signInViaPopup"],
            heading: "twitter.com"),
    ]

    private func text(_ tag: String, of page: Answer) -> String {
        let rest = page.text.components(separatedBy: "<\(tag)>").dropFirst().first ?? ""
        return rest.components(separatedBy: "</").first ?? ""
    }

    @Test("the provider is named in title and heading, and each looks like nobody else", arguments: places)
    func look(place: Place) throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let browser = TestBrowser(TestClient(port: server.port))
        let page = try browser.get(place.address)
        #expect(page.status == 200, "\(page)")
        #expect(text("title", of: page).contains(place.name))
        #expect(text("h1", of: page).contains(place.heading ?? place.name))
        #expect(page.text.contains("<p class=\"brand\">\(place.name)</p>"))
        #expect(page.text.contains("a stand-in for \(place.name), for tests only"))
        for other in SignInPageTests.places where other.name != place.name {
            let style = try #require(try browser.get(other.address).text.components(separatedBy: "<style>").last)
            #expect(!page.text.contains(style.components(separatedBy: "</style>")[0]))
        }
    }

    /// Firebase's page has different accounts (`FakeSignInTests`).
    @Test(
        "somebody who isn't among the people is made on the spot, and signs in",
        arguments: places.filter { $0.name != "Firebase" })
    func newPerson(place: Place) throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let browser = TestBrowser(client)
        let form = try browser.submit(try browser.get(place.address), ["action": "new"])
        #expect(form.text.contains("name=\"email\""), "\(form)")
        let eva = ["action": "make", "given": "Eva", "family": "Ng", "verified": "1"]
        for (email, words) in [
            ("nonsense", "&quot;nonsense&quot; isn&#39;t an e-mail address."), ("ADA@example.com", "Ada Lovelace"),
        ] {
            let refused = try browser.submit(form, eva.merging(["email": email]) { $1 })
            #expect(refused.status == 422)
            #expect(refused.text.contains(words), "\(refused)")
            #expect(refused.text.contains("value=\"Eva\""))
        }
        let nameless = try browser.submit(form, ["action": "make", "email": "x@example.com"])
        #expect(nameless.text.contains("A name is missing."))
        let next = try browser.submit(form, eva.merging(["email": "Eva.Ng+1@example.org"]) { $1 })
        let account = try client.get("/_understudy/v1/accounts").text
        #expect(account.contains("\"eva.ng1\""))
        #expect(account.contains("\"Eva.Ng+1@example.org\""))
        #expect(next.text.contains("Eva"))
        let done = try browser.submit(next, ["action": "continue"])
        #expect(done.redirect["code"] != nil, "\(done)")
        // A person whose ID is taken gets another.
        let other = try browser.submit(form, eva.merging(["email": "eva.ng1@example.net"]) { $1 })
        #expect(other.status == 200, "\(other)")
        let ids = try client.get("/_understudy/v1/accounts").text.matches(of: /"id":"eva\.ng1(-[0-9a-f]{8})?"/)
        #expect(ids.count == 2)
    }
}
