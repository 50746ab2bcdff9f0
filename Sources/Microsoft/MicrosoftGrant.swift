import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Text
import Time
import Worlds

/// The scopes of a request to Microsoft, as the request names them:
/// <https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc>.
///
/// Quirks: a scope of an API begins with the API's URI, such as `api://ID/read`. A scope without a URI is Microsoft
/// Graph's. An access token is for one API.
struct MicrosoftScopes: Sendable {
    static let graph = "https://graph.microsoft.com"
    static let graphID = "00000003-0000-0000-c000-000000000000"
    static let ofSignIn = ["openid", "profile", "email", "offline_access"]
    private static let words = [
        "openid": "Sign you in", "profile": "View your basic profile", "email": "View your email address",
        "offline_access": "Maintain access to data you have given it access to",
        "User.Read": "Sign in and read your profile",
    ]

    let names: [String]

    init(_ names: [String]) {
        var seen: Set<String> = []
        self.names = names.filter { seen.insert($0).inserted }
    }

    init(_ text: String?) { self.init((text ?? "").split(separator: " ").map(String.init)) }

    /// Returns the URI of the API to which a scope belongs, and the scope's name without the URI.
    static func split(_ scope: String) -> (api: String, name: String) {
        guard let slash = scope.lastIndex(ofASCII: "/") else { return (graph, scope) }
        let api = String(scope[..<slash])
        return ([graph, graphID, "\(graph)/"].contains(api) ? graph : api, String(scope[scope.index(after: slash)...]))
    }

    /// The URIs of the APIs to which the scopes belong, each once. If all scopes are for the sign-in itself, such as
    /// `openid`, the only URI is that of Microsoft Graph, because the userinfo endpoint belongs to Microsoft Graph.
    var apis: [String] {
        let named = names.filter { !MicrosoftScopes.ofSignIn.contains($0) }.map { MicrosoftScopes.split($0).api }
        return named.isEmpty ? [MicrosoftScopes.graph] : MicrosoftScopes(named).names
    }

    /// Returns the scopes that belong to one API. An access token for the API contains only these scopes.
    func granted(for api: String) -> [String] {
        names.filter { name in
            MicrosoftScopes.ofSignIn.contains(name)
                ? api == MicrosoftScopes.graph && name != "offline_access" : MicrosoftScopes.split(name).api == api
        }
    }

    /// The scopes in a uniform spelling, with the API's URI and in lower case, so that they can be compared.
    var canonical: Set<String> {
        Set(
            names.map { name in
                let (api, word) = MicrosoftScopes.split(name)
                return MicrosoftScopes.ofSignIn.contains(name) ? name : "\(api)/\(word)".lowercased()
            })
    }

    var descriptions: [String] { names.map { MicrosoftScopes.words[$0] ?? $0 } }
}

/// A person's grant to a client at Microsoft, or the client's own grant (`client_credentials`). Scopes that are granted
/// later are added to it.
struct MicrosoftGrant: GrantToClient {
    struct CodeDetails: Codable, Sendable {
        let token: TokenDetails
        /// The tenant segment in the path of the authorization request. The path of the token request must have the
        /// same segment.
        let realm: String
    }

    struct TokenDetails: Codable, Sendable {
        /// The scopes that the person granted in the sign-in.
        var scopes: [String]
        var nonce: String?
        let platform: MicrosoftClient.Platform
        /// The time of the sign-in from which the token comes.
        let since: Instant
    }

    static let tables = GrantTables<MicrosoftGrant>("microsoft", rememberingTokens: .days(7), indexes: [bySubject])
    /// The index that finds a grant by its pairwise `sub`.
    static let bySubject = Index<MicrosoftGrant, String>("subject") { $0.subject }
    /// The greatest number of scopes in a grant. If there would be more, only those of the latest request are kept.
    private static let scopeLimit = 500

    static func size(ofCode details: CodeDetails) -> Int { details.realm.utf8.count + size(ofToken: details.token) }

    static func size(ofToken details: TokenDetails) -> Int {
        details.scopes.reduce(details.nonce?.utf8.count ?? 0) { $0 + $1.utf8.count }
    }

    let account: String
    let client: String
    let subject: String
    let since: Instant
    /// The granted scopes in a uniform spelling, so that they can be compared.
    private(set) var scopes: Set<String>

    mutating func add(_ more: Set<String>) {
        scopes.formUnion(more)
        if scopes.count > MicrosoftGrant.scopeLimit { scopes = more }
    }
}

extension Transaction {
    /// Makes a person's grant to a client, or adds scopes to the existing grant. If `account` is `nil`, it is the
    /// client's own grant.
    mutating func consent(
        _ account: Account?, to client: MicrosoftClient, scopes: MicrosoftScopes
    ) -> MicrosoftGrant {
        let id = account?.id ?? ""
        var grant =
            self.grant(MicrosoftGrant.self, of: id, to: client.id)
            ?? MicrosoftGrant(
                account: id, client: client.id,
                subject: account?.microsoft.subject(for: client.id) ?? client.servicePrincipal, since: now, scopes: [])
        grant.add(scopes.canonical)
        put(grant)
        return grant
    }

