import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

extension Issuer {
    /// Returns the `sub` that a client gets for an account, which is public or pairwise:
    /// <https://openid.net/specs/openid-connect-core-1_0.html#SubjectIDTypes>.
    func subject(of account: Account, for client: ClientMetadata) -> String {
        let sub = account[OpenIDProfile.self].sub
        guard client.subject == .pairwise else { return sub }
        return Base64URL.encode(Digest.sha256("\(id) \(client.sector) \(sub)"))
    }

    /// Returns the claims about a person that a client gets. They come from the account, and from the seed's claims for
    /// the issuer, the granted scopes, the client and the person. Of two claims with the same name, the later in this
    /// order counts. `wishes` are the claims that the request names individually.
    func claims(
        of account: Account, for client: ClientMetadata, scopes granted: [String], wishes: Set<String> = []
    ) -> JSONObject {
        let profile = account[OpenIDProfile.self]
        var all = JSONObject(account.standardClaims.map { ($0.name, $0.value) })
        all["groups"] = profile.groups.isEmpty ? nil : .array(profile.groups.map { .string($0) })
        all["roles"] = profile.roles.isEmpty ? nil : .array(profile.roles.map { .string($0) })
        let additions =
            [claims] + granted.compactMap { scopes[$0] } + [client.claims, profile.claims.object ?? JSONObject()]
        for (name, value) in additions.flatMap(\.members) where !StandardClaims.ofTokens.contains(name) {
            all[name] = value.isNull ? nil : value
        }
        let brought = Set(granted.flatMap { scopes[$0]?.keys ?? [] }).union(wishes)
        var shown = JSONObject()
        for (name, value) in all.members {
            let scope = ["groups", "roles"].contains(name) ? name : StandardClaims.scope(of: name)
            if scope.map(granted.contains) ?? true || brought.contains(name) { shown[name] = value }
        }
        return shown
    }

    /// Returns the claims of an ID token: <https://openid.net/specs/openid-connect-core-1_0.html#IDToken>. `code` and
    /// `accessToken` are issued together with the ID token, which contains their hashes.
    func idTokenClaims(
        _ grant: OpenIDGrant, of account: Account, for client: ClientMetadata, in exchange: Exchange,
        scopes: [String]? = nil,
        nonce: String? = nil, code: String? = nil, accessToken: String? = nil
    ) -> JSONObject {
        let (algorithm, now) = (algorithm(client.idTokenAlgorithm, for: client), exchange.world.now)
        var claims = JSONObject([
            ("iss", .string(identifier(exchange))), ("sub", .string(subject(of: account, for: client))),
            ("aud", .string(client.clientID)), ("exp", .numericDate(now + policy.lifetimes.idToken)),
            ("iat", .numericDate(now)),
        ])
        claims["auth_time"] = grant.authenticatedAt.map { .numericDate($0) }
        claims["nonce"] = nonce.map { .string($0) }
        claims["acr"] = grant.acr.map { .string($0) }
        claims["sid"] = grant.session.map { .string($0) }
        claims["at_hash"] = accessToken.map { .string(algorithm.leftHalf(of: $0)) }
        claims["c_hash"] = code.map { .string(algorithm.leftHalf(of: $0)) }
        // A client without an access token has no other way to the claims of scopes: section 5.4.
        let granted = hasClaimsInIDToken || accessToken == nil && code == nil ? scopes ?? grant.scopes : []
        let wishes = Set(grant.claims.idToken.keys)
        claims.merge(self.claims(of: account, for: client, scopes: granted, wishes: wishes))
        return claims
    }

    func idToken(
        _ claims: JSONObject, for client: ClientMetadata, in exchange: Exchange
    ) throws(KeyError) -> String {
        try sign(claims, for: client, type: "JWT", with: client.idTokenAlgorithm, in: exchange)
    }

    /// Returns the access token that the client gets. If the token's database key begins with `jwtPrefix`, this is a
    /// signed JWT: <https://datatracker.ietf.org/doc/html/rfc9068>. Otherwise, the database key is the access token.
    func text(
        of token: Token<OpenIDGrant>, _ grant: OpenIDGrant, _ account: Account?, for client: ClientMetadata,
        in exchange: Exchange
    ) throws(KeyError) -> String {
        guard token.key.hasPrefix(Issuer.jwtPrefix) else { return token.key }
        let now = exchange.world.now
        var claims = description(of: token, grant, account, for: client, in: exchange)
        claims["jti"] = .string(String(token.key.dropFirst(Issuer.jwtPrefix.count)))
        claims["iat"] = .numericDate(now)
        claims["auth_time"] = grant.authenticatedAt.map { .numericDate($0) }
        claims["acr"] = grant.acr.map { .string($0) }
        if let account {
            let others = self.claims(of: account, for: client, scopes: token.details.scopes)
            for (name, value) in others.members where StandardClaims.scope(of: name) == nil { claims[name] = value }
        }
        return try sign(claims, for: client, type: "at+jwt", in: exchange)
    }

