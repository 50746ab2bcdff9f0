import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time

// GET and POST https://graph.facebook.com/oauth/access_token, GET /oauth/access_token_info
//
// Quirks: the app's ID and secret are parameters, or come by HTTP Basic. Without a grant_type, a code is redeemed;
// fb_exchange_token yields a token with a longer lifetime. With PKCE, the verifier can replace the secret. An app's own
// token is APPID|SECRET.

extension FacebookProvider {
    func token(_ exchange: Exchange) throws -> Response {
        let app = try app(exchange)
        switch parameter("grant_type", exchange) {
        case "client_credentials":
            try authenticate(app, exchange)
            return FacebookProvider.json(["access_token": .string("\(app.id)|\(app.secret)"), "token_type": "bearer"])
        case "fb_exchange_token":
            try authenticate(app, exchange)
            return answer(try exchangeToken(exchange, app))
        default: return try redeem(exchange, app)
        }
    }

    private func credentials(_ exchange: Exchange) -> ClientCredentials {
        ClientCredentials(exchange.request) { parameter($0, exchange) }
    }

    private func app(_ exchange: Exchange) throws(GraphError) -> FacebookApp {
        let id = credentials(exchange).id ?? ""
        if let app = apps[id] { return app }
        throw GraphError(
            message: id.isEmpty
                ? "Missing client_id parameter."
                : "Error validating application. Cannot get application info due to a system error.",
            code: 101,
            diagnosis: Diagnosis(
                received: "client_id \(Diagnosis.quote(id))",
                "no such app is configured in the seed\(apps.hint(for: id))"))
    }

    private func authenticate(_ app: FacebookApp, _ exchange: Exchange) throws(GraphError) {
        let credentials = credentials(exchange)
        guard !credentials.have(app.secret) else { return }
        throw GraphError(
            message: "Error validating client secret.", code: 1,
            diagnosis: Diagnosis(
                credentials.secret?.isEmpty ?? true
                    ? "client_secret is missing: send the app secret"
                    : "client_secret isn't the secret configured for \"\(app.id)\" in the seed"))
    }

    // MARK: - A code

    /// The checks of an authorization code at Facebook's token endpoint, in the order in which they happen.
    private static let redemption = Redemption(checks: [.client, .unused, .unexpired, .redirectURI, .codeVerifier])

