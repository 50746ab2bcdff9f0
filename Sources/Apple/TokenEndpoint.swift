import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

// POST /auth/token
// https://developer.apple.com/documentation/signinwithapplerestapi/generate-and-validate-tokens
//
// Quirks: every error is 400. The client is authenticated before anything else is looked at. A code of the native flow
// takes no redirect_uri. A refresh brings no new refresh token. Descriptions are often missing.

/// Apple's words.
private enum TokenText {
    static let expired = "The code has expired or has been revoked."
}

extension AppleProvider {
    func token(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        do throws(AppleError) {
            if let name = form.repeatedName {
                throw AppleError(
                    .invalidRequest, nil,
                    Diagnosis("the parameter \(Diagnosis.quote(name)) occurs more than once: send it once"))
            }
            let client = try authenticate(exchange, form)
            switch form["grant_type"] {
            case "authorization_code": return try redeem(exchange, form, client)
            case "refresh_token": return try refresh(exchange, form, client)
            case "client_credentials": return try clientCredentials(exchange, form, client)
            case let type?:
                throw AppleError(
                    .unsupportedGrantType, nil,
                    Diagnosis(
                        received: "grant_type \(Diagnosis.quote(type))",
                        expected: "authorization_code, refresh_token, or client_credentials for a transfer",
                        "use one of these"))
            case nil:
                throw AppleError(
                    .invalidRequest, nil, Diagnosis("grant_type is missing: send authorization_code or refresh_token"))
            }
        } catch {
            return error.jsonResponse
        }
    }

    // MARK: - authorization_code

    private struct Redeemed: Sendable {
        let code: AppleState.Code
        let grant: AppleState.Grant
        let account: Account
        let accessName: TokenName
        let refreshName: TokenName
        let at: Instant
    }

