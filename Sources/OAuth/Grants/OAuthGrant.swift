import EmulatorCore
import Time
import Worlds

/// A grant to a client by a person, or by the client to itself. A provider remembers it until it is revoked or its time
/// is over. Each provider has its own type of grants. This type also says which additional data the provider stores
/// with a code or a token.
package protocol OAuthGrant: Row where Key == String {
    associatedtype CodeDetails: Codable & Sendable
    associatedtype TokenDetails: Codable & Sendable

    /// The account of the person who gave the grant; empty if the client acts for itself.
    var account: String { get }
    /// The client to which the grant was given.
    var client: String { get }
    static var tables: GrantTables<Self> { get }

    /// The number of bytes of those texts in the grant that came from requests, such as a nonce.
    var size: Int { get }
    /// Returns the number of bytes of those texts in a code's details that came from the authorization request.
    static func size(ofCode details: CodeDetails) -> Int
    /// Returns the number of bytes of those texts in a token's details that came from requests.
    static func size(ofToken details: TokenDetails) -> Int
}

extension OAuthGrant {
    package static var table: Table<Self> { tables.grants }

    package var size: Int { 0 }
    package static func size(ofCode details: CodeDetails) -> Int { 0 }
    package static func size(ofToken details: TokenDetails) -> Int { 0 }
}

/// The database tables of one provider's grants, codes and tokens.
package struct GrantTables<Grant: OAuthGrant>: Sendable {
    /// The index of people's grants to clients, by the account of the person.
    package let byAccount: Index<Grant, String>
    let grants: Table<Grant>
    let codes: Table<AuthorizationCode<Grant>>
    let codesByGrant: Index<AuthorizationCode<Grant>, String>
    let tokens: Table<Token<Grant>>
    let tokensByGrant: Index<Token<Grant>, String>
    let ended: Table<EndedCredential<Grant>>

    /// Makes the database tables of a provider's grants, codes and tokens. Expired codes are kept for `codeMemory`, and
    /// expired tokens for `tokenMemory`, so that an error message can say that they have expired. Grants are kept until
    /// they are revoked, or until the time that `grantsEnd` returns.
    package init(
        _ provider: String, rememberingCodes codeMemory: TimeSpan = .minutes(10),
        rememberingTokens tokenMemory: TimeSpan = .zero, indexes: [AnyIndex<Grant>] = [],
        tokenIndexes: [AnyIndex<Token<Grant>>] = [], grantsEnd: (@Sendable (Grant) -> Instant?)? = nil
    ) {
        byAccount = Index("account") { $0.account }
        let bytes = 256 << 20
        grants = Table(
            "\(provider).grant", byteLimit: bytes, indexes: [byAccount] + indexes, droppedAt: grantsEnd,
            size: { $0.size })
        codesByGrant = Index("grant") { $0.grant }
        codes = Table(
            "\(provider).code", byteLimit: bytes, indexes: [codesByGrant], droppedAt: { $0.expires + codeMemory },
            size: { ($0.redirectURI?.utf8.count ?? 0) + Grant.size(ofCode: $0.details) })
        tokensByGrant = Index("grant") { $0.grant }
        ended = Table("\(provider).ended", limit: 1_000)
        tokens = Table(
            "\(provider).token", limit: 1 << 21, byteLimit: bytes, indexes: [tokensByGrant] + tokenIndexes,
            droppedAt: { token in token.expires.map { $0 + tokenMemory } }, size: { Grant.size(ofToken: $0.details) })
    }
}

/// An authorization code: <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2>.
package struct AuthorizationCode<Grant: OAuthGrant>: Row {
    package static var table: Table<Self> { Grant.tables.codes }

    /// The text of the authorization code.
    package let key: String
    /// The key of the grant to which the authorization code belongs.
    package let grant: String
    /// The client to which the authorization code was issued.
    package let client: String
    /// The redirect URI of the authorization request; `nil` if the request had none.
    package let redirectURI: String?
    package let challenge: CodeChallenge?
    package let expires: Instant
    /// The ID of the HTTP request that has redeemed the authorization code; `nil` if the code is unused.
    package var usedBy: String?
    package let details: Grant.CodeDetails

    package init(
        _ code: String, grant: String, client: String, redirectURI: String?, challenge: CodeChallenge? = nil,
        expires: Instant, usedBy: String?, details: Grant.CodeDetails
    ) {
        key = code
        self.grant = grant
        self.client = client
        self.redirectURI = redirectURI
        self.challenge = challenge
        self.expires = expires
        self.usedBy = usedBy
        self.details = details
    }
}

