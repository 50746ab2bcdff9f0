import HTTPServer
import JSON
import EmulatorCore
import Time

// https://docs.github.com/rest/meta/meta, https://docs.github.com/rest/rate-limit/rate-limit
//
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
                // GitHub's schema requires search: 30 requests a minute, 10 without a token.
                // https://docs.github.com/rest/search/search#rate-limit
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
