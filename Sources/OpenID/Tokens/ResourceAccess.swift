import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

/// The access that a token gives to a protected resource.
struct ResourceAccess: Sendable {
    let issuer: String
    let client: String
    /// The account for which the access token was issued; `nil` if the client acts for itself.
    let account: Account?
    let subject: String
    let scopes: [String]
    let expires: Instant?
    /// The issuer of the access token.
    let server: Issuer
    let thumbprint: String?
}

extension ProtectedResource {
    /// An error response of the protected resource.
    struct Refusal: Error {
        let response: Response
    }

    /// Checks the access token of a request to the protected resource: the token's issuer, validity and audience, and
    /// the scopes that every request needs.
    func access(_ exchange: Exchange) throws -> ResourceAccess {
        let words = (exchange.request.header("Authorization") ?? "").split(separator: " ")
        let scheme = words.first?.lowercased() ?? ""
        guard words.count == 2, scheme == "bearer" || scheme == "dpop" && dpop != .off else {
            // The refusal of a request without a token has no error name.
            throw Refusal(response: challenge(words.isEmpty ? nil : String(words[0]), exchange))
        }
        let text = String(words[1])
        var scopes: [String] = []
        do {
            let access = try access(text, exchange)
            let presented = PresentedAccessToken(text: text, isBound: scheme == "dpop")
            try access.server.check(
                presented, boundTo: access.thumbprint, at: identifier(exchange), in: exchange)
            scopes = access.scopes
            for scope in policy.scopes { try check(scope, access) }
            return access
        } catch let error as OAuthRefusal {
            let isBound = scheme == "dpop" || dpop == .required
            throw Refusal(
                response: refusal(error, needed: policy.scopes, of: scopes, in: exchange, isBound: isBound))
        }
    }

    /// The rule for binding access tokens to a client's key by DPoP: the rule of the resource's authorization servers,
    /// or `optional` if their rules differ.
    var dpop: DPoPPolicy {
        let policies = authorizationServers.map(\.policy.dpop)
        if policies.allSatisfy({ $0 == .required }) { return .required }
        return policies.allSatisfy { $0 == .off } ? .off : .optional
    }

    /// Refuses a call if the access token lacks the scope that the call needs.
    func expect(_ scope: String, _ access: ResourceAccess, _ exchange: Exchange) throws(Refusal) {
        do throws(OAuthRefusal) { try check(scope, access) } catch {
            throw Refusal(
                response: refusal(
                    error, needed: policy.allScopes, of: access.scopes, in: exchange,
                    isBound: access.thumbprint != nil))
        }
    }

    private func check(_ scope: String, _ access: ResourceAccess) throws(OAuthRefusal) {
        guard !access.scopes.contains(scope) else { return }
        throw OAuthRefusal(
            "insufficient_scope",
            Diagnosis(
                received: "a token with scope \(Diagnosis.quote(access.scopes.joined(separator: " ")))",
                expected: scope,
                "get a token with the scopes of this token and those in WWW-Authenticate, and send the request again"))
    }

    private func access(_ text: String, _ exchange: Exchange) throws(OAuthRefusal) -> ResourceAccess {
        guard text.contains(".") else { return try access(opaque: text, exchange) }
        // Several issuers may sign with the same key, so the one that the token names is tried first.
        let named = (try? JWS(parsing: text))?.claims["iss"]?.string
        let isNamed = { (server: Issuer) in server.identifier(exchange) == named }
        let servers = authorizationServers.filter(isNamed) + authorizationServers.filter { !isNamed($0) }
        let signed = servers.lazy.compactMap { server in
            server.signedClaims(of: text, type: "at+jwt", in: exchange).map { (server, $0) }
        }.first
        guard let (server, claims) = signed else {
            throw invalid(
                "it isn't signed by a key that the authorization server publishes now: keys have rotated, the issuer has moved, or it "
                    + "isn't an access token")
        }
        let isClientSigned = (try? JWS(parsing: text))?.algorithm == Algorithm.hs256.rawValue
        return try access(server, claims, isClientSigned: isClientSigned, exchange)
    }