/// An access token or a refresh token.
package struct Token<Grant: OAuthGrant>: Row {
    package enum Kind: String, Codable, Sendable {
        case access
        case refresh
    }

    package static var table: Table<Self> { Grant.tables.tokens }

    /// The text of the token.
    package let key: String
    package let kind: Kind
    /// The key of the grant to which the token belongs.
    package let grant: String
    /// The client to which the token was issued.
    package let client: String
    /// The time at which the token expires; `nil` if it lasts until it is revoked.
    package let expires: Instant?
    package var details: Grant.TokenDetails

    package init(
        _ token: String, _ kind: Kind, grant: String, client: String, expires: Instant?, details: Grant.TokenDetails
    ) {
        key = token
        self.kind = kind
        self.grant = grant
        self.client = client
        self.expires = expires
        self.details = details
    }

    package func hasExpired(at now: Instant) -> Bool { expires.map { $0 <= now } ?? false }
}

extension TableReading where Self: ~Copyable {
    package func grants<Grant: OAuthGrant>(_ type: Grant.Type, of account: String) -> [Grant] {
        rows(Grant.tables.byAccount, account)
    }

    /// Returns the tokens of a grant, oldest first.
    package func tokens<Grant: OAuthGrant>(of grant: Grant) -> [Token<Grant>] {
        rows(Grant.tables.tokensByGrant, grant.key)
    }

    /// Returns why a refused token doesn't work, as a clause for an error message.
    package func reason<Grant: OAuthGrant>(
        againstUsing token: String, _ kind: Token<Grant>.Kind, _ type: Grant.Type
    ) -> String {
        guard !token.isEmpty else { return "there is none" }
        guard let found = find(Token<Grant>.self, token) else {
            return find(EndedCredential<Grant>.self, token)?.reason
                ?? "this test world has issued no such token, or doesn't know it any more (after a reset, for example)"
        }
        if found.kind != kind { return "it is \(found.kind == .access ? "an access" : "a refresh") token" }
        if let expires = found.expires, expires <= now { return "it expired \((now - expires).inWords) ago" }
        guard let grant = find(Grant.self, found.grant) else { return "its grant was revoked" }
        return grant.account.isEmpty ? "it was issued to the client itself, and for no person" : "the account is gone"
    }

    /// Returns a valid token with its grant and its account; `nil` if the token is unknown, expired or otherwise
    /// unusable.
    package func working<Grant: OAuthGrant>(
        _ token: String, _ kind: Token<Grant>.Kind, _ type: Grant.Type
    ) -> (token: Token<Grant>, grant: Grant, account: Account)? {
        guard let token = find(Token<Grant>.self, token), token.kind == kind, !token.hasExpired(at: now),
            let grant = find(Grant.self, token.grant), let account = account(grant.account)
        else { return nil }
        return (token, grant, account)
    }
}

extension Transaction {
    /// Ends a grant with all of its codes and tokens, and returns the tokens. If a client sends one of these codes or
    /// tokens later, the error message gives `reason`.
    @discardableResult
    package mutating func end<Grant: OAuthGrant>(_ grant: Grant, because reason: String) -> [Token<Grant>] {
        endCodes(of: grant, because: reason)
        remove(Grant.self, grant.key)
        return endTokens(of: grant, because: reason)
    }

    /// Ends all tokens of a grant without ending the grant, and returns the ended tokens.
    @discardableResult
    package mutating func endTokens<Grant: OAuthGrant>(of grant: Grant, because reason: String) -> [Token<Grant>] {
        let ended = remove(Grant.tables.tokensByGrant, grant.key)
        for token in ended { put(EndedCredential<Grant>(token.key, of: grant.account, because: reason)) }
        return ended
    }

    package mutating func endCodes<Grant: OAuthGrant>(of grant: Grant, because reason: String) {
        for code in remove(Grant.tables.codesByGrant, grant.key) {
            put(EndedCredential<Grant>(code.key, of: grant.account, because: reason))
        }
    }

    /// Ends all grants that a person has given to the clients of a provider.
    package mutating func endGrants<Grant: OAuthGrant>(
        _ type: Grant.Type, of account: String, because reason: String
    ) {
        for grant in grants(type, of: account) { end(grant, because: reason) }
    }
}

