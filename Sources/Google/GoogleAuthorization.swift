import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

// GET /o/oauth2/v2/auth: https://developers.google.com/identity/openid-connect/openid-connect#authenticationuriparameters
//
// Quirks: a wrong client or redirect_uri ends at Google's own page, "Error 400: redirect_uri_mismatch". Redirect URIs are
// compared exactly. The callback carries scope, authuser, prompt and, lately, iss beside the code. A refresh token comes
// with access_type=offline and only with the first consent, or with prompt=consent.

struct GoogleRequest: Sendable {
    let client: GoogleSection.Client
    let redirectURI: String
    let responseTypes: Set<String>
    let scopes: [String]
    let form: Form
    let challenge: CodeChallenge?

    var nonce: String? { form["nonce"] }
    var prompts: [Substring] { (form["prompt"] ?? "").split(separator: " ") }

    /// Why a request stays at Google: the error's name, the page's status, and what was wrong.
    struct Refusal: Error {
        let name: String
        var status = 400
        let diagnosis: Diagnosis
    }

    init(_ form: Form, _ provider: GoogleProvider) throws(Refusal) {
        let id = form["client_id"] ?? ""
        guard let client = provider.clients[id] else {
            throw Refusal(
                name: "invalid_client", status: 401,
                diagnosis: Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))", "no such client is seeded\(provider.hint(for: id))"))
        }
        let redirectURI = form["redirect_uri"] ?? ""
        guard client.redirectURIs.contains(redirectURI) else {
            throw Refusal(
                name: redirectURI.isEmpty ? "invalid_request" : "redirect_uri_mismatch",
                diagnosis: Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: client.redirectURIs.map { Diagnosis.quote($0) }.joined(separator: " or "),
                    "register it in redirectURIs of \"\(id)\", character by character"))
        }
        let types = Set((form["response_type"] ?? "").split(separator: " ").map(String.init))
        guard !types.isEmpty, types.isSubset(of: ["code", "id_token", "token"]) else {
            throw Refusal(
                name: types.isEmpty ? "invalid_request" : "unsupported_response_type",
                diagnosis: Diagnosis(
                    received: "response_type \(Diagnosis.quote(form["response_type"] ?? ""))",
                    expected: "code, id_token or token", "send one of these, or several separated by spaces"))
        }
        let scopes = (form["scope"] ?? "").split(separator: " ").map(String.init)
        guard !scopes.isEmpty else {
            throw Refusal(name: "invalid_request", diagnosis: Diagnosis("scope is missing: send at least openid"))
        }
        if types.contains("id_token"), (form["nonce"] ?? "").isEmpty {
            throw Refusal(
                name: "invalid_request", diagnosis: Diagnosis("nonce is missing: response_type id_token requires one"))
        }
        var challenge: CodeChallenge?
        if let text = form["code_challenge"], !text.isEmpty {
            guard let method = CodeChallenge.Method(rawValue: form["code_challenge_method"] ?? "plain"),
                CodeChallenge.isWellFormed(text)
            else {
                throw Refusal(
                    name: "invalid_request",
                    diagnosis: Diagnosis(
                        expected: "code_challenge_method plain or S256, and 43 to 128 unreserved characters",
                        "the code_challenge can't be used"))
            }
            challenge = CodeChallenge(method: method, challenge: text)
        }
        self.client = client
        self.redirectURI = redirectURI
        self.responseTypes = types
        self.scopes = scopes.map { GoogleProvider.fullName(ofScope: $0) }
        self.form = form
        self.challenge = challenge
    }
}

extension GoogleProvider {
    /// Errors that stay at Google's own page: <https://support.google.com/accounts/answer/16668185>, whose codes stand before
    /// the names.
    private static let ownPages: [(name: String, status: Int)] = [
        ("admin_policy_enforced", 400), ("deleted_client", 401), ("disallowed_useragent", 403), ("org_internal", 403),
    ]
    static let ownPageErrors = ownPages.map(\.name)

    /// `email` and `profile` are written out in answers.
    static func fullName(ofScope scope: String) -> String {
        ["email", "profile"].contains(scope) ? "https://www.googleapis.com/auth/userinfo.\(scope)" : scope
    }

