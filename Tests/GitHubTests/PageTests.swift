import Foundation
import TestSupport
import Testing

@Suite("GitHub: the pages that people see")
struct PageTests {
    let fixture: GitHubFixture
    let browser: TestBrowser

    init() throws {
        fixture = try GitHubFixture()
        browser = TestBrowser(fixture)
    }

    private func path(_ parameters: [String: String?] = [:]) -> String {
        let asking: [String: String?] = [
            "client_id": GitHubFixture.asking, "redirect_uri": GitHubFixture.askingCallback, "scope": "repo user:email",
        ]
        return GitHubFixture.authorizePath(asking.merging(parameters) { $1 })
    }

    private func code(in answer: Answer) throws -> Answer {
        try fixture.exchange(["client_id": GitHubFixture.asking, "code": answer.redirect["code"]])
    }

    @Test("sign in, consent, code; the second time straight through, with more scopes anew")
    func consent() throws {
        let people = try browser.get(path())
        #expect(people.text.contains("Sign in to GitHub"))
        #expect(people.text.contains("Ada Lovelace"))
        #expect(people.text.contains("Create an account"))
        let consent = try browser.post(
            "\(GitHubFixture.web)/session", people.inputs.merging(["account": "ada"]) { $1 })
        for text in [
            "Authorize Example?", "user:email", "Read all e-mail addresses", "repo", "Cancel", "Then you go on",
        ] {
            #expect(consent.text.contains(text), "\(text)")
        }
        #expect(consent.header("X-Frame-Options") == "deny")
        let answer = try browser.submit(consent, ["authorize": "1"], scopes: ["repo", "user:email"])
        #expect(answer.location.hasPrefix("http://localhost:3000/callback?code="))
        #expect(try code(in: answer)["scope"] == "repo,user:email")

        let silent = try browser.get(path(["scope": "user:email"]))
        #expect(silent.redirect["code"] != nil)
        #expect(try code(in: silent)["scope"] == "user:email")
        let everything = try browser.get(path(["scope": nil]))
        #expect(try code(in: everything)["scope"] == "repo,user:email")
        let more = try browser.get(path(["scope": "user:email gist"]))
        #expect(more.text.contains("· new"))
        #expect(more.text.contains("has been authorized before"))
    }

    @Test("scopes can be left out, and cancel is access_denied")
    func narrower() throws {
        try browser.signIn(as: "ada")
        let consent = try browser.get(path())
        let answer = try browser.submit(consent, ["authorize": "1"], scopes: ["user:email", "admin:org"])
        #expect(try code(in: answer)["scope"] == "user:email")
        let denied = try browser.submit(browser.get(path()), ["authorize": "0"])
        #expect(denied.redirect["error"] == "access_denied")
        #expect(denied.redirect["state"] == "s 1")
    }

    @Test("a suggested login comes first, prompt=select_account and app schemes ask who")
    func whoAnswers() throws {
        let suggested = try browser.get(path(["login": "GRACE"]))
        let people = suggested.text.components(separatedBy: "class=\"person\"").dropFirst()
        #expect(people.first?.contains("grace") ?? false)
        #expect(people.first?.contains("suggested by the app") ?? false)
        try browser.signIn(as: "ada")
        #expect(try browser.get(path()).text.contains("Sign in to GitHub") == false)
        #expect(try browser.get(path(["login": "ada"])).text.contains("Authorize Example?"))
        #expect(try browser.get(path(["login": "grace"])).text.contains("Sign in to GitHub"))
        let chooser = try browser.get(path(["prompt": "select_account"]))
        #expect(chooser.text.contains("Sign in to GitHub"))
        let consent = try browser.post(
            "\(GitHubFixture.web)/session", chooser.inputs.merging(["account": "grace"]) { $1 })
        #expect(consent.text.contains("the account of grace"))
        #expect(try browser.get(path(["prompt": "select_account"])).text.contains("Sign in to GitHub"))
    }

