import JOSE
import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

// POST /login/oauth/access_token
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#2-users-are-redirected-back-to-your-site-by-github
//
// Quirks: errors come with status 200. Parameters come as a form, as JSON or in the query; the secret also by Basic. An
// unknown client is 404. grant_type may be left out for a code. The same endpoint answers the device flow's polls. What
// a refused exchange does to its code isn't documented, but clients try client authentication twice, so a code is used
// up only when it is redeemed.

extension GitHubProvider {
    func token(_ exchange: Exchange) -> Response {
        let format = AnswerFormat(accept: exchange.request.header("Accept"))
        let call = TokenCall(exchange.request)
        guard let app = directory.apps[call.clientID] else { return unknownClient(call.clientID) }
        let grantType = call["grant_type"] ?? "authorization_code"
        do throws(OAuthError) {
            switch grantType {
            case "authorization_code":
                return format.response(try redeem(call, app, exchange))
            case "refresh_token":
                return format.response(try refresh(call, app, exchange))
            case DeviceTable.grantType:
                return format.response(try poll(call, app, exchange))
            default:
                throw OAuthError(
                    .unsupportedGrantType,
                    Diagnosis(
                        received: "grant_type \(Diagnosis.quote(grantType))",
                        expected: "authorization_code, refresh_token or \(DeviceTable.grantType)",
                        "send one of these, or none for a code"))
            }
        } catch {
            let status = grantType == DeviceTable.grantType ? settings.deviceErrorStatus : 200
            return error.answer(format, status: status)
        }
    }

    func unknownClient(_ id: String) -> Response {
        let diagnosis =
            id.isEmpty
            ? Diagnosis("client_id is missing: send it in a form, in JSON, in the query or by Basic authentication")
            : Diagnosis(
                received: "client_id \(Diagnosis.quote(id))", "no such app is seeded\(directory.hint(for: id))")
        return Response(
            status: 404, contentType: "application/json; charset=utf-8", body: #"{"error":"Not Found"}"#
        ).diagnosed(diagnosis)
    }

    private func authenticate(_ call: TokenCall, _ app: GitHubSection.App) throws(OAuthError) {
        let secret = call.clientSecret ?? ""
        guard !constantTimeEquals(Array(secret.utf8), Array(app.secret.utf8)) else { return }
        throw OAuthError(
            .incorrectClientCredentials,
            Diagnosis(
                secret.isEmpty
                    ? "client_secret is missing: send it, even with PKCE"
                    : "client_secret isn't the one that the seed has for \"\(app.clientID)\""))
    }

    // MARK: - A code

