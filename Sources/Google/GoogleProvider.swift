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

    package static let section: (any SeedSection.Type)? = GoogleSection.self
    package static let profile: (any AccountProfile.Type)? = GoogleProfile.self

    package static let title = "Google"
    package let name = "google"
    var clients: RegisteredClients<GoogleClient> { settings.clients }
    let settings: GoogleSection
    let pages = PersonPages(.google, .google, host: host, path: authorizePath)

    package init(seed: Seed) {
        settings = seed[GoogleSection.self]
    }

    package static func variables(daemon url: String) -> [(name: String, value: String)] {
        [
            (name: "GOOGLE_BASE_URL", value: "\(url)/\(host)"),
            (name: "GOOGLE_TOKEN_URL", value: "\(url)/\(tokenHost)/token"),
        ]
    }

    /// Without the scheme, too, as in older ID tokens: <https://developers.google.com/identity/openid-connect/openid-connect>.
    package static func isIssuer(_ issuer: String) -> Bool { [self.issuer, host].contains(issuer) }

    package var operations: [Operation] {
        authorizations + browserScript + profiles + tokens + devices + keySets + [
            nativeCall, securityEventCall,
            .revocations(of: name, "Lets people remove an app in their Google account.") { try revokeByOrder($0, $1) },
        ]
    }

    private var authorizations: [Operation] {
        let host = [GoogleProvider.host]
        let traits = OperationTraits.authorization(
            errors: ["access_denied", "interaction_required", "login_required", "consent_required"]
                + GoogleError.statusesOfPageErrors.map(\.name), mints: .google)
        return [
            Operation("GET", host, "/.well-known/openid-configuration", cors: .any) { discovery($0) },
            Operation("GET", host, "/.well-known/risc-configuration", cors: .any) { securityConfiguration($0) },
            Operation("GET", host, GoogleProvider.authorizePath, keys: [.google], traits) {
                try authorize($0, $0.request.queryForm)
            },
            Operation("GET", host, "/o/oauth2/auth", keys: [.google], traits) {
                try authorize($0, $0.request.queryForm)
            },
            Operation("POST", host, GoogleProvider.authorizePath, keys: [.google], traits) { try decide($0) },
        ]
    }

    private var tokens: [Operation] {
        let (host, tokenHost, apiHost) = ([GoogleProvider.host], [GoogleProvider.tokenHost], [GoogleProvider.apiHost])
        let token = OperationTraits.api(GoogleError.ofTokens, mints: .google)
        let revocation = OperationTraits.api(GoogleError.ofRevocation)
        func info(_ version: TokenInfoVersion) -> OperationTraits {
            .api(GoogleError.ofTokenInfo(isNamed: version.namesErrors))
        }
        return [
            Operation("POST", host, "/o/oauth2/token", keys: [.google], token) { try self.token($0) },
            Operation("GET", host, "/o/oauth2/revoke", cors: .any, revocation) { try revoke($0, $0.request.queryForm) },
            Operation("POST", host, "/o/oauth2/revoke", cors: .any, revocation) { try revokeByPost($0) },
            Operation("POST", tokenHost, "/token", cors: .any, keys: [.google], token) { try self.token($0) },
            Operation("POST", tokenHost, "/revoke", cors: .any, revocation) { try revokeByPost($0) },
            Operation("POST", apiHost, "/oauth2/v3/token", cors: .any, keys: [.google], token) { try self.token($0) },
            Operation("POST", apiHost, "/oauth2/v4/token", cors: .any, keys: [.google], token) { try self.token($0) },
        ]
            + ["GET", "POST"].flatMap { method in
                TokenInfoVersion.allCases.map { version in
                    Operation(
                        method, version == .current ? tokenHost : apiHost, version.rawValue, cors: .any,
                        keys: [.google], info(version)
                    ) { tokenInfo($0, version) }
                }
            }
    }

    private var devices: [Operation] {
        let host = [GoogleProvider.deviceHost]
        let codes = OperationTraits.api(GoogleError.ofDeviceCodes)
        return [
            Operation("POST", [GoogleProvider.tokenHost], "/device/code", codes) { try deviceCode($0) },
            Operation("POST", [GoogleProvider.host], "/o/oauth2/device/code", codes) { try deviceCode($0) },
            Operation("GET", host, GoogleProvider.devicePath, .page) { devicePage($0) },
            Operation("POST", host, GoogleProvider.devicePath, .page) { try decideOnDevice($0) },
            Operation("GET", ["google.com"], GoogleProvider.devicePath, .page) { redirectToDevicePage($0) },
        ]
    }

    private var profiles: [Operation] {
        let traits = OperationTraits.api(GoogleError.ofUserInfo)
        let old = OperationTraits.api(APIError.ordered)
        let apiHost = [GoogleProvider.apiHost]
        let people = Operation("GET", [GoogleProvider.peopleHost], "/v1/people/me", cors: .any, old) {
            personOfToken($0)
        }
        return [people]
            + ["GET", "POST"].flatMap { method in
                [
                    Operation(method, [GoogleProvider.userInfoHost], "/v1/userinfo", cors: .any, traits) {
                        userInfo($0)
                    },
                    Operation(method, apiHost, "/oauth2/v3/userinfo", cors: .any, traits) { userInfo($0) },
                    Operation(method, apiHost, "/oauth2/v1/userinfo", cors: .any, old) { userInfo($0, .v1) },
                    Operation(method, apiHost, "/oauth2/v2/userinfo", cors: .any, old) { userInfo($0, .v2) },
                    Operation(method, apiHost, "/userinfo/v2/me", cors: .any, old) { userInfo($0, .v2) },
                ]
            }
    }

    private var keySets: [Operation] {
        let host = [GoogleProvider.apiHost]
        return [
            Operation("GET", host, "/oauth2/v3/certs", cors: .any, keys: [.google], .keySet(.google)) {
                GoogleProvider.keySet($0)
            },
            Operation("GET", host, "/oauth2/v1/certs", cors: .any, keys: [.google], .keySet(.google)) {
                GoogleProvider.certificates($0)
            },
        ]
    }

    /// The client with this ID.
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

    /// As the token endpoint words it, or on Google's page. Not documented.
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

    /// The `iss` of what is minted for this request.
    func issuer(_ exchange: Exchange) -> String {
        switch settings.issuer {
        case .provider: GoogleProvider.issuer
        case .request: exchange.address.base(of: GoogleProvider.host)
        }
    }
}
