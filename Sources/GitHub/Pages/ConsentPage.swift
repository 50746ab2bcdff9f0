import HTTPServer
import JOSE
import OAuth
import EmulatorCore

extension Pages {
    /// Shows the app, its requested scopes and the account. Scopes can be deselected, as GitHub says that people may.
    static func consent(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ session: SignedIn, granted: GitHubScopes?
    ) -> Response {
        let account = session.account
        let again = Form(
            fields: [
                Form.Field(name: "client_id", value: request.app.clientID),
                Form.Field(name: "return_to", value: "/login/oauth/authorize?\(request.form.encoded)"),
            ] + (request.allowsSignup ? [] : [Form.Field(name: "allow_signup", value: "false")]))
        let scopes = request.scopes ?? granted ?? .none
        var fields: [HTML] = [
            .carrying(request.form), .hidden("authenticity_token", session.authenticityToken),
        ]
        fields.append(permissions(request.app, scopes, granted: granted))
        fields += [
            submit("Authorize \(request.app.name)", name: "authorize", value: "1", isFirst: true),
            submit("Cancel", name: "authorize", value: "0", isQuiet: true),
        ]
        var content = introduction(request.app, account)
        if granted != nil {
            content.append(.tag("p", [], "\(request.app.name) has been authorized before and asks anew."))
        }
        content += [
            form(exchange, to: "/login/oauth/authorize", fields),
            .tag("p", [("class", "soft small")], "Then you go on to \(request.redirectURI)"),
            link(exchange, "Use another account", to: "/login?\(again.encoded)"),
        ]
        if request.allowsSignup { content.append(link(exchange, "Create an account", to: "/signup?\(again.encoded)")) }
        return page("Authorize \(request.app.name)", content)
    }

    static func introduction(_ app: GitHubSection.App, _ account: Account) -> [HTML] {
        var content: [HTML] = [
            .tag("h1", [], "Authorize \(app.name)?"),
            .tag(
                "p", [("class", "soft")],
                "\(app.name) (\(app.url)) asks for access to the account of \(account.github.login)."),
        ]
        if let about = app.about { content.append(.tag("p", [], about)) }
        return content
    }

    /// Returns descriptions of the scopes, each with a choice; a GitHub App's permissions are listed.
    static func permissions(_ app: GitHubSection.App, _ scopes: GitHubScopes, granted: GitHubScopes?) -> HTML {
        let rows: [HTML]
        if let details = app.details {
            rows = details.permissions.sorted { $0.key < $1.key }.map { permission in
                .tag("p", [], .tag("code", [], permission.key), .text(": \(permission.value)"))
            }
        } else {
            rows = scopes.scopes.map { scope in
                let isNew = granted.map { !$0.allows(anyOf: [scope]) } ?? false
                return .tag(
                    "label", [("class", "choice")],
                    .tag(
                        "input",
                        [("type", "checkbox"), ("name", "scope"), ("value", scope.rawValue), ("checked", nil)]),
                    .tag(
                        "span", [], .text(scope.about), .tag("br"), .tag("code", [], scope.rawValue),
                        .text(isNew ? " · new" : "")))
            }
        }
        let nothing = HTML.tag("p", [], "Read what is public. Nothing private, and no changes.")
        return .element(
            "fieldset", attributes: [],
            children: [.tag("legend", [], "It will be able to")] + (rows.isEmpty ? [nothing] : rows))
    }
}
