import Foundation
import TestSupport
import Testing
import Understudy

/// The list of sign-ins.
@Suite struct SignInsTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    private init(_ fixture: InspectorFixture) { self.fixture = fixture }

    /// Returns the rows of a page of sign-ins, in its order, without tags.
    static func rows(_ page: Answer) -> [String] {
        page.text.components(separatedBy: "<li class=\"flow\"").dropFirst().map { row in
            let end = row.range(of: "</li>")?.lowerBound ?? row.endIndex
            let start = row.firstIndex(of: ">") ?? row.startIndex
            let text = row[start..<end].replacing(/<[^>]*>/, with: " ").replacing(/\s+/, with: " ")
            return HTMLText.unescaped(String(text))
        }
    }

    private func rows(_ query: String = "", world: String? = nil) throws -> [String] {
        SignInsTests.rows(try fixture.page(query.isEmpty ? "" : "?\(query)", world: world))
    }

    private func newest() throws -> String { try rows().first ?? "" }

    @Test("an empty world says how to get the first sign-in") func empty() throws {
        let page = try fixture.page()
        #expect(page.text.contains("/_understudy/setup\""))
        #expect(page.text.contains("No sign-ins yet. Try one:"))
        #expect(SignInsTests.rows(page).isEmpty)
    }

    @Test(
        "a web sign-in: where, who, for whom, and how it ended",
        arguments: [
            ("apple", "Apple", "com.example.web"), ("github", "GitHub", "Iv1.0123456789abcdef"),
            ("google", "Google", "example.apps.googleusercontent.com"), ("facebook", "Facebook", "1234567890"),
            ("openid", "OpenID Connect", "web"),
        ])
    func web(provider: String, title: String, client: String) throws {
        _ = try Site.signIn(at: provider, fixture.client)
        let rows = try rows()
        try #require(rows.count == 1)
        for part in ["\(title) web sign-in", "Signed in", "Ada Lovelace", client] {
            #expect(rows[0].contains(part), "\(part) in \(rows[0])")
        }
        #expect(try fixture.page().text.contains("/_understudy/people/ada\""))
    }

    @Test("a native sign-in", arguments: Site.natives) func native(site: Site) throws {
        #expect(try site.call(fixture.client, "").status == 200)
        let row = try #require(try rows().first)
        for part in ["native sign-in", "Signed in", "Ada Lovelace"] { #expect(row.contains(part)) }
    }

    @Test("a device that waits, and one that was approved") func device() throws {
        let github = "/github.com/login"
        let form = ["client_id": GitHubFixture.asking]
        let device = try fixture.client.post(
            "\(github)/device/code", form: form, headers: ["Accept": "application/json"])
        func poll() throws {
            let more = ["device_code": device["device_code"] ?? "", "grant_type": GitHubFixture.deviceGrant]
            _ = try fixture.client.post(
                "\(github)/oauth/access_token", form: form.merging(more) { $1 }, headers: ["Accept": "application/json"]
            )
        }
        try poll()
        #expect(try newest().contains("GitHub device sign-in"))
        #expect(try newest().contains("Unfinished"))
        #expect(try newest().contains("The user hasn't decided yet"))
        try Site.order(["provider": "github", "outcome": "approve", "account": "grace"], at: fixture.client)
        _ = try fixture.client.post("/_understudy/v1/clock", json: ["advance": "1m"])
        try poll()
        #expect(try rows().count == 1)
        #expect(try newest().contains("Signed in"))
        #expect(try newest().contains("Grace Hopper"))
    }

    @Test("a service that asks a provider is one sign-in with it") func service() throws {
        let made = try Site.natives[0].call(fixture.client, "")
        let body = "providerId=apple.com&id_token=\(made["identityToken"] ?? "")"
        _ = try fixture.client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            json: ["postBody": body, "requestUri": "http://localhost", "returnSecureToken": true])
        let row = try #require(try rows().first)
        #expect(row.contains("Firebase Authentication, Apple: Sign in by apple.com"))
        #expect(row.contains("Refused") && row.contains("raw nonce"), "\(row)")
        #expect(try rows().count == 1)
    }

    @Test("a code that was given out and not redeemed says so") func unredeemed() throws {
        _ = try Site.authorizations[1].call(fixture.client, "")
        let row = try #require(try rows().first)
        #expect(row.contains("Unfinished") && row.contains("been redeemed"))
        #expect(try rows("unfinished=1").count == 1)
        _ = try Site.authorizations[2].call(fixture.client, "")
        _ = try fixture.client.get("/accounts.google.com/o/oauth2/v2/auth?client_id=nobody")
        #expect(try rows("unfinished=1").allSatisfy { $0.contains("Unfinished") })
    }

    @Test("refused, cancelled, made to fail: each with all that is to be said") func failures() throws {
        try Site.order(["provider": "apple", "outcome": "cancel"], at: fixture.client)
        _ = try fixture.client.get(Site.authorizations[0].target(["state": "state of the first"]))
        _ = try fixture.client.post(
            "/_understudy/v1/faults", json: ["match": ["path": "/login/oauth/access_token"], "effect": ["status": 503]])
        _ = try Site.signIn(at: "github", fixture.client)
        let refused = try fixture.client.get("/accounts.google.com/o/oauth2/v2/auth?client_id=nobody")
        let rows = try rows()
        try #require(rows.count == 3)
        #expect(rows[0].contains("Refused") && rows[0].contains(refused.diagnosis))
        #expect(rows[1].contains("Fault") && rows[1].contains("fault-1"))
        #expect(rows[2].contains("Cancelled"))
        #expect(try self.rows("refused=1").count == 3)
        _ = try Site.signIn(at: "openid", fixture.client)
        #expect(try self.rows().count == 4)
        #expect(try self.rows("refused=1").count == 3)
    }

    @Test("a code that is redeemed twice is refused at last") func twice() throws {
        try Site.order(["provider": "github", "outcome": "approve", "account": "ada"], at: fixture.client)
        let code = Site.code(try fixture.client.get(Site.authorizations[1].target()))
        _ = try Site.redeem(code, at: "github", fixture.client)
        #expect(try newest().contains("Signed in"))
        let again = try Site.redeem(code, at: "github", fixture.client)
        #expect(try rows().count == 1)
        #expect(try newest().contains("Refused"))
        #expect(try !again.diagnosis.isEmpty && newest().contains(again.diagnosis))
    }

    @Test("key sets by themselves are shown when they are asked for", arguments: Site.keySets) func quiet(site: Site)
        throws
    {
        _ = try site.call(fixture.client, "")
        #expect(try rows().isEmpty)
        #expect(try fixture.page().text.contains("only key sets and discovery documents"))
        #expect(try rows("all=1").count == 1)
    }

    @Test(
        "filters",
        arguments: [
            ("provider=apple", 1), ("provider=github", 1), ("provider=facebook", 0), ("client=COM.EXAMPLE", 1),
            ("client=nobody", 0), ("q=ada", 2), ("q=lovelace", 2), ("q=grace", 0), ("q=Signed+in", 2),
            ("q=web+sign-in", 2),
            ("q=%00", 0), ("refused=1", 0), ("before=x", 2), ("before=0", 0), ("before=-1", 0),
        ])
    func filters(query: String, count: Int) throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        _ = try Site.signIn(at: "github", fixture.client)
        #expect(try rows(query).count == count)
    }

    @Test("fifty a page, the newest first, and the others behind a link") func pages() throws {
        for number in 0..<60 { _ = try fixture.client.get("/github.com/login/oauth/authorize?client_id=app-\(number)") }
        let first = try fixture.page()
        #expect(SignInsTests.rows(first).count == 50)
        #expect(SignInsTests.rows(first)[0].contains("app-59"))
        let link = try #require(first.text.firstMatch(of: /id="older" href="[^"]*(\?[^"]*)"/)?.1)
        let second = SignInsTests.rows(try fixture.page(String(link)))
        #expect(second.count == 10 && second[0].contains("app-9 ") && second[9].contains("app-0 "))
    }

    @Test("each world has its own") func worlds() throws {
        try SignInsTests(InspectorFixture(isAlone: true)).checkWorlds()
    }

    private func checkWorlds() throws {
        _ = try Site.signIn(at: "apple", fixture.client, "/~one")
        _ = try Site.signIn(at: "github", fixture.client, "/~two")
        #expect(try rows().isEmpty)
        #expect(try rows(world: "one").count == 1 && rows(world: "two").count == 1)
        #expect(try rows(world: "one").first?.contains("Apple") == true)
        #expect(try fixture.page("", world: "one").text.contains("/~one/_understudy/flows/"))
    }

    @Test("emptying takes the form's token") func emptying() throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        #expect(try fixture.client.post("/_understudy/flows/empty", form: [:]).status == 403)
        #expect(try rows().count == 1)
        let answer = try fixture.submit("flows/empty", [:], from: "")
        #expect(answer.status == 303 && answer.location.hasSuffix("/_understudy/"))
        #expect(try rows().isEmpty)
    }

    @Test("saved as HAR, whole or one sign-in") func archive() throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        _ = try Site.signIn(at: "github", fixture.client)
        func entries(_ path: String) throws -> Int? {
            ((try fixture.page(path).json["log"] as? [String: Any])?["entries"] as? [Any])?.count
        }
        #expect(try fixture.page().text.contains("flows/har\""))
        #expect(try entries("flows/har") == 4)
        let id = try #require(try fixture.page().text.firstMatch(of: /flows\/(r\d+)"/)?.1)
        #expect(try entries("flows/har?flow=\(id)") == 2)
        #expect(try entries("flows/har?flow=nothing") == 0)
    }

    @Test("what a request brings is text, and bidirectional text stays in its place") func hostile() throws {
        let name = "<script>alert(1)</script>\u{202E}evil\u{7}"
        _ = try fixture.client.get("/github.com/login/oauth/authorize?client_id=\(TestClient.escape(name))")
        _ = try fixture.client.request(
            "GET", "/appleid.apple.com/auth/authorize?client_id=%FF%FE%00&state=%C0%80", headers: ["Accept": "\u{FF}"])
        let page = try fixture.page()
        #expect(SignInsTests.rows(page).count == 2)
        #expect(!page.text.contains("<script>alert") && !page.text.contains("\u{202E}"))
        for id in page.text.matches(of: /flows\/(r\d+)"/).map(\.1) {
            let flow = try fixture.page("flows/\(id)")
            #expect(flow.status == 200 && !flow.text.contains("<script>alert") && !flow.text.contains("\u{202E}"))
        }
    }

    @Test("masked secrets stay masked") func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let fixture = try InspectorFixture(options: options)
        try Site.order(["provider": "apple", "outcome": "approve", "account": "ada"], at: fixture.client)
        let code = Site.code(try fixture.client.get(Site.authorizations[0].target()))
        _ = try Site.redeem(code, at: "apple", fixture.client)
        _ = try Site.redeem("a-secret-of-the-test", at: "apple", fixture.client)
        let pages = try [fixture.page()] + ["r1", "r2", "r3", "r4"].map { try fixture.page("flows/\($0)") }
        for page in pages { #expect(!page.text.contains(code) && !page.text.contains("a-secret-of-the-test")) }
        #expect(SignInsTests.rows(pages[0]).contains { $0.contains("Ada Lovelace") })
    }
}

enum HTMLText {
    private static let references = [("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")]

    static func escaped(_ text: String) -> String {
        references.reduce(text.replacingOccurrences(of: "&", with: "&amp;")) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }

    static func unescaped(_ text: String) -> String {
        references.reduce(text) { $0.replacingOccurrences(of: $1.1, with: $1.0) }
            .replacingOccurrences(of: "&amp;", with: "&")
    }
}
