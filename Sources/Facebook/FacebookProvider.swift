import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

/// Facebook Login, as far as Firebase needs it.
/// <https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow>
///
/// Quirks: every path may begin with a version, such as /v22.0, or not.
package struct FacebookProvider: Provider {
    package static let host = "www.facebook.com"
    package static let graphHost = "graph.facebook.com"
    static let limitedHost = "limited.facebook.com"
    package static let issuer = "https://www.facebook.com"
    static let dialogPath = "/dialog/oauth"
    static let keysPath = "/.well-known/oauth/openid/jwks"

    package let name = "facebook"
    let apps: [String: FacebookSeed.App]
    let pages = PersonPages(provider: "Facebook", host: host, path: dialogPath)

    package init(seed: Seed) {
        apps = Dictionary(seed.facebook.apps.map { ($0.appID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package var routes: [String: Router<Route>] {
        var web = Router<Route>()
        var graph = Router<Route>()
        let authorization = EndpointTraits.authorization(errors: ["access_denied", "server_error"])
        let api = EndpointTraits.api(GraphError.ordered)
        for version in ["", "/:version"] {
            web.add("GET", version + FacebookProvider.dialogPath, Route(authorization) { .now(authorize($0)) })
            web.add("POST", version + FacebookProvider.dialogPath, Route(authorization) { .now(decide($0)) })
            for method in ["GET", "POST"] {
                graph.add(method, "\(version)/oauth/access_token", Route(cors: .any, api) { .now(token($0)) })
                graph.add(method, "\(version)/debug_token", Route(cors: .any, api) { .now(debugToken($0)) })
            }
            graph.add("GET", "\(version)/oauth/access_token_info", Route(cors: .any, api) { .now(tokenInfo($0)) })
            for person in ["/me", "/:id"] {
                graph.add("DELETE", "\(version)\(person)/permissions", Route(cors: .any, api) { .now(revoke($0)) })
                graph.add(
                    "DELETE", "\(version)\(person)/permissions/:permission", Route(cors: .any, api) { .now(revoke($0)) }
                )
                graph.add("GET", "\(version)\(person)", Route(cors: .any, api) { .now(profile($0)) })
            }
        }
        var limited = Router<Route>()
        FacebookProvider.addDiscovery(to: &web)
        FacebookProvider.addDiscovery(to: &limited)
        return [FacebookProvider.host: web, FacebookProvider.graphHost: graph, FacebookProvider.limitedHost: limited]
    }

    private static func addDiscovery(to router: inout Router<Route>) {
        for slash in ["", "/"] {
            router.add("GET", "/.well-known/openid-configuration\(slash)", Route(cors: .any) { .now(discovery($0)) })
            router.add(
                "GET", keysPath + slash,
                Route(cors: .any, keys: [.facebook], .keySet(.facebook)) { .now(json($0.keySet(.facebook))) })
        }
    }

    package var controlRoutes: [ControlRoute] {
        [
            ControlRoute(
                "POST", "facebook/authorizations", keys: [.facebook],
                .native(errors: ["canceled"], takesOthers: true, mints: .facebook)
            ) { .now(authorizeNatively($0)) }
        ]
    }

    package func client(of exchange: Exchange) -> String? {
        let token = callerToken(exchange)
        if let bar = token.firstIndex(of: "|") { return String(token[..<bar]) }
        return exchange.world.update { $0[FacebookState.self].tokens[token]?.value.app }
    }

    /// The Graph API's error for a parameter that it doesn't take, or the dialog's page. Not documented.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard exchange.address.path.hasSuffix(FacebookProvider.dialogPath) else {
            return GraphError(message: "Invalid parameter", code: 100, diagnosis: diagnosis).response
        }
        return pages.problem(400, "This request can't be read", diagnosis)
    }

    package func accountDeleted(_ account: String, in exchange: Exchange) {
        exchange.world.update { $0[FacebookState.self].revoke(account: account, app: nil) }
    }

    func hint(for appID: String) -> String { Spelling.hint(appID, among: apps.keys.sorted()) }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "private, no-cache, no-store, must-revalidate")], body: value.text)
    }

    static func discovery(_ exchange: Exchange) -> Response {
        json([
            "issuer": .string(issuer),
            "authorization_endpoint": .string(exchange.address.base(of: host) + dialogPath),
            "jwks_uri": .string(exchange.address.base(of: host) + "\(keysPath)/"),
            "response_types_supported": ["id_token", "token id_token"], "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "claims_supported": [
                "iss", "aud", "sub", "iat", "exp", "jti", "nonce", "at_hash", "name", "given_name", "family_name",
                "email", "picture", "user_link",
            ],
        ])
    }
}

/// What Facebook remembers in one world.
struct FacebookState: WorldSlot, Sendable {
    struct Grant: Sendable {
        let account: String
        let app: String
        var permissions: [String]
        let issuedAt: Instant
    }

    struct Code: Sendable {
        let grant: Grant
        let redirectURI: String
        var usedBy: String?
    }

    var codes = ExpiringTable<String, Code>(rememberingExpired: .minutes(10))
    var tokens = ExpiringTable<String, Grant>(rememberingExpired: .minutes(10))

    mutating func revoke(account: String, app: String?, permission: String? = nil) {
        let isMeant = { (grant: Grant) in grant.account == account && (app == nil || grant.app == app) }
        codes.removeAll { isMeant($0.grant) }
        guard let permission else { return tokens.removeAll(where: isMeant) }
        tokens.update { grant in
            if isMeant(grant) { grant.permissions.removeAll { $0 == permission } }
        }
    }
}
