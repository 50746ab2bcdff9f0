import OAuth
import EmulatorCore
import Time

/// A person's consent to an app group of a team.
struct AppleGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        let nonce: String?
        let authenticatedAt: Instant
    }

    struct TokenDetails: Codable, Sendable {
        let authenticatedAt: Instant
    }

    static let tables = GrantTables<AppleGrant>(
        "apple", rememberingCodes: .minutes(5), indexes: [bySubject, byRelayAddress])
    /// The index by the person's `sub` at the team's clients.
    static let bySubject = Index<AppleGrant, String>("subject") {
        AppleIdentifiers.subject(account: $0.account, team: $0.team)
    }
    static let byRelayAddress = Index<AppleGrant, String>("relayAddress") {
        $0.sharesEmail ? nil : AppleIdentifiers.relayAddress(account: $0.account, team: $0.team)
    }

    let account: String
    let team: String
    /// The primary App ID of the group.
    let group: String
    /// The client at which the person first consented.
    let client: String
    /// The time of the first consent.
    let since: Instant
    var sharesEmail: Bool
    var scopes: Set<AppleScope>
    /// Whether mail to the relay address is forwarded.
    var forwardsMail = true

    var key: String { AppleGrant.key(account, team: team, group: group) }

    static func key(_ account: String, team: String, group: String) -> String { "\(account) \(team) \(group)" }

    func email(of account: Account) -> String {
        sharesEmail ? account.email : AppleIdentifiers.relayAddress(account: account.id, team: team)
    }
}

/// A consent that has ended, for credential states.
struct EndedGrant: Row {
    static let table = Table<EndedGrant>("apple.endedGrant", indexes: [bySubject, byRelayAddress])
    static let bySubject = Index<EndedGrant, String>("subject") { $0.subject }
    static let byRelayAddress = Index<EndedGrant, String>("relayAddress") { $0.relayAddress }

    /// The key of the ended grant.
    let key: String
    let account: String
    let subject: String
    /// The person's relay address; `nil` if the person shared the real one.
    let relayAddress: String?

    init(_ grant: AppleGrant) {
        key = grant.key
        account = grant.account
        subject = AppleIdentifiers.subject(account: grant.account, team: grant.team)
        relayAddress =
            grant.sharesEmail ? nil : AppleIdentifiers.relayAddress(account: grant.account, team: grant.team)
    }
}

/// An access token for `user.migration`, of a team.
struct MigrationToken: Row {
    static let table = Table<MigrationToken>("apple.migrationToken") { $0.expires }

    let key: String
    let team: String
    let expires: Instant
}

extension TableReading where Self: ~Copyable {
    /// Returns a person's grant to the client's app group.
    func grant(_ account: String, to client: AppleDirectory.Client) -> AppleGrant? {
        find(AppleGrant.self, AppleGrant.key(account, team: client.team, group: client.group))
    }
}

extension Transaction {
    /// Makes a grant, or extends the existing one. `isFirst` is `true` if it is new.
    mutating func consent(
        _ account: String, to client: AppleDirectory.Client, scopes: Set<AppleScope>, sharesEmail: Bool
    ) -> (grant: AppleGrant, isFirst: Bool) {
        guard var grant = grant(account, to: client) else {
            let grant = AppleGrant(
                account: account, team: client.team, group: client.group, client: client.id, since: now,
                sharesEmail: sharesEmail, scopes: scopes)
            put(grant)
            remove(EndedGrant.self, grant.key)
            return (grant, true)
        }
        if !scopes.isSubset(of: grant.scopes) {
            grant.scopes.formUnion(scopes)
            put(grant)
        }
        return (grant, false)
    }

    /// Ends a grant: all of its codes and tokens stop working, and the next sign-in is a first one. Returns `false` if
    /// it had ended before.
    @discardableResult
    mutating func revoke(_ grant: AppleGrant, because reason: String) -> Bool {
        guard find(AppleGrant.self, grant.key) != nil else { return false }
        end(grant, because: reason)
        put(EndedGrant(grant))
        return true
    }
}

/// The scopes of Sign in with Apple. `openid` is listed in the discovery document and asks for nothing.
enum AppleScope: String, Codable, Sendable, CaseIterable {
    case name
    case email
    case openid

    /// The name of the scope in `ASAuthorization.Scope`, for native requests.
    var nativeName: String { self == .name ? "fullName" : rawValue }
}