    func authorize(_ exchange: Exchange, _ form: Form) -> Response {
        let request: GoogleRequest
        do { request = try GoogleRequest(form, self) } catch { return refusal(error) }
        let interaction = request.client.interaction ?? exchange.world.seed.interaction
        let (outcome, person) = exchange.world.update { state -> (Outcome?, Account?) in
            let outcome = exchange.outcome(
                &state, provider: name, client: request.client.clientID, interaction: interaction)
            return (outcome, outcome == nil ? nil : state.personSigningIn(interaction, outcome))
        }
        switch outcome?.kind {
        case .cancel: return failed(exchange, request, "access_denied", "a cancel was ordered as an outcome")
        case .error:
            let (error, reason) = (outcome?.error ?? "", "this error was ordered as an outcome")
            guard let page = GoogleProvider.ownPages.first(where: { $0.name == error }) else {
                return failed(exchange, request, error, reason)
            }
            return refusal(GoogleRequest.Refusal(name: error, status: page.status, diagnosis: Diagnosis(reason)))
        case .approve: break
        case nil:
            if request.prompts.contains("none") {
                return failed(
                    exchange, request, "interaction_required", "prompt=none, and nobody is signed in: order an outcome")
            }
            return pages.choose(
                exchange, client: request.client.name, request: request.form, hint: request.form["login_hint"])
        }
        guard let person else {
            return pages.problem(
                400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
        }
        return approved(exchange, request, by: person)
    }

    /// What a page's form says.
    func decide(_ exchange: Exchange) -> Response {
        guard let (form, answer) = pages.read(exchange.request.bodyForm) else {
            return pages.problem(
                400, "Something is missing", Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: GoogleRequest
        do { request = try GoogleRequest(form, self) } catch { return refusal(error) }
        switch answer {
        case .cancel: return failed(exchange, request, "access_denied", "the person cancelled")
        case .searched(let search):
            return pages.choose(exchange, client: request.client.name, request: request.form, search: search)
        case .chosen(let id), .approved(let id):
            let (account, hasConsented) = exchange.world.update { state in
                (
                    state.account(id),
                    state[GoogleState.self].hasConsented(id, request.client.clientID, request.scopes)
                )
            }
            guard let account else {
                return pages.choose(exchange, client: request.client.name, request: request.form)
            }
            if case .chosen = answer, !hasConsented || request.prompts.contains("consent") {
                return pages.consent(
                    exchange, client: request.client.name, account: account, items: request.scopes.map(about),
                    request: request.form)
            }
            return approved(exchange, request, by: account)
        }
    }

    private func about(_ scope: String) -> String {
        switch scope {
        case "openid": "who the person is at Google"
        case "https://www.googleapis.com/auth/userinfo.email": "the primary address"
        case "https://www.googleapis.com/auth/userinfo.profile": "name and picture"
        default: scope
        }
    }

    // MARK: - Answers

    private func approved(_ exchange: Exchange, _ request: GoogleRequest, by account: Account) -> Response {
        let grant = GoogleState.Grant(
            account: account.id, client: request.client.clientID, scopes: request.scopes, nonce: request.nonce)
        let (code, token, now) = exchange.world.update { state -> (String?, String?, Instant) in
            let now = state.clock.now
            let isFirst = !state[GoogleState.self].hasConsented(account.id, grant.client, grant.scopes)
            state[GoogleState.self].consent(grant)
            var (code, token): (String?, String?)
            if request.responseTypes.contains("code") {
                let text = "4/0A" + Base64URL.encode(state.random.bytes(52))
                let isOffline =
                    request.form["access_type"] == "offline" && (isFirst || request.prompts.contains("consent"))
                state[GoogleState.self].codes.insert(
                    GoogleState.Code(
                        grant: grant, redirectURI: request.redirectURI, isOffline: isOffline,
                        challenge: request.challenge, usedBy: exchange.spentBy), as: text,
                    expires: now + settings.codeLifetime,
                    now: now)
                code = text
            }
            if request.responseTypes.contains("token") {
                token = GoogleProvider.issueAccessToken(&state, grant)
            }
            return (code, token, now)
        }
        let usesFragment = request.responseTypes != ["code"]
        var response = AuthorizationResponse(
            redirectURI: exchange.reachable(request.redirectURI), mode: usesFragment ? .fragment : .query)
        response.append("state", exchange.redirectState(request.form.field("state"))?.value)
        response.append("iss", GoogleProvider.issuer)
        response.append("code", code)
        if let token {
            response.append("access_token", token)
            response.append("token_type", "Bearer")
            response.append("expires_in", "3599")
        }
        if request.responseTypes.contains("id_token") {
            let claims = idToken(grant, account, at: now, accessToken: token)
            do { response.append("id_token", try exchange.mint(.google, claims, at: now, withType: true)) } catch {
                // RFC 6749's name: what Google says isn't documented.
                return failed(
                    exchange, request, "server_error", "the ID token can't be signed: \(error.description)")
            }
        }
        response.append("scope", request.scopes.joined(separator: " "))
        response.append("authuser", "0")
        response.append("hd", account.google.hostedDomain)
        response.append("prompt", request.prompts.contains("consent") ? "consent" : "none")
        return response.deliver()
    }

    private func failed(_ exchange: Exchange, _ request: GoogleRequest, _ error: String, _ reason: String) -> Response {
        var response = AuthorizationResponse(
            redirectURI: exchange.reachable(request.redirectURI),
            mode: request.responseTypes == ["code"] ? .query : .fragment)
        response.append("error", error)
        response.append("state", exchange.redirectState(request.form.field("state"))?.value)
        return response.deliver().diagnosed(Diagnosis(reason))
    }

    private func refusal(_ refusal: GoogleRequest.Refusal) -> Response {
        pages.problem(refusal.status, "Error \(refusal.status): \(refusal.name)", refusal.diagnosis)
    }
}
