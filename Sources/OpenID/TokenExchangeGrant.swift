import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// https://datatracker.ietf.org/doc/html/rfc8693

extension Issuer {
    /// The person and the scopes of a token.
    struct Party: Sendable {
        let account: Account
        let client: ClientMetadata
        let scopes: [String]
        let grant: OpenIDGrant?
        /// The time of the sign-in. `acr` says how it was done.
        let authenticatedAt: Instant?
        let acr: String?
    }

    /// Exchanges a token of this issuer for one of the client's own, with the same scopes or fewer.
    func exchangeToken(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let wanted = try TokenExchange(form)
        let subject = try party(of: wanted.subject, "subject_token", client, exchange)
        let actor = try wanted.actor.map { token throws(OAuthRefusal) in
            try party(of: token, "actor_token", client, exchange)
        }
        let granted = try wanted.scopes(upTo: subject.scopes.filter { client.scopes?.contains($0) ?? true })
        let act = try actor.map { actor throws(OAuthRefusal) in
            try TokenExchange.act(self.subject(of: actor.account, for: client), after: subject.grant?.actor)
        }
        return try exchange.world.update { tables in
            guard tables.account(subject.account.id) != nil else { throw OAuthRefusal.accountIsGone }
            let grant = tables.makeGrant(client, at: self, account: subject.account.id, scopes: granted) { grant in
                (grant.actor, grant.audience) = (act ?? subject.grant?.actor, wanted.targets)
                (grant.session, grant.authenticatedAt) = (subject.grant?.session, subject.grant?.authenticatedAt)
                grant.acr = subject.grant?.acr
            }
            let access = tables.makeAccessToken(
                grant, for: client, at: self, asJWT: wanted.requested == .jwt, boundTo: thumbprint)
            return Issued(grant: grant, account: subject.account, access: access, type: wanted.requested)
        }
    }

    func party(
        of token: TokenExchange.PresentedToken, _ name: String, _ client: ClientMetadata, _ exchange: Exchange
    ) throws(OAuthRefusal) -> Party {
        let found =
            token.type == .idToken ? person(ofIDToken: token.text, exchange) : person(of: token, client, exchange)
        if let found { return found }
        throw OAuthRefusal(
            "invalid_request", description: "The \(name) is invalid",
            Diagnosis(
                "\(name) isn't a token of this issuer that works now and speaks for a person: check its type, too"))
    }

    /// Returns the person of a token. A refresh token is bound to its client:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-10.4>.
    private func person(
        of presented: TokenExchange.PresentedToken, _ caller: ClientMetadata, _ exchange: Exchange
    ) -> Party? {
        let key = rowKey(of: presented.text, in: exchange)
        let isRefresh = presented.type == .refreshToken
        guard presented.type != .identityAssertion, presented.type != .jwt || key.hasPrefix(Issuer.jwtPrefix) else {
            return nil
        }
        let found = exchange.world.read { $0.working(key, isRefresh ? .refresh : .access, OpenIDGrant.self) }
        guard let (token, grant, account) = found, grant.issuer == id, token.details.usedBy == nil,
            !isRefresh || token.client == self.key(of: caller),
            let client = client(grant.client, in: exchange.world)
        else { return nil }
        return Party(
            account: account, client: client, scopes: token.details.scopes, grant: grant,
            authenticatedAt: grant.authenticatedAt, acr: grant.acr)
    }

    /// Returns the person of an ID token, by `sub`, or by the session if `sub` is pairwise.
    private func person(ofIDToken text: String, _ exchange: Exchange) -> Party? {
        guard let claims = claims(ofIDToken: text, in: exchange), let sub = claims["sub"]?.string,
            let expires = claims["exp"]?.numericDate,
            let client = claims["aud"]?.string.flatMap({ client($0, in: exchange.world) })
        else { return nil }
        return exchange.world.read { tables in
            let session = claims["sid"]?.string.flatMap { tables.session(withID: $0, at: realm) }
            let account =
                session.flatMap { tables.account($0.account) }
                ?? tables.first(Account.byIdentifier, OpenIDProfile.identifier(sub))
            guard let account, expires > tables.now, subject(of: account, for: client) == sub else { return nil }
            return Party(
                account: account, client: client, scopes: ["openid"], grant: nil,
                authenticatedAt: claims["auth_time"]?.numericDate, acr: claims["acr"]?.string)
        }
    }
}
