import Foundation
import TestSupport
import Testing

/// Tests of hostile input at GitHub's addresses.
@Suite("Hostile input at GitHub")
struct GitHubHostileInputTests {
    private static let shared = Result { try GitHubFixture() }
    private var fixture: GitHubFixture { get throws { try GitHubHostileInputTests.shared.get() } }

    private func expectAlive() throws {
        #expect(try fixture.client.get("/_understudy/v1/health").status == 200)
    }

    static let queries: [String] = [
        "", "&", "=", "client_id", "client_id=%00", "client_id=%ff%fe", "client_id[]=Iv1.0123456789abcdef",
        "client_id=" + String(repeating: "c", count: 20_000), String(repeating: "a=b&", count: 5000),
    ]

    static let redirects: [String] = [
        "%00", "x", "//", "//localhost:3000/callback", "javascript:alert(1)", "data:text/html,x",
        "http://localhost:3000/callback%0d%0aX:y", "http://localhost:3000/callback%00",
        "http://localhost:3000@evil.example/callback", "http://localhost:3000%5c@evil.example/callback",
        "http://localhost:99999/callback", "http://localhost.evil.example:3000/callback",
        "http://evil.example/?http://localhost:3000/callback", "http://localhost:3000/callback/..%2f..%2fx",
        "http://localhost:3000/callback/%2e%2e/x", "http://localhost:3000/callback%23x", "http://[::1/callback",
        String(repeating: "http://", count: 500), "http://%65xample.com/",
    ]

    @Test("authorization requests that go nowhere", arguments: queries.indices)
    func unknownClients(index: Int) throws {
        let answer = try fixture.client.get(
            "\(GitHubFixture.web)/login/oauth/authorize?\(GitHubHostileInputTests.queries[index])")
        #expect([400, 404, 431].contains(answer.status), "\(answer)")
        #expect(answer.location.isEmpty)
        #expect(!(answer.diagnosis + answer.note).isEmpty)
        try expectAlive()
    }

    @Test("redirect URIs that lead elsewhere", arguments: redirects.indices)
    func redirectURIs(index: Int) throws {
        let answer = try fixture.client.get(
            "\(GitHubFixture.web)/login/oauth/authorize?client_id=\(GitHubFixture.asking)"
                + "&redirect_uri=\(GitHubHostileInputTests.redirects[index])")
        #expect(answer.status == 400, "\(answer)")
        #expect(answer.location.isEmpty)
        #expect(!answer.diagnosis.isEmpty)
        try expectAlive()
    }

    static let bodies: [String] = [
        "", "null", "[]", "{", "{}", "{\"client_id\":7}", "{\"client_id\":{\"a\":[]}}", "\u{0}",
        "{\"client_id\":\"\\ud800\"}", String(repeating: "[", count: 50_000), "client_id=%00&code=%ff",
        "client_id=Iv1.0123456789abcdef&client_id=x",
    ]

    @Test("bodies of the token and device endpoints, as a form and as JSON", arguments: bodies.indices)
    func bodyTexts(index: Int) throws {
        let body = Array(GitHubHostileInputTests.bodies[index].utf8)
        for path in ["/login/oauth/access_token", "/login/device/code"] {
            for type in [
                "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
            ] {
                let answer = try fixture.client.request(
                    "POST", "\(GitHubFixture.web)\(path)", headers: type.isEmpty ? [:] : ["Content-Type": type],
                    body: body)
                #expect((400..<500).contains(answer.status), "\(path): \(answer)")
                #expect(!answer.diagnosis.isEmpty)
            }
        }
        try expectAlive()
    }

    static let secrets = [
        "", "x", "\u{0}", "é", String(repeating: "g", count: 20_000), "gho_",
        "gho_" + String(repeating: "é", count: 36),
        "ghr_" + String(repeating: "0", count: 76), "ghu_😀",
    ]

    @Test("codes, refresh tokens, device codes and access tokens", arguments: secrets.indices)
    func tokens(index: Int) throws {
        let secret = GitHubHostileInputTests.secrets[index]
        #expect(try fixture.exchange(["code": secret])["error"] == "bad_verification_code")
        #expect(
            try fixture.exchange(["grant_type": "refresh_token", "refresh_token": secret])["error"]
                == "bad_refresh_token")
        #expect(
            try fixture.exchange(["grant_type": GitHubFixture.deviceGrant, "device_code": secret])["error"]
                == "incorrect_device_code")
        #expect(
            try fixture.exchange(["code": "x", "client_secret": secret])["error"] == "incorrect_client_credentials")
        if secret.allSatisfy({ $0.isASCII && $0 != "\u{0}" }) {
            #expect(try fixture.get("/user", token: secret).status == 401)
        }
        let check = try fixture.call(
            "POST", "/applications/\(GitHubFixture.automatic)/token", headers: GitHubFixture.basic(),
            json: ["access_token": secret])
        #expect([404, 422].contains(check.status))
        try expectAlive()
    }

    @Test(
        "REST calls whose parts are odd",
        arguments: [
            "/users/%00", "/users/..", "/users/%2e%2e", "/user/99999999999999999999", "/user/-1", "/orgs/%ff",
            "/orgs/analytical-engines/members/%00", "/teams/99999999999999999999",
            "/users/" + String(repeating: "x", count: 9000),
            "//user", "/user//emails", "/%75ser%00",
        ])
    func odd(path: String) throws {
        let answer = try fixture.get(path)
        #expect((300..<500).contains(answer.status), "\(answer)")
        #expect(!(answer.diagnosis + answer.note).isEmpty)
        try expectAlive()
    }

    @Test("forms of the pages, by nobody and with nonsense")
    func forms() throws {
        for path in [
            "/session", "/signup", "/logout", "/login/device", "/login/device/confirmation", "/login/oauth/authorize",
            "/settings/connections/applications/\(GitHubFixture.asking)",
        ] {
            for body in [
                "", "authenticity_token=%00", "request=%ff", "account=%00",
                "user_code=" + String(repeating: "é", count: 9000),
            ] {
                let answer = try fixture.client.request(
                    "POST", "\(GitHubFixture.web)\(path)",
                    headers: [
                        "Content-Type": "application/x-www-form-urlencoded",
                        "Cookie": "understudy_github_session=\u{1};=",
                    ],
                    body: Array(body.utf8))
                #expect((300..<500).contains(answer.status), "\(path) \(body): \(answer)")
                #expect(
                    try answer.location.isEmpty || answer.location.hasPrefix("http://localhost:\(fixture.client.port)/")
                )
            }
        }
        try expectAlive()
    }

    @Test("GraphQL that isn't")
    func graphQL() throws {
        let token = try fixture.token()
        for query in [
            "", "{", "}", "{viewer", "{viewer{login}", "{a:{b}}", "query", "mutation{x}", "{viewer{...F}}",
            String(repeating: "{a", count: 5000), "\u{0}",
        ] {
            let answer = try fixture.call("POST", "/graphql", token: token, json: ["query": query])
            #expect(answer.status == 200)
            #expect(answer.json["errors"] != nil, "\(query.prefix(20)): \(answer.text)")
        }
        try expectAlive()
    }
}
