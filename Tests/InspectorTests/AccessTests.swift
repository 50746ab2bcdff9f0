import Foundation
import TestSupport
import Testing

@testable import Understudy

/// A person's page shows each provider's data, and its buttons act at the provider.
@Suite struct AccessTests {
    private static let control = "/_understudy/v1"
    private let fixture: InspectorFixture
    private var client: TestClient { fixture.client }

    init() throws { fixture = try InspectorFixture() }

    /// Returns the values of the buttons with this label, to which a colon and the item's name may be added.
    private func buttons(_ label: String, on page: Answer) -> [String] {
        page.text.components(separatedBy: "<button ").dropFirst().filter { tag in
            Answer.attribute("aria-label", of: tag) == label
        }.map { Answer.attribute("value", of: $0) }
    }

    /// Presses the only button with this label, and returns the page that follows.
    @discardableResult
    private func press(_ label: String, on path: String = "people/ada", place: Int = 0) throws -> Answer {
        let found = buttons(label, on: try fixture.page(path))
        let value = try #require(found.dropFirst(place).first, "no button \(label)")
        let answer = try fixture.submit("\(path)/act", ["action": value], from: path)
        guard answer.status == 303 else { return answer }
        return try client.get(String(answer.location.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }))
    }

    private func order(_ provider: String) throws {
        let outcome = ["provider": provider, "outcome": "approve", "account": "ada"]
        #expect(try client.post("\(AccessTests.control)/outcomes", json: outcome).status == 201)
    }

    // MARK: - Apple

    @discardableResult
    private func signInAtApple() throws -> String {
        let body: [String: Any] = [
            "client": AppleFixture.app, "scopes": ["fullName", "email"], "account": "grace",
        ]
        let answer = try client.post("\(AccessTests.control)/apple/authorizations", json: body)
        return try #require(answer["user"])
    }

    private func relays() throws -> String? {
        let page = try fixture.page("people/grace").text
        let mark = try #require(page.range(of: "@privaterelay.appleid.com"))
        let address = page[..<mark.upperBound].reversed().prefix { $0 != ">" }.reversed()
        let query = "from=noreply@example.com&to=\(String(address))"
        return try client.get("\(AccessTests.control)/apple/relay?\(query)")["reason"]
    }

    @Test("Apple: identifiers by team, forwarding, the end of the consent and of the account") func apple() throws {
        #expect(try fixture.page("people/grace").text.contains("hasn&#39;t signed in to an app here"))
        let user = try signInAtApple()
        let page = try fixture.page("people/grace").text
        #expect(page.contains(user))
        #expect(page.contains("@privaterelay.appleid.com") && page.contains("A1B2C3D4E5"))
        #expect(page.contains("transfer_sub from A1B2C3D4E5") && page.contains("mail is forwarded"))
        #expect(try relays() == nil)
        let stopped = try press("Stop forwarding mail: com.example.app", on: "people/grace")
        #expect(stopped.text.contains("mail isn&#39;t forwarded") && stopped.text.contains("role=\"status\""))
        #expect(try relays() == "switchedOff")
        try press("Forward mail again: com.example.app", on: "people/grace")
        #expect(try relays() == nil)
        try press("Revoke access: com.example.app", on: "people/grace")
        let state = "user=\(user)&client=com.example.app"
        #expect(try client.get("\(AccessTests.control)/apple/credential-state?\(state)")["state"] == "revoked")
        try signInAtApple()
        try press("Delete the Apple Account: Apple Account", on: "people/grace")
        #expect(buttons("Revoke access: com.example.app", on: try fixture.page("people/grace")).isEmpty)
    }

    // MARK: - GitHub

    private func signInAtGitHub() throws -> String {
        try order("github")
        let code = try client.get(GitHubFixture.authorizePath(["scope": "user:email"])).redirect["code"] ?? ""
        return try client.post(
            "\(GitHubFixture.web)/login/oauth/access_token",
            form: [
                "client_id": GitHubFixture.automatic, "client_secret": GitHubFixture.secret, "code": code,
            ], headers: ["Accept": "application/json"])["access_token"] ?? ""
    }

    private func status(_ token: String) throws -> Int {
        try client.get(
            "/api.github.com/user", headers: ["Authorization": "Bearer \(token)", "User-Agent": "tests"]
        ).status
    }

    @Test("GitHub: what /user says, one token revoked, then the app") func gitHub() throws {
        let (first, second) = (try signInAtGitHub(), try signInAtGitHub())
        let page = try fixture.page("people/ada").text
        #expect(page.contains("GET /user/emails") && page.contains("analytical-engines"))
        #expect(page.contains(first) && page.contains("user:email"))
        // The newest token is first.
        try press("Revoke: access token, Example, answered automatically")
        #expect(try status(second) == 401)
        #expect(try status(first) == 200)
        try press("Revoke access: Example, answered automatically")
        #expect(try status(first) == 401)
    }

    @Test("GitHub: a browser is signed out") func gitHubBrowser() throws {
        let browser = TestBrowser(client)
        _ = try browser.post("/github.com/session", ["account": "ada", "return_to": "/settings/applications"])
        #expect(try browser.get("/github.com/settings/applications").text.contains("Authorized apps"))
        let label = try #require(
            try fixture.page("people/ada").text.components(separatedBy: "aria-label=\"").first {
                $0.hasPrefix("Sign out: ")
            }?.prefix { $0 != "\"" })
        try press(String(label))
        #expect(!(try browser.get("/github.com/settings/applications").text.contains("Authorized apps")))
    }

    // MARK: - Google, Facebook

    private func native(_ provider: String, _ client: String, _ member: String) throws -> String {
        let path = "\(AccessTests.control)/\(provider)/authorizations"
        return try self.client.post(path, json: ["client": client, "account": "ada"])[member] ?? ""
    }

    @Test("Facebook: what /me says, and a token revoked") func facebook() throws {
        let token = try native("facebook", "1234567890", "accessToken")
        let page = try fixture.page("people/ada").text
        #expect(page.contains("GET /me") && page.contains("10150000000000001") && page.contains("public_profile"))
        #expect(try client.get("/graph.facebook.com/me?access_token=\(token)").status == 200)
        try press("Revoke: access token, Example")
        #expect(try client.get("/graph.facebook.com/me?access_token=\(token)").status == 400)
    }

    @Test("Google: what userinfo says, and access removed") func google() throws {
        let body = ["client": "example.apps.googleusercontent.com", "account": "ada"]
        let answer = try client.post("\(AccessTests.control)/google/authorizations", json: body)
        let token = try #require(answer["accessToken"])
        let page = try fixture.page("people/ada").text
        #expect(page.contains("GET /v1/userinfo") && page.contains(token))
        func status() throws -> Int {
            try client.get(
                "/openidconnect.googleapis.com/v1/userinfo", headers: ["Authorization": "Bearer \(token)"]
            ).status
        }
        #expect(try status() == 200)
        try press("Revoke access: Example")
        #expect(try status() == 401)
    }

    // MARK: - OpenID Connect

    @Test("OpenID: claims, tokens, and a session that ends") func openID() throws {
        try order("openid")
        let browser = TestBrowser(client)
        let form = [
            "client_id": "web", "redirect_uri": OpenIDFixture.callback, "response_type": "code",
            "scope": "openid profile offline_access", "state": "s", "nonce": "n",
        ]
        let code = try browser.get("/oidc/corp/authorize?\(TestClient.encode(form))").redirect["code"] ?? ""
        let tokens = try client.post(
            "/oidc/corp/token",
            form: [
                "client_id": "web", "client_secret": OpenIDFixture.secret, "grant_type": "authorization_code",
                "code": code, "redirect_uri": OpenIDFixture.callback,
            ])
        let token = try #require(tokens["access_token"])
        let page = try fixture.page("people/ada")
        #expect(page.text.contains("Claims for web") && page.text.contains("engineers"))
        #expect(page.text.contains("refresh token") && page.text.contains("session at"))
        let label = try #require(
            page.text.components(separatedBy: "aria-label=\"").first { $0.hasPrefix("Sign out: ") }?
                .prefix { $0 != "\"" })
        try press(String(label))
        #expect(!(try fixture.page("people/ada").text.contains("session at")))
        let bearer = ["Authorization": "Bearer \(token)"]
        // A grant for offline access remains when the session ends.
        #expect(try client.get("/oidc/corp/userinfo", headers: bearer).status == 200)
        try press("Revoke: access token, Example")
        #expect(try client.get("/oidc/corp/userinfo", headers: bearer).status == 401)
        try press("Revoke access: Example")
        #expect(!(try fixture.page("people/ada").text.contains("Revoke access: Example\"")))
    }

    @Test("OpenID: a consent that has outlived its sign-in can be withdrawn") func consent() throws {
        let browser = TestBrowser(client)
        let form = [
            "client_id": "web", "redirect_uri": OpenIDFixture.callback, "response_type": "code",
            "scope": "openid profile", "state": "s", "prompt": "consent",
        ]
        let asking = "/oidc/corp/authorize?\(TestClient.encode(form))"
        let page = try browser.submit(try browser.get(asking), ["account": "ada"])
        #expect(try browser.submit(page, ["action": "continue"]).redirect["code"] != nil)
        #expect(try client.post("\(AccessTests.control)/clock", json: ["advance": "60d"]).status == 200)
        #expect(try fixture.page("people/ada").text.contains("Remembered consents"))
        try press("Revoke access: Example")
        #expect(!(try fixture.page("people/ada").text.contains("Remembered consents")))
    }

    // MARK: - Buttons

    @Test("a button of an older page that stands for nothing any more is refused in words") func stale() throws {
        _ = try signInAtGitHub()
        let label = "Revoke access: Example, answered automatically"
        let key = try #require(buttons(label, on: try fixture.page("people/ada")).first)
        try press(label)
        let answer = try fixture.submit("people/ada/act", ["action": key], from: "people/ada")
        #expect(answer.status == 409 && answer.text.contains("this action is no longer possible"))
        // A button of one person does nothing on another person's page.
        _ = try signInAtGitHub()
        let again = try #require(buttons(label, on: try fixture.page("people/ada")).first)
        #expect(try fixture.submit("people/grace/act", ["action": again], from: "people/grace").status == 409)
    }

    @Test("masked secrets stay masked, and can be revoked") func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let masked = try InspectorFixture(options: options)
        let path = "\(AccessTests.control)/facebook/authorizations"
        let token = try #require(
            try masked.client.post(path, json: ["client": "1234567890", "account": "ada"])["accessToken"])
        let page = try masked.page("people/ada")
        #expect(page.text.contains("masked-\(token.utf8.count)") && !page.text.contains(token.prefix(12)))
        #expect(!buttons("Revoke: access token, Example", on: page).isEmpty)
    }

    @Test("a person with many tokens has a page of the same size") func many() throws {
        for _ in 0..<50 { _ = try native("facebook", "1234567890", "accessToken") }
        let page = try fixture.page("people/ada")
        #expect(buttons("Revoke: access token, Example", on: page).count == 20)
        #expect(page.text.contains("30 older tokens aren&#39;t shown here."))
    }

    // MARK: - The calls behind the buttons

    @Test("one token is revoked by a call") func revokeToken() throws {
        let token = try native("facebook", "1234567890", "accessToken")
        let path = "\(AccessTests.control)/tokens/revocations"
        let answer = try client.post(path, json: ["token": token])
        #expect(answer["provider"] == "facebook" && answer["kind"] == "access token")
        #expect(answer["client"] == "1234567890")
        #expect(try client.post(path, json: ["token": token]).status == 404)
        #expect(try client.post(path, json: [:]).status == 400)
        let minted = try client.post(
            "\(AccessTests.control)/tokens",
            json: ["provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada"])
        let idToken = try #require(minted["token"])
        #expect(try client.post(path, json: ["token": idToken]).diagnosis.contains("valid until it expires"))
    }

    @Test("a person is signed out of all browsers by a call") func logouts() throws {
        let browsers = [TestBrowser(client), TestBrowser(client)]
        for browser in browsers {
            _ = try browser.post("/github.com/session", ["account": "ada", "return_to": "/settings/applications"])
        }
        let path = "\(AccessTests.control)/github/logouts"
        #expect(try client.post(path, json: ["account": "ada", "session": "none"]).status == 404)
        #expect(try client.post(path, json: ["account": "ada"]).json["sessions"] as? Int == 2)
        for browser in browsers {
            #expect(!(try browser.get("/github.com/settings/applications").text.contains("Authorized apps")))
        }
        let order = ["issuer": "corp", "account": "ada", "session": "none"]
        #expect(try client.post("\(AccessTests.control)/openid/logouts", json: order).status == 404)
    }
}
