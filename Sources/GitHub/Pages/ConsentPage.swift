import EmulatorCore
import HTTPServer
import JOSE
import OAuth

extension Pages {
    /// Shows GitHub's consent page: the app, its requested scopes and the account. The person can deselect scopes, as
    /// GitHub documents.
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

    /// Returns the part of GitHub's consent page about access: a check box with a description for each scope of an
    /// OAuth app, or a list of a GitHub App's permissions.
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
                        [("type", "checkbox"), ("name", "scope"), ("value", scope.name), ("checked", nil)]),
                    .tag(
                        "span", [], .text(scope.about), .tag("br"), .tag("code", [], scope.name),
                        .text(isNew ? " · new" : "")))
            }
        }
        let nothing = HTML.tag("p", [], "Read what is public. Nothing private, and no changes.")
        return .element(
            "fieldset", attributes: [],
            children: [.tag("legend", [], "It will be able to")] + (rows.isEmpty ? [nothing] : rows))
    }
}

// GET and POST /login/device, POST /login/device/confirmation: a person enters a device's code on these pages.

extension GitHubProvider {
    func devicePage(_ exchange: Exchange) -> Response {
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        return devicePage(exchange, session, typed: "", issue: nil)
    }

    private func devicePage(_ exchange: Exchange, _ session: SignedIn, typed: String, issue: Diagnosis?) -> Response {
        var fields: [HTML] = [.hidden("authenticity_token", session.authenticityToken)]
        if let issue { fields.append(.tag("p", [("class", "error"), ("role", "alert"), ("id", "fault")], issue.line)) }
        var attributes: [(String, String?)] = [
            ("type", "text"), ("name", "user_code"), ("value", typed), ("placeholder", "XXXX-XXXX"),
            ("autocomplete", "one-time-code"), ("autocapitalize", "characters"), ("spellcheck", "false"),
            ("required", nil), ("autofocus", nil),
        ]
        if issue != nil { attributes.append(("aria-describedby", "fault")) }
        fields += [
            .tag("label", [], .text("Code"), .tag("input", attributes)),
            Pages.submit("Continue", name: "action", value: "continue"),
        ]
        let again = Form(fields: [Form.Field(name: "return_to", value: "/login/device")]).encoded
        let page = Pages.page(
            "Connect a device", status: issue == nil ? 200 : 422,
            [
                .tag("h1", [], "Connect a device"),
                .tag(
                    "p", [("class", "soft")],
                    "Enter the code that the device or the app shows. You are \(session.account.github.login)."),
                Pages.form(exchange, to: "/login/device", fields),
                Pages.link(exchange, "Use another account", to: "/login?\(again)"),
            ])
        return issue.map { page.diagnosed($0) } ?? page
    }

    /// Shows GitHub's consent page of the device flow, with the app and its requested scopes, after a person has
    /// entered a user code.
    func confirmDevice(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        let typed = answer["user_code"] ?? ""
        let (device, isAllowed) = try exchange.world.update { tables -> (DeviceAuthorization?, Bool) in
            guard let device = tables.device(showing: typed, at: name) else { return (nil, true) }
            return (device, tables.countUserCode(of: device.client))
        }
        guard isAllowed else {
            let diagnosis = Diagnosis(
                "the limit of fifty user codes an hour for this app is reached: advance the test world's clock, or reset the test world"
            )
            return Pages.problem(exchange, 429, "Too many codes", diagnosis)
        }
        guard let device, let app = directory.apps[device.client] else {
            let issue = Diagnosis(
                received: "user code \(Diagnosis.quote(typed, limit: 24))",
                "no device is waiting for this user code: the code is wrong, has expired or was used already")
            return devicePage(exchange, session, typed: typed, issue: issue)
        }
        return Pages.page(
            "Authorize \(app.name)",
            Pages.introduction(app, session.account) + [
                .tag("p", [], .text("The device shows "), .tag("code", [], device.userCode), .text(".")),
                Pages.form(
                    exchange, to: "/login/device/confirmation",
                    [
                        .hidden("authenticity_token", session.authenticityToken), .hidden("user_code", device.userCode),
                        Pages.permissions(app, GitHubScopes(names: device.scopes), granted: nil),
                        Pages.submit("Authorize \(app.name)", name: "authorize", value: "1", isFirst: true),
                        Pages.submit("Cancel", name: "authorize", value: "0", isQuiet: true),
                    ]),
            ])
    }

    func decideDevice(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        let isApproved = answer["authorize"] == "1"
        let kept = answer.fields.filter { $0.name == "scope" }.map(\.value).joined(separator: " ")
        let code = answer["user_code"] ?? ""
        let isDecided = try exchange.world.update(for: session.account.id) { tables -> Bool in
            guard var device = tables.device(showing: code, at: name) else { return false }
            let scopes = GitHubScopes(names: device.scopes).intersection(GitHubScopes(kept))
            device.decision =
                isApproved
                ? .approved(account: session.account.id, scopes: scopes.names) : .denied
            tables.put(device)
            return true
        }
        guard let isDecided else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard isDecided else {
            let issue = Diagnosis(
                "no device is waiting for this user code any longer: the code has expired or was used already")
            return devicePage(exchange, session, typed: "", issue: issue)
        }
        return Pages.page(
            isApproved ? "Device connected" : "Cancelled",
            [
                .tag("h1", [], isApproved ? "Your device is connected" : "You have cancelled"),
                .tag(
                    "p", [],
                    isApproved
                        ? "It goes on by itself, the next time it asks."
                        : "The device will be told so. No access was given."),
            ])
    }
}
