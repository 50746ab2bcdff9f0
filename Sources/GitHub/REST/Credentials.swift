import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// Who calls the API: https://docs.github.com/rest/authentication/authenticating-to-the-rest-api
//
// Quirks: `Bearer` and `token` mean the same, in any case. A token also comes as Basic's password, or as its user name
// with the password x-oauth-basic. Tokens in the query were removed in 2021. The operations under /applications take
// the app's client ID and secret by Basic only; what they say to other credentials isn't documented.

/// Who calls, as far as it can be said without a look at the world.
private enum Credentials {
    case known(Viewer)
    case token(String)
}

extension GitHubProvider {
    /// Who calls, and how much of the hour's requests is used. `counts` says whether this one is.
    func admit(
        _ exchange: Exchange, to endpoint: RESTEndpoint, counts: Bool
    ) throws(RESTRefusal) -> (viewer: Viewer, rate: RateStatus) {
        let credentials = try credentials(exchange, endpoint)
        // A refusal isn't thrown in there: a token that is found to be too old is removed all the same.
        return try exchange.world.update { tables in
            viewer(credentials, &tables).map { viewer in
                (viewer: viewer, rate: counts ? spend(viewer, &tables) : rate(of: viewer, tables))
            }
        }.get()
    }

    private func viewer(_ credentials: Credentials, _ tables: inout Transaction) -> Result<Viewer, RESTRefusal> {
        switch credentials {
        case .known(let viewer): return .success(viewer)
        case .token(let text):
            guard let (token, account) = tables.use(text), let app = directory.apps[token.client] else {
                return .failure(badCredentials("the token \(tables.failure(of: text))"))
            }
            return .success(.person(account, app, token))
        }
    }

    private func credentials(_ exchange: Exchange, _ endpoint: RESTEndpoint) throws(RESTRefusal) -> Credentials {
        let header = exchange.request.header("Authorization") ?? ""
        switch endpoint.access {
        case .app:
            return .known(.app(try authenticateApp(exchange, endpoint)))
        case .nobody:
            guard header.isEmpty else {
                throw RESTRefusal(
                    RESTAnswer.error(403, "Forbidden", endpoint.documentation)
                        .because(
                            "this operation takes no credentials beside those in the body: leave Authorization out"))
            }
            return .known(.anonymous)
        case .person where header.isEmpty:
            let reason =
                exchange.request.queryForm["access_token"] == nil
                ? "Authorization is missing: send \"Bearer\" and a token"
                : "a token in the query hasn't been taken since 2021: send it in Authorization"
            throw RESTRefusal(
                RESTAnswer.error(401, "Requires authentication", endpoint.documentation).because(reason))
        case .anyone where header.isEmpty:
            return .known(.anonymous)
        case .anyone, .person:
            return try credentials(in: header, exchange, endpoint)
        }
    }

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
    ) throws(RESTRefusal) -> GitHubSection.App {
        let wanted = exchange.parameters["client"] ?? ""
        guard let basic = BasicCredentials.read(exchange.request) else {
            throw RESTRefusal(
                RESTAnswer.error(401, "Requires authentication", endpoint.documentation)
                    .because("send the app's client ID and secret by Basic authentication; a token isn't taken here"))
        }
        guard let app = directory.apps[basic.user],
            constantTimeEquals(Array(basic.password.utf8), Array(app.secret.utf8))
        else { throw badCredentials("the client ID or secret is wrong\(directory.hint(forClient: basic.user))") }
        guard app.clientID == wanted else {
            throw RESTRefusal(
                RESTAnswer.error(404, "Not Found", endpoint.documentation)
                    .because("the credentials are \"\(app.clientID)\"'s, the address names \(Diagnosis.quote(wanted))"))
        }
        return app
    }
}
