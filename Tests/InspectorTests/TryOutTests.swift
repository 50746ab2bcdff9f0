import Foundation
import TestSupport
import Testing

@testable import Understudy

/// "Try one" and the page to which the built-in seed's clients return.
@Suite struct TryOutTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture(isAlone: true) }

    private var origin: String { "http://localhost:\(fixture.client.port)" }

    /// Returns the path of a URL at this daemon.
    private func path(_ url: String) -> String { url.hasPrefix(origin) ? String(url.dropFirst(origin.count)) : url }

    /// Requests a URL as a browser does. Hosts below localhost are this daemon, too.
    private func open(_ url: String) throws -> Answer {
        var headers = ["Accept": "text/html"]
        let parts = url.hasPrefix("http://") ? url.dropFirst(7).split(separator: "/", maxSplits: 1) : []
        guard parts.count == 2 else { return try fixture.client.get(url, headers: headers) }
        headers["Host"] = String(parts[0])
        return try fixture.client.get("/\(parts[1])", headers: headers)
    }

    /// Returns the links of the empty list, by their titles.
    private func links(world: String? = nil) throws -> [String: String] {
        let page = try fixture.page("", world: world).text
        let links = page.matches(of: #/href="([^"]*/_understudy/try\?[^"]*)">Sign in with <bdi>([^<]*)</#)
        return Dictionary(
            uniqueKeysWithValues: links.map {
                (String($0.2), path($0.1.replacingOccurrences(of: "&amp;", with: "&")))
            })
    }

    /// Follows redirects from `url` to a page, which is returned.
    private func follow(_ url: String) throws -> Answer {
        var answer = try open(url)
        for _ in 0..<8 {
            guard let next = answer.header("Location") else { break }
            answer = try open(next)
        }
        return answer
    }

    /// Signs Ada in at `provider`, and returns the callback page.
    private func signIn(_ title: String, _ provider: String, world: String? = nil) throws -> Answer {
        let prefix = world.map { "/~\($0)" } ?? ""
        let order = try fixture.client.post(
            "\(prefix)/_understudy/v1/outcomes",
            json: ["provider": provider, "outcome": "approve", "account": "ada"])
        #expect(order.status == 201)
        var answer = try follow(try #require(links(world: world)[title]))
        // Apple's answer is a form that posts itself.
        if !answer.inputs.isEmpty, answer.text.contains("This page posts the answer") {
            let posted = try fixture.client.post(
                "/_understudy/callback", form: answer.inputs,
                headers: ["Origin": "http://appleid.apple.com.localhost:\(fixture.client.port)"])
            #expect(posted.status == 303)
            answer = try follow(try #require(posted.header("Location")))
        }
        return answer
    }

    @Test(
        "each provider's sign-in ends at the callback page, and redeeming the code says who it is",
        arguments: [
            ("Apple", "apple", "com.example.web.local"), ("GitHub", "github", "Iv1.0123456789abcdef"),
            ("Google", "google", "example.apps.googleusercontent.com"), ("Facebook", "facebook", "1234567890"),
            ("Example Corp", "openid", "web"),
        ])
    func signIn(title: String, provider: String, client: String) throws {
        let page = try signIn(title, provider)
        #expect(page.status == 200)
        #expect(page.text.contains("Ada Lovelace came back from"))
        let way = provider == "apple" ? "form post" : "a redirect"
        for text in ["<dt><bdi>Client</bdi></dt>", client, "code", "state", way] {
            #expect(page.text.contains(text), "\(text)")
        }
        if provider == "apple" { #expect(page.text.contains("<bdi>user</bdi>")) }
        let fields = page.inputs.filter { ["code", "state"].contains($0.key) }
        #expect(fields.count == 2)
        let redeemed = try fixture.submit("callback/redeem", fields)
        #expect(redeemed.status == 200)
        #expect(redeemed.text.contains("<h1>Ada Lovelace signed in</h1>"))
        #expect(redeemed.text.contains("access_token"))
        #expect(redeemed.text.contains("Ada"))
        if ["apple", "google", "openid"].contains(provider) {
            #expect(redeemed.text.contains("exchange-token") && redeemed.text.contains("ada@example.com"))
        } else {
            #expect(redeemed.text.contains("Who it is"))
        }
        // The sign-in is in the list, and has ended.
        let list = try fixture.page("").text
        #expect(list.contains("Signed in") && !list.contains("badge bad"))
        let again = try fixture.submit("callback/redeem", fields)
        #expect(again.text.contains("refused the code</h1>") || again.status == 404)
    }

    @Test("a world in the path gets its own sign-in back, though the redirect URI names none")
    func world() throws {
        let page = try signIn("Google", "google", world: "tried")
        #expect(page.text.contains("Ada Lovelace came back from Google"))
        #expect(page.text.contains("/~tried/_understudy/callback/redeem"))
        let redeemed = try fixture.submit(
            "callback/redeem", page.inputs.filter { ["code", "state"].contains($0.key) }, world: "tried")
        #expect(redeemed.text.contains("<h1>Ada Lovelace signed in</h1>"))
    }

    @Test("an error says what it means") func error() throws {
        let order = try fixture.client.post(
            "/_understudy/v1/outcomes", json: ["provider": "google", "outcome": "cancel"])
        #expect(order.status == 201)
        let page = try follow(try #require(links()["Google"]))
        #expect(page.text.contains("<h1>Google says access_denied</h1>"))
        #expect(page.text.contains("See the sign-in"))
        #expect(!page.text.contains("Redeem it"))
    }

    @Test("nothing is offered where no client returns here, and a code of nobody's isn't redeemed")
    func nothing() throws {
        let seed = try fixture.client.request(
            "PUT", "/~bare/_understudy/v1/seed", headers: ["Content-Type": "application/json"],
            body: Array(#"{"google":{"clients":[{"clientID":"c","redirectURIs":["http://localhost:3000/"]}]}}"#.utf8))
        #expect(seed.status == 200, "\(seed.text)")
        let page = try fixture.page("", world: "bare")
        #expect(page.text.contains("No sign-ins yet.") && !page.text.contains("/try?"))
        #expect(try fixture.page("try?at=Google&client=c", world: "bare").status == 404)
        let refused = try fixture.submit("callback/redeem", ["code": "nobody-has-given-this-out"])
        #expect(refused.status == 404 && !refused.diagnosis.isEmpty)
        #expect(try fixture.page("callback").text.contains("Nothing came back"))
    }

    @Test("what is posted is only shown, and not without bound") func posted() throws {
        let hostile = try fixture.client.post(
            "/_understudy/callback", form: ["code": "<script>alert(1)</script>"],
            headers: ["Origin": "https://evil.example"])
        #expect(hostile.status == 303)
        let page = try follow(try #require(hostile.header("Location")))
        #expect(page.status == 200 && !page.text.contains("<script>alert"))
        let long = try fixture.client.post(
            "/_understudy/callback", form: ["code": String(repeating: "a", count: 10_000)])
        #expect(long.status == 413 && !long.diagnosis.isEmpty)
    }
}