    /// Returns the members that token introspection (RFC 7662) and JWT access tokens (RFC 9068) have in common.
    func description(
        of token: Token<OpenIDGrant>, _ grant: OpenIDGrant, _ account: Account?, for client: ClientMetadata?,
        in exchange: Exchange
    ) -> JSONObject {
        let audience = token.details.audience.map { JSONValue.string($0) }
        var claims = JSONObject([("iss", .string(identifier(exchange)))])
        claims["sub"] = .string(
            account.flatMap { account in client.map { subject(of: account, for: $0) } } ?? grant.client)
        claims["aud"] = audience.count == 1 ? audience.first : audience.isEmpty ? nil : .array(audience)
        claims["client_id"] = .string(grant.client)
        let scopes = token.details.scopes
        claims["scope"] = scopes.isEmpty ? nil : .string(scopes.joined(separator: " "))
        claims["exp"] = token.expires.map { .numericDate($0) }
        claims["cnf"] = token.details.thumbprint.map { ["jkt": .string($0)] }
        claims["act"] = grant.actor
        return claims
    }

    /// Returns the algorithm named `name` if it can sign the client's tokens, or else the issuer's first algorithm that
    /// can. If no algorithm can, RS256 is returned.
    func algorithm(_ name: String?, for client: ClientMetadata) -> Algorithm {
        let usable = algorithms.filter { $0 != .hs256 || client.clientSecret != nil }
        return usable.first { $0.rawValue == name } ?? usable.first ?? .rs256
    }

    func sign(
        _ claims: JSONObject, for client: ClientMetadata, type: String, with name: String? = nil,
        in exchange: Exchange
    ) throws(KeyError) -> String {
        try exchange.mint(
            owner, claims, at: exchange.world.now, type: type, algorithm: algorithm(name, for: client),
            secret: client.clientSecret)
    }

    /// Returns the database key of an access token or a refresh token.
    func rowKey(of text: String, in exchange: Exchange) -> String {
        // The ID of a JSON Web Token isn't secret, so it can't be used as a token.
        if text.hasPrefix(Issuer.jwtPrefix) { return "" }
        guard text.contains("."), let id = signedClaims(of: text, type: "at+jwt", in: exchange)?["jti"]?.string else {
            return text
        }
        return Issuer.jwtPrefix + id
    }

    /// The prefix of the database keys of JWT access tokens. The token's `jti` follows the prefix.
    static let jwtPrefix = "jwt:"
}

// GET and POST /userinfo: https://openid.net/specs/openid-connect-core-1_0.html#UserInfo

extension Issuer {
    func userInfo(_ exchange: Exchange) throws -> Response {
        guard let presented = PresentedAccessToken.read(exchange.request, for: self) else {
            let scheme = policy.dpop == .required ? "DPoP, and a proof" : "Bearer"
            return OAuthRefusal.withoutToken(
                Diagnosis("the access token is missing: send Authorization: \(scheme)"), dpop: policy.dpop)
        }
        let key = rowKey(of: presented.text, in: exchange)
        let found = exchange.world.read { $0.working(key, .access, OpenIDGrant.self) }
        guard let (token, grant, account) = found, grant.issuer == id,
            let client = client(grant.client, in: exchange.world)
        else {
            let reason = exchange.reason(againstUsing: key, .access, OpenIDGrant.self)
            let refusal = OAuthRefusal("invalid_token", Diagnosis("the access token doesn't work: \(reason)"))
            return presented.isBound ? refusal.proofResponse : refusal.bearerResponse
        }
        do {
            let url = exchange.address.url(of: host, exchange.address.path)
            try check(presented, boundTo: token.details.thumbprint, at: url, in: exchange)
        } catch let error as OAuthRefusal { return error.proofResponse }
        guard token.details.scopes.contains("openid") else {
            let refusal = OAuthRefusal(
                "insufficient_scope",
                Diagnosis("the access token was granted without the scope openid: request it at the sign-in"))
            return presented.isBound ? refusal.proofResponse : refusal.bearerResponse
        }
        var body = JSONObject([("sub", .string(subject(of: account, for: client)))])
        let wishes = Set(grant.claims.userInfo.keys)
        body.merge(claims(of: account, for: client, scopes: token.details.scopes, wishes: wishes))
        guard let name = client.userInfoAlgorithm else { return OAuthRefusal.json(.object(exchange.claims(body))) }
        (body["iss"], body["aud"]) = (.string(identifier(exchange)), .string(client.clientID))
        do throws(KeyError) {
            let text = try sign(body, for: client, type: "JWT", with: name, in: exchange)
            return Response(
                status: 200, contentType: "application/jwt", headers: [(name: "Cache-Control", value: "no-store")],
                body: text)
        } catch {
            return OAuthRefusal(
                "server_error", Diagnosis("the userinfo response can't be signed: \(error.description)")
            ).response
        }
    }
}