    /// Checks an access token that is a JSON Web Token: first its claims
    /// (<https://datatracker.ietf.org/doc/html/rfc9068#section-4>), and then whether it was revoked. If the token is
    /// signed with the client's secret, the client could have signed any claims, so the issuer's records are used
    /// instead of the claims.
    private func access(
        _ server: Issuer, _ claims: JSONObject, isClientSigned: Bool, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ResourceAccess {
        let (issuer, now) = (server.identifier(exchange), exchange.world.now)
        guard claims["iss"]?.string == issuer else {
            throw invalid(
                received: "iss \(Diagnosis.quote(claims["iss"]?.string ?? "missing"))",
                expected: Diagnosis.quote(issuer),
                "get a token from the authorization server that the metadata names, by that address")
        }
        guard let expires = claims["exp"]?.numericDate, expires > now else {
            throw invalid("it has expired: refresh it")
        }
        try checkAudience(claims["aud"].map { $0.array ?? [$0] }?.compactMap(\.string) ?? [], exchange)
        let key = Issuer.jwtPrefix + (claims["jti"]?.string ?? "")
        let known = try known(key, at: server, exchange)
        guard !isClientSigned else { return try access(known, at: server, exchange) }
        let scopes = (claims["scope"]?.string ?? "").split(separator: " ").map(String.init)
        return ResourceAccess(
            issuer: issuer, client: known.client.clientID, account: known.account,
            subject: claims["sub"]?.string ?? "", scopes: scopes, expires: expires, server: server,
            thumbprint: claims["cnf"]?["jkt"]?.string)
    }

    /// Checks an access token that isn't a JSON Web Token, by the records of its issuer.
    private func access(opaque text: String, _ exchange: Exchange) throws(OAuthRefusal) -> ResourceAccess {
        let grant = exchange.world.read { tables in
            tables.find(Token<OpenIDGrant>.self, text).flatMap { tables.find(OpenIDGrant.self, $0.grant) }
        }
        guard let server = grant.flatMap({ grant in authorizationServers.first { $0.id == grant.issuer } }) else {
            let reason =
                grant.map { "the issuer \(Diagnosis.quote($0.issuer)) gave it out, whose tokens aren't taken here" }
                ?? exchange.reason(againstUsing: text, .access, OpenIDGrant.self)
            throw invalid(reason)
        }
        // The ID of a JSON Web Token can't be used as a token.
        let known = try known(server.rowKey(of: text, in: exchange), at: server, exchange)
        return try access(known, at: server, exchange)
    }

    /// Returns the access that a token gives, by the records of the issuer.
    private func access(
        _ known: Known, at server: Issuer, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ResourceAccess {
        try checkAudience(known.token.details.audience, exchange)
        return ResourceAccess(
            issuer: server.identifier(exchange), client: known.client.clientID, account: known.account,
            subject: known.account.map { server.subject(of: $0, for: known.client) } ?? known.client.clientID,
            scopes: known.token.details.scopes, expires: known.token.expires, server: server,
            thumbprint: known.token.details.thumbprint)
    }

    private struct Known: Sendable {
        let token: Token<OpenIDGrant>
        let client: ClientMetadata
        let account: Account?
    }

    private func known(_ key: String, at server: Issuer, _ exchange: Exchange) throws(OAuthRefusal) -> Known {
        let found = exchange.world.read { tables -> (Token<OpenIDGrant>, OpenIDGrant, Account?)? in
            guard let token = tables.find(Token<OpenIDGrant>.self, key), token.kind == .access,
                !token.hasExpired(at: tables.now), let grant = tables.find(OpenIDGrant.self, token.grant)
            else { return nil }
            return (token, grant, tables.account(grant.account))
        }
        guard let (token, grant, account) = found, grant.account.isEmpty || account != nil else {
            throw invalid(exchange.reason(againstUsing: key, .access, OpenIDGrant.self))
        }
        guard let client = server.client(grant.client, in: exchange.world) else {
            throw invalid("the client isn't registered any more: register again")
        }
        return Known(token: token, client: client, account: account)
    }

    /// Checks that the access token was issued for this resource:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling>
    private func checkAudience(_ audience: [String], _ exchange: Exchange) throws(OAuthRefusal) {
        let own = identifier(exchange)
        guard !audience.contains(where: { $0 == own || $0 == "\(own)/" }) else { return }
        throw invalid(
            received: "aud \(audience.map { Diagnosis.quote($0) }.joined(separator: ", "))",
            expected: Diagnosis.quote(own),
            "send resource=\(own) with the authorization request and with each token request (RFC 8707)")
    }

    private func invalid(received: String? = nil, expected: String? = nil, _ reason: String) -> OAuthRefusal {
        OAuthRefusal(
            "invalid_token",
            Diagnosis(received: received, expected: expected, "the access token doesn't work: \(reason)"))
    }

    // MARK: - Challenges

    /// Returns the error response to a refused access token, with a `WWW-Authenticate` challenge:
    /// <https://datatracker.ietf.org/doc/html/rfc9728#section-5.1> and
    /// <https://datatracker.ietf.org/doc/html/rfc6750#section-3>
    ///
    /// - Parameters:
    ///   - needed: The scopes that the request needs.
    ///   - granted: The scopes of the token.
    func refusal(
        _ refusal: OAuthRefusal, needed: [String], of granted: [String] = [], in exchange: Exchange,
        isBound: Bool = false
    ) -> Response {
        let more = parameters(needed, granted, exchange).map { ", \($0)" }.joined()
        if isBound || refusal.name.contains("dpop") { return OAuthRefusal.unauthorized(refusal, more).response }
        var refusal = refusal
        refusal.challenge = "Bearer error=\"\(refusal.name)\", error_description=\"\(refusal.description)\"\(more)"
        return refusal.response
    }

    private func challenge(_ scheme: String?, _ exchange: Exchange) -> Response {
        let diagnosis = Diagnosis(
            received: scheme.map { "the Authorization scheme \(Diagnosis.quote($0, limit: 20))" },
            "the access token is missing: read the metadata at the URL in WWW-Authenticate, sign in, and send the "
                + "token in Authorization" + (dpop == .required ? " as DPoP, with a proof" : " as Bearer"))
        let parameters = parameters(policy.scopes, [], exchange).joined(separator: ", ")
        return OAuthRefusal.withoutToken(diagnosis, dpop: dpop, parameters: parameters)
    }

    private func parameters(_ needed: [String], _ granted: [String], _ exchange: Exchange) -> [String] {
        let scopes =
            switch policy.challenge.scope {
            case .needed: needed
            case .missing: needed.filter { !granted.contains($0) }
            case .none: [String]()
            }
        return (scopes.isEmpty ? [] : ["scope=\"\(scopes.joined(separator: " "))\""])
            + (metadataURL(exchange).map { ["resource_metadata=\"\($0)\""] } ?? [])
    }
}
