import EmulatorCore
import JOSE
import OAuth
import Time

/// A person's grant to an app, with the declined permissions.
struct FacebookGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        /// The time of the consent.
        let issuedAt: Instant
        /// The nonce, if an ID token is requested.
        let nonce: String?
        let isOpenID: Bool
        /// The nonce that shows an app that the person signed in again for it.
        var authNonce: String?
    }

    struct TokenDetails: Codable, Sendable {
        /// The time of the consent.
        let issuedAt: Instant
        /// The nonce of the sign-in that issued the token.
        var authNonce: String?
    }

    static let tables = GrantTables<FacebookGrant>("facebook", rememberingTokens: .days(30))

    let account: String
    let app: String
    /// The time of the first consent.
    let since: Instant
    /// The permissions, in the order in which they were granted.
    private(set) var granted = [FacebookPermission.always]
    private(set) var declined: [String] = []

    init(account: String, app: String, since: Instant) {
        self.account = account
        self.app = app
        self.since = since
    }

    var key: String { FacebookGrant.key(account, app: app) }

    static func key(_ account: String, app: String) -> String { "\(account) \(app)" }

    /// Grants the permissions of `asked` that are in `approved`, and declines the others.
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

    /// Withdraws a permission. The public profile can't be withdrawn.
    mutating func decline(_ permission: String) {
        guard permission != FacebookPermission.always, granted.contains(permission) else { return }
        granted.removeAll { $0 == permission }
        declined.append(permission)
    }
}

/// A token whose app the person has removed, because Facebook has an error for these.
struct RemovedToken: Row {
    static let table = Table<RemovedToken>("facebook.removedToken", limit: 1_000)

    /// The token itself.
    let key: String
    let app: String
}

extension Transaction {
    /// Removes the app: all tokens of the grant stop working. Returns `false` if the grant had ended before.
    mutating func remove(_ grant: FacebookGrant, because reason: String) -> Bool {
        guard find(FacebookGrant.self, grant.key) != nil else { return false }
        for token in end(grant, because: reason) { put(RemovedToken(key: token.key, app: grant.app)) }
        return true
    }

    /// Records a person's answer to a request for permissions, and returns the new or changed grant.
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

    /// Makes an access token for a consent at `issuedAt`.
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

/// Makes codes and tokens in Facebook's form. It isn't documented; their beginnings are what developers see.
enum FacebookToken {
    /// The lifetime of a long-lived token, about sixty days.
    static let lifetime = TimeSpan.seconds(5_183_944)
    /// The lifetime of a token from a browser: "an hour or two".
    /// <https://developers.facebook.com/docs/facebook-login/guides/access-tokens#termtokens>
    static let shortLifetime = TimeSpan.hours(2)
    /// The time for which an app may read a person's data after the consent:
    /// <https://developers.facebook.com/docs/facebook-login/auth-vs-data>.
    static let dataAccess = TimeSpan.days(90)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func code(from random: inout Randomness) -> String { "AQ" + Base64URL.encode(random.bytes(150)) }

    static func access(from random: inout Randomness) -> String { "EAA" + random.text(180, from: alphabet) }
}
