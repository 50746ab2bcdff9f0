import EmulatorCore
import HTTPServer
import JSON
import Recordings
import Time

// Quirks: `email` is the public address or null. All addresses are at /user/emails, which is 404 for a token without
// the scope. The private part of the profile needs the scope `user` or `read:user`.

extension GitHubProvider {
    static let userEndpoints: [RESTEndpoint] = [
        RESTEndpoint(
            "GET", "/user", "users/users#get-the-authenticated-user", .signedIn, accepted: [], title: "who signed in",
            step: SignInStep(.userInfo, "ask who it is"), remarks: remarks
        ) { call in
            guard let account = call.viewer.account else {
                return call.notFound(because: "no user is signed in: send a user's access token")
            }
            let isPrivate =
                call.viewer.app?.isGitHubApp ?? false
                ? call.viewer.may([], permission: "plan") : call.viewer.may([.user, .readUser])
            return call.profile(of: account, isPrivate: isPrivate)
        },
        RESTEndpoint(
            "GET", "/user/emails", "users/emails#list-email-addresses-for-the-authenticated-user",
            .person(scopes: [.user, .userEmail], permission: "emails", refusal: .notFound), title: "their addresses",
            step: SignInStep(.userInfo, "ask for e-mail addresses")
        ) { call in
            call.list(call.viewer.account.map { UserDocument($0, call.base).emails } ?? [])
        },
        RESTEndpoint(
            "GET", "/user/public_emails", "users/emails#list-public-email-addresses-for-the-authenticated-user",
            .person(scopes: [.user, .userEmail], permission: "emails", refusal: .notFound)
        ) { call in
            let emails = call.viewer.account.map { UserDocument($0, call.base).emails } ?? []
            return call.list(emails.filter { $0["visibility"]?.string == "public" })
        },
        RESTEndpoint("GET", "/users/:login", "users/users#get-a-user") { call in
            if let account = call.account(login: call.parameter("login")) { return shown(account, call) }
            // GitHub also shows organizations at this path.
            guard let organization = call.directory.organization(call.parameter("login")) else {
                return call.notFound(because: "no user has the login \(Diagnosis.quote(call.parameter("login")))")
            }
            return .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
        },
        RESTEndpoint("GET", "/user/:account_id", "users/users#get-a-user-using-their-id") { call in
            // An ID has only digits. Other texts belong to addresses such as /user/repos, which aren't served.
            guard call.parameter("account_id").utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return call.notServed()
            }
            let account = Int(call.parameter("account_id")).flatMap { id in
                call.exchange.world.read { $0.first(Account.byIdentifier, "github.id:\(id)") }
            }
            return account.map { shown($0, call) }
                ?? call.notFound(because: "no user has the ID \(Diagnosis.quote(call.parameter("account_id")))")
        },
        RESTEndpoint(
            "GET", "/user/installations",
            "apps/installations#list-app-installations-accessible-to-the-user-access-token", .signedIn
        ) {
            installations($0)
        },
    ]

    private static func shown(_ account: Account, _ call: RESTCall) -> RESTAnswer {
        call.profile(of: account, isPrivate: false)
    }

    /// Returns those installations of the GitHub App that the signed-in person can see.
    private static func installations(_ call: RESTCall) -> RESTAnswer {
        guard let account = call.viewer.account, let app = call.viewer.app, let details = app.details else {
            return RESTAnswer.error(
                403,
                "You must authenticate with an access token authorized to a GitHub App in order to list installations",
                call.documentation
            ).because("only a GitHub App's user token (ghu_) may ask this")
        }
        let visible = details.installations(at: account.github.orgs + [account.github.login])
        let installations = visible.map { number, login -> JSONValue in
            let organization = call.directory.organization(login)
            let (owner, kind) =
                organization.map { (OrganizationDocument($0, call.base).simple(), "Organization") }
                ?? (UserDocument(account, call.base).simple(), "User")
            let id = Int64(details.id) * 100 + Int64(number)
            let permissions = details.permissions.sorted { $0.key < $1.key }.map {
                ($0.key, JSONValue.string($0.value))
            }
            return [
                "id": .integer(id), "account": .object(owner), "repository_selection": "all",
                "access_tokens_url": .string("\(call.base.api)/app/installations/\(id)/access_tokens"),
                "repositories_url": .string("\(call.base.api)/installation/repositories"),
                "html_url": .string("\(call.base.html)/settings/installations/\(id)"),
                "app_id": .integer(Int64(details.id)), "app_slug": .string(details.slug),
                "target_id": owner["id"] ?? .null, "target_type": .string(kind),
                "permissions": .object(JSONObject(permissions)), "events": [], "single_file_name": .null,
                "suspended_by": .null, "suspended_at": .null,
            ]
        }
        return call.countedList("installations", installations)
    }
}

