import OAuth
import EmulatorCore

/// What Google remembers in one world.
struct GoogleState: WorldSlot, Sendable {
    /// What a person granted to a client.
    struct Grant: Sendable {
        let account: String
        let client: String
        let scopes: [String]
        var nonce: String?
    }

    struct Code: Sendable {
        let grant: Grant
        let redirectURI: String
        let isOffline: Bool
        let challenge: CodeChallenge?
        /// The exchange that redeemed it.
        var usedBy: String?
    }

    private struct GrantKey: Hashable {
        let account: String
        let client: String
    }

    var codes = ExpiringTable<String, Code>(rememberingExpired: .minutes(10))
    var accessTokens = ExpiringTable<String, Grant>()
    private(set) var refreshTokens = BoundedTable<String, Grant>()
    private var consents: [GrantKey: Set<String>] = [:]

    /// Whether the person has granted all of `scopes` to the client before.
    func hasConsented(_ account: String, _ client: String, _ scopes: [String]) -> Bool {
        consents[GrantKey(account: account, client: client)].map { $0.isSuperset(of: scopes) } ?? false
    }

    mutating func consent(_ grant: Grant) {
        consents[GrantKey(account: grant.account, client: grant.client), default: []].formUnion(grant.scopes)
    }

    mutating func keep(_ grant: Grant, as refreshToken: String) { refreshTokens[refreshToken] = grant }

    /// Ends all that the token's person granted to its client; `false` for an unknown token.
    mutating func revoke(token: String) -> Bool {
        guard let grant = accessTokens[token]?.value ?? refreshTokens[token] else { return false }
        revoke { $0.account == grant.account && $0.client == grant.client }
        return true
    }

    mutating func revoke(account: String) { revoke { $0.account == account } }

    private mutating func revoke(where isMeant: (Grant) -> Bool) {
        accessTokens.removeAll(where: isMeant)
        codes.removeAll { isMeant($0.grant) }
        refreshTokens.removeAll(where: isMeant)
        consents = consents.filter { !isMeant(Grant(account: $0.key.account, client: $0.key.client, scopes: [])) }
    }
}
