import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// A company's issuer issues assertions of a person (ID-JAG), by which its clients get access at a vendor's issuer:
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04
// The Model Context Protocol calls this enterprise-managed authorization:
// https://github.com/modelcontextprotocol/ext-auth/blob/main/specification/stable/enterprise-managed-authorization.mdx

// MARK: - The company

extension Issuer {
    /// The lifetime of an identity assertion (ID-JAG).
    private static let assertionLifetime = TimeSpan.minutes(5)
    /// The longest time by which the clock of an assertion's issuer may be ahead of this daemon's.
    private static let assertionTolerance = TimeSpan.minutes(1)

    /// Exchanges a person's ID token or refresh token for an identity assertion (ID-JAG), which the client can use at a
    /// different issuer.
    func assertPerson(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Response {
        let wanted = try TokenExchange(form)
        guard [.idToken, .refreshToken].contains(wanted.subject.type) else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: "subject_token_type \(Diagnosis.quote(wanted.subject.type.rawValue))",
                    expected: "an ID token or a refresh token", "exchange a token that identifies the signed-in user"))
        }
        let party = try party(of: wanted.subject, "subject_token", client, exchange)
        guard party.client.clientID == client.clientID else {
            throw OAuthRefusal(
                "invalid_grant",
                Diagnosis(
                    received: "an ID token issued to client \(Diagnosis.quote(party.client.clientID))",
                    expected: Diagnosis.quote(client.clientID),
                    "exchange an ID token that was issued to the requesting client"))
        }
        let (audience, access) = try target(of: wanted, exchange)
        let scopes = try granted(wanted, access, to: party.account)
        guard let algorithm = algorithms.first(where: { $0 != .hs256 }) else {
            throw OAuthRefusal(
                "server_error",
                Diagnosis(
                    "this issuer signs tokens only with client secrets (HS256), so no other issuer can verify them"))
        }
        let now = exchange.world.now
        var claims = JSONObject([
            ("iss", .string(identifier(exchange))), ("sub", .string(party.account[OpenIDProfile.self].sub)),
            ("aud", .string(audience)), ("client_id", .string(access.client(client.clientID))),
            ("jti", .string(try exchange.world.update { Hex.encode($0.random.bytes(16)) })),
            ("exp", .numericDate(now + Issuer.assertionLifetime)), ("iat", .numericDate(now)),
        ])
        let resources = wanted.resources.map { JSONValue.string($0) }
        claims["resource"] = resources.count > 1 ? .array(resources) : resources.first
        claims["scope"] = scopes.isEmpty ? nil : .string(scopes.joined(separator: " "))
        claims["auth_time"] = party.authenticatedAt.map { .numericDate($0) }
        claims["acr"] = party.acr.map { .string($0) }
        claims["email"] = .string(party.account.email)
        claims["cnf"] = thumbprint.map { ["jkt": .string($0)] }
        let text: String
        do throws(KeyError) {
            text = try exchange.mint(owner, claims, at: now, type: IdentityAssertion.type, algorithm: algorithm)
        } catch { throw OAuthRefusal("server_error", Diagnosis("a token can't be signed: \(error.description)")) }
        var body = JSONObject([
            ("issued_token_type", .string(TokenExchange.TokenType.identityAssertion.rawValue)),
            ("access_token", .string(text)), ("token_type", "N_A"),
            ("expires_in", .integer(Issuer.assertionLifetime.seconds)),
        ])
        body["scope"] = claims["scope"]
        return OAuthRefusal.json(.object(body))
    }

    /// Finds the issuer that the request's parameter `audience` names. The client wants to use the requested identity
    /// assertion there. Returns the `audience`, and the access that the seed allows at that issuer.
    private func target(
        of wanted: TokenExchange, _ exchange: Exchange
    ) throws(OAuthRefusal) -> (audience: String, access: CrossAppAccess) {
        guard let audience = wanted.audiences.first, wanted.audiences.count == 1 else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: wanted.audiences.isEmpty ? "no audience" : "\(wanted.audiences.count) audiences",
                    "send one audience: the issuer that the resource's metadata names as its authorization server"))
        }
        let others = policy.crossAppAccess.flatMap { access in
            seeded([access.issuer], exchange).map { (access: access, names: $0.identifiers(exchange)) }
        }
        if let other = others.first(where: { $0.names.contains(audience) }) { return (audience, other.access) }
        throw OAuthRefusal(
            "invalid_target",
            Diagnosis(
                received: "audience \(Diagnosis.quote(audience))",
                expected: Diagnosis.alternatives(others.compactMap(\.names.first)),
                "send the identifier of the issuer at which the client wants access; that issuer must be in "
                    + "crossAppAccess of \"\(id)\" in the seed"
            ))
    }

    /// Returns the scopes of a new identity assertion: those of the requested scopes that the seed allows in `access`.
    /// If the request names no scopes, all scopes that `access` lists are returned.
    private func granted(
        _ wanted: TokenExchange, _ access: CrossAppAccess, to account: Account
    ) throws(OAuthRefusal) -> [String] {
        // Nothing is issued for this target: RFC 8693 section 2.2.2.
        guard access.accounts?.contains(account.id) ?? true else {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis(
                    received: "the account \(Diagnosis.quote(account.id))",
                    expected: Diagnosis.alternatives(access.accounts ?? []),
                    "crossAppAccess in the seed doesn't give this account access to the issuer \"\(access.issuer)\""))
        }
        let asked = try wanted.scopes(among: nil)
        guard !asked.isEmpty else { return access.scopes ?? [] }
        let scopes = asked.filter { access.scopes?.contains($0) ?? true }
        guard scopes.isEmpty else { return scopes }
        throw OAuthRefusal(
            "invalid_scope",
            Diagnosis(
                received: "scope \(Diagnosis.quote(asked.joined(separator: " ")))",
                expected: (access.scopes ?? []).joined(separator: " "),
                "crossAppAccess in the seed grants none of these scopes at the issuer \"\(access.issuer)\""))
    }

    func seeded(_ ids: [String], _ exchange: Exchange) -> [Issuer] {
        exchange.world.seed[OpenIDSection.self].issuers.filter { ids.contains($0.id) }
    }

    /// Returns the identifiers by which clients may know the issuer. They depend on the address by which clients reach
    /// this server.
    func identifiers(_ exchange: Exchange) -> [String] {
        let own = exchange.address.ownBase + alias.prefix
        return followsRequest ? [own, identifier(exchange), "https://\(host)\(path)"] : [identifier(exchange)]
    }
}

