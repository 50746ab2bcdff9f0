import HTTPServer
import JOSE
import OAuth
import Stage

/// GitHub: signing in with OAuth apps and GitHub Apps, and the part of the REST API that sign-in code calls.
/// <https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps>
package struct GitHubProvider: Provider {
    package static let host = "github.com"
    package static let apiHost = "api.github.com"
    package static let avatarHost = "avatars.githubusercontent.com"
    /// Where GitHub Enterprise has its API.
    static let enterprisePrefix = "/api/v3"
    /// `iss` on callbacks; GitHub gives OAuth apps no ID tokens.
    static let issuer = "https://github.com/login/oauth"

    package let name = "github"
    let directory: GitHubDirectory
    let settings: GitHubSettings
    let webhooks = WebhookSender()

    package init(seed: Seed) {
        directory = GitHubDirectory(seed.github)
        settings = GitHubSettings(seed.github)
    }

    package var routes: [String: Router<Route>] {
        var web = webRoutes
        var api = Router<Route>()
        for endpoint in endpoints {
            api.add(
                endpoint.method, endpoint.path, Route(cors: .any) { .now(serve(endpoint, $0, isEnterprise: false)) })
            let path = GitHubProvider.enterprisePrefix + endpoint.path
            let route = Route(cors: .any) { .now(serve(endpoint, $0, isEnterprise: true)) }
            web.add(endpoint.method, path, route)
            if endpoint.path == "/" { web.add(endpoint.method, GitHubProvider.enterprisePrefix, route) }
            if endpoint.path == "/graphql" { web.add(endpoint.method, "/api/graphql", route) }
        }
        var avatars = Router<Route>()
        avatars.add("GET", "/u/:id", Route(cors: .any) { .now(Avatar.response($0)) })
        return [GitHubProvider.host: web, GitHubProvider.apiHost: api, GitHubProvider.avatarHost: avatars]
    }

    private var webRoutes: Router<Route> {
        var router = Router<Route>()
        router.add("GET", "/login/oauth/authorize", Route { .now(authorize($0)) })
        router.add("POST", "/login/oauth/authorize", Route { .now(decide($0)) })
        router.add("POST", "/login/oauth/access_token", Route { .now(token($0)) })
        router.add("POST", "/login/device/code", Route { .now(deviceCode($0)) })
        router.add("GET", "/login/device", Route { .now(devicePage($0)) })
        router.add("POST", "/login/device", Route { .now(confirmDevice($0)) })
        router.add("POST", "/login/device/confirmation", Route { .now(decideDevice($0)) })
        router.add("GET", "/login", Route { .now(signInPage($0)) })
        router.add("POST", "/session", Route { .now(startSession($0)) })
        router.add("POST", "/logout", Route { .now(endSession($0)) })
        router.add("GET", "/signup", Route { .now(signUpPage($0)) })
        router.add("POST", "/signup", Route { .now(signUp($0)) })
        router.add("GET", "/settings/applications", Route { .now(connections($0)) })
        router.add("GET", "/settings/connections/applications/:client", Route { .now(connection($0)) })
        router.add("POST", "/settings/connections/applications/:client", Route { .now(revokeConnection($0)) })
        let discovery = Route(cors: .any) { .now(GitHubProvider.discovery($0)) }
        router.add("GET", "/.well-known/oauth-authorization-server/login/oauth", discovery)
        router.add("GET", "/login/oauth/.well-known/openid-configuration", discovery)
        router.add("GET", "/login/oauth/.well-known/jwks", Route(cors: .any) { _ in .now(GitHubProvider.keySet()) })
        return router
    }

    /// Fixed paths before those with parameters, which would take them.
    private var endpoints: [RESTEndpoint] {
        metaEndpoints + [GitHubProvider.graphQLEndpoint] + GitHubProvider.organizationEndpoints
            + GitHubProvider.teamEndpoints + GitHubProvider.userEndpoints + tokenEndpoints
    }

    package var controlRoutes: [ControlRoute] {
        [ControlRoute("POST", "github/revocations") { revokeByOrder($0) }]
    }

    /// An address that isn't served: JSON from the API, a page elsewhere. A method that isn't served is the same to GitHub.
    package func notServed(_ exchange: Exchange) -> Response? {
        let path = exchange.address.path
        let isEnterprise = exchange.address.host == GitHubProvider.host && path.hasPrefix("/api/")
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(exchange.request.method) \(path)"),
            path.hasSuffix("/") && path.count > 1
                ? "nothing is served here: leave the slash at the end out" : "nothing is served here")
        guard exchange.address.host == GitHubProvider.apiHost || isEnterprise else {
            return exchange.address.host == GitHubProvider.host ? Pages.notFound(exchange, diagnosis) : nil
        }
        let answer = RESTAnswer.error(404, "Not Found", "").because(diagnosis)
        return RESTContext(exchange, isEnterprise: isEnterprise, nil)
            .response(to: answer, .anonymous, rate: nil, version: GitHubProvider.versions[0])
    }

    /// An account that goes takes its grants with it. That webhooks tell of it isn't documented, so they don't.
    package func accountDeleted(_ account: String, in exchange: Exchange) {
        exchange.world.withState { state in
            let keys = state[GitHubState.self].grants.keys.filter { $0.account == account }
            for key in keys { state[GitHubState.self].end(key, because: "the account is gone") }
        }
    }
}

/// The section's settings, with durations as numbers, in milliseconds.
struct GitHubSettings: Sendable {
    let addsIssuer: Bool
    let redirectMismatch: GitHubSeed.RedirectMismatch
    let hasValidChecksums: Bool
    let codeLifetime: Int64
    let deviceCodeLifetime: Int64
    let accessTokenLifetime: Int64
    let refreshTokenLifetime: Int64
    /// How early a poll may come. Polls exactly five seconds apart have been told to slow down, so how strict github.com
    /// is seems to vary.
    let pollingTolerance: Int64
    let deviceErrorStatus: Int
    let rateLimit: Int
    let anonymousRateLimit: Int

    init(_ seed: GitHubSeed) {
        func milliseconds(_ text: String) -> Int64 { Durations.milliseconds(text) ?? 0 }
        addsIssuer = seed.callbackIssuer
        redirectMismatch = seed.redirectMismatch
        hasValidChecksums = seed.tokenChecksum == .valid
        codeLifetime = milliseconds(seed.codeLifetime)
        deviceCodeLifetime = milliseconds(seed.deviceCodeLifetime)
        accessTokenLifetime = milliseconds(seed.accessTokenLifetime)
        refreshTokenLifetime = milliseconds(seed.refreshTokenLifetime)
        pollingTolerance = seed.devicePolling == .strict ? 0 : 1000
        deviceErrorStatus = seed.deviceErrorStatus == "400" ? 400 : 200
        rateLimit = seed.rateLimit
        anonymousRateLimit = seed.anonymousRateLimit
    }
}
