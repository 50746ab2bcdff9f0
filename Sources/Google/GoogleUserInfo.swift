import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// GET /v1/userinfo, /oauth2/v2/userinfo and /tokeninfo; certificates and discovery
// https://developers.google.com/identity/openid-connect/openid-connect#obtaininguserprofileinformation
// https://developers.google.com/identity/sign-in/web/backend-auth#calling-the-tokeninfo-endpoint
//
// Quirks: versions 1 and 2 of userinfo say `id` and `verified_email`. tokeninfo writes every value as a string.

extension GoogleProvider {
    func userInfo(_ exchange: Exchange, isOld: Bool = false) -> Response {
        guard let (grant, account) = grant(of: GoogleProvider.accessToken(of: exchange.request), in: exchange) else {
            return GoogleProvider.json(
                ["error": "invalid_request", "error_description": "Invalid Credentials"], status: 401
            ).diagnosed(Diagnosis("the access token is missing, unknown, expired or revoked"))
        }
        var body = JSONObject([(isOld ? "id" : "sub", .string(account.google.sub))])
        for (name, value) in GoogleProvider.profile(account, grant.scopes) {
            body[isOld && name == "email_verified" ? "verified_email" : name] = value
        }
        body["hd"] = account.google.hostedDomain.map { .string($0) }
        return GoogleProvider.json(.object(body))
    }

    static func accessToken(of request: Request) -> String {
        let words = (request.header("Authorization") ?? "").split(separator: " ")
        return words.count == 2 && words[0].lowercased() == "bearer"
            ? String(words[1]) : request.queryForm["access_token"] ?? request.bodyForm["access_token"] ?? ""
    }

    private func grant(of token: String, in exchange: Exchange) -> (GoogleState.Grant, Account)? {
        exchange.world.update { state in
            guard let entry = state[GoogleState.self].accessTokens[token], entry.expires > state.clock.now,
                let account = state.account(entry.value.account)
            else { return nil }
            return (entry.value, account)
        }
    }

    // MARK: - tokeninfo

    func tokenInfo(_ exchange: Exchange) -> Response {
        let query = exchange.request.queryForm
        let body = exchange.request.bodyForm
        if let text = query["id_token"] ?? body["id_token"] { return idTokenInfo(exchange, text) }
        let token = query["access_token"] ?? body["access_token"] ?? ""
        let now = exchange.world.now
        guard let (grant, account) = grant(of: token, in: exchange),
            let expires = exchange.world.update({ $0[GoogleState.self].accessTokens[token]?.expires })
        else { return invalid("the access token is missing, unknown, expired or revoked") }
        var info = JSONObject([
            ("azp", .string(grant.client)), ("aud", .string(grant.client)), ("sub", .string(account.google.sub)),
            ("scope", .string(grant.scopes.joined(separator: " "))), ("exp", .string(String(expires.seconds))),
            ("expires_in", .string(String(max(.zero, expires - now.wholeSecond).seconds))),
        ])
        for (name, value) in GoogleProvider.profile(account, grant.scopes) where name.hasPrefix("email") {
            info[name] = .string(value.string ?? value.text)
        }
        info["access_type"] = "online"
        return GoogleProvider.json(.object(info))
    }

