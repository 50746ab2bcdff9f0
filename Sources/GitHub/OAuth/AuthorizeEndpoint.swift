import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time
import Worlds

// GET /login/oauth/authorize, and POST from its own page
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#1-request-a-users-github-identity
//
// Quirks: response_type is ignored. An unknown client leads to a "not found" page. A person who granted the same scopes
// before isn't asked again. Without `scope`, the code is for all scopes granted before. Values in the redirect are form
// encoded.

extension GitHubProvider {
    func authorize(_ exchange: Exchange) throws -> Response {
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(exchange.request.queryForm, self, exchange.world.seed) } catch {
            return refusal(error, exchange)
        }
        // The decision is made and its code is issued in one transaction.
        let (decision, code) = try exchange.world.update { tables -> (Decision, String?) in
            let decision = exchange.decision(
                provider: name, client: request.app.clientID, interaction: request.app.interaction, in: &tables)
            return (decision, self.code(for: request, decision, exchange, &tables))
        }
        if let code { return approved(exchange, request, with: code) }
        switch decision {
        case .ask: return try askPerson(exchange, request)
        case .cancel: return denied(exchange, request, because: "a cancel was ordered as an outcome")
        case .error(OAuthError.Code.unverifiedUserEmail.rawValue, _), .nobody, .approve: return Pages.nobody(exchange)
        case .error(let name, _): return failed(exchange, request, with: name)
        }
    }

    /// Returns a code; `nil` if the decision doesn't lead to one.
    private func code(
        for request: AuthorizationRequest, _ decision: Decision, _ exchange: Exchange, _ tables: inout Transaction
    ) -> String? {
        switch decision {
        case .approve(let person, let outcome):
            let granted = outcome?.scopes.map { GitHubScopes($0.joined(separator: " ")) }
            return issueCode(for: request, by: person.id, granting: granted, exchange, &tables)
        // The token endpoint reports this error.
        case .error(OAuthError.Code.unverifiedUserEmail.rawValue, let person?):
            return issueCode(for: request, by: person.id, isUnverified: true, exchange, &tables)
        default: return nil
        }
    }

    /// Issues a code. `granting` limits the requested scopes, since people may deselect some.
    private func issueCode(
        for request: AuthorizationRequest, by account: String, granting: GitHubScopes? = nil,
        isUnverified: Bool = false,
        _ exchange: Exchange, _ tables: inout Transaction
    ) -> String {
        var scopes = request.scopes ?? tables.grant(account, to: request.app)?.scopes ?? .none
        if let granting { scopes = scopes.intersection(granting) }
        let grant = tables.consent(account, to: request.app, scopes: scopes)
        let code = Hex.encode(tables.random.bytes(10))
        tables.put(
            AuthorizationCode<GitHubGrant>(
                code, grant: grant.key, client: grant.client, redirectURI: request.redirectURI,
                challenge: request.challenge, expires: tables.now + settings.codeLifetime, usedBy: exchange.spentBy,
                details: GitHubGrant.CodeDetails(
                    scopes: scopes, wantsRefreshToken: request.wantsRefreshToken, isUnverified: isUnverified)))
        return code
    }

    /// Shows the sign-in page if the browser isn't signed in, and then the consent page, unless there is nothing new to
    /// grant.
    private func askPerson(_ exchange: Exchange, _ request: AuthorizationRequest) throws -> Response {
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, request) }
        let isMeant =
            request.login.map { $0.lowercased() == session.account.github.login.lowercased() } ?? true
        let isFresh = try session.isFresh && exchange.world.update { $0.useFreshness(of: session.id) }
        guard isFresh || !request.selectsAccount && isMeant else { return Pages.redirectToSignIn(exchange, request) }
        let (grant, needsConsent) = exchange.world.read { tables -> (GitHubGrant?, Bool) in
            guard let grant = tables.grant(session.account.id, to: request.app) else { return (nil, true) }
            let scopes = request.scopes ?? grant.scopes
            return (grant, !grant.scopes.covers(scopes) || tables.exceedsTokenRate(grant, scopes: scopes))
        }
        return try needsConsent
            ? Pages.consent(exchange, request, session, granted: grant?.scopes)
            : approved(exchange, request, by: session.account.id)
    }

    /// Handles the form of the consent page.
    func decide(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let original = answer.carriedRequest else {
            return Pages.problem(
                exchange, 422, "Something is missing",
                Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(original, self, exchange.world.seed) } catch {
            return refusal(error, exchange)
        }
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, request) }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        guard answer["authorize"] == "1" else { return denied(exchange, request, because: "the person cancelled") }
        let kept = answer.fields.filter { $0.name == "scope" }.map(\.value).joined(separator: " ")
        return try approved(exchange, request, by: session.account.id, granting: GitHubScopes(kept))
    }

    // MARK: - Answers

    private func approved(
        _ exchange: Exchange, _ request: AuthorizationRequest, by account: String, granting: GitHubScopes? = nil
    ) throws -> Response {
        let code = try exchange.world.update(for: account) { tables in
            issueCode(for: request, by: account, granting: granting, exchange, &tables)
        }
        guard let code else { return Pages.redirectToSignIn(exchange, request) }
        return approved(exchange, request, with: code)
    }

    private func approved(_ exchange: Exchange, _ request: AuthorizationRequest, with code: String) -> Response {
        callback(
            exchange, request.redirectURI,
            [Form.Field(name: "code", value: code)] + (exchange.redirectState(request.state).map { [$0] } ?? []))
    }

    private func denied(_ exchange: Exchange, _ request: AuthorizationRequest, because reason: String) -> Response {
        failed(exchange, request, with: OAuthError.Code.accessDenied.rawValue, because: reason)
    }

    /// Redirects with an ordered error, which may have any name. GitHub's own have their descriptions.
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
            guard settings.redirectMismatch == .redirect, let registered = app.callbacks.first?.target else {
                return Pages.mismatch(exchange, app, diagnosis)
            }
            return errorCallback(
                exchange, OAuthError.Code.redirectURIMismatch.rawValue, registered, state, diagnosis)
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

    /// Redirects to callbacks have `iss` (RFC 9207). It was there for two days and broke clients that compare it with an
    /// issuer of their own.
    static let callbackIssuer = Change(
        "callbackIssuer", ("2026-04-09", "2026-04-11"), ("2026-08-20", nil),
        summary: "redirects to callbacks have iss=https://github.com/login/oauth (RFC 9207)",
        caveat: "the days are those of reports",
        evidence: "https://github.com/langfuse/langfuse/issues/13091, https://github.com/pytorch/test-infra/pull/8589")

    /// Returns the redirect. Errors also have `iss`, which isn't documented.
    private func callback(_ exchange: Exchange, _ redirectURI: String, _ fields: [Form.Field]) -> Response {
        var fields = fields
        if addsIssuer { fields.append(Form.Field(name: "iss", value: GitHubProvider.issuer)) }
        let uri = exchange.reachable(redirectURI)
        return .redirect(to: uri + (uri.contains("?") ? "&" : "?") + Form(fields: fields).encoded)
    }
}
