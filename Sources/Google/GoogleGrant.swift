import EmulatorCore
import JOSE
import OAuth
import Time

/// A person's grant to a client. Its scopes accumulate from one consent to the next.
struct GoogleGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        let token: TokenDetails
        /// Whether a refresh token is issued with the access token.
        let givesRefreshToken: Bool
    }

    /// The details of one authorization. Its tokens have only its own scopes, even if the person has granted more
    /// before, unless `include_granted_scopes` was true.
    struct TokenDetails: Codable, Sendable {
        var scopes: GoogleScopes
        /// The nonce. The ID token of the sign-in has it, those of refreshes don't.
        var nonce: String?
        /// The claims `auth_time` and `amr` about the person's session at Google, if ID tokens have them.
        var authTime: Instant?
        var methods: [String]?
        /// Whether `access_type` was `offline`.
        let isOffline: Bool
    }

    static let tables = GrantTables<GoogleGrant>("google", tokenIndexes: [refreshTokens])
    /// The index of refresh tokens by grant.
    static let refreshTokens = Index<Token<GoogleGrant>, String>("refresh") { $0.kind == .refresh ? $0.grant : nil }
    /// The most refresh tokens of a grant. One more revokes the oldest:
    /// <https://developers.google.com/identity/protocols/oauth2#expiration>.
    static let refreshTokenLimit = 100
    /// The lifetime of a grant to an app in testing, if it has other scopes than those of sign-in: seven days from the
    /// consent, which `refresh_token_expires_in` gives as 604799
    /// (<https://developers.google.com/identity/protocols/oauth2#expiration>,
    /// <https://support.google.com/cloud/answer/15549945>).
    static let testingLifetime = TimeSpan.seconds(604_799)
    /// The most scopes of a grant. If there are more, only the latest are kept.
    static let scopeLimit = 500

    let account: String
    let client: String
    /// The time of the first consent.
    let since: Instant
    var scopes: Set<String>
    /// The time at which a grant to an app in testing ends.
    var expires: Instant?

    var key: String { GoogleGrant.key(account, client: client) }

    func hasEnded(at now: Instant) -> Bool { expires.map { $0 <= now } ?? false }

    static func key(_ account: String, client: String) -> String { "\(account) \(client)" }
}

extension TableReading where Self: ~Copyable {
    /// Whether the person has granted all of `scopes` to the client.
    func hasConsented(_ account: String, to client: String, scopes: GoogleScopes) -> Bool {
        let grant = find(GoogleGrant.self, GoogleGrant.key(account, client: client))
        return grant.map { $0.scopes.isSuperset(of: scopes.names) && !$0.hasEnded(at: now) } ?? false
    }
}

extension Transaction {
    /// Makes a grant, or adds scopes to the existing one. `isAsked` means that the person was asked, even if the scopes
    /// were granted before.
    mutating func consent(
        _ account: String, to client: GoogleClient, scopes: GoogleScopes, isAsked: Bool = false
    ) -> GoogleGrant {
        var known = find(GoogleGrant.self, GoogleGrant.key(account, client: client.id))
        if let grant = known, endIfExpired(grant) { known = nil }
        var grant = known ?? GoogleGrant(account: account, client: client.id, since: now, scopes: [])
        let lifetime = client.publishingStatus == .testing ? GoogleGrant.testingLifetime : nil
        guard known == nil || isAsked && lifetime != nil || !grant.scopes.isSuperset(of: scopes.names) else {
            return grant
        }
        grant.scopes.formUnion(scopes.names)
        if grant.scopes.count > GoogleGrant.scopeLimit { grant.scopes = Set(scopes.names) }
        grant.expires = GoogleScopes(grant.scopes).optional.isEmpty ? nil : lifetime.map { now + $0 }
        put(grant)
        return grant
    }

    /// Ends a grant that has expired, with its codes and tokens.
    mutating func endIfExpired(_ grant: GoogleGrant) -> Bool {
        guard grant.hasEnded(at: now) else { return false }
        end(grant, because: "the app is in testing, and seven days have gone by since the person consented")
        return true
    }

    mutating func makeAccessToken(_ grant: GoogleGrant, _ details: GoogleGrant.TokenDetails) -> String {
        let text = GoogleToken.access.make(from: &random)
        put(
            Token<GoogleGrant>(
                text, .access, grant: grant.key, client: grant.client, expires: now + GoogleToken.accessLifetime,
                details: details))
        return text
    }

    mutating func makeRefreshToken(_ grant: GoogleGrant, _ details: GoogleGrant.TokenDetails) -> String {
        if count(GoogleGrant.refreshTokens, grant.key) >= GoogleGrant.refreshTokenLimit,
            let oldest = first(GoogleGrant.refreshTokens, grant.key)
        {
            remove(Token<GoogleGrant>.self, oldest.key)
            let limit = GoogleGrant.refreshTokenLimit
            put(
                EndedCredential<GoogleGrant>(
                    oldest.key, because: "\(limit) newer ones of the person and the client ended it"))
        }
        var details = details
        details.nonce = nil
        let text = GoogleToken.refresh.make(from: &random)
        put(
            Token<GoogleGrant>(
                text, .refresh, grant: grant.key, client: grant.client, expires: nil, details: details))
        return text
    }
}

/// Makes codes and tokens in Google's form. It isn't documented; their beginnings are what developers see.
enum GoogleToken {
    case code
    case access
    case refresh

    /// The lifetime: `expires_in` is 3599, not 3600.
    static let accessLifetime = TimeSpan.seconds(3599)

    func make(from random: inout Randomness) -> String {
        switch self {
        case .code: "4/0A" + Base64URL.encode(random.bytes(52))
        case .access: "ya29.a0" + Base64URL.encode(random.bytes(120))
        case .refresh: "1//0" + Base64URL.encode(random.bytes(72))
        }
    }
}