extension GitHubProvider {
    private static func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.response.status == 200,
            let user = try? JSONValue(parsing: exchange.response.body, limits: .answer), user["email"] == .null
        else { return [] }
        return [
            "email is null because the person shows no address in public: ask for the scope user:email, and read GET /user/emails."
        ]
    }
}

extension RESTEndpoint.Access {
    /// The operation may be called with any access token of a person, whatever its scopes.
    static let signedIn = RESTEndpoint.Access.person(scopes: [], permission: nil, refusal: .notFound)
}

// Quirks: `gh` reads its scopes from the headers of `GET /`. Version 2026-03-10 drops the limit's top-level `rate`.

extension GitHubProvider {
    var metaEndpoints: [RESTEndpoint] {
        [
            RESTEndpoint("GET", "/", "meta/meta#github-api-root") { .ok(GitHubProvider.root($0.base)) },
            RESTEndpoint("GET", "/meta", "meta/meta#get-github-meta-information") { _ in
                // This daemon sends from loopback only.
                let loopback: JSONValue = ["127.0.0.0/8", "::1/128"]
                return .ok([
                    "verifiable_password_authentication": false, "hooks": loopback, "web": loopback, "api": loopback,
                    "git": loopback, "domains": ["website": ["*.github.com", "*.githubusercontent.com"]],
                ])
            },
            RESTEndpoint("GET", "/versions", "meta/meta#get-all-api-versions") { [versions] _ in
                .ok(.array(versions.reversed().map { .string($0) }))
            },
            RESTEndpoint("GET", "/rate_limit", "rate-limit/rate-limit#get-rate-limit-status-for-the-authenticated-user")
            {
                [self] call in
                let rate = call.exchange.world.read { tables in self.rate(of: call.viewer, tables) }
                let core = rate.json
                // These limits are for calls that aren't served, so nothing is used.
                let idle = RateStatus(limit: rate.limit, used: 0, resetsAt: rate.resetsAt).json
                // GitHub's schema requires search.
                let search = RateStatus(
                    limit: call.viewer.app == nil ? 10 : 30, used: 0,
                    resetsAt: call.exchange.world.now + .minutes(1)
                ).json
                var body = JSONObject([
                    ("resources", ["core": core, "search": search, "graphql": idle, "integration_manifest": idle])
                ])
                if call.version < "2026-03-10" { body["rate"] = core }
                return .ok(body)
            },
        ]
    }

    private static func root(_ base: RESTBase) -> JSONObject {
        let paths: [(String, String)] = [
            ("authorizations_url", "authorizations"),
            ("code_search_url", "search/code?q={query}{&page,per_page,sort,order}"),
            ("commit_search_url", "search/commits?q={query}{&page,per_page,sort,order}"), ("emails_url", "user/emails"),
            ("emojis_url", "emojis"), ("events_url", "events"), ("feeds_url", "feeds"),
            ("followers_url", "user/followers"), ("following_url", "user/following{/target}"),
            ("gists_url", "gists{/gist_id}"), ("hub_url", "hub"),
            ("issue_search_url", "search/issues?q={query}{&page,per_page,sort,order}"), ("issues_url", "issues"),
            ("keys_url", "user/keys"),
            ("label_search_url", "search/labels?q={query}&repository_id={repository_id}{&page,per_page}"),
            ("notifications_url", "notifications"), ("organization_url", "orgs/{org}"),
            ("organization_repositories_url", "orgs/{org}/repos{?type,page,per_page,sort}"),
            ("organization_teams_url", "orgs/{org}/teams"), ("public_gists_url", "gists/public"),
            ("rate_limit_url", "rate_limit"), ("repository_url", "repos/{owner}/{repo}"),
            ("repository_search_url", "search/repositories?q={query}{&page,per_page,sort,order}"),
            ("current_user_repositories_url", "user/repos{?type,page,per_page,sort}"),
            ("starred_url", "user/starred{/owner}{/repo}"), ("starred_gists_url", "gists/starred"),
            ("topic_search_url", "search/topics?q={query}{&page,per_page}"), ("user_url", "users/{user}"),
            ("user_organizations_url", "user/orgs"),
            ("user_repositories_url", "users/{user}/repos{?type,page,per_page,sort}"),
            ("user_search_url", "search/users?q={query}{&page,per_page,sort,order}"),
        ]
        let settings = "\(base.html)/settings/connections/applications{/client_id}"
        return JSONObject(
            [
                ("current_user_url", .string("\(base.api)/user")),
                ("current_user_authorizations_html_url", .string(settings)),
            ] + paths.map { ($0.0, .string("\(base.api)/\($0.1)")) })
    }
}

extension RateStatus {
    var json: JSONValue {
        [
            "limit": .integer(Int64(limit)), "used": .integer(Int64(used)), "remaining": .integer(Int64(remaining)),
            "reset": .numericDate(resetsAt),
        ]
    }
}