    @Test("twenty people at a time, with a search that stays on the way to the app")
    func manyPeople() throws {
        let people = (1...60).map { #"{"id":"pat\#($0)","name":{"given":"Pat","family":"Miller"}}"# }
        let fixture = try GitHubFixture(seed: #"{"accounts":[\#(people.joined(separator: ","))]}"#)
        let browser = TestBrowser(fixture)
        func logins(_ page: Answer) -> [String] {
            page.text.matches(of: /name="account" value="([^"]*)"/).map { String($0.output.1) }
        }
        func go(_ page: Answer, _ fields: [String: String]) throws -> Answer {
            #expect(page.text.contains("formmethod=\"get\" formaction=\"http://localhost:"))
            let form = page.inputs.merging(fields) { $1 }
            return try browser.get("\(GitHubFixture.web)/login?\(TestClient.encode(form))")
        }
        let first = try browser.get(path(["login": "pat60", "allow_signup": "false"]))
        #expect(logins(first).count == 21)
        #expect(logins(first).first == "pat60")
        var page = try go(first, ["action": "search", "search": "miller"])
        var seen = logins(page)
        while let next = page.text.firstMatch(of: /name="after" value="([^"]*)"/)?.output.1 {
            page = try go(page, ["after": String(next), "search": "miller"])
            seen += logins(page)
        }
        #expect(seen.count == 60 && Set(seen).count == 60)
        let nobody = try go(page, ["action": "search", "search": "zz"])
        #expect(nobody.text.contains("Nobody is found."))
        #expect(nobody.text.contains("to continue to Example"))
        #expect(!nobody.text.contains("Create an account"))
        let found = try go(nobody, ["action": "search", "search": "PAT42"])
        #expect(logins(found) == ["pat42"])
        let consent = try browser.post(
            "\(GitHubFixture.web)/session", found.inputs.merging(["account": "pat42"]) { $1 })
        #expect(consent.text.contains("the account of pat42"))
    }

    @Test("an account can be created on the way, unless allow_signup=false")
    func signup() throws {
        #expect(try browser.get(path(["allow_signup": "false"])).text.contains("Create an account") == false)
        let people = try browser.get(path())
        let form = try browser.get(
            "\(GitHubFixture.web)/signup?return_to=\(TestClient.escape(people.inputs["return_to"] ?? ""))")
        let bad = try browser.submit(form, ["login": "new person", "email": "x"])
        #expect(bad.status == 422)
        #expect(bad.text.contains("1 to 39 letters"))
        #expect(try browser.submit(form, ["login": "ada", "email": "x@example.com"]).text.contains("is taken"))
        #expect(try browser.submit(form, ["login": "newbie", "email": "x"]).text.contains("an e-mail address"))
        let consent = try browser.submit(form, ["login": "newbie", "email": "new@example.com"])
        #expect(consent.text.contains("the account of newbie"))
        let answer = try browser.submit(consent, ["authorize": "1"], scopes: ["user:email"])
        let token = try code(in: answer)["access_token"]
        #expect(try fixture.get("/user", token: token)["login"] == "newbie")
        #expect(try fixture.get("/user/emails", token: token).list.first?["email"] as? String == "new@example.com")
    }

    @Test("forms without the session's token, or the request, are refused")
    func forgery() throws {
        try browser.signIn(as: "ada")
        let consent = try browser.get(path())
        let forged = try browser.submit(consent, ["authorize": "1", "authenticity_token": "x"])
        #expect(forged.status == 422)
        #expect(forged.diagnosis.contains("authenticity_token"))
        #expect(try browser.post("\(GitHubFixture.web)/login/oauth/authorize", ["authorize": "1"]).status == 422)
        let tampered = try browser.submit(
            consent, ["authorize": "1", "request": Data("client_id=nothing!".utf8).base64EncodedString()])
        #expect(tampered.status == 404)
        #expect(try browser.post("\(GitHubFixture.web)/session", ["account": "nobody"]).status == 422)
        let page = try browser.post("\(GitHubFixture.web)/session", ["account": "ada", "return_to": "//evil.example"])
        #expect(page.status == 404)
        let stranger = try TestBrowser(fixture).submit(consent, ["authorize": "1"], scopes: ["repo"])
        #expect(stranger.text.contains("Sign in to GitHub"))
    }

    @Test("ten tokens within the hour make the page ask again")
    func hurry() throws {
        try browser.signIn(as: "ada")
        let consent = try browser.get(path(["scope": "gist"]))
        var answer = try browser.submit(consent, ["authorize": "1"], scopes: ["gist"])
        for _ in 0..<10 {
            #expect(try code(in: answer)["access_token"] != nil)
            answer = try browser.get(path(["scope": "gist"]))
        }
        #expect(answer.text.contains("Authorize Example?"))
        try fixture.advance("61m")
        #expect(try browser.get(path(["scope": "gist"])).redirect["code"] != nil)
    }

    @Test("tokens that were revoked count among the ten")
    func revokedInHurry() throws {
        try browser.signIn(as: "ada")
        var answer = try browser.submit(
            try browser.get(path(["scope": "gist"])), ["authorize": "1"], scopes: ["gist"])
        for _ in 0..<10 {
            let token = try #require(try code(in: answer)["access_token"])
            let deleted = try fixture.call(
                "DELETE", "/applications/\(GitHubFixture.asking)/token",
                headers: GitHubFixture.basic(GitHubFixture.asking), json: ["access_token": token])
            #expect(deleted.status == 204)
            answer = try browser.get(path(["scope": "gist"]))
        }
        #expect(answer.text.contains("Authorize Example?"))
        try fixture.advance("61m")
        #expect(try browser.get(path(["scope": "gist"])).redirect["code"] != nil)
    }

    @Test("the settings page lists authorized apps and revokes them")
    func revoking() throws {
        let token = try fixture.token(scope: "user", client: GitHubFixture.asking)
        #expect(try browser.get("\(GitHubFixture.web)/settings/applications").text.contains("Sign in to GitHub"))
        try browser.signIn(as: "ada")
        let list = try browser.get("\(GitHubFixture.web)/settings/applications")
        #expect(list.text.contains("Example (Iv1.0123456789abcdef)"))
        let page = "\(GitHubFixture.web)/settings/connections/applications/\(GitHubFixture.asking)"
        let connection = try browser.get(page)
        #expect(connection.text.contains("one token works"))
        #expect(connection.text.contains("Read and write the profile"))
        let forged = try browser.submit(connection, ["action": "revoke", "authenticity_token": ""])
        #expect(forged.status == 422)
        #expect(try fixture.get("/user", token: token).status == 200)
        #expect(try browser.submit(connection, ["action": "revoke"]).text.contains("Access revoked"))
        let refused = try fixture.get("/user", token: token)
        #expect(refused.status == 401)
        #expect(refused.diagnosis.contains("revoked the app's authorization"))
        #expect(try browser.get(page).text.contains("authorized this app"))
        #expect(try browser.get("\(GitHubFixture.web)/settings/connections/applications/nothing").status == 404)
    }

    @Test("pages escape what they show")
    func escaping() throws {
        let fixture = try GitHubFixture(
            seed:
                #"{"github":{"oauthApps":[{"clientID":"x","name":"<b>&","callbackURLs":["https://example.com/"]}]},"accounts":[{"id":"evil","name":{"given":"<i>"},"email":"e@example.com"}]}"#
        )
        let browser = TestBrowser(fixture)
        let people = try browser.get(
            GitHubFixture.authorizePath(["client_id": "x", "redirect_uri": nil, "state": "\"><script>"]))
        #expect(!people.text.contains("<i>"))
        #expect(people.text.contains("&lt;i&gt;"))
        let consent = try browser.post(
            "\(GitHubFixture.web)/session", people.inputs.merging(["account": "evil"]) { $1 })
        #expect(consent.text.contains("Authorize &lt;b&gt;&amp;?"))
        #expect(!consent.text.contains("<script>"))
    }

    @Test("signing out, and addresses that aren't there")
    func rest() throws {
        try browser.signIn(as: "ada")
        #expect(try browser.post("\(GitHubFixture.web)/logout", ["authenticity_token": "x"]).status == 422)
        let token = try browser.get(path()).inputs["authenticity_token"] ?? ""
        let after = try browser.post("\(GitHubFixture.web)/logout", ["authenticity_token": token])
        #expect(after.text.contains("Sign in to GitHub"))
        #expect(try browser.get(path()).text.contains("Sign in to GitHub"))
        let lost = try browser.get("\(GitHubFixture.web)/no/such/page")
        #expect(lost.status == 404)
        #expect(lost.header("Content-Type")?.hasPrefix("text/html") ?? false)
        #expect(!lost.diagnosis.isEmpty)
    }
}
