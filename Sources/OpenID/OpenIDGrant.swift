import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// The grant that results from one authorization. When the grant ends, its code and tokens end too.
struct OpenIDGrant: OAuthGrant {
    struct CodeDetails: Codable, Sendable {
        /// The thumbprint of the DPoP key that the authorization request names (RFC 9449 section 10).
        let thumbprint: String?
    }

    struct TokenDetails: RotatingDetails {
        let scopes: [String]
        let audience: [String]
        /// The thumbprint of the key to which the token is bound; `nil` for a bearer token.
        var thumbprint: String?
        /// The ID of the HTTP request that has used up the refresh token; `nil` for a token that isn't used up.
        var usedBy: String?
    }

    static let tables = GrantTables<OpenIDGrant>(
        "openid", rememberingTokens: .hours(1), indexes: [bySession], grantsEnd: { $0.expires })
    static let bySession = Index<OpenIDGrant, String>("session") { $0.session }

    let key: String
    let issuer: String
    let client: String
    /// The ID of the account that gave the grant; empty if the client acts for itself.
    let account: String
    let scopes: [String]
    var nonce, acr: String?
    /// The `sid` of the browser session in which the grant was given, if there was one.
    var session: String?
    var authenticatedAt: Instant?
    var claims = ClaimsParameter()
    var audience: [String] = []
    /// The actor who acts for the person, the claim `act` (RFC 8693 section 4.1).
    var actor: JSONValue?
    let expires: Instant

    var size: Int {
        (nonce?.utf8.count ?? 0) + (acr?.utf8.count ?? 0) + claims.size
            + (scopes + audience).reduce(0) { $0 + $1.utf8.count }
    }

    static func size(ofToken details: TokenDetails) -> Int {
        (details.scopes + details.audience).reduce(0) { $0 + $1.utf8.count }
    }
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

    /// Makes and stores an access token. A JWT access token is stored by its `jti`, and is signed later.
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

    /// Makes a refresh token. The refresh token of a public client is bound to the client's DPoP key:
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

// POST /_understudy/v1/openid/revocations: people withdraw their consent, at every issuer that has the client.

extension OpenIDProvider {
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        if try hasForgottenConsent(order, exchange) { return ControlAnswer.ok(["revoked": true, "grants": 0]) }
        let noClient: (String) -> String? = { id in
            takesUnknown || issuers.contains { $0.client(id, in: exchange.world) != nil }
                ? nil : "no issuer has a client \(Diagnosis.quote(id))"
        }
        return try exchange.revoke(OpenIDGrant.self, order, noClient: noClient) { grant in
            let issuer = issuer(grant.issuer, in: exchange.world)
            let owner = issuer?.client(grant.client, in: exchange.world).flatMap { issuer?.key(of: $0) }
            let reason = exchange.cause("the person removed \(Diagnosis.quote(grant.client))")
            return try exchange.world.update { tables in
                guard tables.find(OpenIDGrant.self, grant.key) != nil else { return false }
                tables.end(grant, because: reason)
                if let owner { tables.forgetConsent(of: grant.account, to: owner) }
                return true
            }
        }
    }

    /// Removes a person's consent to a client if the client has no grant from this person. Returns whether there was
    /// such a consent.
    private func hasForgottenConsent(_ order: RevocationOrder, _ exchange: Exchange) throws -> Bool {
        guard let account = order.account, let id = order.client else { return false }
        let owners = issuers.compactMap { issuer in issuer.client(id, in: exchange.world).map { issuer.key(of: $0) } }
        return try exchange.world.update { tables in
            guard !tables.grants(OpenIDGrant.self, of: account).contains(where: { $0.client == id }) else {
                return false
            }
            var isForgotten = false
            for owner in owners where tables.forgetConsent(of: account, to: owner) { isForgotten = true }
            return isForgotten
        }
    }
}

extension Issuer {
    /// Handles POST /introspect: <https://datatracker.ietf.org/doc/html/rfc7662>.
    func introspect(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let caller = try authenticate(exchange, form)
        guard caller.isConfidential else {
            throw OAuthRefusal("unauthorized_client", Diagnosis("only clients that authenticate may introspect tokens"))
        }
        let key = rowKey(of: try form.required("token"), in: exchange)
        let (token, grant, account) = exchange.world.read { tables in
            let token = tables.find(Token<OpenIDGrant>.self, key).flatMap { token in
                token.hasExpired(at: tables.now) || token.details.usedBy != nil ? nil : token
            }
            let grant = token.flatMap { tables.find(OpenIDGrant.self, $0.grant) }
            return (token, grant, grant.flatMap { tables.account($0.account) })
        }
        guard let token, let grant, grant.issuer == id, account != nil || grant.account.isEmpty else {
            return OAuthRefusal.json(["active": false])
        }
        // A client's tokens end with its registration: RFC 7592 section 2.3.
        guard let client = client(grant.client, in: exchange.world) else {
            return OAuthRefusal.json(["active": false])
        }
        var body = JSONObject([("active", true)])
        body.merge(description(of: token, grant, account, for: client, in: exchange))
        body["username"] = account.map { .string($0.id) }
        body["token_type"] = token.kind == .refresh ? nil : token.details.thumbprint == nil ? "Bearer" : "DPoP"
        return OAuthRefusal.json(.object(body))
    }

    /// Handles POST /revoke: <https://datatracker.ietf.org/doc/html/rfc7009>. Revoking a refresh token ends its whole
    /// grant.
    func revoke(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let caller = try authenticate(exchange, form)
        let key = rowKey(of: try form.required("token"), in: exchange)
        let reason = exchange.cause("the client revoked it")
        let isKnown = try exchange.world.update { tables -> Bool in
            // The answer is the same for a token of another issuer: section 2.2.
            guard let token = tables.find(Token<OpenIDGrant>.self, key), token.client.hasPrefix("\(realm) ") else {
                return false
            }
            let sender = self.key(of: caller)
            guard token.client == sender else {
                throw OAuthRefusal(
                    "unauthorized_client",
                    Diagnosis(
                        "the token was issued to \(clientName(ofKey: token.client)), not to "
                            + "\(clientName(ofKey: sender)) that sent it"))
            }
            tables.remove(Token<OpenIDGrant>.self, key)
            let grant = tables.find(OpenIDGrant.self, token.grant)
            if token.kind == .refresh, let grant { tables.end(grant, because: reason) }
            tables.put(EndedCredential<OpenIDGrant>(key, of: grant?.account, because: reason))
            return true
        }
        let done = Response(status: 200, headers: [(name: "Cache-Control", value: "no-store")])
        return isKnown
            ? done
            : done.addingNote(
                Note("nothing was revoked, though the answer is 200: this issuer knows no such token now"))
    }
}
