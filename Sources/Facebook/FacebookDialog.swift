import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

// GET https://www.facebook.com/dialog/oauth
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow#login
//
// Quirks: permissions are separated by commas. A cancel brings error_code=200 and error_reason=user_denied. The callback
// ends with the fragment #_=_. redirect_uri is compared exactly, its query apart.

extension FacebookProvider {
    struct DialogRequest: Sendable {
        let app: FacebookSection.App
        let redirectURI: String
        let permissions: [String]
        let form: Form
    }

    private struct Refusal: Error {
        let diagnosis: Diagnosis
    }

    private func read(_ form: Form) throws(Refusal) -> DialogRequest {
        let id = form["client_id"] ?? form["app_id"] ?? ""
        guard let app = apps[id] else {
            throw Refusal(
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))", "no such app is seeded\(hint(for: id))"))
        }
        let redirectURI = form["redirect_uri"] ?? ""
        guard app.redirectURIs.contains(String(redirectURI.prefix { $0 != "?" })) else {
            throw Refusal(
                diagnosis: Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: app.redirectURIs.map { Diagnosis.quote($0) }.joined(separator: " or "),
                    "register it in redirectURIs of \"\(id)\""))
        }
        let asked = (form["scope"] ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        let permissions = asked.contains("public_profile") ? asked : ["public_profile"] + asked
        return DialogRequest(app: app, redirectURI: redirectURI, permissions: permissions, form: form)
    }

    func authorize(_ exchange: Exchange) -> Response {
        let request: DialogRequest
        do { request = try read(exchange.request.queryForm) } catch { return refusal(error.diagnosis) }
        let interaction = request.app.interaction ?? exchange.world.seed.interaction
        let (outcome, person) = exchange.world.update { state -> (Outcome?, Account?) in
            let outcome = exchange.outcome(
                &state, provider: name, client: request.app.appID, interaction: interaction)
            return (outcome, outcome == nil ? nil : state.personSigningIn(interaction, outcome))
        }
        switch outcome?.kind {
        case .cancel: return denied(exchange, request, "a cancel was ordered as an outcome")
        case .error:
            return failed(
                exchange, request, [("error", outcome?.error ?? "")], "this error was ordered as an outcome")
        case .approve: break
        case nil: return pages.choose(exchange, client: request.app.name, request: request.form)
        }
        guard let person else {
            return pages.problem(
                400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
        }
        let granted = outcome?.scopes.map { scopes in request.permissions.filter { scopes.contains($0) } }
        return approved(exchange, request, by: person, granted ?? request.permissions)
    }

    func decide(_ exchange: Exchange) -> Response {
        guard let (form, answer) = pages.read(exchange.request.bodyForm) else {
            return pages.problem(
                400, "Something is missing", Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: DialogRequest
        do { request = try read(form) } catch { return refusal(error.diagnosis) }
        switch answer {
        case .cancel: return denied(exchange, request, "the person cancelled")
        case .searched(let search):
            return pages.choose(exchange, client: request.app.name, request: request.form, search: search)
        case .chosen(let id), .approved(let id):
            guard let account = exchange.world.update({ $0.account(id) }) else {
                return pages.choose(exchange, client: request.app.name, request: request.form)
            }
            if case .chosen = answer {
                return pages.consent(
                    exchange, client: request.app.name, account: account, items: request.permissions,
                    request: request.form)
            }
            return approved(exchange, request, by: account, request.permissions)
        }
    }

    // MARK: - Answers

    private func approved(
        _ exchange: Exchange, _ request: DialogRequest, by account: Account, _ permissions: [String]
    ) -> Response {
        let code = exchange.world.update { state -> String in
            let now = state.clock.now
            let text = "AQ" + Base64URL.encode(state.random.bytes(150))
            let grant = FacebookState.Grant(
                account: account.id, app: request.app.appID, permissions: permissions, issuedAt: now)
            state[FacebookState.self].codes.insert(
                FacebookState.Code(grant: grant, redirectURI: request.redirectURI, usedBy: exchange.spentBy), as: text,
                expires: now + .minutes(10),
                now: now)
            return text
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

    private func refusal(_ diagnosis: Diagnosis) -> Response {
        pages.problem(400, "This app can't be used", diagnosis)
    }
}
