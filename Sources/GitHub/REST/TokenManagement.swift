import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Worlds

// Quirks: an app authenticates with its client ID and secret by Basic. An unknown token, or another app's, gives 404.
// Deleting the grant revokes every token of the person for the app. Revoking credentials needs no authentication.

extension GitHubProvider {
    var tokenEndpoints: [RESTEndpoint] {
        [
            RESTEndpoint(
                "POST", "/applications/:client/token", "apps/oauth-applications#check-a-token", .app,
                title: "check a token", run: checkToken),
            RESTEndpoint("PATCH", "/applications/:client/token", "apps/oauth-applications#reset-a-token", .app) {
                [self] in try resetToken($0)
            },
            RESTEndpoint(
                "DELETE", "/applications/:client/token", "apps/oauth-applications#delete-an-app-token", .app,
                isEmpty: true, title: "revoke a token"
            ) { call in
                try end(call) { $1.revoke($0, because: "the app's request \(call.exchange.id) revoked the token") }
            },
            RESTEndpoint(
                "DELETE", "/applications/:client/grant", "apps/oauth-applications#delete-an-app-authorization", .app,
                isEmpty: true, title: "revoke a grant"
            ) { call in
                try end(call) { token, tables in
                    guard let grant = tables.find(GitHubGrant.self, token.grant) else { return }
                    tables.revoke(grant, because: "the app's request \(call.exchange.id) revoked the user's grant")
                }
            },
            RESTEndpoint("POST", "/applications/:client/token/scoped", "apps/apps#create-a-scoped-access-token", .app) {
                [self] in try scopedToken($0)
            },
            RESTEndpoint("POST", "/credentials/revoke", "credentials/revoke#revoke-a-list-of-credentials", .nobody) {
                try revokeCredentials($0)
            },
        ]
    }

    // MARK: - One token

    private func checkToken(_ call: RESTCall) -> RESTAnswer {
        withToken(call) { token in .ok(GitHubProvider.authorization(token, call)) }
    }

    /// Ends the access token that the request names, or the whole grant to which this token belongs. If several
    /// requests do so at once, only one succeeds.
    private func end(
        _ call: RESTCall, _ change: @Sendable (Token<GitHubGrant>, inout Transaction) -> Void
    ) throws -> RESTAnswer {
        try withToken(call) { token in
            let isEnded = try call.exchange.world.update { tables in
                guard let token = tables.find(Token<GitHubGrant>.self, token.key) else { return false }
                change(token, &tables)
                return true
            }
            return isEnded ? .noContent : call.notFound(because: "another request revoked the token while this one ran")
        }
    }

    /// Replaces the access token in the request by a new one with equal scopes.
    private func resetToken(_ call: RESTCall) throws -> RESTAnswer {
        try withToken(call) { token in
            guard let app = call.viewer.app else { return call.notFound(because: "no app calls") }
            return try replacement(of: token, app, call, keepsOld: false)
        }
    }

    private func replacement(
        of token: Token<GitHubGrant>, _ app: GitHubSection.App, _ call: RESTCall, keepsOld: Bool
    ) throws -> RESTAnswer {
        let new = try call.exchange.world.update { tables -> IssuedTokens? in
            guard let token = tables.find(Token<GitHubGrant>.self, token.key),
                let grant = tables.find(GitHubGrant.self, token.grant)
            else { return nil }
            if !keepsOld { tables.revoke(token, because: "the app's request \(call.exchange.id) reset the token") }
            return issue(
                grant, token.details.scopes, to: app, withRefreshToken: token.details.counterpart != nil,
                isFromDevice: token.details.isFromDevice, in: &tables)
        }
        return new.map { .ok(GitHubProvider.authorization($0.access, call)) }
            ?? call.notFound(because: "another request revoked the token while this one ran")
    }

    /// Issues a further access token for a GitHub App. The requested target and permissions are checked, but the new
    /// token isn't restricted to them.
    private func scopedToken(_ call: RESTCall) throws -> RESTAnswer {
        try withToken(call) { token in
            guard let app = call.viewer.app, let details = app.details else {
                return RESTAnswer.error(403, "Only GitHub Apps can create scoped access tokens.", call.documentation)
                    .because("OAuth apps have no scoped tokens")
            }
            let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
            guard body["target"]?.string != nil || body["target_id"]?.integer != nil else {
                return GitHubProvider.invalid(call, "\"target\" or \"target_id\" wasn't supplied.")
            }
            let asked = body["permissions"]?.object ?? JSONObject()
            if let extra = asked.keys.first(where: { details.permissions[$0] == nil }) {
                return GitHubProvider.invalid(call, "The permissions requested are not granted to this app.")
                    .because("the app lacks the permission \(Diagnosis.quote(extra)) in the seed")
            }
            let target = body["target"]?.string
            if let target, !details.isInstalled(at: target) {
                return call.notFound(because: "the app isn't installed for \(Diagnosis.quote(target)) in the seed")
            }
            return try replacement(of: token, app, call, keepsOld: true)
        }
    }

