import Foundation
import TestSupport
import Testing

@Suite("GitHub: /login/oauth/authorize")
struct AuthorizeTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    @Test("a code of twenty hexadecimal digits, the state, and iss, as github.com has it again since August 2026")
    func approved() throws {
        let answer = try fixture.authorize(["scope": "user", "response_type": "token"])
        #expect(answer.status == 302)
        #expect(answer.location.hasPrefix("https://example.com/callback?code="))
        #expect(answer.redirect["code"]?.wholeMatch(of: /[0-9a-f]{20}/) != nil)
        #expect(answer.redirect["state"] == "s 1")
        #expect(answer.redirect["iss"] == GitHubFixture.issuer)
        #expect(answer.location.contains("state=s+1&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth"))
        let plain = try GitHubFixture(seed: #"{"github":{"callbackIssuer":false}}"#).authorize(["state": nil])
        #expect(Set(plain.redirect.keys) == ["code"])
    }

    @Test("an unknown client is a page that isn't there, and a near miss is named")
    func unknownClient() throws {
        for id in ["nothing", "", "ov23liautoanswers001"] {
            let answer = try fixture.authorize(["client_id": id])
            #expect(answer.status == 404)
            #expect(answer.location.isEmpty)
            #expect(answer.diagnosis.contains("client"))
        }
        #expect(try fixture.authorize(["client_id": "Ov23liAutoAnswer001"]).diagnosis.contains(GitHubFixture.automatic))
    }

    @Test("without redirect_uri, the first callback that is registered")
    func noRedirectURI() throws {
        #expect(try fixture.authorize(["redirect_uri": nil]).location.hasPrefix("https://example.com/callback?code="))
        #expect(try fixture.authorize(["redirect_uri": ""]).status == 302)
        let none = try GitHubFixture(
            seed: #"{"github":{"oauthApps":[{"clientID":"none","interaction":{"mode":"auto","account":"ada"}}]}}"#)
        #expect(
            try none.authorize(["client_id": "none", "redirect_uri": nil]).diagnosis.contains("has no callback URL"))
    }

    // The table of GitHub's documentation, and what people get wrong.
    static let redirects: [(callback: String, sent: String, isGood: Bool)] = [
        ("http://example.com/path", "http://example.com/path", true),
        ("http://example.com/path", "http://example.com/path/subdir/other", true),
        ("http://example.com/path", "http://oauth.example.com/path", true),
        ("http://example.com/path", "http://oauth.example.com/path/subdir/other", true),
        ("http://example.com/path", "http://example.com/path?query=1", true),
        ("http://example.com/path", "http://example.com/path/", true),
        ("http://example.com/path", "http://example.com/bar", false),
        ("http://example.com/path", "http://example.com/", false),
        ("http://example.com/path", "http://example.com:8080/path", false),
        ("http://example.com/path", "http://oauth.example.com:8080/path", false),
        ("http://example.com/path", "http://example.org", false),
        ("http://example.com/path", "http://notexample.com/path", false),
        ("http://example.com/path", "http://example.com/pathology", false),
        ("http://example.com/path", "https://example.com/path", false),
        ("http://example.com/path", "http://example.com/path/../bar", false),
        ("http://example.com/path", "http://example.com/path/%2e%2e/bar", false),
        ("http://example.com/path", "http://example.com/path#fragment", false),
        ("http://example.com/path", "http://user@example.com/path", false),
        ("http://example.com/path", "//example.com/path", false),
        ("http://example.com", "http://example.com/anything", true),
        ("http://127.0.0.1/path", "http://127.0.0.1:1234/path", true),
        ("http://127.0.0.1/path", "http://127.0.0.1:1234/path/below", true),
        ("http://127.0.0.1/path", "http://127.0.0.1:1234/other", false),
        ("http://127.0.0.1/path", "http://localhost:1234/path", false),
        ("http://[::1]/path", "http://[::1]:9/path", true),
        ("http://localhost:3000/path", "http://localhost:4000/path", true),
        ("myapp://callback", "myapp://callback", true), ("myapp://callback", "otherapp://callback", false),
    ]

    @Test("redirect URIs with wildcard matching", arguments: redirects.indices)
    func wildcards(index: Int) throws {
        let (callback, sent, isGood) = AuthorizeTests.redirects[index]
        let fixture = try GitHubFixture(
            seed:
                #"{"github":{"oauthApps":[{"clientID":"w","callbackURLs":["\#(callback)"],"interaction":{"mode":"auto","account":"ada"}}]}}"#
        )
        let answer = try fixture.authorize(["client_id": "w", "redirect_uri": sent])
        #expect(answer.status == (isGood ? 302 : 400), "\(callback) \(sent): \(answer)")
        #expect(isGood ? answer.location.hasPrefix(sent) : answer.text.contains("Be careful!"))
        #expect(isGood || answer.diagnosis.contains(callback))
    }

    @Test("without wildcard matching every character counts, except a loopback port")
    func exact() throws {
        for (sent, isGood) in [
            ("https://example.org/exactly/here", true), ("https://example.org/exactly/here/", false),
            ("https://www.example.org/exactly/here", false), ("https://example.org/exactly/here?a=b", false),
        ] {
            #expect(try fixture.authorize(["redirect_uri": sent]).status == (isGood ? 302 : 400), "\(sent)")
        }
        let app =
            #"{"clientID":"w","exactCallbackURLs":["http://127.0.0.1/cb"],"interaction":{"mode":"auto","account":"ada"}}"#
        let fixture = try GitHubFixture(seed: #"{"github":{"oauthApps":[\#(app)]}}"#)
        #expect(try fixture.authorize(["client_id": "w", "redirect_uri": "http://127.0.0.1:5555/cb"]).status == 302)
        #expect(try fixture.authorize(["client_id": "w", "redirect_uri": "http://127.0.0.1:5555/cb/x"]).status == 400)
    }

    @Test("a mismatch goes back to the registered callback where the seed says so")
    func mismatchRedirect() throws {
        let fixture = try GitHubFixture(seed: #"{"github":{"redirectMismatch":"redirect"}}"#)
        let answer = try fixture.authorize(["redirect_uri": "https://evil.example/"])
        #expect(answer.status == 302)
        #expect(
            answer.location
                == "https://example.com/callback?error=redirect_uri_mismatch"
                + "&error_description=The+redirect_uri+MUST+match+the+registered+callback+URL+for+this+application."
                + "&error_uri=https%3A%2F%2Fdocs.github.com%2Fapps%2Fmanaging-oauth-apps%2F"
                + "troubleshooting-authorization-request-errors%2F%23redirect-uri-mismatch"
                + "&state=s+1&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth")
    }

    @Test("a suspended application")
    func suspended() throws {
        let answer = try fixture.authorize(["client_id": GitHubFixture.suspended])
        #expect(answer.redirect["error"] == "application_suspended")
        #expect(
            answer.redirect["error_description"]
                == "Your application has been suspended. Contact support@github.com.")
        #expect(answer.redirect["error_uri"]?.hasSuffix("#application-suspended") ?? false)
        #expect(answer.redirect["state"] == "s 1")
        #expect(answer.diagnosis.contains("suspended"))
    }

    @Test("PKCE: both halves, S256 only, 43 characters")
    func challenges() throws {
        let good = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        for (challenge, method, wanted) in [
            (good, nil, "without code_challenge_method"), (nil, "S256", "without code_challenge:"),
            (good, "plain", "S256"), (good, "s256", "S256"), ("short", "S256", "5 characters"),
            (good + "=", "S256", "44 characters"), (String(repeating: "ab", count: 32), "S256", "not its hex text"),
        ] as [(String?, String?, String)] {
            let answer = try fixture.authorize(["code_challenge": challenge, "code_challenge_method": method])
            #expect(answer.redirect["error"] == "invalid_request")
            #expect(answer.redirect["state"] == "s 1")
            #expect(answer.diagnosis.contains(wanted), "\(answer.diagnosis)")
        }
        #expect(
            try fixture.authorize(["code_challenge": good, "code_challenge_method": "S256"]).redirect["code"] != nil)
    }

    @Test("outcomes: a denial, any error, approval with fewer scopes")
    func outcomes() throws {
        try fixture.order(["outcome": "cancel"])
        let denied = try fixture.authorize()
        #expect(
            denied.location
                == "https://example.com/callback?error=access_denied"
                + "&error_description=The+user+has+denied+your+application+access."
                + "&error_uri=https%3A%2F%2Fdocs.github.com%2Fapps%2Fmanaging-oauth-apps%2F"
                + "troubleshooting-authorization-request-errors%2F%23access-denied"
                + "&state=s+1&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth")
        try fixture.order(["outcome": "error", "error": "application_suspended"])
        #expect(try fixture.authorize().redirect["error_uri"]?.hasSuffix("#application-suspended") ?? false)
        try fixture.order(["outcome": "error", "error": "server_error"])
        #expect(try fixture.authorize().redirect["error"] == "server_error")
        try fixture.order(["outcome": "approve", "account": "grace", "scopes": ["user:email"]])
        let code = try fixture.code(["scope": "user,repo"])
        let answer = try fixture.exchange(["code": code])
        #expect(answer["scope"] == "user:email")
        #expect(try fixture.get("/user", token: answer["access_token"])["login"] == "grace")
        #expect(try fixture.authorize().redirect["code"] != nil)
    }

    @Test("the unverified address comes at the exchange, ordered or seeded")
    func unverified() throws {
        try fixture.order(["outcome": "error", "error": "unverified_user_email"])
        let ordered = try fixture.exchange(["code": fixture.code()])
        try fixture.order(["outcome": "approve", "account": "linus"])
        let seeded = try fixture.exchange(["code": fixture.code()])
        for answer in [ordered, seeded] {
            #expect(answer.status == 200)
            #expect(answer["error"] == "unverified_user_email")
            #expect(answer["error_description"] == "The user must have a verified primary email.")
            #expect(answer["error_uri"]?.hasSuffix("#unverified_user_email") ?? false)
        }
        #expect(ordered.diagnosis.contains("ordered as the outcome"))
        #expect(seeded.diagnosis.contains("linus"))
    }
}
