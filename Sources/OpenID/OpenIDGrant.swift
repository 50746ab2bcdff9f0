import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// The grant of one authorization. Its code and tokens end with it.
struct OpenIDGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        /// The thumbprint of the key in the authorization request (RFC 9449 section 10).
        let thumbprint: String?
    }

    struct TokenDetails: RotatingDetails {
        let scopes: [String]
        let audience: [String]
        /// The thumbprint of the key to which the token is bound.
        var thumbprint: String?
        /// The ID of the exchange that has used the refresh token.
        var usedBy: String?
    }

    static let tables = GrantTables<OpenIDGrant>(
        "openid", rememberingTokens: .hours(1), indexes: [bySession], grantsEnd: { $0.expires })
    static let bySession = Index<OpenIDGrant, String>("session") { $0.session }

    let key: String
    let issuer: String
    let client: String
    /// The account; empty if a client acts for itself.
    let account: String
    let scopes: [String]
    var nonce, acr: String?
    /// The `sid` of the browser's session in which it began, if there was one.
    var session: String?
    var authenticatedAt: Instant?
    var claims = ClaimsParameter()
    var audience: [String] = []
    /// The actor who acts for the person (RFC 8693 section 4.1).
    var actor: JSONValue?
    let expires: Instant
}

extension Transaction {
    mutating func makeGrant(
        _ client: ClientMetadata, at issuer: Issuer, account: String, scopes: [String],
        change: (inout OpenIDGrant) -> Void = { _ in }
    ) -> OpenIDGrant {
        let lifetime = max(
            issuer.policy.lifetimes.refreshToken, issuer.policy.lifetimes.accessToken + issuer.policy.lifetimes.code)
        var grant = OpenIDGrant(
            key: Hex.encode(random.bytes(16)), issuer: issuer.id, client: client.clientID, account: account,
            scopes: scopes,
            expires: now + lifetime)
        change(&grant)
        put(grant)
        return grant
    }

    /// Stores an access token. A JSON Web Token is stored by its `jti`, and signed later.
    mutating func makeAccessToken(
        _ grant: OpenIDGrant, for client: ClientMetadata, at issuer: Issuer, scopes: [String]? = nil,
        audience: [String] = [], asJWT: Bool = false, boundTo thumbprint: String? = nil
    ) -> Token<OpenIDGrant> {
        let audience = [audience, grant.audience, client.audience, [client.clientID]].first { !$0.isEmpty } ?? []
        let token = Token<OpenIDGrant>(
            (asJWT || client.accessToken == .jwt ? Issuer.jwtPrefix : "") + Base64URL.encode(random.bytes(32)), .access,
            grant: grant.key, client: issuer.key(of: client),
            expires: now + issuer.policy.lifetimes.accessToken,
            details: OpenIDGrant.TokenDetails(
                scopes: scopes ?? grant.scopes, audience: audience, thumbprint: thumbprint))
        put(token)
        return token
    }

    mutating func makeCode(
        _ grant: OpenIDGrant, _ request: RequestedAuthorization, at issuer: Issuer, _ exchange: Exchange
    )
        -> String
    {
        let text = Base64URL.encode(random.bytes(32))
        put(
            AuthorizationCode<OpenIDGrant>(
                text, grant: grant.key, client: issuer.key(of: request.client), redirectURI: request.redirectURI,
                challenge: request.parameters.challenge, expires: now + issuer.policy.lifetimes.code,
                usedBy: exchange.spentBy,
                // A thumbprint has 43 characters. A longer text can't match any key, so it may be cut.
                details: OpenIDGrant.CodeDetails(
                    thumbprint: issuer.policy.dpop == .off
                        ? nil : request.fields["dpop_jkt"].map { String($0.prefix(64)) })))
        return text
    }

    /// Makes a refresh token. That of a public client is bound to the client's key:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-5>.
    mutating func makeRefreshToken(
        _ grant: OpenIDGrant, for client: ClientMetadata, at issuer: Issuer, boundTo thumbprint: String? = nil
    ) -> String {
        let text = Base64URL.encode(random.bytes(48))
        put(
            Token<OpenIDGrant>(
                text, .refresh, grant: grant.key, client: issuer.key(of: client), expires: grant.expires,
                details: OpenIDGrant.TokenDetails(
                    scopes: grant.scopes, audience: [], thumbprint: client.isConfidential ? nil : thumbprint)))
        return text
    }
}
