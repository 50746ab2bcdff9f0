import Foundation
import TestSupport
import Testing

@Suite("GitHub: REST, what all answers have in common")
struct RESTTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    @Test("headers of an answer")
    func headers() throws {
        let token = try fixture.token(scope: "repo read:org user:email")
        let answer = try fixture.get("/user", token: token)
        #expect(answer.status == 200)
        for (name, value) in [
            ("Content-Type", "application/json; charset=utf-8"), ("Server", "github.com"),
            ("Cache-Control", "private, max-age=60, s-maxage=60"), ("X-OAuth-Scopes", "read:org, repo, user:email"),
            ("X-Accepted-OAuth-Scopes", ""), ("X-OAuth-Client-Id", GitHubFixture.automatic),
            ("X-GitHub-Media-Type", "github.v3; format=json"), ("x-github-api-version-selected", "2022-11-28"),
            ("X-RateLimit-Limit", "5000"), ("X-RateLimit-Remaining", "4999"), ("X-RateLimit-Used", "1"),
            ("X-RateLimit-Resource", "core"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "deny"),
            ("Content-Security-Policy", "default-src 'none'"), ("Access-Control-Allow-Origin", "*"),
            ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ] { #expect(answer.header(name) == value, "\(name)") }
        #expect(answer.header("ETag")?.wholeMatch(of: /W\/"[0-9a-f]{64}"/) != nil)
        #expect(answer.header("Access-Control-Expose-Headers")?.contains("X-OAuth-Scopes") ?? false)
        #expect(answer.header("github-authentication-token-expiration") == nil)
        let emails = try fixture.get("/user/emails", token: token)
        #expect(emails.header("X-Accepted-OAuth-Scopes") == "user, user:email")
    }

    @Test("credentials: Bearer and token in any case, Basic either way; the rest is 401")
    func credentials() throws {
        let token = try fixture.token()
        func basic(_ text: String) -> String { "Basic \(Data(text.utf8).base64EncodedString())" }
        for header in [
            "Bearer \(token)", "bearer \(token)", "token \(token)", "Token \(token)", basic("ada:\(token)"),
            basic("\(token):x-oauth-basic"), basic("\(token):"),
        ] { #expect(try fixture.get("/user", headers: ["Authorization": header]).status == 200, "\(header)") }
        for header in ["Bearer x", "Bearer ", "Digest \(token)", token, basic("ada:password"), "Basic %%%"] {
            let answer = try fixture.get("/user", headers: ["Authorization": header])
            #expect(answer.status == 401, "\(header)")
            #expect(
                answer.text
                    == #"{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest","status":"401"}"#
            )
            #expect(!answer.diagnosis.isEmpty)
        }
        let absent = try fixture.get("/user")
        #expect(absent.status == 401)
        #expect(absent["message"] == "Requires authentication")
        #expect(
            absent["documentation_url"]
                == "https://docs.github.com/rest/users/users#get-the-authenticated-user")
    }

    // The body is quoted in https://github.com/atom/pr-changelog/pull/10.
    @Test("a token in the query is 400, at every endpoint", arguments: ["/user", "/users/ada", "/rate_limit"])
    func tokenInQuery(path: String) throws {
        let answer = try fixture.get("\(path)?access_token=\(fixture.token())")
        #expect(answer.status == 400)
        #expect(
            answer["message"]
                == "Must specify access token via Authorization header. "
                + "https://developer.github.com/changes/2020-02-10-deprecating-auth-through-query-param")
        #expect(answer["documentation_url"] == "https://docs.github.com/v3/#oauth2-token-sent-in-a-header")
        #expect(answer.diagnosis.contains("since 2021"))
    }

    // Measured in https://github.com/brekkylab/backlot/issues/273: all answers carry the five headers but "Bad credentials", which isn't
    // counted either; https://github.com/brekkylab/backlot/pull/243: it comes before an unsupported version.
    @Test(
        "every refusal carries the rate headers, but for \"Bad credentials\"",
        arguments: [
            ("/user", [:], 401, true), ("/user", ["X-GitHub-Api-Version": "v3"], 400, true),
            ("/users/ada", ["Accept": "application/xml"], 415, true), ("/users/nobody", [:], 404, true),
            ("/nothing", [:], 404, true), ("/user?access_token=x", [:], 400, true),
            ("/user", ["Authorization": "Bearer x"], 401, false),
            ("/rate_limit", ["Authorization": "Bearer x", "X-GitHub-Api-Version": "1999-01-01"], 401, false),
            ("/nothing", ["Authorization": "Bearer x"], 401, false),
        ] as [(String, [String: String], Int, Bool)])
    func rateHeaders(path: String, headers: [String: String], status: Int, carries: Bool) throws {
        let fixture = try GitHubFixture()
        let answer = try fixture.get(path, headers: headers)
        #expect(answer.status == status)
        for name in ["Limit", "Remaining", "Reset", "Used", "Resource"] {
            #expect((answer.header("X-RateLimit-\(name)") != nil) == carries, "\(name)")
        }
        if !carries { #expect(answer.header("x-github-api-version-selected") == nil) }
        #expect(try fixture.get("/users/ada").header("X-RateLimit-Used") == (carries ? "2" : "1"))
    }

    @Test("the refusals that are ordered carry them likewise")
    func orderedRateHeaders() throws {
        for (error, carries) in [
            ("Bad credentials", false), ("Requires authentication", true), ("Not Found", true), ("Server Error", false),
        ] {
            _ = try fixture.client.post(
                "\(GitHubFixture.control)/faults",
                json: ["match": ["host": "api.github.com", "path": "/user"], "effect": ["error": error]])
            #expect((try fixture.get("/user").header("X-RateLimit-Limit") != nil) == carries, "\(error)")
        }
    }

    @Test("no User-Agent, no service")
    func userAgent() throws {
        let answer = try fixture.client.get("\(GitHubFixture.api)/user")
        #expect(answer.status == 403)
        #expect(answer.header("Content-Type") == "text/html")
        #expect(answer.text.hasPrefix("\r\nRequest forbidden by administrative rules."))
        #expect(answer.diagnosis.contains("User-Agent"))
        let enterprise = try fixture.client.get("\(GitHubFixture.web)/api/v3/user")
        #expect(enterprise.status == 403)
    }

    @Test("versions: two are supported, another is 400")
    func versions() throws {
        for version in ["2022-11-28", "2026-03-10"] {
            let answer = try fixture.get("/rate_limit", headers: ["X-GitHub-Api-Version": version])
            #expect(answer.header("x-github-api-version-selected") == version)
            #expect((answer.json["rate"] == nil) == (version == "2026-03-10"))
            let resources = answer.json["resources"] as? [String: [String: Any]]
            #expect(resources?["core"] != nil)
            #expect(resources?["search"]?["limit"] as? Int == 10)
        }
        let answer = try fixture.get("/rate_limit", headers: ["X-GitHub-Api-Version": "v3"])
        #expect(answer.status == 400)
        #expect(
            answer["message"]
                == "The version you specified in the \"X-GitHub-API-Version\" request header, \"v3\", is not a supported "
                + "version. The following versions are currently supported: \"2026-03-10\" (most recent), \"2022-11-28\"."
        )
        #expect(try fixture.get("/versions").text == #"["2026-03-10","2022-11-28"]"#)
    }

    @Test("media types: JSON in all its names, else 415")
    func mediaTypes() throws {
        for type in [
            "*/*", "application/json", "application/vnd.github+json", "application/vnd.github.v3+json",
            "application/vnd.github.v3.full+json", "text/html, application/json;q=0.9",
        ] { #expect(try fixture.get("/users/ada", headers: ["Accept": type]).status == 200, "\(type)") }
        let answer = try fixture.get("/users/ada", headers: ["Accept": "application/xml"])
        #expect(answer.status == 415)
        #expect(answer["message"] == "Unsupported 'Accept' header: 'application/xml'. Must accept 'application/json'.")
    }

    @Test("conditional requests are 304 and free for who is signed in")
    func conditional() throws {
        let token = try fixture.token()
        let first = try fixture.get("/user", token: token)
        let tag = first.header("ETag") ?? ""
        for header in [
            ["If-None-Match": tag], ["If-None-Match": "\"x\", \(tag)"], ["If-None-Match": String(tag.dropFirst(2))],
            ["If-Modified-Since": first.header("Last-Modified") ?? ""],
        ] {
            let answer = try fixture.get("/user", token: token, headers: header)
            #expect(answer.status == 304)
            #expect(answer.body.isEmpty)
            #expect(answer.header("ETag") == tag)
            #expect(answer.header("X-RateLimit-Used") == "1")
        }
        #expect(try fixture.get("/user", token: token, headers: ["If-None-Match": "\"x\""]).status == 200)
        let anonymous = try fixture.get("/users/ada")
        let again = try fixture.get("/users/ada", headers: ["If-None-Match": anonymous.header("ETag") ?? ""])
        #expect(again.status == 304)
        #expect(again.header("X-RateLimit-Used") == "2")
    }

    @Test("rate limits: counted for each person, refused when used up, fresh after an hour")
    func rateLimits() throws {
        let fixture = try GitHubFixture(seed: #"{"github":{"rateLimit":3,"anonymousRateLimit":1}}"#)
        let (ada, grace) = (try fixture.token(), try fixture.token(account: "grace"))
        for used in 1...3 {
            #expect(try fixture.get("/user", token: ada).header("X-RateLimit-Used") == String(used))
        }
        let refused = try fixture.get("/user", token: ada)
        #expect(refused.status == 403)
        // These words are in logs of gh of 2026; the first half is documented at
        // https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#rate-limit-errors.
        #expect(
            refused["message"]?.wholeMatch(
                of:
                    /API rate limit exceeded for user ID 1815\. If you reach out to GitHub Support for help, please include the request ID UNDY:R\d+ and timestamp \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. For more on scraping GitHub and how it may affect your rights, please review our Terms of Service \(https:\/\/docs\.github\.com\/en\/site-policy\/github-terms\/github-terms-of-service\)/
            ) != nil)
        #expect(refused["documentation_url"] == "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api")
        #expect(refused.header("X-RateLimit-Remaining") == "0")
        #expect(refused.header("X-RateLimit-Reset") != nil)
        #expect(refused.diagnosis.contains("advance the clock"))
        #expect(try fixture.get("/rate_limit", token: ada).status == 200)
        #expect(try fixture.get("/user", token: grace).status == 200)
        #expect(try fixture.get("/users/ada").status == 200)
        #expect(try fixture.get("/users/ada")["message"]?.hasPrefix("API rate limit exceeded for 127.0.0.1.") ?? false)
        try fixture.advance("61m")
        #expect(try fixture.get("/user", token: ada).header("X-RateLimit-Used") == "1")
    }

    @Test("what isn't served is GitHub's 404, a slash at the end included")
    func notFound() throws {
        let token = try fixture.token(scope: "user")
        for path in ["/nothing", "/user/", "/user/emails/", "/repos/a/b", "/user/repos", "/user/keys", "/user/+1815"] {
            let answer = try fixture.get(path, token: token)
            #expect(answer.status == 404)
            #expect(
                answer.text
                    == #"{"message":"Not Found","documentation_url":"https://docs.github.com/rest","status":"404"}"#)
            #expect(answer.diagnosis.contains("nothing is served at this path"))
        }
        #expect(try fixture.call("DELETE", "/user", token: token).status == 404)
    }

    @Test("GitHub Enterprise's layout: /api/v3, with URLs that follow")
    func enterprise() throws {
        let token = try fixture.token(scope: "user read:org")
        let headers = ["Authorization": "Bearer \(token)", "User-Agent": "x"]
        let user = try fixture.client.get("\(GitHubFixture.web)/api/v3/user", headers: headers)
        #expect(user["url"] == "http://localhost:\(fixture.client.port)/github.com/api/v3/users/ada")
        let hosted = try fixture.client.get("/api/v3/user", headers: headers.merging(["Host": "github.com"]) { $1 })
        #expect(hosted["url"] == "https://github.com/api/v3/users/ada")
        #expect(hosted["html_url"] == "https://github.com/ada")
        let api = try fixture.client.get("/user", headers: headers.merging(["Host": "api.github.com"]) { $1 })
        #expect(api["url"] == "https://api.github.com/users/ada")
        #expect(api["avatar_url"] == "https://avatars.githubusercontent.com/u/1815?v=4")
        let page = try fixture.client.get(
            "\(GitHubFixture.web)/api/v3/orgs/analytical-engines/members?per_page=1", headers: headers)
        #expect(
            page.header("Link")?.contains("/github.com/api/v3/orgs/analytical-engines/members?per_page=1&page=2")
                ?? false)
        for root in ["/api/v3", "/api/v3/"] {
            let answer = try fixture.client.get("\(GitHubFixture.web)\(root)", headers: headers)
            #expect(answer.header("X-OAuth-Scopes") == "read:org, user")
            #expect(answer["current_user_url"]?.hasSuffix("/api/v3/user") ?? false)
        }
    }

    @Test("an answer says from where it is known: the endpoint's page, or the message's source")
    func evidence() throws {
        func evidence(_ path: String, token: String? = nil) throws -> String? {
            try fixture.call("GET", path, token: token).header("Understudy-Evidence")
        }
        #expect(
            try evidence("/user", token: fixture.token())
                == "documented: https://docs.github.com/rest/users/users#get-the-authenticated-user")
        #expect(try evidence("/user")?.hasSuffix("octokit/octokit.js/issues/108") ?? false)
        #expect(try evidence("/nothing")?.hasPrefix("recorded 2020-08: ") ?? false)
        // An answer to a method that isn't served has evidence, too.
        for path in ["/github.com/login/oauth/access_token", "/graph.facebook.com/oauth/access_token"] {
            let answer = try fixture.client.request("PUT", path)
            #expect(answer.header("Understudy-Evidence") != nil, "\(path) \(answer)")
        }
    }

    @Test(
        "GraphQL's errors say where they are",
        arguments: [
            (
                "query Who {\n  viewer { me: nothing }\n  rateLimit { cost }\n}",
                """
                {"errors":[{"path":["query Who","viewer","me"],"extensions":{"code":"undefinedField","typeName":"User",\
                "fieldName":"nothing"},"locations":[{"line":2,"column":12}],"message":"Field 'nothing' doesn't exist on \
                type 'User'"},{"path":["query Who","rateLimit"],"extensions":{"code":"undefinedField","typeName":"Query",\
                "fieldName":"rateLimit"},"locations":[{"line":3,"column":3}],"message":"Field 'rateLimit' doesn't exist \
                on type 'Query'"}]}
                """
            ),
            (
                "{viewer}",
                """
                {"errors":[{"path":["query","viewer"],"extensions":{"code":"selectionMismatch","nodeName":"field 'viewer'",\
                "typeName":"User"},"locations":[{"line":1,"column":2}],"message":"Field must have selections (field \
                'viewer' returns User but has no selections. Did you mean 'viewer { ... }'?)"}]}
                """
            ),
            (
                "{viewer{databaseId{x}}}",
                """
                {"errors":[{"path":["query","viewer","databaseId"],"extensions":{"code":"selectionMismatch",\
                "nodeName":"field 'databaseId'","typeName":"Int"},"locations":[{"line":1,"column":9}],"message":"Selections \
                can't be made on scalars (field 'databaseId' returns Int but has selections [\\"x\\"])"}]}
                """
            ),
            (
                "{\n  viewer(login)\n}",
                """
                {"errors":[{"locations":[{"line":2,"column":9}],"message":"Parse error on \\"(\\" (LPAREN) at [2, 9]"}]}
                """
            ),
            ("{viewer{login}", #"{"errors":[{"locations":[],"message":"Unexpected end of document"}]}"#),
            (
                "{viewer{a:{login}}}",
                """
                {"errors":[{"locations":[{"line":1,"column":11}],"message":"Parse error on \\"{\\" (LCURLY) at [1, 11]"}]}
                """
            ),
        ])
    func graphQLErrors(query: String, errors: String) throws {
        let answer = try fixture.call("POST", "/graphql", token: fixture.token(), json: ["query": query])
        #expect(answer.status == 200)
        #expect(answer.text == errors)
    }

    @Test("GraphQL says who has signed in, and what it doesn't know")
    func graphQL() throws {
        let token = try fixture.token()
        let answer = try fixture.call(
            "POST", "/graphql", token: token, json: ["query": "query UserCurrent{viewer{login, id: databaseId name}}"])
        #expect(answer.text == #"{"data":{"viewer":{"login":"ada","id":1815,"name":"Ada Lovelace"}}}"#)
        let unknown = try fixture.call("POST", "/graphql", token: token, json: ["query": "{viewer{nothing}}"])
        #expect(unknown.status == 200)
        #expect(unknown.text.contains("Field 'nothing' doesn't exist on type 'User'"))
        let empty = try fixture.call("POST", "/graphql", token: token, json: ["x": 1])
        #expect(empty.status == 400)
        #expect(
            empty.text == #"{"errors":[{"message":"A query attribute must be specified and must be a string."}]}"#)
        #expect(try fixture.call("POST", "/graphql", json: ["query": "{viewer{login}}"]).status == 401)
        let enterprise = try fixture.client.request(
            "POST", "\(GitHubFixture.web)/api/graphql",
            headers: ["Authorization": "token \(token)", "User-Agent": "x"],
            body: Array(#"{"query":"{viewer{login}}"}"#.utf8))
        #expect(enterprise.text.contains(#""login":"ada""#))
    }
}

@Suite("GitHub: users and their addresses")
struct UserTests {
    let fixture: GitHubFixture

    init() throws { fixture = try GitHubFixture() }

    static let publicFields = [
        "login", "id", "node_id", "avatar_url", "gravatar_id", "url", "html_url", "followers_url", "following_url",
        "gists_url", "starred_url", "subscriptions_url", "organizations_url", "repos_url", "events_url",
        "received_events_url", "type", "user_view_type", "site_admin", "name", "company", "blog", "location", "email",
        "hireable", "bio", "twitter_username", "notification_email", "public_repos", "public_gists", "followers",
        "following", "created_at", "updated_at",
    ]
    static let privateFields = [
        "private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators",
        "two_factor_authentication", "plan",
    ]

    @Test("every documented field, in GitHub's order, the private ones only with the scope")
    func fields() throws {
        for (scope, isPrivate) in [
            (nil, false), ("repo", false), ("user:email", false), ("read:user", true), ("user", true),
        ] {
            let answer = try fixture.get("/user", token: fixture.token(scope: scope))
            let wanted = UserTests.publicFields + (isPrivate ? UserTests.privateFields : [])
            #expect(Set(answer.json.keys) == Set(wanted), "\(scope ?? "none")")
            let places = wanted.compactMap { answer.text.range(of: "\"\($0)\":")?.lowerBound }
            #expect(places.count == wanted.count)
            #expect(answer["user_view_type"] == (isPrivate ? "private" : "public"))
        }
        let order = try fixture.get("/users/ada").text.matches(of: /[{,]"([a-z_]+)":/).map { String($0.1) }
        #expect(order == UserTests.publicFields)
    }

    @Test("values have the documented shapes; what the seed says is shown")
    func values() throws {
        let ada = try fixture.get("/users/ADA")
        #expect(ada.json["id"] as? Int == 1815)
        #expect(ada["node_id"] == Data("04:User1815".utf8).base64EncodedString())
        #expect(ada["gravatar_id"] == "")
        #expect(ada.json["email"] is NSNull)
        #expect(ada["company"] == "@analytical-engines")
        #expect(ada["following_url"]?.hasSuffix("/users/ada/following{/other_user}") ?? false)
        let grace = try fixture.get("/users/grace")
        #expect(grace["email"] == "grace@example.com")
        #expect(grace.json["hireable"] as? Bool == true)
        #expect(try fixture.get("/user/1906")["login"] == "grace")
        #expect(try fixture.get("/users/analytical-engines")["type"] == "Organization")
        #expect(try fixture.get("/users/nobody").status == 404)
        #expect(try fixture.get("/user/abc").status == 404)
    }

    @Test("addresses need the scope, or are not found; a GitHub App needs the permission, or is forbidden")
    func scopes() throws {
        for (scope, isShown) in [
            (nil, false), ("user:email", true), ("user", true), ("read:user", false), ("repo", false),
        ] {
            let answer = try fixture.get("/user/emails", token: fixture.token(scope: scope))
            #expect(answer.status == (isShown ? 200 : 404), "\(scope ?? "none")")
            if !isShown {
                #expect(
                    answer["documentation_url"]
                        == "https://docs.github.com/rest/users/emails#list-email-addresses-for-the-authenticated-user")
                #expect(answer.diagnosis.contains("user:email"))
            }
        }
        // https://github.blog/changelog/2023-08-10-x-accepted-github-permissions-header-for-fine-grained-permission-actors/
        let app = try fixture.token(client: GitHubFixture.gitHubApp)
        let allowed = try fixture.get("/user/emails", token: app)
        #expect(allowed.status == 200)
        #expect(allowed.header("X-Accepted-GitHub-Permissions") == "emails=read")
        #expect(
            try fixture.get("/user", token: app).header("X-Accepted-GitHub-Permissions")
                == "allows_permissionless_access=true")
        #expect(try fixture.get("/user", token: fixture.token()).header("X-Accepted-GitHub-Permissions") == nil)
        let poor = try GitHubFixture(
            seed:
                #"{"github":{"githubApps":[{"clientID":"Iv23liPoor","callbackURLs":["https://example.com/callback"],"clientSecret":"github-secret-for-tests"}]}}"#
        )
        let answer = try poor.get("/user/emails", token: poor.token(client: "Iv23liPoor"))
        #expect(answer.status == 403)
        #expect(answer["message"] == "Resource not accessible by integration")
        #expect(answer.header("X-Accepted-GitHub-Permissions") == "emails=read")
    }

    @Test("visibility is said of the primary address only; a private one brings a no-reply address")
    func addresses() throws {
        let ada = try fixture.get("/user/emails", token: fixture.token(scope: "user:email")).text
        #expect(
            ada
                == #"[{"email":"ada@example.com","primary":true,"verified":true,"visibility":"private"},"#
                + #"{"email":"1815+ada@users.noreply.github.com","primary":false,"verified":true,"visibility":null}]"#)
        let seeded = try GitHubFixture(
            seed:
                #"{"accounts":[{"id":"old","email":"o@example.com","github":{"id":7,"createdAt":"2010-01-01T00:00:00Z","emails":[{"email":"second@example.com","verified":false},{"email":"o@example.com","primary":true,"verified":true,"visibility":"private"}]}},{"id":"late","email":"l@example.com","github":{"id":8,"createdAt":"2020-01-01T00:00:00Z"}}]}"#
        )
        let old = try seeded.get("/user/emails", token: seeded.token(scope: "user:email", account: "old")).list
        #expect(
            old.compactMap { $0["email"] as? String } == [
                "second@example.com", "o@example.com", "old@users.noreply.github.com",
            ])
        #expect(old.first?["visibility"] is NSNull)
        let token = try seeded.token(scope: "user", account: "late")
        #expect(try seeded.get("/user/emails", token: token).list.count >= 1)
        let open = try fixture.token(scope: "user:email", account: "grace")
        #expect(try fixture.get("/user/public_emails", token: open).list.count == 1)
        #expect(try fixture.get("/user/public_emails", token: fixture.token(scope: "user:email")).list.isEmpty)
    }

    @Test("installations are for a GitHub App's tokens")
    func installations() throws {
        let app = try fixture.get("/user/installations", token: fixture.token(client: GitHubFixture.gitHubApp))
        #expect(app.json["total_count"] as? Int == 2)
        let list = app.json["installations"] as? [[String: Any]] ?? []
        #expect(
            list.compactMap { ($0["account"] as? [String: Any])?["login"] as? String } == ["analytical-engines", "ada"])
        #expect(try fixture.get("/user/installations", token: fixture.token()).status == 403)
    }

    @Test("a picture for everybody, as PNG")
    func avatars() throws {
        let answer = try fixture.client.get("/avatars.githubusercontent.com/u/1815?v=4")
        #expect(answer.header("Content-Type") == "image/png")
        #expect(answer.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(try fixture.client.get("/avatars.githubusercontent.com/u/x").status == 404)
        #expect(try fixture.client.get("/avatars.githubusercontent.com/u/1").body != answer.body)
    }
}
