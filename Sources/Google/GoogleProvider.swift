import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

/// Google's sign-in, as far as OpenID Connect and Firebase need it.
/// <https://developers.google.com/identity/openid-connect/openid-connect>
package struct GoogleProvider: RefusesUnserved, KeepsGrants, RemembersEndedTokens, MintsIDTokens, ExplainsValues,
    StartsSeeds
{
    package static let facts = ProviderFacts(
        name: "google", title: "Google", section: GoogleSection.self, profile: GoogleProfile.self,
        rows: GoogleGrant.rows + [DeviceAuthorization.self], changes: [outOfBand]
    ) { daemon in
        [
            (name: "GOOGLE_BASE_URL", value: "\(daemon)/\(host)"),
            (name: "GOOGLE_TOKEN_URL", value: "\(daemon)/\(tokenHost)/token"),
        ]
    }

    package static let host = "accounts.google.com"
    package static let tokenHost = "oauth2.googleapis.com"
    static let userInfoHost = "openidconnect.googleapis.com"
    package static let apiHost = "www.googleapis.com"
    package static let issuer = "https://accounts.google.com"
    static let authorizePath = "/o/oauth2/v2/auth"

    var clients: RegisteredClients<GoogleClient> { settings.clients }
    let settings: GoogleSection
    let takesOutOfBand: Bool
    let pages = PersonPages(.google, .google, host: host, path: authorizePath)

    package init(seed: Seed) {
        settings = seed[GoogleSection.self]
        takesOutOfBand = seed.plays(GoogleProvider.outOfBand)
    }

    /// Whether the issuer is Google. Older ID tokens have it without the scheme:
    /// <https://developers.google.com/identity/openid-connect/openid-connect>.
    package static func isIssuer(_ issuer: String) -> Bool { [self.issuer, host].contains(issuer) }

    package var endpoints: [Endpoint] {
        authorizations + browserScript + profiles + tokens + devices + keySets + [
            nativeCall, securityEventCall,
            .revocations(of: name, "Lets people remove an app in their Google account.") { try revokeByOrder($0, $1) },
        ]
    }

    private var authorizations: [Endpoint] {
        let host = [GoogleProvider.host]
        let traits = EndpointTraits.authorization(
            errors: ["access_denied", "interaction_required", "login_required", "consent_required"]
                + GoogleError.statusesOfPageErrors.map(\.name), mints: .google)
        return [
            Endpoint(
                "GET", host, "/.well-known/openid-configuration", title: "the discovery document", cors: .any, .api,
                discovery
            ),
            Endpoint("GET", host, "/.well-known/risc-configuration", cors: .any, .api, securityConfiguration),
            Endpoint(
                "GET", host, GoogleProvider.authorizePath, title: "the authorization request", keys: [.google], traits
            ) {
                try authorize($0, $0.request.queryForm)
            }.step { exchange in
                exchange.request.queryForm["redirect_uri"].flatMap(JavaScriptOrigin.init(relay:)) == nil
                    ? nil : Step(.authorization, "pop-up of Google Identity Services")
            },
            Endpoint("GET", host, "/o/oauth2/auth", keys: [.google], traits) {
                try authorize($0, $0.request.queryForm)
            },
            Endpoint(
                "POST", host, GoogleProvider.authorizePath, title: "the answer of the consent page", keys: [.google],
                traits, decide),
        ]
    }

    private var tokens: [Endpoint] {
        let (host, tokenHost, apiHost) = ([GoogleProvider.host], [GoogleProvider.tokenHost], [GoogleProvider.apiHost])
        let token = EndpointTraits.api(GoogleError.ofTokens, mints: .google)
        let revocation = EndpointTraits.api(GoogleError.ofRevocation)
        func info(_ version: TokenInfoVersion) -> EndpointTraits {
            .api(GoogleError.ofTokenInfo(isNamed: version.namesErrors))
        }
        return [
            Endpoint("POST", host, "/o/oauth2/token", keys: [.google], token, self.token),
            Endpoint("GET", host, "/o/oauth2/revoke", cors: .any, revocation) { try revoke($0, $0.request.queryForm) },
            Endpoint("POST", host, "/o/oauth2/revoke", cors: .any, revocation, revokeByPost),
            Endpoint(
                "POST", tokenHost, "/token", title: "redeem a code, refresh, or ask for a device's token", cors: .any,
                keys: [.google], token, self.token
            ).remarks(remarks),
            Endpoint("POST", tokenHost, "/revoke", title: "revoke a token", cors: .any, revocation, revokeByPost),
            Endpoint("POST", apiHost, "/oauth2/v3/token", cors: .any, keys: [.google], token, self.token),
            Endpoint("POST", apiHost, "/oauth2/v4/token", cors: .any, keys: [.google], token, self.token),
        ]
            + ["GET", "POST"].flatMap { method in
                TokenInfoVersion.allCases.map { version in
                    Endpoint(
                        method, version == .current ? tokenHost : apiHost, version.rawValue,
                        title: method == "GET" && version == .current ? "check a token" : nil, cors: .any,
                        keys: [.google], info(version)
                    ) { tokenInfo($0, version) }
                }
            }
    }

    private var devices: [Endpoint] {
        let host = [GoogleProvider.deviceHost]
        let codes = EndpointTraits.api(GoogleError.ofDeviceCodes)
        let asked = Step(.deviceCode, "ask for a device code")
        let page = Step(.page, "open the device page")
        return [
            Endpoint(
                "POST", [GoogleProvider.tokenHost], "/device/code", title: "begin the device flow", step: asked, codes,
                deviceCode),
            Endpoint("POST", [GoogleProvider.host], "/o/oauth2/device/code", step: asked, codes, deviceCode),
            Endpoint(
                "GET", host, GoogleProvider.devicePath, title: "the page for a device's code", step: page, .page,
                devicePage),
            Endpoint(
                "POST", host, GoogleProvider.devicePath,
                step: Step(.decision, "answer the device page"), .page, decideOnDevice),
            Endpoint("GET", ["google.com"], GoogleProvider.devicePath, step: page, .page, redirectToDevicePage),
        ]
    }

    private var profiles: [Endpoint] {
        let traits = EndpointTraits.api(GoogleError.ofUserInfo)
        let old = EndpointTraits.api(APIError.ordered)
        let apiHost = [GoogleProvider.apiHost]
        let person = Step(.userInfo, "ask who it is")
        let people = Endpoint(
            "GET", [GoogleProvider.peopleHost], "/v1/people/me", title: "who signed in, by the People API",
            step: person,
            cors: .any, old, personOfToken)
        return [people]
            + ["GET", "POST"].flatMap { method in
                let title = method == "GET" ? "who signed in" : nil
                return [
                    Endpoint(
                        method, [GoogleProvider.userInfoHost], "/v1/userinfo", title: title, cors: .any, traits
                    ) { userInfo($0) },
                    Endpoint(method, apiHost, "/oauth2/v3/userinfo", title: title, cors: .any, traits) {
                        userInfo($0)
                    },
                    Endpoint(method, apiHost, "/oauth2/v1/userinfo", cors: .any, old) { userInfo($0, .v1) },
                    Endpoint(method, apiHost, "/oauth2/v2/userinfo", title: title, cors: .any, old) {
                        userInfo($0, .v2)
                    },
                    Endpoint(method, apiHost, "/userinfo/v2/me", step: person, cors: .any, old) { userInfo($0, .v2) },
                ]
            }
    }

    private var keySets: [Endpoint] {
        let host = [GoogleProvider.apiHost]
        return [
            Endpoint(
                "GET", host, "/oauth2/v3/certs", title: "the keys of ID tokens", cors: .any, keys: [.google],
                .keySet(.google), GoogleProvider.keySet),
            Endpoint(
                "GET", host, "/oauth2/v1/certs", cors: .any, keys: [.google], .keySet(.google),
                GoogleProvider.certificates),
        ]
    }

    /// Returns the client with this ID.
    func client(named id: String) throws(GoogleError) -> GoogleClient {
        if let client = clients[id] { return client }
        throw GoogleError(
            "invalid_client", "The OAuth client was not found.", status: 401,
            Diagnosis(
                received: "client_id \(Diagnosis.quote(id))", "no such client is seeded\(clients.hint(for: id))"))
    }

    package func client(of exchange: Exchange) -> String? {
        guard let token = exchange.request.accessToken() else { return nil }
        return exchange.world.read { $0.find(Token<GoogleGrant>.self, token)?.client }
    }

    /// Refuses a request that is too large: with the token endpoint's error, or on Google's page. Not documented.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard [GoogleProvider.authorizePath, "/o/oauth2/auth"].contains(exchange.address.path) else {
            return GoogleError("invalid_request", "Bad Request", diagnosis).jsonResponse
        }
        return pages.problem(400, "Error 400: invalid_request", diagnosis)
    }

    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        tables.endGrants(GoogleGrant.self, of: account, because: reason)
        return nil
    }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=utf-8",
            headers: [(name: "Cache-Control", value: "no-cache, no-store, max-age=0, must-revalidate")],
            body: value.serialized())
    }

    /// Returns the `iss` of tokens for this request.
    func issuer(_ exchange: Exchange) -> String {
        switch settings.issuer {
        case .provider: GoogleProvider.issuer
        case .request: exchange.address.base(of: GoogleProvider.host)
        }
    }
}
