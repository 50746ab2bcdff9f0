import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time
import Worlds

// POST /login/oauth/access_token
//
// Quirks: errors have status 200. Parameters may be a form, JSON or in the query; the secret also by Basic. An unknown
// client leads to 404. grant_type may be missing for a code. The same endpoint answers the device flow's polls. Clients
// try client authentication twice, so only a successful exchange uses up the code.

extension GitHubProvider {
    func token(_ exchange: Exchange) throws -> Response {
        let format = AnswerFormat(accept: exchange.request.header("Accept"))
        let call = TokenCall(exchange.request)
        guard let app = directory.apps[call.clientID] else { return unknownClient(call.clientID, exchange.request) }
        let grantType = call["grant_type"] ?? "authorization_code"
        do {
            switch grantType {
            case "authorization_code":
                return format.response(fields(of: try redeem(call, app, exchange)))
            case "refresh_token":
                return format.response(fields(of: try refresh(call, app, exchange)))
            case DeviceAuthorization.grantType:
                return format.response(fields(of: try poll(call, app, exchange)))
            default:
                throw OAuthError(
                    .unsupportedGrantType,
                    Diagnosis(
                        received: "grant_type \(Diagnosis.quote(grantType))",
                        expected: "authorization_code, refresh_token or \(DeviceAuthorization.grantType)",
                        "send one of these, or leave grant_type out to redeem a code"))
            }
        } catch let error as OAuthError {
            let status = grantType == DeviceAuthorization.grantType ? settings.deviceErrorStatus : 200
            return error.answer(format, status: status)
        }
    }

    func unknownClient(_ id: String, _ request: Request) -> Response {
        let diagnosis =
            id.isEmpty
            ? request.unreadBody
                ?? Diagnosis(
                    "client_id is missing: send it in a form, in JSON, in the query or by Basic authentication")
            : Diagnosis(
                received: "client_id \(Diagnosis.quote(id))",
                "no such app is configured in the seed\(directory.hint(forClient: id))")
        return Response(
            status: 404, contentType: "application/json; charset=utf-8", body: #"{"error":"Not Found"}"#
        ).diagnosed(diagnosis).known(by: GitHubProvider.evidence.ofError("Not Found"))
    }

    private func authenticate(_ call: TokenCall, _ app: GitHubSection.App) throws(OAuthError) {
        guard !call.credentials.have(app.secret) else { return }
        throw OAuthError(
            .incorrectClientCredentials,
            call.missingGrantType
                ?? Diagnosis(
                    call.credentials.secret?.isEmpty ?? true
                        ? "client_secret is missing: send it, even with PKCE"
                        : "client_secret isn't the secret configured for \"\(app.clientID)\" in the seed"))
    }

    // MARK: - A code

