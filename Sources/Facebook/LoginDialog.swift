import EmulatorCore
import HTTPServer
import OAuth
import Time

// GET https://www.facebook.com/dialog/oauth
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow#login
//
// Quirks: permissions are separated by commas. A cancel brings error_code=200 and error_reason=user_denied. The callback
// ends with the fragment #_=_. redirect_uri is compared exactly, its query apart.

/// A request to the login dialog, checked.
private struct DialogRequest: Sendable {
    let app: RegisteredClient
    let redirectURI: String
    let permissions: [String]
    /// The request as it came, for the sign-in page to carry along.
    let form: Form

    /// What was wrong with a request. Facebook's own page shows it.
    struct Refusal: Error {
        let diagnosis: Diagnosis
    }

    init(_ form: Form, _ provider: FacebookProvider) throws(Refusal) {
        let id = form["client_id"] ?? form["app_id"] ?? ""
        guard let app = provider.apps[id] else {
            throw Refusal(
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))", "no such app is seeded\(provider.apps.hint(for: id))")
            )
        }
        let redirectURI = form["redirect_uri"] ?? ""
        let withoutQuery = String(redirectURI.prefix { $0 != "?" })
        guard app.redirectURIs.contains(where: { RegisteredRedirectURI($0).matches(withoutQuery) }) else {
            throw Refusal(
                diagnosis: Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: RegisteredRedirectURI.alternatives(app.redirectURIs),
                    "register it in redirectURIs of \"\(id)\""))
        }
        let asked = (form["scope"] ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        self.app = app
        self.redirectURI = redirectURI
        permissions = asked.contains("public_profile") ? asked : ["public_profile"] + asked
        self.form = form
    }
}

extension FacebookProvider {
    private static let codeLifetime = TimeSpan.minutes(10)

    func authorize(_ exchange: Exchange) -> Response {
        let request: DialogRequest
        do { request = try DialogRequest(exchange.request.queryForm, self) } catch { return page(error) }
        let decision = exchange.decision(
            provider: name, client: request.app.id, interaction: request.app.interaction)
        switch decision {
        case .cancel: return denied(exchange, request, "a cancel was ordered as an outcome")
        case .error(let error, _):
            return failed(exchange, request, [("error", error)], "this error was ordered as an outcome")
        case .ask: return choosePerson(exchange, request)
        case .nobody:
            return pages.problem(
                400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
        case .approve(let account, let outcome):
            let granted = outcome?.scopes.map { scopes in request.permissions.filter { scopes.contains($0) } }
            return approved(exchange, request, by: account, granted ?? request.permissions)
        }
    }

    /// What a page's form says.
    func decide(_ exchange: Exchange) -> Response {
        guard let (form, answer) = pages.answer(exchange.request.bodyForm, in: exchange) else {
            return pages.problem(
                400, "Something is missing", Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: DialogRequest
        do { request = try DialogRequest(form, self) } catch { return page(error) }
        switch answer {
        case .cancel: return denied(exchange, request, "the person cancelled")
        case .searched(let search): return choosePerson(exchange, request, search)
        case .page(let page): return page
        case .chosen(let id), .approved(let id):
            guard let account = exchange.world.read({ $0.account(id) }) else {
                return choosePerson(exchange, request)
            }
            if case .chosen = answer {
                return pages.consent(
                    exchange, client: request.app.name, account: account,
                    items: FacebookPermission.descriptions(of: request.permissions),
                    request: request.form)
            }
            return approved(exchange, request, by: account, request.permissions)
        }
    }

    private func choosePerson(
        _ exchange: Exchange, _ request: DialogRequest, _ search: PersonChooser.Search? = nil
    ) -> Response {
        pages.choose(exchange, client: request.app.name, request: request.form, search: search)
    }

    // MARK: - Answers

    private func approved(
        _ exchange: Exchange, _ request: DialogRequest, by account: Account, _ permissions: [String]
    ) -> Response {
        let code = exchange.world.update { tables in
            let now = tables.now
            let grant = tables.consent(account.id, to: request.app.id)
            let code = FacebookToken.code(from: &tables.random)
            tables.put(
                AuthorizationCode<FacebookGrant>(
                    code, grant: grant.key, client: grant.app, redirectURI: request.redirectURI,
                    expires: now + FacebookProvider.codeLifetime, usedBy: exchange.spentBy,
                    details: FacebookGrant.Details(permissions: permissions, issuedAt: now)))
            return code
        }
        var fields = [("code", code)]
        if request.form["return_scopes"] == "true" {
            fields.append(("granted_scopes", permissions.joined(separator: ",")))
            let denied = request.permissions.filter { !permissions.contains($0) }
            fields.append(("denied_scopes", denied.joined(separator: ",")))
        }
        return callback(exchange, request, fields)
    }

    private func denied(_ exchange: Exchange, _ request: DialogRequest, _ reason: String) -> Response {
        failed(
            exchange, request,
            [
                ("error", "access_denied"), ("error_code", "200"), ("error_description", "Permissions error"),
                ("error_reason", "user_denied"),
            ], reason)
    }

    private func failed(
        _ exchange: Exchange, _ request: DialogRequest, _ fields: [(String, String)], _ reason: String
    ) -> Response {
        callback(exchange, request, fields).diagnosed(Diagnosis(reason))
    }

    private func callback(_ exchange: Exchange, _ request: DialogRequest, _ fields: [(String, String)]) -> Response {
        var form = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) })
        if let state = exchange.redirectState(request.form.field("state")) { form.fields.append(state) }
        let uri = exchange.reachable(request.redirectURI)
        return .redirect(to: "\(uri)\(uri.contains("?") ? "&" : "?")\(form.encoded)#_=_")
    }

    private func page(_ refusal: DialogRequest.Refusal) -> Response {
        pages.problem(400, "This app can't be used", refusal.diagnosis)
    }
}