    /// Returns the result of `answer` for the access token in the request's body. If the token isn't valid or belongs
    /// to a different app, returns GitHub's error instead.
    private func withToken(_ call: RESTCall, _ answer: (Token<GitHubGrant>) throws -> RESTAnswer) rethrows -> RESTAnswer
    {
        let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
        guard let text = body["access_token"]?.string, !text.isEmpty else {
            return GitHubProvider.invalid(call, "\"access_token\" wasn't supplied.")
        }
        guard let (token, _, _) = call.exchange.world.read({ $0.working(text, .access, GitHubGrant.self) }) else {
            return call.notFound(because: call.exchange.failure(of: text, called: "the token"))
        }
        guard token.client == call.viewer.app?.clientID else {
            return call.notFound(because: "the token was issued to another app, \"\(token.client)\"")
        }
        return try answer(token)
    }

    static func invalid(_ call: RESTCall, _ issue: String) -> RESTAnswer {
        RESTAnswer.error(422, "Invalid request.\n\n\(issue)", call.documentation).because(issue)
    }

    private static func authorization(_ token: Token<GitHubGrant>, _ call: RESTCall) -> JSONObject {
        let account = call.exchange.world.read { tables in
            tables.find(GitHubGrant.self, token.grant).flatMap { tables.account($0.account) }
        }
        let app = call.viewer.app
        let details = token.details
        let made = details.createdAt.text
        let user = account.map { JSONValue.object(UserDocument($0, call.base).simple()) } ?? .null
        return JSONObject([
            ("id", .integer(Int64(details.id))), ("url", .string("\(call.base.api)/authorizations/\(details.id)")),
            (
                "app",
                [
                    "name": .string(app?.name ?? ""), "url": .string(app?.url ?? ""),
                    "client_id": .string(token.client),
                ]
            ),
            ("token", .string(token.key)), ("hashed_token", .string(Hex.encode(Digest.sha256(token.key)))),
            ("token_last_eight", .string(String(token.key.suffix(8)))), ("note", .null), ("note_url", .null),
            ("created_at", .string(made)), ("updated_at", .string(made)),
            ("scopes", .array(details.scopes.names.map { .string($0) })), ("fingerprint", .null),
            ("expires_at", token.expires.map { .string($0.text) } ?? .null), ("user", user),
        ])
    }

    // MARK: - Many

    /// Revokes the tokens in the request's body. The response is always the same, so it doesn't reveal which of the
    /// tokens were valid.
    private func revokeCredentials(_ call: RESTCall) throws -> RESTAnswer {
        let body = (try? JSONValue(parsing: call.exchange.request.body)) ?? .null
        guard let list = body["credentials"]?.array, list.allSatisfy({ $0.string != nil }) else {
            return GitHubProvider.invalid(call, "\"credentials\" must be an array of strings.")
        }
        guard (1...1000).contains(list.count) else {
            return GitHubProvider.invalid(call, "\"credentials\" must hold 1 to 1000 items.")
        }
        try call.exchange.world.update { tables in
            for text in list.compactMap(\.string) {
                guard let token = tables.find(Token<GitHubGrant>.self, text) else { continue }
                tables.revoke(token, because: "the token was reported as leaked in request \(call.exchange.id)")
            }
        }
        return RESTAnswer.ok([:], status: 202)
    }
}

// Quirks: `Bearer` and `token` mean the same, in upper or lower case. A token may also be Basic's password, or its user
// name with the password x-oauth-basic. Tokens in the query were removed in 2021. The operations under /applications
// only accept the app's client ID and secret by Basic.

/// The caller of GitHub's REST API, as far as the request alone shows it, without looking up the token.
private enum Credentials {
    case known(Viewer)
    case token(String)
    /// The credentials aren't those that the operation accepts.
    case refused(RESTAnswer)
}

/// The caller of GitHub's REST API, the caller's rate limit, and the error response if the caller is refused.
struct Admission: Sendable {
    let viewer: Viewer
    let rate: RateStatus
    let refusal: RESTAnswer?
}

