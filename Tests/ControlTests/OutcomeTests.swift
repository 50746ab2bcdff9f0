import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Outcomes, for every provider's authorization")
struct OutcomeTests {
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    /// Sends the authorization with this outcome, and no other.
    private func authorize(_ site: Site, _ outcome: [String: Any]) throws -> Answer {
        try Site.order(outcome.merging(["provider": site.provider]) { $1 }, at: fixture.client)
        let answer = try site.call(fixture.client, "")
        // The site orders an approval of its own, which is still queued.
        _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/outcomes")
        return answer
    }

    /// The size is limited because a store writes all outcomes with each change.
    @Test("outcomes keep to 1 MiB together, whatever their bytes are")
    func size() throws {
        let scopes = (0..<300).map { "\($0)" + String(repeating: "x", count: 1_000) }
        func post() throws -> Int {
            try fixture.client.post(
                "\(FaultFixture.api)/outcomes", json: ["provider": "github", "outcome": "approve", "scopes": scopes]
            ).status
        }
        #expect(try (0..<4).map { _ in try post() } == [201, 201, 201, 409])
        #expect(try fixture.client.request("DELETE", "\(FaultFixture.api)/outcomes").status == 204)
        #expect(try post() == 201)
    }

    @Test("a cancel", arguments: Site.authorizations)
    func cancel(site: Site) throws {
        let answer = try authorize(site, ["outcome": "cancel"])
        let error = site.provider == "apple" ? "user_cancelled_authorize" : "access_denied"
        #expect(answer.location.contains("error=\(error)"))
        #expect(answer.location.contains("state=state-of-the-test"))
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("an error by name", arguments: Site.authorizations)
    func error(site: Site) throws {
        let answer = try authorize(site, ["outcome": "error", "error": "server_error"])
        #expect(answer.location.contains("error=server_error"))
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("for one client and not for another; in order; several times", arguments: Site.authorizations)
    func matching(site: Site) throws {
        let others = [
            "apple": "com.example.web.auto", "github": GitHubFixture.automatic,
            "google": "other.apps.googleusercontent.com", "facebook": "42", "openid": "spa",
        ]
        let fixture = try FaultFixture(
            seed:
                #"{"google":{"clients":[{"clientID":"other.apps.googleusercontent.com","clientSecret":"s"}]},"#
                + #""facebook":{"apps":[{"appID":"42","appSecret":"s"}]}}"#)
        let other = try #require(others[site.provider])
        try Site.order(["provider": site.provider, "outcome": "cancel", "client": other], at: fixture.client)
        try Site.order(["provider": site.provider, "outcome": "cancel", "times": 2], at: fixture.client)
        #expect(try site.call(fixture.client, "").location.contains("error="))
        #expect(try site.call(fixture.client, "").location.contains("error="))
        #expect(!Site.code(try site.call(fixture.client, "")).isEmpty)
    }

    @Test("an account", arguments: Site.authorizations)
    func account(site: Site) throws {
        try Site.order(["provider": site.provider, "outcome": "approve", "account": "grace"], at: fixture.client)
        let tokens = try Site.redeem(Site.code(try site.call(fixture.client, "")), at: site.provider, fixture.client)
        let token = tokens["access_token"] ?? ""
        let who: String?
        switch site.provider {
        case "apple", "google", "openid": who = AppleFixture.claims(tokens["id_token"] ?? "")["sub"] as? String
        case "github":
            who = try fixture.client.get(
                "/api.github.com/user", headers: ["Authorization": "Bearer \(token)", "User-Agent": "tests"])["login"]
        default: who = try fixture.client.get("/graph.facebook.com/me?access_token=\(token)")["name"]
        }
        _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/outcomes")
        let ada = try Site.signIn(at: site.provider, fixture.client)
        #expect(who != nil)
        switch site.provider {
        case "github": #expect(who == "grace")
        case "facebook": #expect(who == "Grace Hopper")
        default: #expect(AppleFixture.claims(ada["id_token"] ?? "")["sub"] as? String != who)
        }
    }

    @Test("cancels and errors of native sign-ins", arguments: Site.natives)
    func native(site: Site) throws {
        try Site.order(["provider": site.provider, "outcome": "cancel"], at: fixture.client)
        let cancelled = try site.call(fixture.client, "")
        #expect(cancelled.status == 409)
        #expect(!cancelled.diagnosis.isEmpty)
        #expect(try site.call(fixture.client, "").status == 200)
    }

    /// Returns a seed with a client of the provider that needs no page.
    private static func seed(_ provider: String, _ interaction: String) -> String {
        let callback = #""http://localhost:3000/callback""#
        switch provider {
        case "apple":
            return """
                {"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"com.example.web","primaryApp":"com.example.app",
                "returnURLs":["https://example.com/callback"],"interaction":\(interaction)}]}]}}
                """
        case "github":
            return """
                {"github":{"oauthApps":[{"name":"Example","clientID":"Iv1.0123456789abcdef",
                "clientSecret":"github-secret-for-tests","callbackURLs":[\(callback)],"interaction":\(interaction)}]}}
                """
        case "google":
            return """
                {"google":{"clients":[{"clientID":"example.apps.googleusercontent.com",
                "clientSecret":"google-secret-for-tests","redirectURIs":[\(callback)],"interaction":\(interaction)}]}}
                """
        case "openid":
            return """
                {"openid":{"issuers":[{"id":"corp","clients":[{"clientID":"web","interaction":\(interaction)}]}]}}
                """
        default:
            return """
                {"facebook":{"apps":[{"appID":"1234567890","appSecret":"facebook-secret-for-tests",
                "redirectURIs":[\(callback)],"interaction":\(interaction)}]}}
                """
        }
    }

    @Test("a client's own interaction answers every authorization", arguments: Site.authorizations)
    func interaction(site: Site) throws {
        let cancelling = try FaultFixture(
            seed: OutcomeTests.seed(site.provider, #"{"mode":"auto","outcome":"cancel"}"#))
        let failing = try FaultFixture(
            seed: OutcomeTests.seed(site.provider, #"{"mode":"auto","outcome":"error","error":"server_error"}"#))
        let approving = try FaultFixture(
            seed: OutcomeTests.seed(site.provider, #"{"mode":"auto","account":"grace"}"#))
        for _ in 0..<2 {
            #expect(try bare(site, cancelling).location.contains("error="))
            #expect(try bare(site, failing).location.contains("error=server_error"))
            #expect(!Site.code(try bare(site, approving)).isEmpty)
        }
        // An ordered outcome has priority.
        #expect(!Site.code(try site.call(cancelling.client, "")).isEmpty)
    }

    /// Sends the site's request without the outcome that it orders.
    private func bare(_ site: Site, _ fixture: FaultFixture) throws -> Answer {
        let recorded = try site.call(fixture.client, "")
        _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/outcomes")
        let id = recorded.header("Understudy-Request") ?? ""
        let target =
            (try fixture.client.get("\(FaultFixture.api)/requests/\(id)").json["request"] as? [String: Any])?["target"]
            as? String ?? ""
        return try fixture.client.get(target)
    }

    @Test("an interaction that can't be is a fault of the seed")
    func badInteraction() {
        let faults = SeedInput.faults(in: [
            .json(OutcomeTests.seed("google", #"{"mode":"auto","outcome":"error"}"#)),
            .json(#"{"interaction":{"mode":"auto","outcome":"error"}}"#),
        ])
        #expect(
            faults.contains {
                $0.contains("$.interaction: the outcome \"error\" needs the error's name in the member \"error\"")
            })
    }
}
