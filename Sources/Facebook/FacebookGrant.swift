import EmulatorCore
import JOSE
import OAuth
import Time

/// What a person has granted to an app, and what they declined.
struct FacebookGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        /// When the person consented.
        let issuedAt: Instant
        /// Of a request for an ID token.
        let nonce: String?
        let isOpenID: Bool
        /// By which an app knows that the person signed in again for it.
        var authNonce: String?
    }

    struct TokenDetails: Codable, Sendable {
        /// When the person consented.
        let issuedAt: Instant
        /// That of the sign-in which gave the token out.
        var authNonce: String?
    }

    static let tables = GrantTables<FacebookGrant>("facebook", rememberingTokens: .days(30))

    let account: String
    let app: String
    /// When the person consented first.
    let since: Instant
    /// Permissions, in the order in which they were granted.
    private(set) var granted = [FacebookPermission.always]
    private(set) var declined: [String] = []

    init(account: String, app: String, since: Instant) {
        self.account = account
        self.app = app
        self.since = since
    }

    var key: String { FacebookGrant.key(account, app: app) }

    static func key(_ account: String, app: String) -> String { "\(account) \(app)" }

    /// The person grants those of `asked` that are among `approved`, and declines the others.
    mutating func answer(_ asked: [String], approving approved: [String]) {
        for permission in asked where !granted.contains(permission) {
            guard approved.contains(permission) else {
                if !declined.contains(permission) { declined.append(permission) }
                continue
            }
            declined.removeAll { $0 == permission }
            granted.append(permission)
        }
    }

    /// Takes a permission back. The public profile stays for as long as the app does.
    mutating func decline(_ permission: String) {
        guard permission != FacebookPermission.always, granted.contains(permission) else { return }
        granted.removeAll { $0 == permission }
        declined.append(permission)
    }
}

/// A token whose app the person has removed: Facebook says so of it.
struct RemovedToken: Row {
    static let table = Table<RemovedToken>("facebook.removedToken", limit: 1_000)

    /// The token itself.
    let key: String
    let app: String
}

extension Transaction {
    /// The person removes the app: every token of the grant stops. It says whether the grant was still there.
    mutating func remove(_ grant: FacebookGrant, because reason: String) -> Bool {
        guard find(FacebookGrant.self, grant.key) != nil else { return false }
        for token in end(grant, because: reason) { put(RemovedToken(key: token.key, app: grant.app)) }
        return true
    }

    /// The person answers a request for permissions: the grant that is made or changed.
    mutating func consent(
        _ account: String, to app: String, asked: [String], approving approved: [String]
    ) -> FacebookGrant {
        var grant =
            find(FacebookGrant.self, FacebookGrant.key(account, app: app))
            ?? FacebookGrant(account: account, app: app, since: now)
        grant.answer(asked, approving: approved)
        put(grant)
        return grant
    }

    /// What the person once granted is consented to at `issuedAt`.
    mutating func makeAccessToken(
        _ grant: FacebookGrant, issuedAt: Instant, lasting lifetime: TimeSpan = FacebookToken.lifetime,
        authNonce: String? = nil
    ) -> String {
        let text = FacebookToken.access(from: &random)
        put(
            Token<FacebookGrant>(
                text, .access, grant: grant.key, client: grant.app, expires: now + lifetime,
                details: FacebookGrant.TokenDetails(issuedAt: issuedAt, authNonce: authNonce)))
        return text
    }
}

/// What Facebook's codes and tokens look like. Not documented; their beginnings are what developers see.
enum FacebookToken {
    /// About sixty days.
    static let lifetime = TimeSpan.seconds(5_183_944)
    /// Of a token that comes by a browser: "an hour or two".
    /// <https://developers.facebook.com/docs/facebook-login/guides/access-tokens#termtokens>
    static let shortLifetime = TimeSpan.hours(2)
    /// The time for which an app may read what a person has granted:
    /// <https://developers.facebook.com/docs/facebook-login/auth-vs-data>.
    static let dataAccess = TimeSpan.days(90)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func code(from random: inout Randomness) -> String { "AQ" + Base64URL.encode(random.bytes(150)) }

    static func access(from random: inout Randomness) -> String { "EAA" + random.text(180, from: alphabet) }
}