    private func redeem(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws -> IssuedTokens {
        try authenticate(call, app)
        let request = Redemption.Request(
            code: call["code"] ?? "", client: app.clientID, redirectURI: call["redirect_uri"],
            codeVerifier: call["code_verifier"], exchange: exchange.id)
        let redemption = GitHubProvider.redemption(for: app)
        do {
            return try exchange.world.update { tables -> IssuedTokens in
                let redeemed = try redemption.redeem(GitHubGrant.self, request, in: &tables)
                let details = redeemed.code.details
                if let fault = addressFault(of: redeemed.account, isUnverified: details.isUnverified) { throw fault }
                return issue(
                    redeemed.grant, details.scopes, to: app, withRefreshToken: details.wantsRefreshToken,
                    isFromDevice: false, in: &tables)
            }
        } catch let failure as Redemption.Failure {
            if let diagnosis = call.missingGrantType { throw OAuthError(.badVerificationCode, diagnosis) }
            throw refusal(failure, request, app, exchange)
        }
    }

    /// Returns the checks by which GitHub redeems an authorization code, in their order. The redirect URI may be any
    /// that matches a registered callback URL, even if the authorization request had a different one.
    private static func redemption(for app: GitHubSection.App) -> Redemption {
        Redemption(checks: [.client, .unused, .unexpired, .redirectURI, .codeVerifier]) { sent, authorized in
            guard let sent, !sent.isEmpty, sent != authorized else { return true }
            return app.callbacks.contains { $0.matches(sent) }
        }
    }

    private func refusal(
        _ failure: Redemption.Failure, _ request: Redemption.Request, _ app: GitHubSection.App, _ exchange: Exchange
    ) -> OAuthError {
        switch failure {
        case .unknown:
            OAuthError(
                .badVerificationCode,
                unknownCode(request.code, because: exchange.reason(againstUnknownCode: request.code, GitHubGrant.self)))
        case .otherClient(let owner):
            OAuthError(
                .badVerificationCode,
                Diagnosis(
                    "the code was issued to \(Diagnosis.quote(owner)), not to the client \"\(app.clientID)\" that sent it"
                ))
        case .used:
            OAuthError(
                .badVerificationCode,
                Diagnosis(
                    "the code was already redeemed (\(failure.reason)): does the client handle the callback twice?"))
        case .expired, .codeVerifier:
            OAuthError(.badVerificationCode, Diagnosis(failure.fullReason(codesLasting: settings.codeLifetime)))
        case .redirectURIMismatch:
            OAuthError(.redirectURIMismatch, AuthorizationRequest.mismatch(of: request.redirectURI ?? "", app))
        case .noAccount: OAuthError(.unverifiedUserEmail, Diagnosis(failure.reason))
        }
    }

    private func unknownCode(_ text: String, because reason: String) -> Diagnosis {
        if text.isEmpty { return Diagnosis("code is missing") }
        if GitHubToken.kind(of: text) != nil {
            return Diagnosis("code is an access or refresh token, not an authorization code")
        }
        return Diagnosis(received: "code \(Diagnosis.quote(text, limit: 24))", reason)
    }

    /// Returns GitHub's error for a person whose primary email address isn't verified; otherwise `nil`. If
    /// `isUnverified` is `true`, returns the error for any person.
    func addressFault(of account: Account, isUnverified: Bool) -> OAuthError? {
        if isUnverified {
            return OAuthError(
                .unverifiedUserEmail, Diagnosis("this error was ordered as the outcome of the sign-in"))
        }
        guard let primary = account.github.primaryEmail, !primary.verified else { return nil }
        return OAuthError(
            .unverifiedUserEmail,
            Diagnosis(
                "the primary e-mail address of \"\(account.id)\" isn't verified: the user must verify it at GitHub, or another user must sign in"
            ))
    }

    // MARK: - A refresh token

    private func refresh(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws -> IssuedTokens {
        let text = call["refresh_token"] ?? ""
        let known = exchange.world.read { $0.find(Token<GitHubGrant>.self, text) }
        // A token from the device flow is refreshed without a secret.
        let isFromDevice = known.map { $0.kind == .refresh && $0.details.isFromDevice } ?? false
        if !isFromDevice || call.credentials.secret != nil { try authenticate(call, app) }
        let issued = try exchange.world.update { tables -> IssuedTokens? in
            guard let (token, grant, _) = tables.working(text, .refresh, GitHubGrant.self),
                token.client == app.clientID
            else { return nil }
            tables.revoke(token, because: "the token was refreshed in request \(exchange.id)")
            return issue(
                grant, token.details.scopes, to: app, withRefreshToken: true, isFromDevice: isFromDevice, in: &tables)
        }
        if let issued { return issued }
        throw OAuthError(.badRefreshToken, Diagnosis(exchange.failure(of: text, called: "the refresh token")))
    }
}

/// The parameters of a request to GitHub's token or device endpoint, from the query and from a form or JSON body. The
/// client's credentials can also be in Basic authentication.
struct TokenCall: Sendable {
    /// The request parameters. If several have equal names, the last one counts.
    private let fields: [(name: String, value: String)]
    let credentials: ClientCredentials

    init(_ request: Request) {
        var fields = request.queryForm.fields.map { (name: $0.name, value: $0.value) }
        if request.hasJSONBody {
            for member in (try? JSONValue(parsing: request.body))?.object?.members ?? [] {
                if let text = member.value.string { fields.append((name: member.key, value: text)) }
            }
        } else {
            fields += request.bodyForm.fields.lazy.map { (name: $0.name, value: $0.value) }
        }
        self.fields = fields
        credentials = ClientCredentials(request) { name in fields.last { $0.name == name }?.value }
    }

    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    var clientID: String { credentials.id ?? "" }

    /// The reason for the refusal of a request that has a `device_code`, but no `grant_type`. GitHub reads such a
    /// request as the redemption of an authorization code. `nil` for any other request.
    var missingGrantType: Diagnosis? {
        guard self["device_code"] != nil, self["grant_type"] == nil, self["code"]?.isEmpty ?? true else { return nil }
        return Diagnosis("grant_type is missing: with a device_code, send grant_type=\(DeviceAuthorization.grantType)")
    }
}

/// The tokens that GitHub issues for a code, a refresh token or an authorized device, or when an app resets or scopes a
/// token.
struct IssuedTokens: Sendable {
    let access: Token<GitHubGrant>
    let refresh: Token<GitHubGrant>?
}

extension GitHubProvider {
    static let refreshableTokens = Change(
        "refreshableTokens", ("2020-04-30", nil), summary: "tokens of GitHub Apps can expire and be refreshed",
        evidence:
            "https://developer.github.com/changes/2020-04-30-expiring-user-to-server-access-tokens-for-github-apps/")
    static let oauthAppRefresh = Change(
        "oauthAppRefresh", ("2026-08-01", nil),
        summary: "tokens of OAuth apps can expire, too: by a setting of the app, or for the scope offline_access",
        caveat: "the month is known, not the day",
        evidence: "https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps, "
            + "https://github.com/aws-samples/sample-collaborative-ai-dlc/issues/462")

    /// Issues an access token of a GitHub app, and a refresh token if the app's tokens expire or `withRefreshToken` is
    /// `true`. There is no refresh token if GitHub doesn't support it on the day that the seed's `asOf` names.
    func issue(
        _ grant: GitHubGrant, _ scopes: GitHubScopes, to app: GitHubSection.App, withRefreshToken: Bool,
        isFromDevice: Bool, in tables: inout Transaction
    ) -> IssuedTokens {
        let now = tables.now
        let isGenuine = settings.hasValidChecksums
        let kind: GitHubToken.Kind = app.isGitHubApp ? .gitHubAppUser : .oauthApp
        let access = GitHubToken.make(kind, from: &tables.random, isGenuine: isGenuine)
        let refresh =
            (app.hasExpiringTokens || withRefreshToken) && refreshes(app)
            ? GitHubToken.make(.refresh, from: &tables.random, isGenuine: isGenuine) : nil
        let id = tables.change(LastTokenID.self) { $0.next() }
        func details(counterpart: String?) -> GitHubGrant.TokenDetails {
            GitHubGrant.TokenDetails(
                id: id, scopes: scopes, createdAt: now, counterpart: counterpart, isFromDevice: isFromDevice,
                usedAt: now)
        }
        let tokens = IssuedTokens(
            access: Token<GitHubGrant>(
                access, .access, grant: grant.key, client: app.clientID,
                expires: refresh.map { _ in now + settings.accessTokenLifetime },
                details: details(counterpart: refresh)),
            refresh: refresh.map { text in
                Token<GitHubGrant>(
                    text, .refresh, grant: grant.key, client: app.clientID,
                    expires: now + settings.refreshTokenLifetime, details: details(counterpart: access))
            })
        if let refresh = tokens.refresh { tables.put(refresh) }
        tables.add(tokens.access)
        return tokens
    }

    func fields(of tokens: IssuedTokens) -> [AnswerFormat.Field] {
        var fields: [AnswerFormat.Field] = [("access_token", .string(tokens.access.key))]
        if let refresh = tokens.refresh {
            fields += [
                ("expires_in", .integer(settings.accessTokenLifetime.seconds)), ("refresh_token", .string(refresh.key)),
                ("refresh_token_expires_in", .integer(settings.refreshTokenLifetime.seconds)),
            ]
        }
        let scopes = tokens.access.details.scopes.joined(by: ",")
        return fields + [("token_type", "bearer"), ("scope", .string(scopes))]
    }
}