    private func redeem(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws(OAuthError) -> [AnswerFormat.Field] {
        try authenticate(call, app)
        let text = call["code"] ?? ""
        let result = exchange.world.update { state -> Result<[AnswerFormat.Field], OAuthError> in
            let now = state.clock.now
            guard let entry = state[GitHubState.self].codes[text] else {
                return .failure(unknownCode(text, state[GitHubState.self], now))
            }
            let account = state.account(entry.value.grant.account)
            if let error = fault(of: entry, call, app, account, now) { return .failure(error) }
            state[GitHubState.self].codes[text]?.value.usedBy = exchange.id
            let code = entry.value
            return .success(
                issue(
                    &state, app, code.grant, code.scopes, wantsRefresh: code.wantsRefreshToken, isFromDevice: false))
        }
        return try result.get()
    }

    private func unknownCode(_ text: String, _ state: GitHubState, _ now: Instant) -> OAuthError {
        if text.isEmpty { return OAuthError(.badVerificationCode, Diagnosis("code is missing")) }
        if GitHubToken.kind(of: text) != nil {
            return OAuthError(.badVerificationCode, Diagnosis("this is a token, not an authorization code"))
        }
        return OAuthError(
            .badVerificationCode,
            Diagnosis(
                received: "code \(Diagnosis.quote(text, limit: 24))",
                "this world has given out no such code, or it is long gone, or its grant was revoked"))
    }

    private func fault(
        of entry: ExpiringTable<String, GitHubState.Code>.Entry, _ call: TokenCall, _ app: GitHubSection.App,
        _ account: Account?, _ now: Instant
    ) -> OAuthError? {
        let code = entry.value
        guard code.grant.client == app.clientID else {
            return OAuthError(
                .badVerificationCode,
                Diagnosis("the code was given to \"\(code.grant.client)\", not to \"\(app.clientID)\""))
        }
        if let request = code.usedBy {
            return OAuthError(
                .badVerificationCode,
                Diagnosis("a code works once, and request \(request) redeemed this one; is the callback handled twice?")
            )
        }
        guard entry.expires > now else {
            return OAuthError(
                .badVerificationCode, Diagnosis("the code expired \((now - entry.expires).seconds) seconds ago"))
        }
        if let uri = call["redirect_uri"], !uri.isEmpty, uri != code.redirectURI,
            !app.callbacks.contains(where: { $0.matches(uri) })
        {
            return OAuthError(.redirectURIMismatch, AuthorizationRequest.mismatch(of: uri, app))
        }
        // The error of a wrong verifier isn't documented.
        if let fault = code.challenge?.fault(of: call["code_verifier"]) {
            return OAuthError(.badVerificationCode, Diagnosis(fault))
        }
        guard let account, !code.isUnverified else {
            return OAuthError(
                .unverifiedUserEmail,
                Diagnosis(account == nil ? "the account is gone" : "this error was ordered as an outcome"))
        }
        return unverified(account)
    }

    func unverified(_ account: Account) -> OAuthError? {
        guard let primary = account.github.primaryEmail, !primary.verified else { return nil }
        return OAuthError(
            .unverifiedUserEmail,
            Diagnosis("the primary address of \"\(account.id)\" isn't verified: sign in as someone else"))
    }

    // MARK: - A refresh token

    private func refresh(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws(OAuthError) -> [AnswerFormat.Field] {
        let text = call["refresh_token"] ?? ""
        let found = exchange.world.update { state in
            state[GitHubState.self].refreshTokens[text].flatMap { state[GitHubState.self].tokens[$0.accessToken] }
        }
        // A token that came by the device flow is refreshed without a secret.
        if !(found?.isFromDevice ?? false) || call.clientSecret != nil { try authenticate(call, app) }
        let result = exchange.world.update { state -> Result<[AnswerFormat.Field], OAuthError> in
            let now = state.clock.now
            guard let refresh = state[GitHubState.self].refreshTokens[text], refresh.expires > now,
                let token = state[GitHubState.self].tokens[refresh.accessToken], token.grant.client == app.clientID
            else {
                let reason = text.isEmpty ? "is missing" : state[GitHubState.self].failure(of: text, now: now)
                return .failure(OAuthError(.badRefreshToken, Diagnosis("the refresh token \(reason)")))
            }
            state[GitHubState.self].revoke(token.text, because: "request \(exchange.id) refreshed it")
            return .success(
                issue(&state, app, token.grant, token.scopes, wantsRefresh: true, isFromDevice: token.isFromDevice))
        }
        return try result.get()
    }

    // MARK: - The answer

    /// Makes a token, and a refresh token where the app or the request wants one.
    func issue(
        _ state: inout Transaction, _ app: GitHubSection.App, _ grant: GitHubState.GrantKey, _ scopes: GitHubScopes,
        wantsRefresh: Bool, isFromDevice: Bool
    ) -> [AnswerFormat.Field] {
        let now = state.clock.now
        let isGenuine = settings.hasValidChecksums
        let kind: GitHubToken.Kind = app.isGitHubApp ? .gitHubAppUser : .oauthApp
        let text = GitHubToken.make(kind, from: &state.random, isGenuine: isGenuine)
        var fields: [AnswerFormat.Field] = [("access_token", .string(text))]
        var refresh: (text: String, expires: Instant)?
        if app.hasExpiringTokens || wantsRefresh {
            let refreshText = GitHubToken.make(.refresh, from: &state.random, isGenuine: isGenuine)
            refresh = (text: refreshText, expires: now + settings.refreshTokenLifetime)
            fields += [
                ("expires_in", .integer(settings.accessTokenLifetime.seconds)), ("refresh_token", .string(refreshText)),
                ("refresh_token_expires_in", .integer(settings.refreshTokenLifetime.seconds)),
            ]
        }
        state[GitHubState.self].add(
            text, grant: grant, scopes: scopes, expires: refresh.map { _ in now + settings.accessTokenLifetime },
            refresh: refresh, isFromDevice: isFromDevice, now: now)
        return fields + [("token_type", "bearer"), ("scope", .string(scopes.joined(by: ",")))]
    }
}

/// The parameters of a call to the token or device endpoint, from wherever they came.
struct TokenCall: Sendable {
    private let fields: [String: String]
    private let basic: (user: String, password: String)?

    init(_ request: Request) {
        var fields: [String: String] = [:]
        for field in request.queryForm.fields { fields[field.name] = field.value }
        if request.hasJSONBody {
            for member in (try? JSONValue(parsing: request.body))?.object?.members ?? [] {
                if let text = member.value.string { fields[member.key] = text }
            }
        } else {
            for field in request.bodyForm.fields { fields[field.name] = field.value }
        }
        self.fields = fields
        basic = BasicCredentials.read(request)
    }

    subscript(name: String) -> String? { fields[name] }

    var clientID: String { fields["client_id"] ?? basic?.user ?? "" }
    var clientSecret: String? { fields["client_secret"] ?? basic?.password }
}
