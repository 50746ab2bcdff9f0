import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

/// Google, as far as signing in with OpenID Connect and Firebase need it.
/// <https://developers.google.com/identity/openid-connect/openid-connect>
package struct GoogleProvider: Provider {
    package static let host = "accounts.google.com"
    package static let tokenHost = "oauth2.googleapis.com"
    static let userInfoHost = "openidconnect.googleapis.com"
    package static let apiHost = "www.googleapis.com"
    package static let issuer = "https://accounts.google.com"
    static let authorizePath = "/o/oauth2/v2/auth"

    package let name = "google"
    let clients: [String: GoogleSeed.Client]
    let codeLifetime: TimeSpan
    let pages = PersonPages(provider: "Google", host: host, path: authorizePath)

    package init(seed: Seed) {
        clients = Dictionary(seed.google.clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
        codeLifetime = seed.google.codeLifetime
    }

    package var routes: [String: Router<Route>] {
        let authorization = EndpointTraits.authorization(
            errors: ["access_denied", "interaction_required", "login_required", "consent_required"]
                + GoogleProvider.ownPageErrors, mints: .google)
        let token = EndpointTraits.api(GoogleProvider.tokenErrors, mints: .google)
        let revocation = EndpointTraits.api(GoogleProvider.revocationErrors)
        let profile = EndpointTraits.api(GoogleProvider.profileErrors)
        let info = EndpointTraits.api(GoogleProvider.revocationErrors)
        var accounts = Router<Route>()
        accounts.add("GET", "/.well-known/openid-configuration", Route(cors: .any) { .now(discovery($0)) })
        for path in [GoogleProvider.authorizePath, "/o/oauth2/auth"] {
            accounts.add(
                "GET", path, Route(keys: [.google], authorization) { .now(authorize($0, $0.request.queryForm)) })
        }
        accounts.add("POST", GoogleProvider.authorizePath, Route(keys: [.google], authorization) { .now(decide($0)) })
        accounts.add("POST", "/o/oauth2/token", Route(keys: [.google], token) { .now(self.token($0)) })
        accounts.add(
            "GET", "/o/oauth2/revoke", Route(cors: .any, revocation) { .now(revoke($0, $0.request.queryForm)) })
        var tokens = Router<Route>()
        tokens.add("POST", "/token", Route(cors: .any, keys: [.google], token) { .now(self.token($0)) })
        tokens.add("POST", "/revoke", Route(cors: .any, revocation) { .now(revokeByPost($0)) })
        for method in ["GET", "POST"] {
            tokens.add(method, "/tokeninfo", Route(cors: .any, keys: [.google], info) { .now(tokenInfo($0)) })
        }
        var userInfo = Router<Route>()
        var api = Router<Route>()
        for method in ["GET", "POST"] {
            userInfo.add(method, "/v1/userinfo", Route(cors: .any, profile) { .now(self.userInfo($0)) })
            api.add(method, "/oauth2/v3/userinfo", Route(cors: .any, profile) { .now(self.userInfo($0)) })
            for version in ["v1", "v2"] {
                api.add(
                    method, "/oauth2/\(version)/userinfo",
                    Route(cors: .any, profile) { .now(self.userInfo($0, isOld: true)) })
            }
            api.add(method, "/oauth2/v3/tokeninfo", Route(cors: .any, keys: [.google], info) { .now(tokenInfo($0)) })
        }
        api.add("POST", "/oauth2/v4/token", Route(cors: .any, keys: [.google], token) { .now(self.token($0)) })
        api.add(
            "GET", "/oauth2/v3/certs",
            Route(cors: .any, keys: [.google], .keySet(.google)) { .now(GoogleProvider.keySet($0)) })
        api.add(
            "GET", "/oauth2/v1/certs",
            Route(cors: .any, keys: [.google], .keySet(.google)) { .now(GoogleProvider.certificates($0)) })
        return [
            GoogleProvider.host: accounts, GoogleProvider.tokenHost: tokens, GoogleProvider.userInfoHost: userInfo,
            GoogleProvider.apiHost: api,
        ]
    }

    package var controlRoutes: [ControlRoute] {
        [
            ControlRoute(
                "POST", "google/authorizations", keys: [.google],
                .native(errors: ["canceled"], takesOthers: true, mints: .google)
            ) { .now(authorizeNatively($0)) }
        ]
    }

    package func client(of exchange: Exchange) -> String? {
        let token = GoogleProvider.accessToken(of: exchange.request)
        return exchange.world.update { $0[GoogleState.self].accessTokens[token]?.value.client }
    }

    /// As the token endpoint words it, or on Google's page. Not documented.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard [GoogleProvider.authorizePath, "/o/oauth2/auth"].contains(exchange.address.path) else {
            let body: JSONValue = ["error": "invalid_request", "error_description": "Bad Request"]
            return GoogleProvider.json(body, status: 400).diagnosed(diagnosis)
        }
        return pages.problem(400, "Error 400: invalid_request", diagnosis)
    }

    package func accountDeleted(_ account: String, in exchange: Exchange) {
        exchange.world.update { $0[GoogleState.self].revoke(account: account) }
    }

    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: clients.keys.sorted()) }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=utf-8",
            headers: [(name: "Cache-Control", value: "no-cache, no-store, max-age=0, must-revalidate")],
            body: value.text)
    }
}
