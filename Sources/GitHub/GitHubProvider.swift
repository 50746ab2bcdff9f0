import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

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
            let traits = EndpointTraits.api(restErrors(endpoint))
            api.add(
                endpoint.method, endpoint.path,
                Route(cors: .any, traits) { .now(serve(endpoint, $0, isEnterprise: false)) })
            let path = GitHubProvider.enterprisePrefix + endpoint.path
            let route = Route(cors: .any, traits) { .now(serve(endpoint, $0, isEnterprise: true)) }
            web.add(endpoint.method, path, route)
            if endpoint.path == "/" { web.add(endpoint.method, GitHubProvider.enterprisePrefix, route) }
            if endpoint.path == "/graphql" { web.add(endpoint.method, "/api/graphql", route) }
        }
        var avatars = Router<Route>()
        avatars.add("GET", "/u/:id", Route(cors: .any, .page) { .now(Avatar.response($0)) })
        return [GitHubProvider.host: web, GitHubProvider.apiHost: api, GitHubProvider.avatarHost: avatars]
    }

    private var webRoutes: Router<Route> {
        var router = Router<Route>()
        let authorization = EndpointTraits.authorization(errors: OAuthError.ofAuthorizations)
        router.add("GET", "/login/oauth/authorize", Route(authorization) { .now(authorize($0)) })
        router.add("POST", "/login/oauth/authorize", Route(authorization) { .now(decide($0)) })
        router.add("POST", "/login/oauth/access_token", Route(.api(OAuthError.ofTokens)) { .now(token($0)) })
        router.add("POST", "/login/device/code", Route(.api(OAuthError.ofDeviceCodes)) { .now(deviceCode($0)) })
        router.add("GET", "/login/device", Route(.page) { .now(devicePage($0)) })
        router.add("POST", "/login/device", Route(.page) { .now(confirmDevice($0)) })
        router.add("POST", "/login/device/confirmation", Route(.page) { .now(decideDevice($0)) })
        router.add("GET", "/login", Route(.page) { .now(signInPage($0)) })
        router.add("POST", "/session", Route(.page) { .now(startSession($0)) })
        router.add("POST", "/logout", Route(.page) { .now(endSession($0)) })
        router.add("GET", "/signup", Route(.page) { .now(signUpPage($0)) })
        router.add("POST", "/signup", Route(.page) { .now(signUp($0)) })
        router.add("GET", "/settings/applications", Route(.page) { .now(connections($0)) })
        router.add("GET", "/settings/connections/applications/:client", Route(.page) { .now(connection($0)) })
        router.add("POST", "/settings/connections/applications/:client", Route(.page) { .now(revokeConnection($0)) })
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

    /// At the API, GitHub's answer to a body that it can't read; at the token endpoints their own error, and a page
    /// elsewhere. Not documented.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let path = exchange.address.path
        let isEnterprise = exchange.address.host == GitHubProvider.host && path.hasPrefix("/api/")
        if exchange.address.host == GitHubProvider.apiHost || isEnterprise {
            let answer = RESTAnswer.error(400, "Problems parsing request", "").because(diagnosis)
            return RESTContext(exchange, isEnterprise: isEnterprise, nil)
                .response(to: answer, .anonymous, rate: nil, version: GitHubProvider.versions[0])
        }
        if ["/login/oauth/access_token", "/login/device/code"].contains(path) {
            return OAuthError(.invalidRequest, diagnosis)
                .answer(AnswerFormat(accept: exchange.request.header("Accept")))
        }
        return Pages.problem(exchange, 400, "This request can't be read", diagnosis)
    }

    package func client(of exchange: Exchange) -> String? {
        guard let token = GitHubProvider.token(in: exchange.request.header("Authorization") ?? "", exchange.request)
        else { return nil }
        return exchange.world.update { state in state[GitHubState.self].client(of: token) }
    }

    /// An account that goes takes its grants with it. That webhooks tell of it isn't documented, so they don't.
    package func accountDeleted(_ account: String, in exchange: Exchange) {
        exchange.world.update { state in
            let keys = state[GitHubState.self].grants.keys.filter { $0.account == account }
            for key in keys { state[GitHubState.self].end(key, because: "the account is gone") }
        }
    }
}

/// The section's settings.
struct GitHubSettings: Sendable {
    let addsIssuer: Bool
    let redirectMismatch: GitHubSeed.RedirectMismatch
    let hasValidChecksums: Bool
    let codeLifetime: TimeSpan
    let deviceCodeLifetime: TimeSpan
    let accessTokenLifetime: TimeSpan
    let refreshTokenLifetime: TimeSpan
    /// How early a poll may come. Polls exactly five seconds apart have been told to slow down, so how strict github.com
    /// is seems to vary.
    let pollingTolerance: TimeSpan
    let deviceErrorStatus: Int
    let rateLimit: Int
    let anonymousRateLimit: Int

    init(_ seed: GitHubSeed) {
        addsIssuer = seed.callbackIssuer
        redirectMismatch = seed.redirectMismatch
        hasValidChecksums = seed.tokenChecksum == .valid
        codeLifetime = seed.codeLifetime
        deviceCodeLifetime = seed.deviceCodeLifetime
        accessTokenLifetime = seed.accessTokenLifetime
        refreshTokenLifetime = seed.refreshTokenLifetime
        pollingTolerance = seed.devicePolling == .strict ? .zero : .seconds(1)
        deviceErrorStatus = seed.deviceErrorStatus == "400" ? 400 : 200
        rateLimit = seed.rateLimit
        anonymousRateLimit = seed.anonymousRateLimit
    }
}
