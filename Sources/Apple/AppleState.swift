import JOSE
import OAuth
import EmulatorCore
import Time

/// What Apple remembers in one world.
struct AppleState: WorldSlot, Sendable {
    /// A person's consent to an app group of a team.
    struct GrantKey: Hashable, Sendable {
        let account: String
        let team: String
        let group: String
    }

    struct Grant: Sendable {
        let key: GrantKey
        /// The client that first asked.
        let client: String
        var sharesEmail: Bool
        var scopes: Set<AppleScope>
        /// Whether mail to the relay address is forwarded.
        var forwardsMail = true
    }

    struct Code: Sendable {
        let grant: Int
        let client: String
        let redirectURI: String?
        let nonce: String?
        let authenticatedAt: Instant
        /// The exchange that redeemed it.
        var usedBy: String?
    }

    struct Token: Sendable {
        let grant: Int
        let client: String
        let authenticatedAt: Instant
    }

    private(set) var grants: [Int: Grant] = [:]
    private var grantNumbers: [GrantKey: Int] = [:]
    private var lastGrant = 0
    /// Consents that have ended, for credential states.
    private(set) var ended: Set<GrantKey> = []

    /// Codes, used or not, are remembered for five minutes after they expire, so that refusals can say which it was.
    var codes = ExpiringTable<TokenName, Code>(rememberingExpired: .minutes(5))
    var accessTokens = ExpiringTable<TokenName, Token>()
    /// Until revoked.
    var refreshTokens = BoundedTable<TokenName, Token>()
    /// Access tokens for `user.migration`, by team.
    var migrationTokens = ExpiringTable<TokenName, String>()

    func grantNumber(_ key: GrantKey) -> Int? { grantNumbers[key] }

    /// Begins a grant, or widens the one there is. `isFirst` says which.
    mutating func consent(
        _ key: GrantKey, client: String, scopes: Set<AppleScope>, sharesEmail: Bool
    ) -> (number: Int, isFirst: Bool) {
        if let number = grantNumbers[key] {
            grants[number]?.scopes.formUnion(scopes)
            return (number: number, isFirst: false)
        }
        lastGrant += 1
        grantNumbers[key] = lastGrant
        grants[lastGrant] = Grant(key: key, client: client, sharesEmail: sharesEmail, scopes: scopes)
        ended.remove(key)
        return (number: lastGrant, isFirst: true)
    }

    /// Ends a grant: every code and token of it stops, and the next sign-in is a first one.
    mutating func end(_ number: Int) {
        guard let grant = grants.removeValue(forKey: number) else { return }
        grantNumbers[grant.key] = nil
        ended.insert(grant.key)
        codes.removeAll { $0.grant == number }
        accessTokens.removeAll { $0.grant == number }
        refreshTokens.removeAll { $0.grant == number }
    }

    mutating func setForwarding(_ forwards: Bool, for number: Int) { grants[number]?.forwardsMail = forwards }
}

/// The scopes of Sign in with Apple. `openid` is listed in the discovery document and asks for nothing.
enum AppleScope: String, Sendable, CaseIterable {
    case name
    case email
    case openid

    /// As `ASAuthorization.Scope` calls it in a native request.
    var nativeName: String { self == .name ? "fullName" : rawValue }
}