    /// Makes an access token for Microsoft Graph, or a refresh token. Only the first characters are like those of
    /// Microsoft's tokens.
    mutating func makeToken(
        _ kind: Token<MicrosoftGrant>.Kind, _ grant: MicrosoftGrant, _ details: MicrosoftGrant.TokenDetails
    ) -> String {
        let isSPA = details.platform == .spa
        let text = (kind == .access ? "EwB" : "1.A") + Base64URL.encode(random.bytes(kind == .access ? 120 : 180))
        let lifetime =
            kind == .access
            ? MicrosoftProvider.accessLifetime : isSPA ? details.since + .hours(24) - now : .days(90)
        return give(text, kind, of: grant, lasting: lifetime, details)
    }
}

extension MicrosoftClient {
    /// The object ID of the client's service principal. It is the `sub` of the tokens that the client gets for itself.
    var servicePrincipal: String { DerivedNumber.uuid(of: "microsoft.servicePrincipal:\(id)") }
}

extension MicrosoftProvider {
    /// The lifetime of access tokens, as in the examples of Microsoft's documentation.
    static let accessLifetime = TimeSpan.seconds(3599)

    func issuer(_ tenant: String, _ exchange: Exchange) -> String {
        "\(settings.issuer.issuer(at: MicrosoftProvider.host, exchange))/\(tenant)/v2.0"
    }

    /// Returns the claims that all Microsoft tokens have. As in the examples of Microsoft's documentation, a token is
    /// valid from five minutes before it is issued.
    private func claims(_ audience: String, _ tenant: String, of use: String, _ exchange: Exchange) -> JSONObject {
        let (now, seed) = (exchange.world.now, Digest.sha256("microsoft.uti \(exchange.id) \(use)"))
        return JSONObject([
            ("aud", .string(audience)), ("iss", .string(issuer(tenant, exchange))),
            ("iat", .numericDate(now - .minutes(5))), ("nbf", .numericDate(now - .minutes(5))),
            ("exp", .numericDate(now + .hours(1))), ("tid", .string(tenant)),
            ("uti", .string(Base64URL.encode(Array(seed.prefix(16))))), ("ver", "2.0"),
        ])
    }

    /// Returns the claims of a Microsoft ID token for a person and a client.
    func idToken(
        _ account: Account, _ client: MicrosoftClient, scopes: [String], nonce: String?, code: String? = nil,
        _ exchange: Exchange
    ) -> JSONObject {
        let profile = account.microsoft
        var claims = claims(client.id, profile.tenant, of: "id_token", exchange)
        claims["sub"] = .string(profile.subject(for: client.id))
        if scopes.contains("profile") {
            claims["name"] = .string(account.fullName)
            claims["oid"] = .string(profile.oid)
            claims["preferred_username"] = .string(profile.userPrincipalName)
            let optional = [
                ("given_name", account.name.given), ("family_name", account.name.family),
                ("upn", profile.userPrincipalName),
            ]
            for (name, value) in optional where client.optionalClaims.contains(name) { claims[name] = .string(value) }
        }
        if scopes.contains("email") || client.optionalClaims.contains("email") {
            claims["email"] = .string(account.email)
        }
        claims["nonce"] = nonce.map { .string($0) }
        claims["c_hash"] = code.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        let roles = profile.roles.filter(client.appRoles.contains)
        claims["roles"] = roles.isEmpty ? nil : .array(roles.map { .string($0) })
        return claims
    }

    /// Returns the claims of a Microsoft access token for an API that the seed defines. If `account` is `nil`, the
    /// token is the client's own.
    func accessToken(
        _ account: Account?, _ client: MicrosoftClient, api: MicrosoftClient, scopes: [String], tenant: String,
        _ exchange: Exchange
    ) -> JSONObject {
        let profile = account?.microsoft
        var claims = claims(api.id, profile?.tenant ?? tenant, of: "access_token", exchange)
        claims["azp"] = .string(client.id)
        claims["azpacr"] = client.secret == nil ? "0" : "1"
        claims["oid"] = .string(profile?.oid ?? client.servicePrincipal)
        claims["sub"] = .string(profile?.subject(for: api.id) ?? client.servicePrincipal)
        claims["name"] = account.map { .string($0.fullName) }
        claims["preferred_username"] = profile.map { .string($0.userPrincipalName) }
        if account != nil {
            let named = scopes.map { MicrosoftScopes.split($0).name }
            let granted = named.contains(".default") ? api.scopes : named
            claims["scp"] = .string(granted.joined(separator: " "))
        }
        let roles = api.appRoles.filter { profile?.roles.contains($0) ?? client.applicationPermissions.contains($0) }
        claims["roles"] = roles.isEmpty ? nil : .array(roles.map { .string($0) })
        return claims
    }

    func sign(_ claims: JSONObject, _ exchange: Exchange) throws(MicrosoftError) -> String {
        do throws(KeyError) {
            return try exchange.mint(.microsoft, claims, at: exchange.world.now, type: "JWT")
        } catch { throw MicrosoftError(50000, because: Diagnosis("a token can't be signed: \(error.description)")) }
    }

    /// Returns the value of `client_info`, a response parameter for Microsoft's libraries; `nil` if the request doesn't
    /// ask for it.
    func clientInfo(_ account: Account, _ form: Form) -> String? {
        guard form["client_info"] == "1" else { return nil }
        let info: JSONValue = ["uid": .string(account.microsoft.oid), "utid": .string(account.microsoft.tenant)]
        return Base64URL.encode(Array(info.text.utf8))
    }
}
