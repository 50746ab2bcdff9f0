import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Worlds

// POST /token: https://openid.net/specs/openid-connect-core-1_0.html#TokenEndpoint

extension Issuer {
    /// The tokens that a request to the token endpoint has produced, with their grant.
    struct Issued: Sendable {
        let grant: OpenIDGrant
        /// The account for which the tokens are issued; `nil` if the client acts for itself.
        let account: Account?
        let access: Token<OpenIDGrant>
        var refresh: String?
        var nonce: String?
        /// The type of the new token in a token exchange; `nil` for other grant types.
        var type: TokenExchange.TokenType?
        /// The resources to which an identity assertion gives access.
        var resources: [String] = []
    }

    func token(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let client = try workload(exchange, form) ?? authenticate(exchange, form)
        let grantType = form["grant_type"] ?? ""
        let issue: (Exchange, Form, ClientMetadata, String?) throws -> Issued
        switch grantType {
        case "authorization_code": issue = redeem
        case "refresh_token": issue = refresh
        case "client_credentials": issue = actAsClient
        case DeviceAuthorization.grantType: issue = redeemDevice
        case TokenExchange.grantType: issue = exchangeToken
        case IdentityAssertion.grantType where policy.takesAssertions: issue = redeemAssertion
        default:
            throw OAuthRefusal(
                grantType.isEmpty ? "invalid_request" : "unsupported_grant_type",
                Diagnosis(
                    received: "grant_type \(Diagnosis.quote(grantType))",
                    expected: "one of grant_types_supported in the discovery document", "send one of these"))
        }
        try check(client, mayUse: grantType)
        let key = try tokenProof(exchange)?.thumbprint
        let requested = form["requested_token_type"].flatMap { TokenExchange.TokenType(rawValue: $0) }
        if grantType == TokenExchange.grantType, requested == .identityAssertion {
            return try assertPerson(exchange, form, client, key)
        }
        return try answer(try issue(exchange, form, client, key), client, exchange)
    }

    // MARK: - Grant types

    private static let redemption = Redemption(checks: [
        .client, .unused, .unexpired, .redirectURI, .codeVerifierForm, .codeVerifier, .noStrayVerifier,
    ])

    private func redeem(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let request = Redemption.Request(
            code: try form.required("code"), client: key(of: client), redirectURI: form["redirect_uri"],
            codeVerifier: form["code_verifier"], exchange: exchange.id)
        let resources = try AuthorizationParameters.resources(form)
        return try exchange.world.update { (tables) -> Result<Issued, OAuthRefusal> in
            if let wanted = tables.find(AuthorizationCode<OpenIDGrant>.self, request.code)?.details.thumbprint,
                wanted != thumbprint
            {
                return .failure(
                    OAuthRefusal(
                        "invalid_grant",
                        Diagnosis(
                            received: thumbprint.map { "a DPoP proof by the key \(Diagnosis.quote($0))" }
                                ?? "no DPoP proof",
                            expected:
                                "a DPoP proof by the key \(Diagnosis.quote(wanted)), which dpop_jkt in the "
                                + "authorization request names",
                            "sign the proof with the key of the authorization request")))
            }
            return tables.redeem(
                OpenIDGrant.self, request, by: Issuer.redemption, reuseRevokes: policy.codeReuseRevokes,
                naming: { clientName(ofKey: $0) }
            ).map { redeemed in
                tables.recordVisit(
                    to: client.clientID, told: identifier(exchange), inSession: redeemed.grant.session, at: realm)
                let access = tables.makeAccessToken(
                    redeemed.grant, for: client, at: self, audience: resources, boundTo: thumbprint)
                return Issued(
                    grant: redeemed.grant, account: redeemed.account, access: access,
                    refresh: refreshToken(redeemed.grant, client, thumbprint, in: &tables), nonce: redeemed.grant.nonce)
            }
        }.mapError { exchange.explained($0, request.code, called: "the code", OpenIDGrant.self) }.get()
    }

    private func refreshToken(
        _ grant: OpenIDGrant, _ client: ClientMetadata, _ thumbprint: String?, in tables: inout Transaction
    ) -> String? {
        let isWanted =
            policy.refreshTokens == .always
            || policy.refreshTokens == .offlineAccess && grant.scopes.contains("offline_access")
        return isWanted && client.mayUse("refresh_token")
            ? tables.makeRefreshToken(grant, for: client, at: self, boundTo: thumbprint) : nil
    }

    private func refresh(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let (text, resources) = (try form.required("refresh_token"), try AuthorizationParameters.resources(form))
        // The scopes are checked before the token is used up. An invalid token is refused as invalid, with any scopes.
        let granted = exchange.world.read { $0.working(text, .refresh, OpenIDGrant.self)?.grant.scopes }
        let scopes = try form["scope"].map { wanted throws(OAuthRefusal) in
            try AuthorizationParameters.scopes(wanted, among: granted)
        }
        return try exchange.world.update { (tables) -> Result<Issued, OAuthRefusal> in
            if let bound = tables.find(Token<OpenIDGrant>.self, text)?.details.thumbprint, bound != thumbprint {
                return .failure(
                    OAuthRefusal(
                        "invalid_grant",
                        Diagnosis(
                            "the refresh token is bound to another key than the DPoP proof's: sign with the key with which the token was requested"
                        )))
            }
            return tables.use(
                refreshToken: text, of: key(of: client), OpenIDGrant.self, rotates: policy.rotatesRefreshTokens,
                by: exchange.id, naming: { clientName(ofKey: $0) }
            ).map { _, grant, account in
                let access = tables.makeAccessToken(
                    grant, for: client, at: self, scopes: scopes, audience: resources,
                    boundTo: thumbprint)
                let next =
                    policy.rotatesRefreshTokens
                    ? tables.makeRefreshToken(grant, for: client, at: self, boundTo: thumbprint) : nil
                return Issued(grant: grant, account: account, access: access, refresh: next)
            }
        }.mapError { exchange.explained($0, text, called: "the refresh token", OpenIDGrant.self) }.get()
    }