    private func redeem(_ exchange: Exchange, _ app: FacebookApp) throws -> Response {
        let redirectURI = parameter("redirect_uri", exchange) ?? ""
        let isOfScript = redirectURI.isEmpty && isOfScript(code: parameter("code", exchange) ?? "", exchange)
        guard !redirectURI.isEmpty || isOfScript else {
            throw GraphError(
                message: "Missing redirect_uri parameter.", code: 191,
                diagnosis: Diagnosis(
                    "redirect_uri is missing: send the redirect_uri with which the login dialog was opened"))
        }
        guard isOfScript || WebAddress(redirectURI) != nil else {
            throw GraphError(
                message: "redirect_uri isn't an absolute URI. Check RFC 3986.", code: 191,
                diagnosis: Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    "send the redirect_uri with which the login dialog was opened"))
        }
        let verifier = parameter("code_verifier", exchange).flatMap { $0.isEmpty ? nil : $0 }
        let isSecret = credentials(exchange).secret != nil
        if verifier == nil || isSecret { try authenticate(app, exchange) }
        guard let code = parameter("code", exchange), !code.isEmpty else {
            throw GraphError(
                message: "Missing authorization code", code: 1,
                diagnosis: Diagnosis("code is missing: the callback has no code if the user cancelled the sign-in"))
        }
        let request = Redemption.Request(
            code: code, client: app.id, redirectURI: isOfScript ? nil : redirectURI, codeVerifier: verifier,
            exchange: exchange.id)
        typealias Redeemed = (code: Redemption.Redeemed<FacebookGrant>, accessToken: String)
        let redeemed: Redeemed
        do {
            redeemed = try exchange.world.update { tables -> Redeemed in
                // A verifier can replace the secret only if there was a challenge.
                if !isSecret, let code = tables.find(AuthorizationCode<FacebookGrant>.self, code), code.challenge == nil
                {
                    throw Redemption.Failure.codeVerifier(
                        "client_secret is missing, and the dialog was opened without a code_challenge")
                }
                let redeemed = try FacebookProvider.redemption.redeem(FacebookGrant.self, request, in: &tables)
                let details = redeemed.code.details
                return (
                    redeemed,
                    tables.makeAccessToken(
                        redeemed.grant, issuedAt: details.issuedAt, authNonce: details.authNonce)
                )
            }
        } catch let error as Redemption.Failure {
            guard case .unknown = error else { throw refusal(error, isSecret: isSecret) }
            throw refusal(
                error, isSecret: isSecret,
                because: exchange.reason(againstUnknownCode: request.code, FacebookGrant.self))
        }
        let details = redeemed.code.code.details
        guard details.isOpenID else { return answer(redeemed.accessToken) }
        return answer(
            redeemed.accessToken,
            idToken: try idToken(
                redeemed.code.account, redeemed.code.grant, nonce: details.nonce, redeemed.accessToken, exchange))
    }

    /// Whether an authorization code was issued to a page through Facebook's SDK for JavaScript. Such a code has no
    /// redirect URI, and is redeemed with an empty one.
    private func isOfScript(code: String, _ exchange: Exchange) -> Bool {
        exchange.world.read { tables in
            tables.find(AuthorizationCode<FacebookGrant>.self, code).map { $0.redirectURI == nil } ?? false
        }
    }

    private func refusal(
        _ failure: Redemption.Failure, isSecret: Bool, because reason: String? = nil
    ) -> GraphError {
        let (message, subcode): (String, Int64?) =
            switch failure {
            case .unknown, .otherClient, .noAccount: (GraphError.wrongCode, nil)
            case .used: ("This authorization code has been used.", 36009)
            case .expired: ("This authorization code has expired.", 36007)
            case .redirectURIMismatch:
                (
                    "Error validating verification code. Please make sure your redirect_uri is identical to the one you "
                        + "used in the OAuth dialog request", 36008
                )
            case .codeVerifier where isSecret || !failure.reason.hasPrefix("client_secret"):
                (
                    "Invalid code verifier. Code verifier should be a cryptographically random string using the characters A-Z, "
                        + "a-z, 0-9, and the punctuation characters -._~ (hyphen, period, underscore, and tilde), between 43 and 128 "
                        + "characters long.", nil
                )
            case .codeVerifier:
                ("Error validating client secret.", nil)
            }
        return GraphError(
            message: message, code: message.hasPrefix("Error validating client") ? 1 : 100, subcode: subcode,
            diagnosis: Diagnosis(reason ?? failure.fullReason(codesLasting: FacebookSignIn.codeLifetime)))
    }

    /// Returns the ID token of a Facebook sign-in with the scope `openid` or the response type `id_token`.
    func idToken(
        _ account: Account, _ grant: FacebookGrant, nonce: String?, _ accessToken: String?, _ exchange: Exchange
    ) throws -> String {
        let token = try limitedLogin(
            account, app: grant.app, permissions: grant.granted, nonce: nonce, accessToken: accessToken, in: exchange)
        do { return try exchange.mint(.facebook, token.claims, at: token.issuedAt, type: "JWT") } catch {
            throw GraphError(
                message: "An unknown error has occurred.", code: 1, status: 500,
                diagnosis: Diagnosis("the ID token can't be signed: \(error.description)"))
        }
    }

    // MARK: - A token for a token

    private func exchangeToken(_ exchange: Exchange, _ app: FacebookApp) throws -> String {
        guard let text = parameter("fb_exchange_token", exchange), !text.isEmpty else {
            throw GraphError(
                message: "fb_exchange_token parameter not specified", code: 1,
                diagnosis: Diagnosis(
                    "fb_exchange_token is missing: send the access token to exchange for a long-lived one"))
        }
        let caller = try accessToken(text, exchange)
        guard caller.grant.app == app.id else {
            throw GraphError(
                message: "The access token does not belong to application \(app.id)", code: 1,
                diagnosis: Diagnosis("fb_exchange_token was issued to another app, \"\(caller.grant.app)\""))
        }
        let made = try exchange.world.update { tables -> String? in
            guard let token = tables.find(Token<FacebookGrant>.self, text),
                let grant = tables.find(FacebookGrant.self, token.grant)
            else { return nil }
            return tables.makeAccessToken(grant, issuedAt: token.details.issuedAt)
        }
        guard let made else { throw GraphError.notAuthorized(app: app.id) }
        return made
    }

    private func answer(_ accessToken: String, idToken: String? = nil) -> Response {
        var body = JSONObject([
            ("access_token", .string(accessToken)), ("token_type", "bearer"),
            ("expires_in", .integer(FacebookToken.lifetime.seconds)),
        ])
        body["id_token"] = idToken.map { .string($0) }
        return FacebookProvider.json(.object(body))
    }

    // MARK: - /oauth/access_token_info

    /// Returns the lifetime and the app of an access token. The member `auth_nonce` is the nonce of the sign-in, by
    /// which an app checks that the person signed in again. A long-lived token that was got in exchange for another
    /// token has no `auth_nonce`.
    func tokenInfo(_ exchange: Exchange) throws(GraphError) -> Response {
        let caller = try accessToken(callerToken(exchange), exchange)
        let left = caller.token.expires.map { $0 - exchange.world.now } ?? FacebookToken.lifetime
        var info = JSONObject([
            ("access_token", .string(caller.token.key)), ("token_type", "bearer"),
            ("expires_in", .integer(left.seconds)), ("client_id", .string(caller.grant.app)),
        ])
        info["auth_nonce"] = caller.token.details.authNonce.map { .string($0) }
        return FacebookProvider.json(.object(info))
    }
}