    private func idTokenInfo(_ exchange: Exchange, _ text: String) -> Response {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            return invalid("the ID token can't be read: \(error.description)")
        }
        let ring = exchange.world.keys[.google]
        guard let key = ring.published.first(where: { $0.id == token.keyID }) else {
            return invalid("kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't one of Google's keys here")
        }
        guard token.algorithm == "RS256", token.verify(with: key.key, algorithm: .rs256) == .valid else {
            return invalid("the signature isn't Google's")
        }
        guard let expires = token.claims["exp"]?.numericDate, expires > exchange.world.now else {
            return invalid("the ID token has expired")
        }
        var info = JSONObject()
        for (name, value) in token.claims.members { info[name] = .string(value.string ?? value.text) }
        info["alg"] = "RS256"
        info["kid"] = .string(key.id)
        info["typ"] = "JWT"
        return GoogleProvider.json(.object(info))
    }

    private func invalid(_ reason: String) -> Response {
        GoogleProvider.json(["error": "invalid_token", "error_description": "Invalid Value"], status: 400)
            .diagnosed(Diagnosis(reason))
    }

    // MARK: - Keys and discovery

    static func keySet(_ exchange: Exchange) -> Response {
        cached(exchange.keySet(.google))
    }

    static func certificates(_ exchange: Exchange) -> Response {
        do {
            return cached(
                try exchange.certificates(.google, commonName: "federated-signon.system.gserviceaccount.com")
            )
        } catch {
            return json(["error": "internal"], status: 500).diagnosed(Diagnosis(error.description))
        }
    }

    private static func cached(_ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=19800, must-revalidate, no-transform")],
            body: value.text)
    }

    func discovery(_ exchange: Exchange) -> Response {
        let accounts = exchange.address.base(of: GoogleProvider.host)
        let tokens = exchange.address.base(of: GoogleProvider.tokenHost)
        return GoogleProvider.json([
            "issuer": .string(GoogleProvider.issuer),
            "authorization_endpoint": .string(accounts + GoogleProvider.authorizePath),
            "token_endpoint": .string("\(tokens)/token"),
            "userinfo_endpoint": .string(exchange.address.base(of: GoogleProvider.userInfoHost) + "/v1/userinfo"),
            "revocation_endpoint": .string("\(tokens)/revoke"),
            "jwks_uri": .string(exchange.address.base(of: GoogleProvider.apiHost) + "/oauth2/v3/certs"),
            "response_types_supported": [
                "code", "token", "id_token", "code token", "code id_token", "token id_token", "code token id_token",
                "none",
            ],
            "response_modes_supported": ["query", "fragment", "form_post"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name", "picture",
                "sub",
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "authorization_response_iss_parameter_supported": true,
        ])
    }

    // MARK: - POST /_understudy/v1/google/authorizations

    private struct NativeRequest: SchemaObject {
        let client: String
        let account: String?
        let nonce: String?
        let scopes: [String]

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The app's client ID.")
            account = fields.nullable("account", .text(.nonEmpty), "Who signs in on the device.")
            nonce = fields.nullable("nonce", .text(.nonEmpty), "What the app gave the Google SDK as nonce.")
            scopes = fields(
                "scopes", .set(of: .text(.nonEmpty)), default: ["openid", "email", "profile"],
                "What the app asks for.")
        }
    }

    /// What the Google SDK on a device would deliver: an ID token and an access token.
    func authorizeNatively(_ exchange: Exchange) -> Response {
        let body: NativeRequest
        do { body = try exchange.body(NativeRequest.self) } catch { return error.response }
        let id = body.client
        guard let client = clients[id] else {
            return ControlAnswer.error(
                404, "noSuchClient", "no client \(Diagnosis.quote(id)) is seeded\(hint(for: id))", path: "$.client")
        }
        let requested = body.account
        let interaction = client.interaction ?? exchange.world.seed.interaction
        let scopes = body.scopes.map { GoogleProvider.fullName(ofScope: $0) }
        let (outcome, found) = exchange.world.update { state -> (Outcome?, (Account, String, Instant)?) in
            let outcome = exchange.outcome(
                &state, provider: name, client: id, interaction: interaction, account: requested)
            guard outcome.map({ $0.kind == .approve }) ?? true,
                let account = requested.map({ state.account($0) }) ?? state.personSigningIn(interaction, outcome)
            else { return (outcome, nil) }
            let grant = GoogleState.Grant(
                account: account.id, client: id, scopes: scopes, nonce: body.nonce)
            state[GoogleState.self].consent(grant)
            return (
                outcome, (account, GoogleProvider.issueAccessToken(&state, grant), state.clock.now)
            )
        }
        if let outcome, outcome.kind != .approve {
            return ControlAnswer.error(409, outcome.error ?? "canceled", "this was ordered as an outcome")
        }
        guard let (account, access, now) = found else {
            return ControlAnswer.error(404, "noSuchAccount", "there is no such account to sign in", path: "$.account")
        }
        let grant = GoogleState.Grant(account: account.id, client: id, scopes: scopes, nonce: body.nonce)
        let claims = idToken(grant, account, at: now, accessToken: access)
        do {
            let minted = try exchange.mint(.google, claims, at: now, withType: true)
            return ControlAnswer.ok([
                "userID": .string(account.google.sub), "idToken": .string(minted), "accessToken": .string(access),
            ])
        } catch {
            return ControlAnswer.error(500, "signing", error.description)
        }
    }
}