    private func actAsClient(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        let scopes = try AuthorizationParameters.scopes(form["scope"], among: client.scopes)
        let resources = try AuthorizationParameters.resources(form)
        guard client.isConfidential else {
            throw OAuthRefusal(
                "unauthorized_client", Diagnosis("a public client can't use the grant type client_credentials"))
        }
        return try exchange.world.update { tables in
            let grant = tables.makeGrant(client, at: self, account: "", scopes: scopes.filter { $0 != "openid" })
            let access = tables.makeAccessToken(
                grant, for: client, at: self, audience: resources, boundTo: thumbprint)
            return Issued(grant: grant, account: nil, access: access)
        }
    }

    private func redeemDevice(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, _ thumbprint: String?
    ) throws -> Issued {
        try exchange.world.update { tables in
            poll(exchange, form, client, in: &tables).map { account, scopes in
                let now = tables.now
                let grant = tables.makeGrant(client, at: self, account: account.id, scopes: scopes) {
                    $0.authenticatedAt = now
                }
                let access = tables.makeAccessToken(grant, for: client, at: self, boundTo: thumbprint)
                return Issued(
                    grant: grant, account: account, access: access,
                    refresh: refreshToken(grant, client, thumbprint, in: &tables))
            }
        }.get()
    }

    // MARK: - Answers

    private func answer(
        _ issued: Issued, _ client: ClientMetadata, _ exchange: Exchange
    ) throws(OAuthRefusal) -> Response {
        let scopes = issued.access.details.scopes
        do throws(KeyError) {
            let text = try text(of: issued.access, issued.grant, issued.account, for: client, in: exchange)
            var body = JSONObject([
                ("access_token", .string(text)),
                ("token_type", issued.access.details.thumbprint == nil ? "Bearer" : "DPoP"),
                ("expires_in", .integer(policy.lifetimes.accessToken.seconds)),
            ])
            body["scope"] = scopes.isEmpty ? nil : .string(scopes.joined(separator: " "))
            let resources = issued.resources.map { JSONValue.string($0) }
            body["resource"] = resources.count > 1 ? .array(resources) : resources.first
            body["refresh_token"] = issued.refresh.map { .string($0) }
            body["issued_token_type"] = issued.type.map { .string($0.rawValue) }
            if let account = issued.account, scopes.contains("openid") {
                let isWanted = issued.type == .idToken
                let claims = idTokenClaims(
                    issued.grant, of: account, for: client, in: exchange, scopes: scopes, nonce: issued.nonce,
                    accessToken: isWanted ? nil : text)
                let idToken = try idToken(claims, for: client, in: exchange)
                // A requested ID token takes the access token's member: RFC 8693 section 2.2.1.
                body[isWanted ? "access_token" : "id_token"] = .string(idToken)
                if isWanted { body["token_type"] = "N_A" }
            }
            return OAuthRefusal.json(.object(body))
        } catch { throw OAuthRefusal("server_error", Diagnosis("a token can't be signed: \(error.description)")) }
    }
}

// Access tokens may be bound to a client's key: https://datatracker.ietf.org/doc/html/rfc9449#section-7

/// The access token of a request, and the way in which it was sent.
struct PresentedAccessToken: Sendable {
    let text: String
    /// Whether the access token was sent with the scheme `DPoP`.
    let isBound: Bool

    /// Returns the access token from the header `Authorization`, or from a request parameter, which is allowed for
    /// bearer tokens only.
    static func read(_ request: Request, for issuer: Issuer) -> PresentedAccessToken? {
        let words = (request.header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, words[0].lowercased() == "dpop", issuer.policy.dpop != .off {
            return PresentedAccessToken(text: String(words[1]), isBound: true)
        }
        return request.accessToken().map { PresentedAccessToken(text: $0, isBound: false) }
    }
}

extension Issuer {
    /// Checks that the client has the key to which its access token is bound. `url` is the address of the request.
    func check(
        _ token: PresentedAccessToken, boundTo thumbprint: String?, at url: String, in exchange: Exchange
    ) throws {
        guard let thumbprint else {
            guard policy.dpop != .required else {
                throw OAuthRefusal(
                    "invalid_token",
                    Diagnosis(
                        "the access token isn't bound to a key, as this issuer requires (\"dpop\": \"required\"): get "
                            + "a token with a DPoP proof"))
            }
            guard token.isBound else { return }
            throw OAuthRefusal(
                "invalid_token", Diagnosis("the access token isn't bound to a key: send Authorization: Bearer"))
        }
        guard token.isBound else {
            throw OAuthRefusal(
                "invalid_token",
                Diagnosis(
                    "the access token is bound to the client's key: send it as Authorization: DPoP, with a DPoP proof"))
        }
        guard let proof = try DPoPProof(exchange, at: url, nonces: proofNonces(exchange), token: token.text) else {
            throw DPoPProof.refusal("it is missing: send it in the header DPoP beside the token")
        }
        guard proof.thumbprint == thumbprint else {
            throw OAuthRefusal(
                "invalid_token",
                Diagnosis(
                    received: "a DPoP proof by the key \(Diagnosis.quote(proof.thumbprint))",
                    expected: Diagnosis.quote(thumbprint), "sign with the key with which the token was requested"))
        }
    }
}
