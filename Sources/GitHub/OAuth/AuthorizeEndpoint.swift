import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

// GET /login/oauth/authorize, and POST from its own page
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#1-request-a-users-github-identity
//
// Quirks: response_type is ignored. An unknown client is a "not found" page. Whoever granted the same scopes before isn't
// asked again. Without `scope`, the code is for all that was granted before. Values in the redirect are form encoded.

extension GitHubProvider {
    func authorize(_ exchange: Exchange) -> Response {
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(exchange.request.queryForm, directory) } catch {
            return refusal(error, exchange)
        }
        let interaction = request.app.interaction ?? exchange.world.seed.interaction
        let (outcome, person) = exchange.world.update { state -> (Outcome?, Account?) in
            let outcome = exchange.outcome(
                &state, provider: name, client: request.app.clientID, interaction: interaction)
            let person = outcome == nil ? nil : state.personSigningIn(interaction, outcome)
            return (outcome, person)
        }
        switch outcome?.kind {
        case .cancel: return denied(exchange, request, because: "a cancel was ordered as an outcome")
        case .error where outcome?.error != OAuthError.Code.unverifiedUserEmail.rawValue:
            return failed(exchange, request, with: outcome?.error ?? "")
        case .approve, .error: break
        case nil: return askPerson(exchange, request)
        }
        guard let person else { return Pages.nobody(exchange) }
        let granted = outcome?.scopes.map { GitHubScopes($0.joined(separator: " ")) }
        return approved(exchange, request, by: person.id, granting: granted, isUnverified: outcome?.kind == .error)
    }

    /// Who is signed in, or the sign-in page first; then the consent page, unless there is nothing new to grant.
    private func askPerson(_ exchange: Exchange, _ request: AuthorizationRequest) -> Response {
        guard let session = session(exchange), !request.selectsAccount || session.isFresh,
            request.login.map({ $0.lowercased() == session.account.github.login.lowercased() }) ?? true
                || session.isFresh
        else { return Pages.redirectToSignIn(exchange, request) }
        let key = GitHubState.GrantKey(account: session.account.id, client: request.app.clientID)
        let (grant, isInAHurry) = exchange.world.update { state -> (GitHubState.Grant?, Bool) in
            state[GitHubState.self].sessions[session.id]?.value.isFresh = false
            let grant = state[GitHubState.self].grants[key]
            let scopes = request.scopes ?? grant?.scopes ?? .none
            let now = state.clock.now
            return (grant, state[GitHubState.self].isInAHurry(key, scopes: scopes, now: now))
        }
        if let grant, !isInAHurry, request.scopes.map({ grant.scopes.covers($0) }) ?? true {
            return approved(exchange, request, by: session.account.id)
        }
        return Pages.consent(exchange, request, session, granted: grant?.scopes)
    }

    /// What the consent page's form says.
    func decide(_ exchange: Exchange) -> Response {
        let answer = exchange.request.bodyForm
        guard let original = answer["request"].flatMap({ Base64URL.decode($0) }) else {
            return Pages.problem(
                exchange, 422, "Something is missing",
                Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(Form(parsing: original), directory) } catch {
            return refusal(error, exchange)
        }
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, request) }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        guard answer["authorize"] == "1" else { return denied(exchange, request, because: "the person cancelled") }
        let kept = answer.fields.filter { $0.name == "scope" }.map(\.value).joined(separator: " ")
        return approved(exchange, request, by: session.account.id, granting: GitHubScopes(kept))
    }

    // MARK: - Answers

    /// `granting` narrows what was asked for; people may leave scopes out.
    private func approved(
        _ exchange: Exchange, _ request: AuthorizationRequest, by account: String, granting: GitHubScopes? = nil,
        isUnverified: Bool = false
    ) -> Response {
        let key = GitHubState.GrantKey(account: account, client: request.app.clientID)
        let code = exchange.world.update { state -> String in
            let now = state.clock.now
            var scopes = request.scopes ?? state[GitHubState.self].grants[key]?.scopes ?? .none
            if let granting { scopes = scopes.intersection(granting) }
            let text = Hex.encode(state.random.bytes(10))
            let code = GitHubState.Code(
                grant: key, redirectURI: request.redirectURI, scopes: scopes,
                wantsRefreshToken: request.wantsRefreshToken, challenge: request.challenge, isUnverified: isUnverified,
                usedBy: exchange.spentBy)
            state[GitHubState.self].consent(key, scopes: scopes, now: now)
            state[GitHubState.self].codes.insert(code, as: text, expires: now + settings.codeLifetime, now: now)
            return text
        }
        return callback(
            exchange, request.redirectURI,
            [Form.Field(name: "code", value: code)] + (exchange.redirectState(request.state).map { [$0] } ?? []))
    }

    private func denied(_ exchange: Exchange, _ request: AuthorizationRequest, because reason: String) -> Response {
        failed(exchange, request, with: OAuthError.Code.accessDenied.rawValue, because: reason)
    }

    /// An ordered error may have any name; GitHub's own bring their texts along.
    private func failed(
        _ exchange: Exchange, _ request: AuthorizationRequest, with name: String,
        because reason: String = "this error was ordered as an outcome"
    ) -> Response {
        errorCallback(exchange, name, request.redirectURI, request.state, Diagnosis(reason))
    }

    private func refusal(_ refusal: AuthorizationRequest.Refusal, _ exchange: Exchange) -> Response {
        switch refusal {
        case .unknownClient(let diagnosis):
            return Pages.notFound(exchange, diagnosis)
        case .mismatch(let app, let state, let diagnosis):
            guard settings.redirectMismatch == .redirect, let registered = app.callbacks.first else {
                return Pages.mismatch(exchange, app, diagnosis)
            }
            return errorCallback(
                exchange, OAuthError.Code.redirectURIMismatch.rawValue, registered.text, state, diagnosis)
        case .callback(let error, let redirectURI, let state):
            return errorCallback(exchange, error.code.rawValue, redirectURI, state, error.diagnosis)
        }
    }

    private func errorCallback(
        _ exchange: Exchange, _ name: String, _ redirectURI: String, _ state: Form.Field?, _ diagnosis: Diagnosis
    ) -> Response {
        let code = OAuthError.Code(rawValue: name)
        var fields = [Form.Field(name: "error", value: name)]
        if let code {
            fields.append(Form.Field(name: "error_description", value: OAuthError.description(of: code)))
            fields.append(Form.Field(name: "error_uri", value: OAuthError.authorizationURI(of: code)))
        }
        if let state = exchange.redirectState(state) { fields.append(state) }
        return callback(exchange, redirectURI, fields).diagnosed(diagnosis)
    }

    /// `iss` (RFC 9207) goes on errors, too, which isn't documented.
    private func callback(_ exchange: Exchange, _ redirectURI: String, _ fields: [Form.Field]) -> Response {
        var fields = fields
        if settings.addsIssuer { fields.append(Form.Field(name: "iss", value: GitHubProvider.issuer)) }
        let uri = exchange.reachable(redirectURI)
        return .redirect(to: uri + (uri.contains("?") ? "&" : "?") + Form(fields: fields).encoded)
    }
}
