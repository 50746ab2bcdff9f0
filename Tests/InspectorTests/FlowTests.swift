import Foundation
import TestSupport
import Testing
import Understudy

@testable import EmulatorCore

/// A sign-in as a diagram, and its stream of changes.
@Suite struct FlowTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    /// Returns the page of the newest sign-in.
    private func newest() throws -> Answer {
        let id = try fixture.page().text.firstMatch(of: /flows\/(r\d+)"/)?.1
        return try fixture.page("flows/\(try #require(id))")
    }

    /// Returns the diagram for wide screens.
    private func diagram(_ page: Answer) -> String {
        String(page.text.components(separatedBy: "<svg class=\"flow-diagram wide\"").dropFirst().first ?? "")
            .components(separatedBy: "</svg>")[0]
    }

    /// Returns the texts of the diagram's arrows for screen readers.
    private func arrows(_ page: Answer) -> [String] {
        diagram(page).matches(of: /aria-label="([^"]*)" class="flow-arrow/).map { String($0.1) }
    }

    private func parties(_ page: Answer) -> [String] {
        diagram(page).matches(of: /<g class="flow-party [a-z]*">.*?<text [^>]*>([^<]*)<\/text>/).map { String($0.1) }
    }

    @Test("a web sign-in goes from the browser over the backend to the provider") func web() throws {
        _ = try Site.signIn(at: "github", fixture.client)
        let page = try newest()
        #expect(parties(page) == ["Browser", "Backend", "GitHub"])
        let arrows = arrows(page)
        #expect(
            arrows == [
                "Browser to GitHub: ask to sign in, GET /login/oauth/authorize",
                "GitHub answers Browser: 302 code ", "Browser to Backend: code, GET http://localhost:3000/callback",
                "Backend to GitHub: redeem code, POST /login/oauth/access_token",
                "GitHub answers Backend: 200 access token ",
            ])
        // Each arrow links to its exchange.
        #expect(page.text.contains("/_understudy/requests/r"))
        #expect(page.text.contains("Signed in") && page.text.contains("Ada Lovelace"))
    }

    @Test("a native sign-in at a service: app, service, provider, and what the service asks") func native() throws {
        let nonce = FirebaseFixture.sha256(FirebaseFixture.rawNonce)
        let made = try fixture.client.post(
            "/_understudy/v1/apple/authorizations",
            json: ["client": AppleFixture.app, "account": "ada", "nonce": nonce])
        let body = FirebaseFixture.postBody(
            "apple.com", idToken: made["identityToken"], nonce: FirebaseFixture.rawNonce)
        let answer = try fixture.client.request(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            headers: ["Content-Type": "application/json", "X-Ios-Bundle-Identifier": AppleFixture.app],
            body: Array(
                try JSONSerialization.data(withJSONObject: [
                    "postBody": body, "requestUri": "http://localhost", "returnSecureToken": true,
                ])))
        #expect(answer.status == 200)
        let page = try newest()
        #expect(parties(page) == ["App", "Firebase Authentication", "Apple"])
        let arrows = arrows(page)
        #expect(arrows.first?.hasPrefix("App to Apple: sign in natively") == true)
        #expect(arrows.contains("Firebase Authentication to Apple: get keys, GET /auth/keys"))
        // The service's own requests are between its request and its answer.
        #expect(arrows.last?.hasPrefix("Firebase Authentication answers App: 200 ID token") == true)
        #expect(page.text.contains("200 code, ID token with nonce"))
    }

    @Test("a refusal stands in its place, with what is to be done") func refused() throws {
        let answer = try fixture.client.get(
            Site.authorizations[2].target(["redirect_uri": "http://elsewhere.example/"]))
        let page = try newest()
        #expect(page.text.contains("<div class=\"note bad\">"))
        let parts = DiagnosisParts(line: answer.diagnosis)
        #expect(!parts.received.isEmpty)
        #expect(page.text.contains(parts.html { .tag("bdi", [], $0) }.fragment))
        #expect(arrows(page).last?.contains("refused, \(answer.status)") == true)
        #expect(page.text.contains("flow-arrow answer bad"))
    }

    @Test("a fault and its delay are marked") func fault() throws {
        _ = try fixture.client.post(
            "/_understudy/v1/faults",
            json: ["match": ["path": "/login/oauth/access_token"], "effect": ["delay": "600ms"]])
        _ = try Site.signIn(at: "github", fixture.client)
        let page = try newest()
        #expect(arrows(page).contains { $0.contains("redeem code") && $0.contains("fault") })
        #expect(page.text.contains(/after 6\d\d ms/))
        #expect(page.text.contains("fault-1"))
    }

    @Test("a form post goes from the browser to the backend") func formPost() throws {
        _ = try Site.order(["provider": "apple", "outcome": "approve", "account": "ada"], at: fixture.client)
        let more = ["response_mode": "form_post", "response_type": "code id_token", "scope": "email", "nonce": "n"]
        #expect(try fixture.client.get(Site.authorizations[0].target(more)).status == 200)
        #expect(
            arrows(try newest()).contains(
                "Browser to Backend: code, ID token with nonce, POST https://example.com/callback"))
    }

    @Test("a long sign-in is cut, and the rest is behind a link") func long() throws {
        let token = try Site.signIn(at: "github", fixture.client)["access_token"] ?? ""
        for _ in 0..<80 {
            _ = try fixture.client.get(
                "/api.github.com/user", headers: ["Authorization": "Bearer \(token)", "User-Agent": "tests"])
        }
        let last = try newest()
        #expect(last.text.contains("Exchanges 81 to 82 of 82") && last.text.contains("Show earlier ones"))
        let id = try #require(last.text.firstMatch(of: /flows\/(r\d+)\?from=40"/)?.1)
        let start = try fixture.page("flows/\(id)?from=0")
        #expect(start.text.contains("Exchanges 1 to 40 of 82") && start.text.contains("Show more"))
        #expect(start.body.count < 150_000)
        for from in ["-1", "99999999999999999999", "81", "x"] {
            #expect(try fixture.page("flows/\(id)?from=\(from)").status == 200)
        }
    }

    @Test("a sign-in that isn't there, and one that is another's part") func missing() throws {
        #expect(try fixture.page("flows/r99").status == 404)
        #expect(try fixture.page("flows/%3Cscript%3E").status == 404)
        _ = try Site.signIn(at: "github", fixture.client)
        let page = try newest()
        let ids = page.text.matches(of: /requests\/(r\d+)"/).map { String($0.1) }
        let inner = try #require(ids.last)
        #expect(try fixture.page("flows/\(inner)").location.hasSuffix("/flows/\(ids[0])"))
    }

    // MARK: - Following

    @Test("a page that is asked for again has what changed, and says it in words") func following() throws {
        let before = try fixture.page().text
        #expect(before.contains("<div id=\"sign-ins\" data-follow>") && before.contains("id=\"no-flows\""))
        let authorized = try Site.authorizations[1].call(fixture.client, "")
        let id = try #require(authorized.header("Understudy-Request"))
        #expect(try fixture.page("flows/\(id)").text.contains("data-spoken=\"GitHub web sign-in, unfinished\""))
        _ = try Site.redeem(Site.code(authorized), at: "github", fixture.client)
        #expect(try fixture.page("flows/\(id)").text.contains("data-spoken=\"GitHub web sign-in, signed in\""))
        _ = try fixture.client.get(Site.authorizations[2].target(["client_id": "nobody"]))
        let after = try fixture.page().text
        #expect(after.contains("id=\"flow-\(id)\"") && !after.contains("id=\"no-flows\""))
        #expect(after.contains("data-spoken=\"Google web sign-in, refused: "))
        // Each page of one run of the daemon names that run: its forms are taken.
        let run = try #require(after.firstMatch(of: /<body data-run="([0-9a-f]+)"/)?.1)
        #expect(before.contains("data-run=\"\(run)\""))
    }

    @Test("a page of older sign-ins stays as it is") func older() throws {
        for number in 0..<51 {
            _ = try fixture.client.get(Site.authorizations[2].target(["client_id": "app-\(number)"]))
        }
        let older = try #require(try fixture.page().text.firstMatch(of: /id="older" href="[^"]*\?([^"]*)"/)?.1)
        let page = try fixture.page("?\(older)").text
        #expect(page.contains("id=\"sign-ins\"") && !page.contains("data-follow") && page.contains("app-0"))
    }
}
