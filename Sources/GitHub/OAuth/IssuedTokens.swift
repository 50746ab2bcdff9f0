import EmulatorCore
import JSON
import OAuth
import Time

/// The tokens for a code, a refresh token, an authorized device, or an app's reset of a token.
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

    /// Issues an access token, and a refresh token if the app's tokens expire or the request asks for one.
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

    /// Returns the fields of the token endpoint's answer.
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
