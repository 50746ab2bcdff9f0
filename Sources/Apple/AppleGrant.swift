import EmulatorCore
import HTTPServer
import JOSE
import OAuth
import Time
import Worlds

/// A person's consent to an app group. An app group is the apps and services of an Apple developer team that share a
/// primary App ID.
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
    /// The index that finds a consent by the person's `sub`, which is the same for all clients of a developer team.
    static let bySubject = Index<AppleGrant, String>("subject") {
        AppleIdentifiers.subject(account: $0.account, team: $0.team)
    }
    static let byRelayAddress = Index<AppleGrant, String>("relayAddress") {
        $0.sharesEmail ? nil : AppleIdentifiers.relayAddress(account: $0.account, team: $0.team)
    }

    static func size(ofCode details: CodeDetails) -> Int { details.nonce?.utf8.count ?? 0 }

    let account: String
    let team: String
    /// The primary App ID of the app group to which the person has consented.
    let group: String
    /// The ID of the client at which the person first consented.
    let client: String
    /// The time at which the person first consented to the app group.
    let since: Instant
    var sharesEmail: Bool
    var scopes: Set<AppleScope>
    /// Whether Apple's private email relay forwards mail from the app to the person.
    var forwardsMail = true

    var key: String { AppleGrant.key(account, team: team, group: group) }

    static func key(_ account: String, team: String, group: String) -> String { "\(account) \(team) \(group)" }

    func email(of account: Account) -> String {
        sharesEmail ? account.email : AppleIdentifiers.relayAddress(account: account.id, team: team)
    }
}

/// A person's former consent to an app group. It is kept so that the credential state and the former relay address can
/// still be looked up.
struct EndedGrant: Row {
    static let table = Table<EndedGrant>("apple.endedGrant", indexes: [bySubject, byRelayAddress])
    static let bySubject = Index<EndedGrant, String>("subject") { $0.subject }
    static let byRelayAddress = Index<EndedGrant, String>("relayAddress") { $0.relayAddress }

    /// The consent's database key. It doesn't change when the consent ends.
    let key: String
    let account: String
    let subject: String
    /// The relay address that hides the person's real address from the developer team; `nil` if the person shared the
    /// real address.
    let relayAddress: String?

    init(_ grant: AppleGrant) {
        key = grant.key
        account = grant.account
        subject = AppleIdentifiers.subject(account: grant.account, team: grant.team)
        relayAddress =
            grant.sharesEmail ? nil : AppleIdentifiers.relayAddress(account: grant.account, team: grant.team)
    }
}

/// An access token of a developer team for the scope `user.migration`, by which users are moved between teams.
struct MigrationToken: Row {
    static let table = Table<MigrationToken>("apple.migrationToken") { $0.expires }

    let key: String
    let team: String
    let expires: Instant
}

extension TableReading where Self: ~Copyable {
    /// Returns the consent that a person has given to the client's app group.
    func grant(_ account: String, to client: AppleDirectory.Client) -> AppleGrant? {
        find(AppleGrant.self, AppleGrant.key(account, team: client.team, group: client.group))
    }
}

extension Transaction {
    /// Records a person's consent to the client's app group, or adds scopes to the existing consent. `isFirst` is
    /// `true` for the first consent.
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

    /// Ends a person's consent to an app group. All codes and tokens of this consent stop working, and the person's
    /// next sign-in is treated as the first. Returns `false` if the consent had ended before.
    @discardableResult
    mutating func revoke(_ grant: AppleGrant, because reason: String) -> Bool {
        guard find(AppleGrant.self, grant.key) != nil else { return false }
        end(grant, because: reason)
        put(EndedGrant(grant))
        return true
    }
}

/// The scopes of Sign in with Apple. `openid` is listed in the discovery document and grants nothing.
enum AppleScope: String, Codable, Sendable, CaseIterable {
    case name
    case email
    case openid

    /// The name of the scope in `ASAuthorization.Scope`, which native apps use.
    var nativeName: String { self == .name ? "fullName" : rawValue }
}

// POST /_understudy/v1/apple/revocations: people stop using Sign in with Apple for an app, in their settings.
// https://support.apple.com/102571

extension AppleProvider {
    /// Ends the consents that a test asks to revoke, and notifies the servers of the apps' developer teams in the
    /// background. If the test names a client, the consents to the client's whole app group end.
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        try exchange.revoke(
            AppleGrant.self, order,
            noClient: { id in
                directory.clients[id] == nil
                    ? "no App ID or Services ID \(Diagnosis.quote(id)) is seeded\(directory.hint(for: id))" : nil
            },
            isOf: { grant, id in
                guard let client = directory.clients[id] else { return false }
                return grant.team == client.team && grant.group == client.group
            }
        ) { grant in
            try endGrant(
                grant, in: exchange, by: grant.client,
                because: exchange.cause(
                    "the user removed the app \(Diagnosis.quote(grant.client)) from the Apple account"))
        }
    }
}

// POST /auth/revoke
//
// Quirks: the answer is 200 with an empty body, even if a token is already revoked or never existed. The whole grant
// ends. A code can't be revoked: redeem it first.

extension AppleProvider {
    func revoke(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        do {
            let client = try authenticate(exchange, form)
            guard let text = form["token"], !text.isEmpty else {
                throw AppleError(
                    .invalidRequest, nil, Diagnosis("token is missing: send an access token or a refresh token"))
            }
            let done = Response(status: 200)
            guard let grant = grant(of: text, client, exchange.world) else {
                let what = AppleToken.describe(text)
                let advice =
                    "nothing was revoked, though Apple answers 200: send a current access_token or refresh_token of this client_id"
                return done.addingNote(Note(Diagnosis(received: what, advice)))
            }
            try endGrant(
                grant, in: exchange, by: client.id, because: exchange.cause("the app revoked the user's grant"))
            return done
        } catch let error as AppleError {
            return error.jsonResponse
        }
    }

    /// Returns the consent for which Apple issued a token; `nil` if the token isn't valid, or was issued to a different
    /// client than the one that sends it. The request's `token_type_hint` isn't needed, because access tokens and
    /// refresh tokens are in the same table.
    private func grant(of text: String, _ client: AppleDirectory.Client, _ world: World) -> AppleGrant? {
        world.read { tables in
            guard let token = tables.find(Token<AppleGrant>.self, text), token.client == client.id,
                !token.hasExpired(at: tables.now)
            else { return nil }
            return tables.find(AppleGrant.self, token.grant)
        }
    }

    /// Ends a person's consent, and notifies the server of the app's developer team in the background. Returns `false`
    /// if the consent had already ended.
    @discardableResult
    func endGrant(_ grant: AppleGrant, in exchange: Exchange, by client: String, because reason: String) throws -> Bool
    {
        guard try exchange.world.update({ $0.revoke(grant, because: reason) }) else { return false }
        let event = AppleEvent(kind: .consentRevoked, account: grant.account, client: client, grant: grant)
        try sendNotification(of: event, in: exchange)
        return true
    }
}