extension GitHubProvider {
    /// Identifies the caller of an endpoint. If `counts` is true, the request counts for the rate limit.
    ///
    /// - Throws: The error "Bad credentials". The caller is then unknown, so the request isn't counted.
    func admit(_ exchange: Exchange, to endpoint: RESTEndpoint, counts: Bool) throws -> Admission {
        let credentials = try credentials(exchange, endpoint)
        // A refusal isn't thrown inside, because the removal of a token that is too old must be committed.
        return try exchange.world.update { tables in
            viewer(credentials, &tables).map { viewer in
                var refusal: RESTAnswer?
                if case .refused(let answer) = credentials { refusal = answer }
                return Admission(
                    viewer: viewer, rate: counts ? spend(viewer, &tables) : rate(of: viewer, tables), refusal: refusal)
            }
        }.mapError { refusal in
            guard case .token(let text) = credentials, exchange.hasNeverGiven(text) else { return refusal }
            return badCredentials(exchange.reason(againstUnknown: text, called: "the token"))
        }.get()
    }

    private func viewer(_ credentials: Credentials, _ tables: inout Transaction) -> Result<Viewer, RESTRefusal> {
        switch credentials {
        case .known(let viewer): return .success(viewer)
        case .refused: return .success(.anonymous)
        case .token(let text):
            guard let (token, account) = tables.use(text), let app = directory.apps[token.client] else {
                return .failure(badCredentials("the token \(tables.failure(of: text))"))
            }
            return .success(.person(account, app, token))
        }
    }

    private func credentials(_ exchange: Exchange, _ endpoint: RESTEndpoint) throws(RESTRefusal) -> Credentials {
        let header = exchange.request.header("Authorization") ?? ""
        if header.isEmpty, !(exchange.request.queryForm["access_token"] ?? "").isEmpty {
            return .refused(GitHubProvider.tokenInQuery)
        }
        switch endpoint.access {
        case .app:
            return try authenticateApp(exchange, endpoint)
        case .nobody where header.isEmpty:
            return .known(.anonymous)
        case .nobody:
            return .refused(
                RESTAnswer.error(403, "Forbidden", endpoint.documentation)
                    .because("this operation takes no credentials beside those in the body: leave Authorization out"))
        case .person where header.isEmpty:
            return .refused(
                RESTAnswer.error(401, "Requires authentication", endpoint.documentation)
                    .because("Authorization is missing: send \"Bearer\" and a token"))
        case .anyone where header.isEmpty:
            return .known(.anonymous)
        case .anyone, .person:
            return try credentials(in: header, exchange, endpoint)
        }
    }

    private static let tokenInQuery = RESTAnswer.error(
        400,
        "Must specify access token via Authorization header. "
            + "https://developer.github.com/changes/2020-02-10-deprecating-auth-through-query-param",
        url: "https://docs.github.com/v3/#oauth2-token-sent-in-a-header"
    ).because("a token in the query hasn't been taken since 2021: send it in Authorization")

    private func credentials(
        in header: String, _ exchange: Exchange, _ endpoint: RESTEndpoint
    ) throws(RESTRefusal) -> Credentials {
        if let basic = BasicCredentials.read(exchange.request), let app = directory.apps[basic.user],
            basic.password == app.secret, case .anyone = endpoint.access
        {
            return .known(.app(app))
        }
        guard let text = GitHubProvider.token(in: header, exchange.request), !text.isEmpty else {
            throw badCredentials("Authorization must be \"Bearer\" or \"token\" and a token")
        }
        return .token(text)
    }

    private func badCredentials(_ reason: String) -> RESTRefusal {
        RESTRefusal(RESTAnswer.error(401, "Bad credentials", "").because(reason))
    }

    static func token(in header: String, _ request: Request) -> String? {
        let words = header.utf8.split(separator: UInt8(ascii: " "))
        guard words.count >= 2 else { return nil }
        switch String(Substring(words[0])).lowercased() {
        case "bearer", "token": return words.count == 2 ? String(Substring(words[1])) : nil
        case "basic":
            guard let basic = BasicCredentials.read(request) else { return nil }
            return basic.password.isEmpty || basic.password == "x-oauth-basic" ? basic.user : basic.password
        default: return nil
        }
    }

    private func authenticateApp(
        _ exchange: Exchange, _ endpoint: RESTEndpoint
    ) throws(RESTRefusal) -> Credentials {
        let wanted = exchange.parameters["client"] ?? ""
        guard let basic = BasicCredentials.read(exchange.request) else {
            return .refused(
                RESTAnswer.error(401, "Requires authentication", endpoint.documentation)
                    .because("send the app's client ID and secret by Basic authentication; a token isn't taken here"))
        }
        guard let app = directory.apps[basic.user],
            basic.password.isSecret(app.secret)
        else { throw badCredentials("the client ID or secret is wrong\(directory.hint(forClient: basic.user))") }
        guard app.clientID == wanted else {
            return .refused(
                RESTAnswer.error(404, "Not Found", endpoint.documentation)
                    .because("the credentials are \"\(app.clientID)\"'s, the address names \(Diagnosis.quote(wanted))"))
        }
        return .known(.app(app))
    }
}
