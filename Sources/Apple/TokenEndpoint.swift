import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// POST /auth/token
//
// Quirks: every error of the client's has status 400. The client is authenticated before anything else is checked. A
// code of the native flow has no redirect_uri. A refresh returns no new refresh token. Descriptions are often missing.

private enum TokenText {
    static let expired = "The code has expired or has been revoked."
}

extension AppleProvider {
    func token(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        do {
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
                        expected: "authorization_code, refresh_token or (to transfer an app) client_credentials",
                        "send one of these grant types"))
            case nil:
                throw AppleError(
                    .invalidRequest, nil, Diagnosis("grant_type is missing: send authorization_code or refresh_token"))
            }
        } catch let error as AppleError {
            return error.jsonResponse
        }
    }

    // MARK: - authorization_code

    /// The checks with which Apple redeems an authorization code. Apple doesn't document their order. A code verifier
    /// is accepted even if the authorization request had no code challenge.
    private static let redemption = Redemption(checks: [.unused, .unexpired, .client, .redirectURI, .codeVerifier])

    private func redeem(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws
        -> Response
    {
        guard let text = form["code"], !text.isEmpty else {
            throw AppleError(.invalidRequest, nil, Diagnosis("code is missing: send the authorization code"))
        }
        let redirectURI = form["redirect_uri"].flatMap { $0.isEmpty ? nil : $0 }
        if let redirectURI, client.kind == .service,
            !client.returnURLs.contains(where: { RegisteredRedirectURI($0).matches(redirectURI) })
        {
            throw AppleError(
                .invalidClient, nil,
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: "a registered redirect_uri: \(client.returnURLs.joined(separator: " "))",
                    "send the redirect_uri of the authorization request"))
        }
        guard AppleToken.code.fits(text) else {
            let isPlaceholder = exchange.isPlaceholder(text)
            throw AppleError(
                .invalidGrant, TokenText.expired,
                isPlaceholder
                    ? Diagnosis(exchange.reason(againstUnknown: text, called: "the code"))
                    : Diagnosis(
                        received: AppleToken.describe(text), expected: "an authorization code",
                        "send a code that the authorization endpoint has issued"))
        }
        let request = Redemption.Request(
            code: text, client: client.id, redirectURI: redirectURI, codeVerifier: form["code_verifier"],
            exchange: exchange.id)
        let issued: Issued
        do {
            issued = try exchange.world.update { tables -> Issued in
                let redeemed = try AppleProvider.redemption.redeem(AppleGrant.self, request, in: &tables)
                return issue(redeemed, to: client, in: &tables)
            }
        } catch let error as Redemption.Failure { throw refusal(error, request: request, exchange) }
        let code = issued.redeemed.code
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: issued.redeemed.grant, account: issued.redeemed.account,
            nonce: code.details.nonce, authenticatedAt: code.details.authenticatedAt, issuedAt: issued.redeemed.at,
            accessToken: issued.accessToken)
        return try tokenResponse(exchange, issued.accessToken, issued.refreshToken, token, at: issued.redeemed.at)
    }

    private struct Issued: Sendable {
        let redeemed: Redemption.Redeemed<AppleGrant>
        let accessToken: String
        let refreshToken: String
    }

    private func issue(
        _ redeemed: Redemption.Redeemed<AppleGrant>, to client: AppleDirectory.Client, in tables: inout Transaction
    ) -> Issued {
        let details = AppleGrant.TokenDetails(authenticatedAt: redeemed.code.details.authenticatedAt)
        let refreshToken = AppleToken.refresh.make(from: &tables.random)
        tables.put(
            Token<AppleGrant>(
                refreshToken, .refresh, grant: redeemed.grant.key, client: client.id, expires: nil, details: details))
        let accessToken = makeAccessToken(redeemed.grant, client, details, in: &tables)
        return Issued(redeemed: redeemed, accessToken: accessToken, refreshToken: refreshToken)
    }

    private func makeAccessToken(
        _ grant: AppleGrant, _ client: AppleDirectory.Client, _ details: AppleGrant.TokenDetails,
        in tables: inout Transaction
    ) -> String {
        let text = AppleToken.access.make(from: &tables.random)
        tables.put(
            Token<AppleGrant>(
                text, .access, grant: grant.key, client: client.id,
                expires: tables.now + settings.accessTokenLifetime, details: details))
        return text
    }

    private func refusal(
        _ failure: Redemption.Failure, request: Redemption.Request, _ exchange: Exchange
    ) -> AppleError {
        switch failure {
        case .unknown:
            return AppleError(
                .invalidGrant, TokenText.expired,
                Diagnosis(exchange.reason(againstUnknownCode: request.code, AppleGrant.self)))
        case .used:
            return AppleError(
                .invalidGrant, "The code has already been used.",
                Diagnosis(
                    "the code was already redeemed (\(failure.reason)): does the client handle the callback twice?"))
        case .expired(let age):
            return AppleError(
                .invalidGrant, TokenText.expired,
                Diagnosis(
                    "the code expired \(age.inWords) ago: a code is valid for \(settings.codeLifetime) by the test world's clock"
                ))
        case .otherClient(let client):
            return AppleError(
                .invalidGrant, "client_id mismatch. The code was not issued to \(request.client).",
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(request.client))", expected: Diagnosis.quote(client),
                    "send the client ID that requested the code: the App ID in native sign-in, the Services ID on the web"
                ))
        case .redirectURIMismatch(let expected):
            let sent = request.redirectURI
            return AppleError(
                .invalidGrant, sent.map { "redirect_uri mismatch. The code was not issued to \($0)." },
                Diagnosis(
                    received: sent.map { "redirect_uri \(Diagnosis.quote($0))" } ?? "no redirect_uri",
                    expected: expected.map { Diagnosis.quote($0) }
                        ?? "no redirect_uri, because the code is from native sign-in",
                    expected == nil ? "omit redirect_uri" : "send the redirect_uri of the authorization request"))
        case .codeVerifier(let sentence):
            return AppleError(.invalidGrant, nil, Diagnosis(sentence))
        case .noAccount:
            return AppleError(
                .invalidGrant, TokenText.expired,
                Diagnosis("the account for which this code was issued no longer exists"))
        }
    }

    // MARK: - refresh_token

    private func refresh(_ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client) throws
        -> Response
    {
        guard let text = form["refresh_token"], !text.isEmpty else {
            throw AppleError(.invalidRequest, nil, Diagnosis("refresh_token is missing"))
        }
        func refuse(_ diagnosis: Diagnosis) -> AppleError { AppleError(.invalidGrant, nil, diagnosis) }
        guard AppleToken.refresh.fits(text) else {
            let isPlaceholder = exchange.isPlaceholder(text)
            throw refuse(
                isPlaceholder
                    ? Diagnosis(exchange.reason(againstUnknown: text, called: "refresh_token"))
                    : Diagnosis(
                        received: AppleToken.describe(text), expected: "a refresh token",
                        "send the refresh_token from the token response"))
        }
        typealias Found = (token: Token<AppleGrant>, grant: AppleGrant, account: Account, access: String, at: Instant)
        let found = try exchange.world.update { tables -> Found? in
            guard let (token, grant, account) = tables.working(text, .refresh, AppleGrant.self),
                token.client == client.id
            else { return nil }
            let access = makeAccessToken(grant, client, token.details, in: &tables)
            return (token, grant, account, access, tables.now)
        }
        guard let found else {
            throw refuse(
                Diagnosis(
                    "the refresh token doesn't work: \(exchange.reason(againstUsing: text, .refresh, AppleGrant.self, of: client.id)); have the user sign in again"
                ))
        }
        // There is no nonce: it belonged to the authorization, and this is a later token.
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: found.grant, account: found.account,
            authenticatedAt: found.token.details.authenticatedAt, issuedAt: found.at, accessToken: found.access)
        return try tokenResponse(exchange, found.access, nil, token, at: found.at)
    }

    private func tokenResponse(
        _ exchange: Exchange, _ accessToken: String, _ refreshToken: String?, _ idToken: IDToken, at time: Instant
    ) throws(AppleError) -> Response {
        let minted: String
        do { minted = try exchange.mint(.apple, idToken.claims(settings), at: time) } catch { throw .unsigned(error) }
        var body = JSONObject([
            ("access_token", .string(accessToken)), ("token_type", "Bearer"),
            ("expires_in", .integer(settings.accessTokenLifetime.seconds)),
        ])
        body["refresh_token"] = refreshToken.map { .string($0) }
        body["id_token"] = .string(minted)
        return AppleProvider.json(.object(body))
    }

    // MARK: - client_credentials

    /// Issues the access token for moving users to a different developer team:
    /// <https://developer.apple.com/documentation/signinwithapple/transferring-your-apps-and-users-to-another-team>
    private func clientCredentials(
        _ exchange: Exchange, _ form: Form, _ client: AppleDirectory.Client
    ) throws -> Response {
        guard form["scope"] == "user.migration" else {
            throw AppleError(
                .invalidScope, nil,
                Diagnosis(
                    received: form["scope"].map { "scope \(Diagnosis.quote($0))" } ?? "no scope",
                    expected: "user.migration",
                    "client_credentials allows no other scope"))
        }
        let token = try exchange.world.update { tables in
            let text = AppleToken.access.make(from: &tables.random)
            let expires = tables.now + settings.accessTokenLifetime
            tables.put(MigrationToken(key: text, team: client.team, expires: expires))
            return text
        }
        return AppleProvider.json([
            "access_token": .string(token), "token_type": "Bearer",
            "expires_in": .integer(settings.accessTokenLifetime.seconds),
        ])
    }
}

