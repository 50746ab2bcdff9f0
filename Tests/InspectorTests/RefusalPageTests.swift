import Foundation
import TestSupport
import Testing

@testable import Understudy

/// The page on which a provider refuses a sign-in links to the request, and to what the seed lacks.
@Suite struct RefusalPageTests {
    private static let other = "http://localhost:3001/elsewhere"

    @Test(
        "a redirect URI that isn't registered can be, in two clicks",
        arguments: [
            ("/appleid.apple.com/auth/authorize", "client_id=com.example.web.local&response_type=code", 200),
            ("/github.com/login/oauth/authorize", "client_id=Iv1.0123456789abcdef", 302),
            (
                "/accounts.google.com/o/oauth2/v2/auth",
                "client_id=example.apps.googleusercontent.com&response_type=code&scope=openid", 200
            ),
            ("/www.facebook.com/v19.0/dialog/oauth", "client_id=1234567890&state=x", 200),
            ("/oidc/corp/authorize", "client_id=web&response_type=code&scope=openid", 200),
        ])
    func registered(path: String, query: String, then status: Int) throws {
        let fixture = try InspectorFixture(isAlone: true)
        let url = "\(path)?\(query)&redirect_uri=\(RefusalPageTests.other)"
        let html = ["Accept": "text/html"]
        let page = try fixture.client.get(url, headers: html)
        #expect(page.status >= 400 && page.text.contains("<dt>Received</dt>"))
        let request = try #require(page.header("Understudy-Request"))
        let origin = "http://localhost:\(fixture.client.port)"
        #expect(page.text.contains("<a href=\"\(origin)/_understudy/requests/\(request)\">See this request</a>"))
        #expect(try fixture.page("requests/\(request)").status == 200)
        let link = try #require(
            page.text.firstMatch(of: /href="([^"]*)">Add the missing entry to the seed of this test world/)
                .map { String($0.1) })
        #expect(link.hasPrefix("\(origin)/_understudy/worlds/seed?merge="))
        let form = try fixture.client.get(String(link.dropFirst(origin.count)), headers: html)
        let written = try #require(form.text.firstMatch(of: /<textarea[^>]*>([^<]*)</).map { String($0.1) })
        let seed = written.replacingOccurrences(of: "&quot;", with: "\"").replacingOccurrences(of: "&#10;", with: "\n")
        #expect(seed.contains(RefusalPageTests.other))
        let merged = try fixture.submit("worlds/seed", ["seed": seed, "mode": "merge"])
        #expect(merged.status == 303, "\(merged.text)")
        #expect(try fixture.client.get(url, headers: html).status == status)
    }

    @Test("a page that refuses for another reason leads to the request alone, in its world") func request() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let page = try fixture.client.get(
            "/~w1/github.com/login/oauth/authorize?client_id=nobody", headers: ["Accept": "text/html"])
        #expect(page.status == 404)
        #expect(page.text.contains("/~w1/_understudy/requests/\(page.header("Understudy-Request") ?? "none")\""))
        #expect(!page.text.contains("Add the missing entry"))
    }
}
