import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time
import Worlds

// GET /login/oauth/authorize, and POST from its own page
//
// Quirks: response_type is ignored. An unknown client leads to a "not found" page. A person who granted the same scopes
// before isn't asked again. Without `scope`, the code is for all scopes granted before. Values in the redirect are form
// encoded.

/// The sign-in at GitHub's authorization endpoint.
struct GitHubSignIn: AuthorizationFlow {
    let github: GitHubProvider

    var provider: String { github.name }

    func request(
        _ form: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> AuthorizationRequest {
        let request: AuthorizationRequest
        do throws(AuthorizationRequest.Refusal) {
            request = try AuthorizationRequest(form, github, exchange.world.seed)
        } catch { throw RefusedAuthorization(refusal(error, exchange)) }
        guard isAnswer else { return request }
        guard let session = github.session(exchange) else {
            throw RefusedAuthorization(Pages.redirectToSignIn(exchange, request))
        }
        guard session.holds(exchange.request.bodyForm["authenticity_token"]) else {
            throw RefusedAuthorization(Pages.forged(exchange))
        }
        return request
    }

    func answer(to request: AuthorizationRequest, _ end: AuthorizationEnd, _ exchange: Exchange) throws -> Response {
        var name = OAuthError.Code.accessDenied.rawValue
        if case .error(let ordered, let account) = end {
            guard ordered != OAuthError.Code.unverifiedUserEmail.rawValue else {
                // The token endpoint reports this error.
                return try account.flatMap { try approved(exchange, request, by: $0.id, isUnverified: true) }
                    ?? Pages.nobody(exchange)
            }
            name = ordered
        }
        return errorCallback(exchange, name, request.redirectURI, request.state, Diagnosis(end.reason))
    }

    func nobody(_ request: AuthorizationRequest, _ exchange: Exchange) -> Response { Pages.nobody(exchange) }

    func answer(
        _ form: Form, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> (request: Form, answer: PersonPages.Answer) {
        guard let request = form.carriedRequest else {
            throw RefusedAuthorization(
                Pages.problem(
                    exchange, 422, "Something is missing",
                    Diagnosis("the form lacks the parameters of the authorization request: start the sign-in again")))
        }
        return (request, form["authorize"] == "1" ? .approved(github.session(exchange)?.account.id ?? "") : .cancel)
    }

    /// Redirects to GitHub's sign-in page, where people choose their account.
    func choosePerson(
        _ request: AuthorizationRequest, _ search: PersonChooser.Search?, _ exchange: Exchange
    ) -> Response {
        Pages.redirectToSignIn(exchange, request)
    }

    func personSignedIn(_ request: AuthorizationRequest, _ exchange: Exchange) throws -> Account? {
        guard let session = github.session(exchange) else { return nil }
        let isMeant =
            request.login.map { $0.lowercased() == session.account.github.login.lowercased() } ?? true
        let isFresh = try session.isFresh && exchange.world.update { $0.useFreshness(of: session.id) }
        return isFresh || !request.selectsAccount && isMeant ? session.account : nil
    }

    /// Returns GitHub's consent page; `nil` if the browser isn't signed in, or if there is nothing new to grant and the
    /// limit of new tokens isn't reached.
    func consentPage(_ request: AuthorizationRequest, for account: Account, _ exchange: Exchange) -> Response? {
        let (grant, isNeeded) = exchange.world.read { tables -> (GitHubGrant?, Bool) in
            guard let grant = tables.grant(account.id, to: request.app) else { return (nil, true) }
            let scopes = request.scopes ?? grant.scopes
            return (grant, !grant.scopes.covers(scopes) || tables.exceedsTokenRate(grant, scopes: scopes))
        }
        guard isNeeded, let session = github.session(exchange) else { return nil }
        return Pages.consent(exchange, request, session, granted: grant?.scopes)
    }

    func approve(
        _ request: AuthorizationRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        var granted = approval.scopes
        if case .page(let form) = approval { granted = form.fields.filter { $0.name == "scope" }.map(\.value) }
        return try approved(
            exchange, request, by: account.id, granting: granted.map { GitHubScopes($0.joined(separator: " ")) })
    }

    // MARK: - Answers

    private func approved(
        _ exchange: Exchange, _ request: AuthorizationRequest, by account: String, granting: GitHubScopes? = nil,
        isUnverified: Bool = false
    ) throws -> Response? {
        let code = try exchange.world.update(for: account) { tables in
            issueCode(
                for: request, by: account, granting: granting, isUnverified: isUnverified, exchange, &tables)
        }
        guard let code else { return nil }
        return callback(
            exchange, request.redirectURI,
            [Form.Field(name: "code", value: code)] + (exchange.redirectState(request.state).map { [$0] } ?? []))
    }

    /// Issues an authorization code for the requested scopes. If `granting` isn't `nil`, it holds the scopes that the
    /// person, a test or the seed has chosen, and the code gets no others.
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
                challenge: request.challenge, expires: tables.now + github.settings.codeLifetime,
                usedBy: exchange.spentBy,
                details: GitHubGrant.CodeDetails(
                    scopes: scopes, wantsRefreshToken: request.wantsRefreshToken, isUnverified: isUnverified)))
        return code
    }

    private func refusal(_ refusal: AuthorizationRequest.Refusal, _ exchange: Exchange) -> Response {
        switch refusal {
        case .unknownClient(let diagnosis):
            return Pages.notFound(exchange, diagnosis)
        case .mismatch(let app, let state, let diagnosis):
            guard github.settings.redirectMismatch == .redirect, let registered = app.callbacks.first?.target else {
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
        return callback(exchange, redirectURI, fields).diagnosed(diagnosis).known(by: OAuthError.evidence(of: name))
    }

    /// Returns the redirect to the client's callback URL. If GitHub sends the parameter `iss`, redirects with an error
    /// have it, too.
    private func callback(_ exchange: Exchange, _ redirectURI: String, _ fields: [Form.Field]) -> Response {
        var fields = fields
        if github.addsIssuer { fields.append(Form.Field(name: "iss", value: GitHubProvider.issuer)) }
        let uri = exchange.reachable(redirectURI)
        return .redirect(to: uri + (uri.contains("?") ? "&" : "?") + Form(fields: fields).encoded)
    }
}

extension GitHubProvider {
    /// A change at GitHub: authorization responses have the parameter `iss` (RFC 9207). GitHub first sent `iss` for
    /// only two days, which broke clients that compare `iss` with an issuer of their own.
    static let callbackIssuer = Change(
        "callbackIssuer", ("2026-04-09", "2026-04-11"), ("2026-08-20", nil),
        summary: "redirects to callbacks have iss=https://github.com/login/oauth (RFC 9207)",
        caveat: "the days are those of reports",
        evidence: "https://github.com/langfuse/langfuse/issues/13091, https://github.com/pytorch/test-infra/pull/8589")
}