    private func redeem(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let text = form["code"], !text.isEmpty else {
            throw AppleError(.invalidRequest, nil, Diagnosis("code is missing: send the authorization code"))
        }
        let redirectURI = form["redirect_uri"].flatMap { $0.isEmpty ? nil : $0 }
        if let redirectURI, client.kind == .service, !client.returnURLs.contains(redirectURI) {
            throw AppleError(
                .invalidClient, nil,
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: "one that is registered: \(client.returnURLs.joined(separator: " "))",
                    "send the redirect_uri of the authorize request"))
        }
        guard let name = AppleToken.code.name(in: text) else {
            throw AppleError(
                .invalidGrant, TokenText.expired,
                Diagnosis(
                    received: AppleToken.describe(text), expected: "an authorization code", "this isn't one of ours"))
        }
        let result = exchange.world.update { state -> Result<Redeemed, AppleError> in
            redeem(name, redirectURI, client, exchange.id, &state)
        }
        let redeemed: Redeemed
        switch result {
        case .success(let value): redeemed = value
        case .failure(let error): throw error
        }
        let accessToken = AppleToken.access.text(redeemed.accessName)
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: redeemed.grant, account: redeemed.account,
            nonce: redeemed.code.nonce, authenticatedAt: redeemed.code.authenticatedAt, issuedAt: redeemed.at,
            accessToken: accessToken)
        let refreshToken = AppleToken.refresh.text(redeemed.refreshName)
        return tokenResponse(exchange, accessToken, refreshToken, token, at: redeemed.at)
    }

    /// The checks of a code, in the order unknown, used, expired, client, redirect URI. Apple's order isn't documented.
    /// A refusal leaves the code as it was.
    private func redeem(
        _ name: TokenName, _ redirectURI: String?, _ client: AppleDirectory.Client, _ exchangeID: String,
        _ state: inout Transaction
    ) -> Result<Redeemed, AppleError> {
        func refuse(_ description: String?, _ diagnosis: Diagnosis) -> Result<Redeemed, AppleError> {
            .failure(AppleError(.invalidGrant, description, diagnosis))
        }
        let now = state.clock.now
        let expired = TokenText.expired
        guard let entry = state[AppleState.self].codes[name] else {
            return refuse(
                expired,
                Diagnosis(
                    "the code isn't known any more: its grant was revoked, it expired long ago, or the world was reset"
                ))
        }
        if let first = entry.value.usedBy {
            return refuse(
                "The code has already been used.",
                Diagnosis("a code works once, and request \(first) redeemed this one; is the callback handled twice?"))
        }
        if entry.expires <= now {
            let age = now - entry.expires
            let life = settings.codeLifetime
            return refuse(expired, Diagnosis("the code expired \(age) ago; it lasts \(life) by the world's clock"))
        }
        guard entry.value.client == client.id else {
            return refuse(
                "client_id mismatch. The code was not issued to \(client.id).",
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(client.id))", expected: Diagnosis.quote(entry.value.client),
                    "native codes belong to the App ID, web codes to the Services ID"))
        }
        guard entry.value.redirectURI == redirectURI else {
            let sent = entry.value.redirectURI.map { Diagnosis.quote($0) } ?? "none: the code is of the native flow"
            return refuse(
                redirectURI.map { "redirect_uri mismatch. The code was not issued to \($0)." },
                Diagnosis(
                    received: redirectURI.map { "redirect_uri \(Diagnosis.quote($0))" } ?? "no redirect_uri",
                    expected: sent,
                    "send the redirect_uri of the authorize request, and none if it had none"))
        }
        guard let grant = state[AppleState.self].grants[entry.value.grant],
            let account = state.account(grant.key.account)
        else { return refuse(expired, Diagnosis("the account of this code no longer exists")) }
        state[AppleState.self].codes[name]?.value.usedBy = exchangeID
        let token = AppleState.Token(
            grant: entry.value.grant, client: client.id, authenticatedAt: entry.value.authenticatedAt)
        let refreshName = state.random.tokenName()
        state[AppleState.self].refreshTokens[refreshName] = token
        let accessName = makeAccessToken(token, now, &state)
        return .success(
            Redeemed(
                code: entry.value, grant: grant, account: account, accessName: accessName,
                refreshName: refreshName, at: now))
    }

    private func makeAccessToken(_ token: AppleState.Token, _ now: Instant, _ state: inout Transaction) -> TokenName {
        let name = state.random.tokenName()
        state[AppleState.self].accessTokens.insert(
            token, as: name, expires: now + settings.accessTokenLifetime, now: now)
        return name
    }

    // MARK: - refresh_token

    private func refresh(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws(AppleError)
        -> Response
    {
        guard let text = form["refresh_token"], !text.isEmpty else {
            throw AppleError(.invalidRequest, nil, Diagnosis("refresh_token is missing"))
        }
        func refuse(_ diagnosis: Diagnosis) -> AppleError { AppleError(.invalidGrant, nil, diagnosis) }
        guard let name = AppleToken.refresh.name(in: text) else {
            throw refuse(
                Diagnosis(
                    received: AppleToken.describe(text), expected: "a refresh token",
                    "send the refresh_token of the token answer"))
        }
        typealias Found = (
            token: AppleState.Token, grant: AppleState.Grant, account: Account, access: TokenName, at: Instant
        )
        let found = exchange.world.update { state -> Found? in
            guard let token = state[AppleState.self].refreshTokens[name], token.client == client.id,
                let grant = state[AppleState.self].grants[token.grant], let account = state.account(grant.key.account)
            else { return nil }
            let now = state.clock.now
            return (token, grant, account, makeAccessToken(token, now, &state), now)
        }
        guard let found else {
            throw refuse(
                Diagnosis(
                    "the refresh token was revoked, was issued to another client_id, or the world was reset since"))
        }
        let accessToken = AppleToken.access.text(found.access)
        // No nonce: it belonged to the authorization, and this is a later token.
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: found.grant, account: found.account,
            authenticatedAt: found.token.authenticatedAt, issuedAt: found.at, accessToken: accessToken)
        return tokenResponse(exchange, accessToken, nil, token, at: found.at)
    }

    private func tokenResponse(
        _ exchange: Exchange, _ accessToken: String, _ refreshToken: String?, _ idToken: IDToken, at time: Instant
    ) -> Response {
        let minted: String
        do { minted = try exchange.mint(.apple, idToken.claims(settings), at: time) } catch {
            return ControlAnswer.error(500, "signing", error.description)
        }
        var body = JSONObject([
            ("access_token", .string(accessToken)), ("token_type", "Bearer"),
            ("expires_in", .integer(settings.accessTokenLifetime.seconds)),
        ])
        body["refresh_token"] = refreshToken.map { .string($0) }
        body["id_token"] = .string(minted)
        return AppleProvider.json(.object(body))
    }

    // MARK: - client_credentials

    /// For moving users to another team:
    /// <https://developer.apple.com/documentation/signinwithapple/transferring-your-apps-and-users-to-another-team>
    private func clientCredentials(
        _ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client
    ) throws(AppleError) -> Response {
        guard form["scope"] == "user.migration" else {
            throw AppleError(
                .invalidScope, nil,
                Diagnosis(
                    received: form["scope"].map { "scope \(Diagnosis.quote($0))" } ?? "no scope",
                    expected: "user.migration",
                    "the only scope of this grant type"))
        }
        let token = exchange.world.update { state in
            let now = state.clock.now
            let name = state.random.tokenName()
            state[AppleState.self].migrationTokens.insert(
                client.team, as: name, expires: now + settings.accessTokenLifetime, now: now)
            return AppleToken.access.text(name)
        }
        return AppleProvider.json([
            "access_token": .string(token), "token_type": "Bearer",
            "expires_in": .integer(settings.accessTokenLifetime.seconds),
        ])
    }
}
