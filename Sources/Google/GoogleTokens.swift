import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// POST https://oauth2.googleapis.com/token, /revoke
// https://developers.google.com/identity/protocols/oauth2/web-server#exchange-authorization-code
//
// Quirks: expires_in is 3599. Refresh tokens aren't replaced when they are used, and none comes without
// access_type=offline. An unknown client is 401 "The OAuth client was not found."

extension GoogleProvider {
    private static let lifetime = TimeSpan.seconds(3599)

    private struct TokenError: Error {
        let status: Int
        let name: String
        let text: String?
        let diagnosis: Diagnosis

        init(_ name: String, _ text: String?, status: Int = 400, _ diagnosis: Diagnosis) {
            self.name = name
            self.text = text
            self.status = status
            self.diagnosis = diagnosis
        }

        var response: Response {
            var body = JSONObject([("error", .string(name))])
            body["error_description"] = text.map { .string($0) }
            return GoogleProvider.json(.object(body), status: status).diagnosed(diagnosis)
        }
    }

    static let tokenErrors = ordered([
        ("invalid_request", 400, "Bad Request"), ("invalid_client", 401, "Unauthorized"),
        ("invalid_grant", 400, "Bad Request"), ("unauthorized_client", 401, "Unauthorized"),
        ("unsupported_grant_type", 400, "Invalid grant_type"), ("redirect_uri_mismatch", 400, "Bad Request"),
        ("invalid_scope", 400, "Bad Request"), ("admin_policy_enforced", 400, nil), ("org_internal", 403, nil),
    ])
    static let revocationErrors = ordered([("invalid_token", 400, "Token expired or revoked")])
    static let profileErrors = ordered([("invalid_request", 401, "Invalid Credentials")])

    private static func ordered(_ errors: [(name: String, status: Int, text: String?)]) -> OperationTraits.Errors {
        OperationTraits.Errors(errors.map(\.name)) { order, _ in
            let known = errors.first { $0.name == order.name }
            return TokenError(
                order.name, order.description ?? known?.text, status: known?.status ?? 400, order.diagnosis
            ).response
        }
    }

    func token(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        let basic = BasicCredentials.read(exchange.request)
        let id = form["client_id"] ?? basic?.user ?? ""
        do throws(TokenError) {
            guard let client = clients[id] else {
                throw TokenError(
                    "invalid_client", "The OAuth client was not found.", status: 401,
                    Diagnosis(received: "client_id \(Diagnosis.quote(id))", "no such client is seeded\(hint(for: id))"))
            }
            let secret = form["client_secret"] ?? basic?.password ?? ""
            guard constantTimeEquals(Array(secret.utf8), Array(client.clientSecret.utf8)) else {
                throw TokenError(
                    "invalid_client", "Unauthorized", status: 401,
                    Diagnosis("client_secret isn't the one that the seed has for \"\(id)\""))
            }
            switch form["grant_type"] {
            case "authorization_code": return try redeem(exchange, form, client)
            case "refresh_token": return try refresh(exchange, form, client)
            case let other:
                throw TokenError(
                    other == nil ? "invalid_request" : "unsupported_grant_type",
                    other == nil ? "Required parameter is missing: grant_type" : "Invalid grant_type: \(other ?? "")",
                    Diagnosis(expected: "grant_type authorization_code or refresh_token", "send one of these"))
            }
        } catch {
            return error.response
        }
    }

    private func redeem(
        _ exchange: Exchange, _ form: Form, _ client: GoogleSection.Client
    ) throws(TokenError) -> Response {
        let text = form["code"] ?? ""
        let result = exchange.world.update { state -> Result<(GoogleState.Grant, Tokens, Account), TokenError> in
            let now = state.clock.now
            guard let entry = state[GoogleState.self].codes[text] else {
                return .failure(
                    TokenError(
                        "invalid_grant", "Malformed auth code.",
                        Diagnosis("this world has given out no such code, or its grant was revoked")))
            }
            let code = entry.value
            if let error = fault(of: code, expires: entry.expires, form, client, now) { return .failure(error) }
            guard let account = state.account(code.grant.account) else {
                return .failure(TokenError("invalid_grant", "Bad Request", Diagnosis("the account is gone")))
            }
            state[GoogleState.self].codes[text]?.value.usedBy = exchange.id
            return .success((code.grant, issue(&state, code.grant, withRefreshToken: code.isOffline), account))
        }
        let (grant, tokens, account) = try result.get()
        return try answer(exchange, grant, tokens, account)
    }