// MARK: - The vendor

extension Issuer {
    /// Issues an access token for an identity assertion (ID-JAG) from a trusted issuer, or for a token that a platform
    /// such as Kubernetes gives to a program:
    /// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04#section-4.4>. There is
    /// no refresh token, because an assertion can be used again until it expires.
    func redeemAssertion(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let assertion = try form.required("assertion")
        if isWorkloadToken(assertion) { return try redeemWorkloadToken(exchange, form, client, thumbprint) }
        let claims = try assertedClaims(assertion, exchange)
        try check(claims, client, thumbprint, exchange)
        // If an assertion names no scopes, this issuer decides.
        let asserted = try claims["scope"]?.string.map { text throws(OAuthRefusal) in
            try AuthorizationParameters.scopes(text, among: nil).filter { client.scopes?.contains($0) ?? true }
        }
        let asked = try AuthorizationParameters.scopes(form["scope"], among: asserted ?? client.scopes)
        let scopes = form["scope"] == nil ? asserted ?? [] : asked
        let resources = try resources(
            form, among: claims["resource"].map { $0.array ?? [$0] }?.compactMap(\.string) ?? [])
        let sub = claims["sub"]?.string ?? ""
        let found = exchange.world.read { $0.first(Account.byIdentifier, OpenIDProfile.identifier(sub)) }
        guard let account = found else {
            throw invalid(received: "sub \(Diagnosis.quote(sub))", "no account of this world has this sub")
        }
        return try exchange.world.update { (tables) throws(OAuthRefusal) in
            guard tables.account(account.id) != nil else { throw .accountIsGone }
            let grant = tables.makeGrant(client, at: self, account: account.id, scopes: scopes) { grant in
                (grant.audience, grant.authenticatedAt) = (resources, claims["auth_time"]?.numericDate)
                grant.acr = claims["acr"]?.string
            }
            let access = tables.makeAccessToken(grant, for: client, at: self, boundTo: thumbprint)
            return Issued(grant: grant, account: account, access: access, resources: resources)
        }
    }

