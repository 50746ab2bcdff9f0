import Foundation
import TestSupport
import Testing

@Suite("GitHub: /login/oauth/access_token")
struct ExchangeTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    private let path = "\(GitHubFixture.web)/login/oauth/access_token"

    @Test("the answer is a form unless Accept says otherwise")
    func formats() throws {
        for accept in [nil, "*/*", "text/html", "application/vnd.github.v3", "application/x-www-form-urlencoded"] {
            let answer = try fixture.exchange(
                ["code": fixture.code(["scope": "repo gist"])], headers: accept.map { ["Accept": $0] } ?? [:])
            #expect(answer.header("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8")
            #expect(
                answer.text.wholeMatch(of: /access_token=gho_[0-9A-Za-z]{36}&scope=gist%2Crepo&token_type=bearer/)
                    != nil)
        }
        let json = try fixture.exchange(["code": fixture.code(["scope": "repo gist"])])
        #expect(json.header("Content-Type") == "application/json; charset=utf-8")
        #expect(
            json.text.wholeMatch(
                of: /\{"access_token":"gho_[0-9A-Za-z]{36}","token_type":"bearer","scope":"gist,repo"\}/) != nil)
        #expect(json.header("Date") != nil)
        let xml = try fixture.exchange(
            ["code": fixture.code(["scope": "repo gist"])], headers: ["Accept": "application/xml"])
        #expect(xml.header("Content-Type") == "application/xml; charset=utf-8")
        #expect(xml.text.hasPrefix("<OAuth>\n") && xml.text.contains("<scope>gist,repo</scope>"))
        #expect(xml.header("Access-Control-Allow-Origin") == nil)
    }

    @Test("parameters from a form, JSON, the query, and the secret by Basic")
    func carriers() throws {
        let secrets = ["client_id": GitHubFixture.automatic, "client_secret": GitHubFixture.secret]
        let json = try fixture.client.post(path, json: secrets.merging(["code": fixture.code()]) { $1 })
        let query = try fixture.client.request(
            "POST", "\(path)?\(TestClient.encode(secrets.merging(["code": try fixture.code()]) { $1 }))")
        let basic = try fixture.client.post(
            path, form: ["code": fixture.code(), "grant_type": "authorization_code"], headers: GitHubFixture.basic())
        for answer in [json, query, basic] {
            #expect(answer.status == 200)
            #expect(answer.form["access_token"]?.hasPrefix("gho_") ?? false, "\(answer)")
        }
        #expect(try fixture.client.get(path).status == 404)
    }

    @Test(
        "a body in which no client is found is told what keeps it from being read",
        arguments: [
            ("application/json", #"{"client_id":"#, "the JSON body can't be read"),
            ("application/json", "[]", "isn't an object"),
            ("text/plain", #"{"client_id":"x"}"#, "Content-Type: application/json"),
            ("text/plain", "client_id=x", "x-www-form-urlencoded or application/json"),
            ("application/x-www-form-urlencoded", "code=x", "client_id is missing"),
        ])
    func unread(type: String, body: String, reason: String) throws {
        let answer = try fixture.client.request(
            "POST", path, headers: ["Content-Type": type], body: Array(body.utf8))
        #expect(answer.status == 404 && answer.diagnosis.contains(reason), "\(answer)")
    }

    @Test("a failed authentication doesn't use the code up, as clients try Basic first")
    func twoTries() throws {
        let code = try fixture.code()
        let first = try fixture.client.post(
            path, form: ["code": code], headers: GitHubFixture.basic(secret: "wrong"))
        #expect(first.form["error"] == "incorrect_client_credentials")
        #expect(try fixture.exchange(["code": code])["access_token"] != nil)
    }

    @Test("errors have status 200, GitHub's texts, and a diagnosis")
    func errors() throws {
        try fixture.freeze()
        let used = try fixture.code()
        _ = try fixture.exchange(["code": used])
        let fresh = try fixture.code()
        let elsewhere = try fixture.code()
        let expired = try fixture.code()
        let challenged = try fixture.code([
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        ])
        let token = try fixture.token()
        let bad = "The code passed is incorrect or expired."
        let table: [([String: String?], String, String, String, String)] = [
            (["code": "x"], "bad_verification_code", bad, "#bad-verification-code", "no such code"),
            (["code": nil], "bad_verification_code", bad, "#bad-verification-code", "code is missing"),
            (["code": used], "bad_verification_code", bad, "#bad-verification-code", "a code works once"),
            (["code": token], "bad_verification_code", bad, "#bad-verification-code", "an access or refresh token"),
            (
                ["code": challenged], "bad_verification_code", bad, "#bad-verification-code",
                "code_verifier is missing"
            ),
            (
                ["code": challenged, "code_verifier": "wrong"], "bad_verification_code", bad,
                "#bad-verification-code", "code_verifier isn't the one"
            ),
            (
                ["code": fresh, "client_secret": "wrong"], "incorrect_client_credentials",
                "The client_id and/or client_secret passed are incorrect.", "#incorrect-client-credentials",
                "client_secret isn't"
            ),
            (
                ["code": fresh, "client_secret": nil], "incorrect_client_credentials",
                "The client_id and/or client_secret passed are incorrect.", "#incorrect-client-credentials",
                "client_secret is missing"
            ),
            (
                ["code": elsewhere, "redirect_uri": "https://evil.example/"], "redirect_uri_mismatch",
                "The redirect_uri MUST match the registered callback URL for this application.",
                "troubleshooting-authorization-request-errors/#redirect-uri-mismatch2", "evil.example"
            ),
            (
                ["code": fresh, "client_id": GitHubFixture.asking], "bad_verification_code", bad,
                "#bad-verification-code", "the code was issued to"
            ),
        ]
        for (parameters, error, description, uri, diagnosis) in table {
            let answer = try fixture.exchange(parameters)
            #expect(answer.status == 200)
            #expect(answer["error"] == error)
            #expect(answer["error_description"] == description)
            #expect(answer["error_uri"]?.hasPrefix("https://docs.github.com/apps/managing-oauth-apps/") ?? false)
            #expect(answer["error_uri"]?.hasSuffix(uri) ?? false)
            #expect(answer.diagnosis.contains(diagnosis), "\(answer.diagnosis)")
        }
        #expect(try fixture.exchange(["code": fresh, "grant_type": "password"])["error"] == "unsupported_grant_type")
        try fixture.advance("11m")
        let late = try fixture.exchange(["code": expired])
        #expect(late["error"] == "bad_verification_code")
        #expect(late.diagnosis.contains("expired 60 s ago: a code is valid for 10 min by the test world's clock"))
        let form = try fixture.exchange(["code": "x"], headers: [:])
        #expect(form.form["error_description"] == bad)
        let xml = try fixture.exchange(["code": "x"], headers: ["Accept": "application/xml"])
        #expect(xml.text.contains("<error>bad_verification_code</error>"))
    }

    @Test("an unknown client is 404")
    func unknownClient() throws {
        let answer = try fixture.exchange(["client_id": "nothing", "code": "x"])
        #expect(answer.status == 404)
        #expect(answer["error"] == "Not Found")
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("the verifier of RFC 7636 meets its challenge; the secret is still required")
    func pkce() throws {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let code = try fixture.code([
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        ])
        let bare = try fixture.exchange(["code": code, "code_verifier": verifier, "client_secret": nil])
        #expect(bare["error"] == "incorrect_client_credentials")
        #expect(bare.diagnosis.contains("even with PKCE"))
        #expect(try fixture.exchange(["code": code, "code_verifier": verifier])["access_token"] != nil)
    }

    @Test(
        "scopes are normalized: what another holds is dropped, what is unknown too",
        arguments: [
            ("user,gist,user:email", "gist,user"), ("read:user user:email", "read:user,user:email"),
            ("user:follow user:email read:user user", "user"), ("repo public_repo repo:status", "repo"),
            ("admin:org read:org", "admin:org"), ("write:org read:org", "write:org"),
            ("nonsense read:org", "read:org"), ("", ""), ("offline_access gist", "gist"),
            ("admin:enterprise read:enterprise", "admin:enterprise"),
            ("admin:public_key write:public_key read:public_key", "admin:public_key"),
        ])
    func scopes(asked: String, granted: String) throws {
        let answer = try fixture.exchange(["code": fixture.code(["scope": asked])])
        #expect(answer["scope"] == granted)
        let token = answer["access_token"]
        #expect(
            try fixture.get("/user", token: token).header("X-OAuth-Scopes")
                == granted.replacingOccurrences(of: ",", with: ", "))
    }

    @Test("without scope, all that was granted before")
    func unionOfScopes() throws {
        #expect(try fixture.exchange(["code": fixture.code()])["scope"] == "")
        #expect(try fixture.exchange(["code": fixture.code(["scope": "user"])])["scope"] == "user")
        #expect(try fixture.exchange(["code": fixture.code(["scope": "repo"])])["scope"] == "repo")
        #expect(try fixture.exchange(["code": fixture.code()])["scope"] == "repo,user")
        #expect(try fixture.exchange(["code": fixture.code(["scope": ""])])["scope"] == "repo,user")
    }

    @Test("an eleventh token of the same scopes revokes the oldest")
    func tenTokens() throws {
        var tokens: [String] = []
        let other = try fixture.token(scope: "gist")
        for _ in 0..<11 { tokens.append(try fixture.token(scope: "user")) }
        let oldest = try fixture.get("/user", token: tokens[0])
        #expect(oldest.status == 401)
        #expect(oldest.diagnosis.contains("max_for_app"))
        for token in tokens.dropFirst() + [other] { #expect(try fixture.get("/user", token: token).status == 200) }
    }

    @Test("a token that nobody uses for a year is revoked, one in use isn't")
    func aYear() throws {
        let (idle, used) = (try fixture.token(), try fixture.token())
        try fixture.advance("300d")
        #expect(try fixture.get("/user", token: used).status == 200)
        try fixture.advance("100d")
        #expect(try fixture.get("/user", token: used).status == 200)
        let answer = try fixture.get("/user", token: idle)
        #expect(answer.status == 401)
        #expect(answer.diagnosis.contains("for a year"))
    }

    // MARK: - Expiring tokens

    private func appTokens() throws -> Answer {
        try fixture.order(["outcome": "approve", "account": "ada", "client": GitHubFixture.gitHubApp])
        let code = try fixture.code(["client_id": GitHubFixture.gitHubApp, "scope": "repo"])
        return try fixture.exchange(["client_id": GitHubFixture.gitHubApp, "code": code])
    }

    private func refresh(_ token: String?, _ more: [String: String?] = [:]) throws -> Answer {
        let form: [String: String?] = [
            "client_id": GitHubFixture.gitHubApp, "grant_type": "refresh_token", "refresh_token": token,
        ]
        return try fixture.exchange(form.merging(more) { $1 })
    }

    @Test("a GitHub App's tokens expire, have no scope, and refresh by rotation")
    func refreshing() throws {
        try fixture.freeze()
        let first = try appTokens()
        #expect(first.json["expires_in"] as? Int == 28800)
        #expect(first.json["refresh_token_expires_in"] as? Int == 15_897_600)
        #expect(first["scope"] == "")
        let order = ["access_token", "expires_in", "refresh_token", "refresh_token_expires_in", "token_type", "scope"]
            .compactMap { first.text.range(of: "\"\($0)\"")?.lowerBound }
        #expect(order == order.sorted() && order.count == 6)
        let user = try fixture.get("/user", token: first["access_token"])
        #expect(user.header("github-authentication-token-expiration")?.hasSuffix(" UTC") ?? false)
        #expect(user.header("X-OAuth-Scopes") == nil)

        let second = try refresh(first["refresh_token"])
        #expect(second["access_token"]?.hasPrefix("ghu_") ?? false)
        #expect(try fixture.get("/user", token: first["access_token"]).status == 401)
        #expect(try fixture.get("/user", token: second["access_token"]).status == 200)
        let again = try refresh(first["refresh_token"])
        #expect(again.status == 200)
        #expect(again["error"] == "bad_refresh_token")
        #expect(again["error_description"] == "The refresh token passed is incorrect or expired.")
        #expect(again["error_uri"]?.hasSuffix("#bad-verification-code") ?? false)
        #expect(again.diagnosis.contains("refreshed in request"))

        try fixture.advance("9h")
        let expired = try fixture.get("/user", token: second["access_token"])
        #expect(expired.status == 401)
        #expect(expired.diagnosis.contains("expired 60 min ago"))
        #expect(
            try refresh(second["refresh_token"], ["client_secret": "wrong"])["error"] == "incorrect_client_credentials")
        let third = try refresh(second["refresh_token"])
        #expect(third["access_token"] != nil)
        try fixture.advance("185d")
        #expect(try refresh(third["refresh_token"])["error"] == "bad_refresh_token")
        #expect(try refresh(nil)["error"] == "bad_refresh_token")
    }

    @Test("an OAuth app's tokens expire when it asks for offline_access, or the seed says so")
    func offlineAccess() throws {
        let answer = try fixture.exchange(["code": fixture.code(["scope": "gist offline_access"])])
        #expect(answer["access_token"]?.hasPrefix("gho_") ?? false)
        #expect(answer.json["expires_in"] as? Int == 28800)
        #expect(answer["scope"] == "gist")
        let again = try fixture.exchange(["grant_type": "refresh_token", "refresh_token": answer["refresh_token"]])
        #expect(again["scope"] == "gist")
        #expect(again["refresh_token"] != answer["refresh_token"])
        let seeded = try GitHubFixture(
            seed:
                #"{"github":{"accessTokenLifetime":"1h","oauthApps":[{"clientID":"Ov23liAutoAnswers001","expiringTokens":true}]}}"#
        )
        let form = try seeded.exchange(["code": seeded.code()], headers: [:])
        #expect(
            form.text.wholeMatch(
                of:
                    /access_token=gho_\w{36}&expires_in=3600&refresh_token=ghr_\w{76}&refresh_token_expires_in=15897600&scope=&token_type=bearer/
            ) != nil)
    }
}
