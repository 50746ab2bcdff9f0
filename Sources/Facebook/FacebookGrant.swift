import EmulatorCore
import JOSE
import OAuth
import Time

/// What a person has granted to an app.
struct FacebookGrant: OAuthGrant {
    /// What a code and the tokens that come of it allow.
    struct Details: Codable, Sendable {
        var permissions: [String]
        /// When the person consented.
        let issuedAt: Instant
    }

    typealias CodeDetails = Details
    typealias TokenDetails = Details

    static let tables = GrantTables<FacebookGrant>("facebook", rememberingTokens: .minutes(10))

    let account: String
    let app: String
    /// When the person consented first.
    let since: Instant

    var key: String { FacebookGrant.key(account, app: app) }

    static func key(_ account: String, app: String) -> String { "\(account) \(app)" }
}

/// A token whose app the person has removed: Facebook says so of it.
struct RemovedToken: Row {
    static let table = Table<RemovedToken>("facebook.removedToken", limit: 1_000)

    /// The token itself.
    let key: String
    let app: String
}

extension Transaction {
    /// The person removes the app: every token of the grant stops.
    mutating func remove(_ grant: FacebookGrant) {
        for token in end(grant) { put(RemovedToken(key: token.key, app: grant.app)) }
    }

    /// Makes a grant, or finds the one that exists.
    mutating func consent(_ account: String, to app: String) -> FacebookGrant {
        if let grant = find(FacebookGrant.self, FacebookGrant.key(account, app: app)) { return grant }
        let grant = FacebookGrant(account: account, app: app, since: now)
        put(grant)
        return grant
    }

    mutating func makeAccessToken(_ grant: FacebookGrant, _ details: FacebookGrant.Details) -> String {
        let text = FacebookToken.access(from: &random)
        put(
            Token<FacebookGrant>(
                text, .access, grant: grant.key, client: grant.app, expires: now + FacebookToken.lifetime,
                details: details))
        return text
    }

    /// Removes one permission from all tokens of a grant. Codes that haven't been redeemed are revoked.
    mutating func revoke(_ permission: String, of grant: FacebookGrant) {
        endCodes(of: grant)
        for var token in tokens(of: grant) where token.details.permissions.contains(permission) {
            token.details.permissions.removeAll { $0 == permission }
            put(token)
        }
    }
}

/// What Facebook's codes and tokens look like. Not documented; their beginnings are what developers see.
enum FacebookToken {
    /// About sixty days.
    static let lifetime = TimeSpan.seconds(5_183_944)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func code(from random: inout Randomness) -> String { "AQ" + Base64URL.encode(random.bytes(150)) }

    static func access(from random: inout Randomness) -> String { "EAA" + random.text(180, from: alphabet) }
}