    /// Returns the resources of the new access token: the requested ones, or all resources in the identity assertion.
    private func resources(_ form: Form, among asserted: [String]) throws(OAuthRefusal) -> [String] {
        let asked = try AuthorizationParameters.resources(form)
        try AuthorizationParameters.checkTargets(asserted)
        guard !asked.isEmpty else { return asserted }
        guard let other = asked.first(where: { !asserted.contains($0) }), !asserted.isEmpty else { return asked }
        throw OAuthRefusal(
            "invalid_target",
            Diagnosis(
                received: "resource \(Diagnosis.quote(other))", expected: Diagnosis.alternatives(asserted),
                "the identity assertion isn't for this resource: get an assertion for this resource"))
    }

    /// Checks an identity assertion from a trusted issuer, and returns its claims.
    private func assertedClaims(_ text: String, _ exchange: Exchange) throws(OAuthRefusal) -> JSONObject {
        let token: JWS
        do { token = try JWS(parsing: text) } catch { throw invalid("it can't be read: \(error.description)") }
        let type = token.header["typ"]?.string
        guard type == IdentityAssertion.type else {
            throw invalid(
                received: "typ \(Diagnosis.quote(type ?? "missing"))",
                expected: Diagnosis.quote(IdentityAssertion.type),
                "exchange the ID token at the company's issuer first")
        }
        let issuers = seeded(policy.trustedIssuers, exchange)
        let name = token.claims["iss"]?.string ?? ""
        guard let issuer = issuers.first(where: { $0.identifiers(exchange).contains(name) }) else {
            throw invalid(
                received: "iss \(Diagnosis.quote(name))",
                expected: Diagnosis.alternatives(issuers.compactMap { $0.identifiers(exchange).first }),
                "name its issuer in trustedIssuers of \"\(id)\" in the seed")
        }
        guard token.algorithm != Algorithm.hs256.rawValue,
            let claims = issuer.signedClaims(of: text, type: IdentityAssertion.type, in: exchange)
        else { throw invalid("it isn't signed by a key that its issuer publishes now") }
        return claims
    }

    /// Checks the audience, the client, the times and the DPoP key of an identity assertion:
    /// <https://datatracker.ietf.org/doc/html/rfc7523#section-3>, and section 4.4.1 of the draft on identity assertions
    /// (ID-JAG).
    private func check(
        _ claims: JSONObject, _ client: ClientMetadata, _ thumbprint: String?, _ exchange: Exchange
    ) throws(OAuthRefusal) {
        func shown(_ name: String) -> String {
            "\(name) \(claims[name].map { Diagnosis.quote($0.string ?? $0.text) } ?? "missing")"
        }
        let (own, now) = (identifier(exchange), exchange.world.now)
        guard claims["aud"].map({ $0.array ?? [$0] })?.map(\.string) == [own] else {
            throw invalid(
                received: shown("aud"), expected: Diagnosis.quote(own), "ask for one with audience=\(own)")
        }
        guard claims["client_id"]?.string == client.clientID else {
            throw invalid(
                received: shown("client_id"), expected: Diagnosis.quote(client.clientID),
                "the client that authenticates must be the one that the assertion names: clients of crossAppAccess")
        }
        guard let expires = claims["exp"]?.numericDate, expires > now else {
            throw invalid("it has expired, or says no exp: exchange the ID token again")
        }
        for name in ["iat", "nbf"] {
            guard let claim = claims[name] else {
                if name == "iat" { throw invalid("iat is missing") }
                continue
            }
            guard let time = claim.numericDate, time <= now + Issuer.assertionTolerance else {
                throw invalid(received: shown(name), "\(name) lies in the future")
            }
        }
        for name in ["jti", "sub"] where claims[name]?.string?.isEmpty ?? true { throw invalid("\(name) is missing") }
        guard let key = claims["cnf"]?["jkt"]?.string, key != thumbprint else { return }
        throw invalid(
            received: thumbprint.map { "a proof by the key \(Diagnosis.quote($0))" }
                ?? "no DPoP proof that this issuer reads",
            expected: Diagnosis.quote(key), "sign the proof with the key with which the assertion was asked for")
    }

    private func invalid(received: String? = nil, expected: String? = nil, _ reason: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_grant",
            Diagnosis(received: received, expected: expected, "the identity assertion is invalid: \(reason)"))
    }
}
