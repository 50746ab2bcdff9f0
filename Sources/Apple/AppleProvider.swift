import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

/// Sign in with Apple: <https://developer.apple.com/documentation/signinwithapplerestapi>.
package struct AppleProvider: Provider {
    package static let host = "appleid.apple.com"

    package let name = "apple"
    let directory: AppleDirectory
    let settings: AppleSettings
    let secrets = ClientSecretCache()
    package let notifier: AppleNotifier

    package init(seed: Seed) {
        directory = AppleDirectory(seed)
        settings = AppleSettings(seed.apple)
        notifier = AppleNotifier()
    }

    package var routes: [String: Router<Route>] {
        var router = Router<Route>()
        let authorization = EndpointTraits.authorization(
            errors: ["user_cancelled_authorize"], mints: .apple, partOf: "/auth/authorize")
        router.add("GET", "/.well-known/openid-configuration", Route { .now(discovery($0)) })
        router.add("GET", "/auth/keys", Route(keys: [.apple], .keySet(.apple)) { .now(keys($0)) })
        router.add(
            "GET", "/auth/authorize", Route(keys: [.apple], authorization) { .now(authorize($0, $0.request.queryForm)) }
        )
        router.add(
            "POST", "/auth/authorize", Route(keys: [.apple], authorization) { .now(authorize($0, $0.request.bodyForm)) }
        )
        router.add("POST", SignInPage.path, Route(keys: [.apple], authorization) { .now(decide($0)) })
        router.add(
            "POST", "/auth/token", Route(keys: [.apple], .api(AppleError.ofTokens, mints: .apple)) { .now(token($0)) })
        router.add("POST", "/auth/revoke", Route(keys: [.apple], .api(AppleError.ofRevocation)) { .now(revoke($0)) })
        router.add("POST", "/auth/usermigrationinfo", Route(.api(AppleError.ofRevocation)) { .now(migrationInfo($0)) })
        return [AppleProvider.host: router]
    }

    package var controlRoutes: [ControlRoute] {
        [
            ControlRoute(
                "POST", "apple/authorizations", keys: [.apple],
                .native(
                    errors: NativeError.allCases.map(\.rawValue), takesOthers: false, mints: .apple, givesCodes: true)
            ) { .now(authorizeNatively($0)) },
            ControlRoute("GET", "apple/credential-state") { .now(credentialState($0)) },
            ControlRoute("POST", "apple/notifications", keys: [.apple]) { notify($0) },
            ControlRoute("GET", "apple/relay") { .now(relayDecision($0)) },
            ControlRoute("POST", "apple/keys/rotate", keys: [.apple]) { rotateKeys($0) },
        ]
    }

    /// Not documented: `invalid_request`, as for a parameter that occurs twice.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let error = AppleError(.invalidRequest, nil, diagnosis)
        return exchange.address.path.hasPrefix("/auth/authorize")
            ? error.authorizeResponse(to: exchange.request) : error.jsonResponse
    }

    /// The `iss` of what is minted for this request.
    func issuer(_ exchange: Exchange) -> String {
        switch settings.issuer {
        case .provider: "https://\(AppleProvider.host)"
        case .request: exchange.address.base(of: AppleProvider.host)
        }
    }
}

/// The section's settings.
struct AppleSettings: Sendable {
    let issuer: AppleSeed.Issuer
    let booleanClaims: AppleSeed.BooleanClaims
    let accountDeletedEvent: String
    let crossSiteFormPost: Bool
    let codeLifetime: TimeSpan
    let idTokenLifetime: TimeSpan
    /// What `expires_in` says.
    let accessTokenLifetime = TimeSpan.hours(1)

    init(_ seed: AppleSeed) {
        issuer = seed.issuer
        booleanClaims = seed.booleanClaims
        accountDeletedEvent = seed.accountDeletedEvent
        crossSiteFormPost = seed.crossSiteFormPost
        codeLifetime = seed.codeLifetime
        idTokenLifetime = seed.idTokenLifetime
    }
}
