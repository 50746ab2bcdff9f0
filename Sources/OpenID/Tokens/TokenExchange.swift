import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// https://datatracker.ietf.org/doc/html/rfc8693

extension Issuer {
    /// The person whom a token represents, with the token's client and scopes.
    struct Party: Sendable {
        let account: Account
        let client: ClientMetadata
        let scopes: [String]
        let grant: OpenIDGrant?
        /// The time of the person's sign-in.
        let authenticatedAt: Instant?
        let acr: String?
    }

    /// Exchanges a token of this issuer for a new token of the requesting client, with the same scopes or fewer.
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
                "\(name) isn't a valid token that this issuer issued for a user: check the token and its type"))
    }

    /// Returns the person whom an access token or a refresh token represents; `nil` if the token doesn't work. A
    /// refresh token can be exchanged only by its own client:
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

    /// Returns the person whom an ID token represents. The person is found by the browser session that the token names.
    /// If that session has ended, the person is found by `sub`, but not if `sub` is pairwise.
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

/// A token exchange request: <https://datatracker.ietf.org/doc/html/rfc8693#section-2.1>.
struct TokenExchange: Sendable {
    static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

    enum TokenType: String, Sendable {
        case accessToken = "urn:ietf:params:oauth:token-type:access_token"
        case refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
        case idToken = "urn:ietf:params:oauth:token-type:id_token"
        case jwt = "urn:ietf:params:oauth:token-type:jwt"
        case identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"
    }

    struct PresentedToken: Sendable {
        let text: String
        let type: TokenType
    }

    let subject: PresentedToken
    let actor: PresentedToken?
    let requested: TokenType
    private let scope: String?
    let audiences, resources: [String]
    var targets: [String] { audiences + resources }

    init(_ form: Form) throws(OAuthRefusal) {
        guard let subject = try TokenExchange.token("subject", form) else {
            throw OAuthRefusal("invalid_request", Diagnosis("subject_token is missing"))
        }
        self.subject = subject
        actor = try TokenExchange.token("actor", form)
        requested = try TokenExchange.type("requested_token_type", form) ?? .accessToken
        scope = form["scope"]
        audiences = form.fields.filter { $0.name == "audience" }.map(\.value)
        resources = try AuthorizationParameters.resources(form)
        try AuthorizationParameters.checkTargets(targets)
        guard requested != .idToken || targets.isEmpty else {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis("an ID token is always issued to the requesting client: leave out audience and resource"))
        }
        guard requested != .refreshToken else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis("requested_token_type is a refresh token, which a token exchange can't issue"))
        }
    }

    /// Returns the requested scopes, which must be among `allowed`.
    func scopes(among allowed: [String]?) throws(OAuthRefusal) -> [String] {
        try AuthorizationParameters.scopes(scope, among: allowed)
    }

    /// Returns the scopes of the new token in a token exchange: the requested ones, or all scopes of the subject's
    /// token.
    func scopes(upTo granted: [String]) throws(OAuthRefusal) -> [String] {
        let asked = try scopes(among: .some(granted))
        let scopes = asked.isEmpty ? granted : asked
        guard requested != .idToken || scopes.contains("openid") else {
            throw OAuthRefusal("invalid_scope", Diagnosis("an ID token needs the scope openid: request it"))
        }
        return scopes
    }

    /// The greatest number of actors in the claim `act` of a token, including the outermost.
    private static let actorLimit = 10

    /// Returns the claim `act` of an exchanged token, with the earlier actors nested in it:
    /// <https://datatracker.ietf.org/doc/html/rfc8693#section-4.1>.
    static func act(_ subject: String, after earlier: JSONValue?) throws(OAuthRefusal) -> JSONValue {
        var (count, inner) = (1, earlier)
        while let actor = inner, count <= actorLimit { (count, inner) = (count + 1, actor["act"]) }
        guard count <= actorLimit else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    "the token's chain of actors (act) has more than \(actorLimit) actors: exchange a token with fewer actors"
                )
            )
        }
        var act = JSONObject([("sub", .string(subject))])
        act["act"] = earlier
        return .object(act)
    }

    private static func token(_ name: String, _ form: Form) throws(OAuthRefusal) -> PresentedToken? {
        guard let text = form["\(name)_token"], !text.isEmpty else { return nil }
        guard let type = try type("\(name)_token_type", form) else {
            throw OAuthRefusal(
                "invalid_request", Diagnosis("\(name)_token_type is missing: send the type of \(name)_token"))
        }
        return PresentedToken(text: text, type: type)
    }

    private static func type(_ name: String, _ form: Form) throws(OAuthRefusal) -> TokenType? {
        guard let text = form[name] else { return nil }
        if let type = TokenType(rawValue: text) { return type }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis(
                received: "\(name) \(Diagnosis.quote(text))",
                expected:
                    "access_token, refresh_token, id_token, jwt or id-jag, prefixed with \"urn:ietf:params:oauth:token-type:\"",
                "send a supported token type"))
    }
}

/// The access that an issuer's clients get at a second issuer by identity assertions (ID-JAG) of the first:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04>.
struct CrossAppAccess: SchemaObject {
    /// The ID of the issuer that gives out the access tokens. People have signed in at a different issuer.
    let issuer: String
    private let clients: [String: String]
    let scopes: [String]?
    let accounts: [String]?

    init(_ fields: inout Fields) {
        issuer = fields("issuer", .text(.identifier), "The other issuer, by its id.")
        clients = Dictionary(
            fields.map(
                "clients", of: .text(.nonEmpty),
                "Client IDs at the other issuer, by the client IDs here; the same by default."
            ).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        scopes = fields.nullable(
            "scopes", .set(of: .text(.nonEmpty)), "The scopes that are granted there at most; all by default.")
        accounts = fields.nullable(
            "accounts", .set(of: .text(.nonEmpty)), "The people who have access, by account; all by default.")
    }

    /// Returns a client's ID at the issuer that gives out the access tokens. `id` is the client's ID at the issuer
    /// where people sign in. By default, both IDs are equal.
    func client(_ id: String) -> String { clients[id] ?? id }
}

/// An identity assertion (ID-JAG): a token about a person, which a client exchanges at a different issuer for an access
/// token.
enum IdentityAssertion {
    /// The grant type by which a client exchanges an identity assertion for an access token:
    /// <https://datatracker.ietf.org/doc/html/rfc7523#section-2.1>.
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The grant profile that an issuer's metadata lists if the issuer accepts identity assertions.
    static let profile = "urn:ietf:params:oauth:grant-profile:id-jag"
    /// The `typ` in the header of an identity assertion.
    static let type = "oauth-id-jag+jwt"
}