    private func fault(
        of code: GoogleState.Code, expires: Instant, _ form: Form, _ client: GoogleSection.Client, _ now: Instant
    ) -> TokenError? {
        if code.grant.client != client.clientID {
            return TokenError(
                "invalid_grant", "Bad Request", Diagnosis("the code was given to \"\(code.grant.client)\""))
        }
        if let request = code.usedBy {
            return TokenError(
                "invalid_grant", "Bad Request", Diagnosis("a code works once, and request \(request) redeemed this one")
            )
        }
        if expires <= now {
            return TokenError(
                "invalid_grant", "Bad Request", Diagnosis("the code expired \((now - expires).seconds) seconds ago"))
        }
        if form["redirect_uri"] != code.redirectURI {
            return TokenError(
                "redirect_uri_mismatch", "Bad Request",
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(form["redirect_uri"] ?? ""))",
                    expected: Diagnosis.quote(code.redirectURI), "send the one that began the sign-in"))
        }
        return code.challenge?.fault(of: form["code_verifier"]).map {
            TokenError(
                "invalid_grant", form["code_verifier"] == nil ? "Missing code verifier." : "Invalid code verifier.",
                Diagnosis($0))
        }
    }

    private func refresh(
        _ exchange: Exchange, _ form: Form, _ client: GoogleSection.Client
    ) throws(TokenError) -> Response {
        let text = form["refresh_token"] ?? ""
        let found = exchange.world.update { state -> (GoogleState.Grant, Tokens, Account)? in
            guard let grant = state[GoogleState.self].refreshTokens[text], grant.client == client.clientID,
                let account = state.account(grant.account)
            else { return nil }
            return (grant, issue(&state, grant, withRefreshToken: false), account)
        }
        guard let found else {
            throw TokenError(
                "invalid_grant", text.isEmpty ? "Bad Request" : "Token has been expired or revoked.",
                Diagnosis("the refresh token is missing, unknown, revoked or another client's"))
        }
        return try answer(exchange, found.0, found.1, found.2)
    }

    struct Tokens: Sendable {
        let access: String
        let refresh: String?
        let now: Instant
    }

    private func issue(_ state: inout Transaction, _ grant: GoogleState.Grant, withRefreshToken: Bool) -> Tokens {
        let access = GoogleProvider.issueAccessToken(&state, grant)
        var refresh: String?
        if withRefreshToken {
            let text = "1//0" + Base64URL.encode(state.random.bytes(72))
            state[GoogleState.self].keep(grant, as: text)
            refresh = text
        }
        return Tokens(access: access, refresh: refresh, now: state.clock.now)
    }

    static func issueAccessToken(_ state: inout Transaction, _ grant: GoogleState.Grant) -> String {
        let text = "ya29.a0" + Base64URL.encode(state.random.bytes(120))
        let now = state.clock.now
        state[GoogleState.self].accessTokens.insert(grant, as: text, expires: now + lifetime, now: now)
        return text
    }

    private func answer(
        _ exchange: Exchange, _ grant: GoogleState.Grant, _ tokens: Tokens, _ account: Account
    ) throws(TokenError) -> Response {
        var body = JSONObject([
            ("access_token", .string(tokens.access)), ("expires_in", .integer(GoogleProvider.lifetime.seconds)),
        ])
        body["refresh_token"] = tokens.refresh.map { .string($0) }
        body["scope"] = .string(grant.scopes.joined(separator: " "))
        body["token_type"] = "Bearer"
        if grant.scopes.contains("openid") {
            let claims = idToken(grant, account, at: tokens.now, accessToken: tokens.access)
            do {
                body["id_token"] = .string(try exchange.mint(.google, claims, at: tokens.now, withType: true))
            } catch {
                // Google's client libraries know the name and try again; the rest isn't documented.
                throw TokenError(
                    "internal_failure", nil, status: 500,
                    Diagnosis("the ID token can't be signed: \(error.description)"))
            }
        }
        return GoogleProvider.json(.object(body))
    }

    /// The claims of Google's ID token:
    /// <https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload>
    func idToken(
        _ grant: GoogleState.Grant, _ account: Account, at time: Instant, accessToken: String?
    ) -> JSONObject {
        var claims = JSONObject([
            ("iss", .string(GoogleProvider.issuer)), ("azp", .string(grant.client)), ("aud", .string(grant.client)),
            ("sub", .string(account.google.sub)),
        ])
        claims["hd"] = account.google.hostedDomain.map { .string($0) }
        for (name, value) in GoogleProvider.profile(account, grant.scopes) { claims[name] = value }
        claims["at_hash"] = accessToken.map { .string(Digest.leftHalf(of: $0)) }
        claims["nonce"] = grant.nonce.map { .string($0) }
        claims["iat"] = .numericDate(time)
        claims["exp"] = .numericDate(time + .hours(1))
        return claims
    }

    /// What the scopes show of a person.
    static func profile(_ account: Account, _ scopes: [String]) -> [(String, JSONValue)] {
        var shown: [(String, JSONValue)] = []
        if scopes.contains(fullName(ofScope: "email")) {
            shown += [("email", .string(account.email)), ("email_verified", .bool(account.emailVerified))]
        }
        if scopes.contains(fullName(ofScope: "profile")) {
            shown += [
                ("name", .string(account.fullName)),
                ("picture", .string("https://lh3.googleusercontent.com/a/\(account.google.sub)=s96-c")),
                ("given_name", .string(account.name.given)), ("family_name", .string(account.name.family)),
            ]
        }
        return shown
    }

    // MARK: - Revocation

    func revokeByPost(_ exchange: Exchange) -> Response {
        let body = exchange.request.bodyForm
        return revoke(exchange, body["token"] == nil ? exchange.request.queryForm : body)
    }

    func revoke(_ exchange: Exchange, _ form: Form) -> Response {
        let token = form["token"] ?? ""
        guard exchange.world.update({ $0[GoogleState.self].revoke(token: token) }) else {
            return GoogleProvider.json(
                ["error": "invalid_token", "error_description": "Token expired or revoked"], status: 400
            ).diagnosed(Diagnosis("the token is missing, unknown, expired or revoked already"))
        }
        return GoogleProvider.json([:])
    }
}
