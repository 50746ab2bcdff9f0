import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// GET /settings/applications, GET and POST /settings/connections/applications/CLIENT
//
// A person sees the authorized apps on these pages, and revokes them. Apps are told to link to the `html_url` of this
// page.

extension GitHubProvider {
    func connections(_ exchange: Exchange) -> Response {
        guard let session = session(exchange) else {
            return Pages.redirectToSignIn(exchange, then: "/settings/applications")
        }
        let grants = exchange.world.read { $0.grants(GitHubGrant.self, of: session.account.id) }
        let apps = grants.compactMap { directory.apps[$0.client] }.sorted {
            ($0.name, $0.clientID) < ($1.name, $1.clientID)
        }
        let links = apps.map {
            Pages.link(exchange, "\($0.name) (\($0.clientID))", to: GitHubProvider.connectionPath($0))
        }
        return Pages.page(
            "Authorized apps",
            [
                .tag("h1", [], "Authorized apps"),
                .tag("p", [("class", "soft")], "of \(session.account.github.login)"),
                links.isEmpty ? .tag("p", [], "None. Sign in to an app first.") : .group(links),
                account(exchange, session, at: "/settings/applications"),
            ])
    }

    private static func connectionPath(_ app: GitHubSection.App) -> String {
        "/settings/connections/applications/\(PercentCoding.encode(Array(app.clientID.utf8)))"
    }

    func connection(_ exchange: Exchange) -> Response {
        guard let app = directory.apps[exchange.parameters["client"] ?? ""] else { return noSuchApp(exchange) }
        guard let session = session(exchange) else {
            return Pages.redirectToSignIn(exchange, then: GitHubProvider.connectionPath(app))
        }
        let granted = exchange.world.read { tables -> (grant: GitHubGrant, tokens: Int)? in
            guard let grant = tables.grant(session.account.id, to: app) else { return nil }
            let tokens = tables.tokens(of: grant).count { $0.kind == .access && !$0.hasExpired(at: tables.now) }
            return (grant, tokens)
        }
        guard let (grant, tokens) = granted else {
            return Pages.page(
                app.name,
                [
                    .tag("h1", [], app.name),
                    .tag("p", [], "\(session.account.github.login) hasn't authorized this app."),
                    account(exchange, session, at: GitHubProvider.connectionPath(app)),
                ])
        }
        let rows = grant.scopes.scopes.map { HTML.tag("li", [], .text(scopeText($0)), .tag("code", [], $0.name)) }
        return Pages.page(
            app.name,
            [
                .tag("h1", [], app.name), .tag("p", [("class", "soft")], app.url),
                .tag(
                    "p", [],
                    "Authorized by \(session.account.github.login) on \(grant.createdAt.text); "
                        + "\(tokens == 1 ? "one token works" : "\(tokens) tokens work")."),
                .tag("h2", [], "It may"),
                rows.isEmpty
                    ? .tag("p", [], app.isGitHubApp ? "Do what the app's permissions say." : "Read what is public.")
                    : .element("ul", attributes: [], children: rows),
                Pages.form(
                    exchange, to: GitHubProvider.connectionPath(app),
                    [
                        .hidden("authenticity_token", session.authenticityToken),
                        Pages.submit("Revoke access", name: "action", value: "revoke"),
                    ]),
                Pages.link(exchange, "All authorized apps", to: "/settings/applications"),
                account(exchange, session, at: GitHubProvider.connectionPath(app)),
            ])
    }

    private func scopeText(_ scope: GitHubScope) -> String { "\(scope.about) · " }

    /// Returns the link "Not NAME? Use another account", in which NAME is the signed-in account.
    private func account(_ exchange: Exchange, _ session: SignedIn, at path: String) -> HTML {
        let again = Form(fields: [Form.Field(name: "return_to", value: path)]).encoded
        return Pages.link(exchange, "Not \(session.account.github.login)? Use another account", to: "/login?\(again)")
    }

    private func noSuchApp(_ exchange: Exchange) -> Response {
        let client = exchange.parameters["client"] ?? ""
        return Pages.notFound(
            exchange,
            Diagnosis(
                received: "client ID \(Diagnosis.quote(client))",
                "no such app is configured in the seed\(directory.hint(forClient: client))"))
    }

    /// Handles the form by which a signed-in person revokes an app's access.
    func revokeConnection(_ exchange: Exchange) throws -> Response {
        guard let app = directory.apps[exchange.parameters["client"] ?? ""] else { return noSuchApp(exchange) }
        guard let session = session(exchange) else {
            return Pages.redirectToSignIn(exchange, then: GitHubProvider.connectionPath(app))
        }
        guard session.holds(exchange.request.bodyForm["authenticity_token"]) else { return Pages.forged(exchange) }
        if let webhook = try revoke(app, of: session.account, in: exchange)?.webhook { exchange.send(webhook) }
        return Pages.page(
            "Access revoked",
            [
                .tag("h1", [], "Access revoked"),
                .tag(
                    "p", [],
                    "\(app.name) has lost access to the account of \(session.account.github.login). Its tokens no longer work."
                ),
                Pages.link(exchange, "All authorized apps", to: "/settings/applications"),
            ])
    }
}