/// The scopes to which a person has consented for a client, at providers that store consents separately from grants.
package struct Consent: Row {
    package static let table = Table<Consent>(
        "oauth.consent", byteLimit: 64 << 20, indexes: [byAccount],
        size: { consent in consent.owner.utf8.count + consent.scopes.reduce(0) { $0 + $1.utf8.count + linkSize } })
    static let byAccount = Index<Consent, String>("account") { $0.account }

    /// The approximate number of bytes that an element of a set takes beside its text.
    private static let linkSize = 32

    /// The greatest number of scopes in a consent. If a new consent would exceed it, only the newly consented scopes
    /// are kept.
    static let limit = 500

    /// The client to which the person has consented: its issuer and its client ID.
    package let owner: String
    let account: String
    package var scopes: Set<String>

    package var key: String { Consent.key(account, to: owner) }

    static func key(_ account: String, to owner: String) -> String { "\(account) \(owner)" }
}

extension TableReading where Self: ~Copyable {
    /// Whether the person has consented to all of `scopes` for a client. `owner` is the client's issuer and client ID.
    package func hasConsented(_ account: String, to owner: String, scopes: [String]) -> Bool {
        find(Consent.self, Consent.key(account, to: owner))?.scopes.isSuperset(of: scopes) ?? false
    }

    /// Returns a person's consents for clients, at most `limit`, the latest first.
    package func consents(of account: String, limit: Int) -> [Consent] {
        newest(Consent.byAccount, account, limit: limit)
    }
}

extension Transaction {
    package mutating func consent(_ account: String, to owner: String, scopes: [String]) {
        guard !hasConsented(account, to: owner, scopes: scopes) else { return }
        let known = find(Consent.self, Consent.key(account, to: owner))
        let all = (known?.scopes ?? []).union(scopes)
        put(Consent(owner: owner, account: account, scopes: all.count > Consent.limit ? Set(scopes) : all))
    }

    /// Removes a person's consent for a client, so that the person is asked again at the next sign-in. Returns `false`
    /// if there was no consent.
    @discardableResult
    package mutating func forgetConsent(of account: String, to owner: String) -> Bool {
        pop(Consent.self, Consent.key(account, to: owner)) != nil
    }
}

extension World {
    /// Returns the client to which a token of a provider was issued; `nil` for a text that isn't such a token.
    package func client<Grant: OAuthGrant>(ofToken text: String, _ type: Grant.Type) -> String? {
        read { $0.find(Token<Grant>.self, text)?.client }
    }

    /// Returns the reason why a code or a token of a provider stopped working before its expiry, and the account to
    /// which it belonged. Returns `nil` if no such reason is known.
    package func ended<Grant: OAuthGrant>(_ text: String, _ type: Grant.Type) -> EndedValue? {
        read { $0.find(EndedCredential<Grant>.self, text) }.map { EndedValue(reason: $0.reason, account: $0.account) }
    }

    /// Describes a code or a token of a provider; `nil` if it was never issued or is forgotten. The client ID is the
    /// one that `client` returns for the grant, or else the one stored with the code or token.
    package func issued<Grant: OAuthGrant>(
        _ text: String, _ type: Grant.Type, client: @Sendable (Grant) -> String? = { _ in nil }
    ) -> IssuedValue? {
        read { tables in
            if let code = tables.find(AuthorizationCode<Grant>.self, text) {
                let grant = tables.find(Grant.self, code.grant)
                return IssuedValue(
                    .code, client: grant.flatMap(client) ?? code.client, account: grant?.account ?? "",
                    redirectURI: code.redirectURI, hasChallenge: code.challenge != nil, expires: code.expires,
                    usedBy: code.usedBy)
            }
            guard let token = tables.find(Token<Grant>.self, text) else { return nil }
            let grant = tables.find(Grant.self, token.grant)
            return IssuedValue(
                token.kind == .access ? .accessToken : .refreshToken, client: grant.flatMap(client) ?? token.client,
                account: grant?.account ?? "", expires: token.expires)
        }
    }
}

extension OAuthGrant {
    /// The database row types of a provider's grants, codes and tokens.
    package static var rows: [any Row.Type] {
        [Self.self, AuthorizationCode<Self>.self, Token<Self>.self, EndedCredential<Self>.self]
    }
}