/// The content of Apple's ID token, whose claims are written in Apple's order.
///
/// Quirks: there is never a name or a photo; `nonce` is returned exactly as it was sent; Booleans may be the strings
/// "true" and "false"; `email` exists only if the scope `email` was granted. `is_private_email` is missing if it is
/// false.
struct IDToken: Sendable {
    let issuer: String
    let client: AppleDirectory.Client
    let grant: AppleGrant
    let account: Account
    var nonce: String?
    let authenticatedAt: Instant
    let issuedAt: Instant
    /// The authorization code that is sent beside the ID token, for the claim `c_hash`; `nil` if there is none.
    var code: String?
    /// The access token that is sent beside the ID token, for the claim `at_hash`; `nil` if there is none.
    var accessToken: String?
    /// The value of the claim `real_user_status`, which only the ID token of a new user's first native sign-in has.
    var realUserStatus: Int64?

    func claims(_ settings: AppleSection) -> JSONObject {
        let team = grant.team
        var members: [(String, JSONValue)] = [
            ("iss", .string(issuer)), ("aud", .string(client.id)),
            ("exp", .numericDate(issuedAt + settings.idTokenLifetime)),
            ("iat", .numericDate(issuedAt)),
            ("sub", .string(AppleIdentifiers.subject(account: account.id, team: team))),
        ]
        if let nonce { members.append(("nonce", .string(nonce))) }
        if let code { members.append(("c_hash", .string(Algorithm.rs256.leftHalf(of: code)))) }
        if let accessToken { members.append(("at_hash", .string(Algorithm.rs256.leftHalf(of: accessToken)))) }
        if grant.scopes.contains(.email) {
            // A relay address is always verified, because Apple made it.
            let isVerified = !grant.sharesEmail || account.emailVerified
            members.append(("email", .string(grant.email(of: account))))
            members.append(("email_verified", settings.boolean(isVerified)))
            if !grant.sharesEmail { members.append(("is_private_email", settings.boolean(true))) }
        }
        members += [("auth_time", .numericDate(authenticatedAt)), ("nonce_supported", .bool(true))]
        if let realUserStatus { members.append(("real_user_status", .integer(realUserStatus))) }
        if let transfer = client.transfer, issuedAt >= transfer.at,
            issuedAt < transfer.at + AppleSection.Transfer.period
        {
            let subject = AppleIdentifiers.transferSubject(account: account.id, from: transfer.fromTeam, to: team)
            members.append(("transfer_sub", .string(subject)))
        }
        return JSONObject(members)
    }
}

extension AppleSection {
    /// Returns the JSON value of a Boolean claim: a Boolean or a string, as the seed chooses.
    func boolean(_ value: Bool) -> JSONValue {
        switch booleanClaims {
        case .boolean: .bool(value)
        case .string: .string(value ? "true" : "false")
        }
    }
}
