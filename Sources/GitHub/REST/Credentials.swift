import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// The caller is identified as in https://docs.github.com/rest/authentication/authenticating-to-the-rest-api
//
// Quirks: `Bearer` and `token` mean the same, in upper or lower case. A token may also be Basic's password, or its user
// name with the password x-oauth-basic. Tokens in the query were removed in 2021. The operations under /applications
// only accept the app's client ID and secret by Basic; their answer to other credentials isn't documented.

/// The caller, as far as it is known without the world.
private enum Credentials {
    case known(Viewer)
    case token(String)
    /// No caller: the required credentials are missing or of the wrong kind.
    case refused(RESTAnswer)
}

/// The caller, the caller's rate limit, and the refusal if there is one.
struct Admission: Sendable {
    let viewer: Viewer
    let rate: RateStatus
    let refusal: RESTAnswer?
}

extension GitHubProvider {
    /// Identifies the caller of an endpoint. `counts` means that the request counts for the rate limit.
    ///
    /// - Throws: "Bad credentials", which has no caller, so that nothing is counted.
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

    /// The refusal of a token in the query. Its body is quoted in <https://github.com/atom/pr-changelog/pull/10>.
    /// Whether a header would take precedence isn't documented.
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
            constantTimeEquals(Array(basic.password.utf8), Array(app.secret.utf8))
        else { throw badCredentials("the client ID or secret is wrong\(directory.hint(forClient: basic.user))") }
        guard app.clientID == wanted else {
            return .refused(
                RESTAnswer.error(404, "Not Found", endpoint.documentation)
                    .because("the credentials are \"\(app.clientID)\"'s, the address names \(Diagnosis.quote(wanted))"))
        }
        return .known(.app(app))
    }
}
