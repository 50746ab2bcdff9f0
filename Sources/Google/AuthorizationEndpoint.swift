import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// GET /o/oauth2/v2/auth
// https://developers.google.com/identity/openid-connect/openid-connect#authenticationuriparameters
//
// Quirks: an invalid request ends at Google's own page, "Error 400: redirect_uri_mismatch". Redirect URIs are compared
// exactly. The callback has scope, authuser, prompt and, recently, iss beside the code. A refresh token is issued with
// access_type=offline, and only at the first consent or with prompt=consent; an installed app gets one each time.
// People may deselect scopes of Google's APIs.

extension GoogleProvider {
    func authorize(_ exchange: Exchange, _ form: Form) throws -> Response {
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(form, self) } catch { return page(error) }
        let decision = try exchange.decision(
            provider: name, client: request.client.id, interaction: request.client.interaction)
        switch decision {
        case .cancel: return failed(exchange, request, "access_denied", "a cancel was ordered as an outcome")
        case .error(let error, _): return orderedError(exchange, request, error)
        case .ask:
            if request.prompts.contains("none") {
                return failed(
                    exchange, request, "interaction_required", "prompt=none, and nobody is signed in: order an outcome")
            }
            return choosePerson(exchange, request, hint: request.form["login_hint"].map { accountID(of: $0, exchange) })
        case .nobody:
            return pages.problem(
                400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
        case .approve(let account, let outcome):
            if let page = blocked(request.client, request.scopes, account) { return page }
            return try approved(exchange, request, by: account, granting: outcome?.scopes)
        }
    }

    private func orderedError(_ exchange: Exchange, _ request: AuthorizationRequest, _ name: String) -> Response {
        let reason = "this error was ordered as an outcome"
        guard let known = GoogleError.statusesOfPageErrors.first(where: { $0.name == name }) else {
            return failed(exchange, request, name, reason)
        }
        return page(GoogleError(name, nil, status: known.status, Diagnosis(reason)))
    }

    /// Handles the form of a page.
    func decide(_ exchange: Exchange) throws -> Response {
        // A request may also be posted as a form: https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
        if exchange.request.bodyForm["response_type"] != nil {
            return try authorize(exchange, exchange.request.bodyForm)
        }
        guard let (form, answer) = try pages.answer(exchange.request.bodyForm, in: exchange) else {
            return pages.problem(
                400, "Something is missing", Diagnosis("the form lacks the authorization request: begin again"))
        }
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(form, self) } catch { return page(error) }
        switch answer {
        case .cancel: return failed(exchange, request, "access_denied", "the person cancelled")
        case .searched(let search): return choosePerson(exchange, request, search: search)
        case .page(let page): return page
        case .chosen(let id), .approved(let id):
            let (account, hasConsented) = exchange.world.read { tables in
                (
                    tables.account(id),
                    tables.hasConsented(id, to: request.client.id, scopes: request.scopes)
                )
            }
            guard let account else { return choosePerson(exchange, request) }
            if let page = blocked(request.client, request.scopes, account) { return page }
            if case .chosen = answer, !hasConsented || request.asksForConsent {
                return pages.consent(
                    exchange, client: request.client.name, account: account,
                    items: request.scopes.ofSignIn.descriptions, choices: request.scopes.optional,
                    request: request.form)
            }
            return try approved(exchange, request, by: account, granting: pages.choices(exchange.request.bodyForm))
        }
    }

    /// Returns the account of a hint: an address, or `sub`
    /// (<https://developers.google.com/identity/openid-connect/openid-connect#login-hint>).
    func accountID(of hint: String, _ exchange: Exchange) -> String {
        account(named: hint, in: exchange.world) ?? hint
    }

    private func choosePerson(
        _ exchange: Exchange, _ request: AuthorizationRequest, hint: String? = nil, search: PersonChooser.Search? = nil
    ) -> Response {
        // "The account selection UI should be optimized for accounts at that domain": they come first.
        // https://developers.google.com/identity/openid-connect/openid-connect#hd-param
        let domain = request.form["hd"]
        return pages.choose(
            exchange, client: request.client.name, request: request.form, hint: hint, search: search,
            preferring: domain.map { domain in
                { account in
                    guard let own = account.google.hostedDomain else { return false }
                    return domain == "*" || own.equalsIgnoringASCIICase(domain)
                }
            })
    }

    // MARK: - Answers

    /// The result of an approval, limited to what the request asked for.
    private struct Approved: Sendable {
        let details: GoogleGrant.TokenDetails
        let code: String?
        let accessToken: String?
        /// Whether the person had to consent.
        let isConsent: Bool
        let at: Instant
    }

    /// Records consent and makes a code and an access token; `nil` if the account doesn't exist any more.
    private func approve(
        _ exchange: Exchange, _ request: AuthorizationRequest, by account: Account, _ scopes: GoogleScopes
    ) throws -> Approved? {
        try exchange.world.update(for: account.id) { tables in
            let now = tables.now
            let client = request.client.id
            let isConsent =
                request.asksForConsent || !tables.hasConsented(account.id, to: client, scopes: scopes)
            let grant = tables.consent(account.id, to: request.client, scopes: scopes, isAsked: isConsent)
            var details = GoogleGrant.TokenDetails(
                scopes: request.includesGrantedScopes ? scopes.adding(grant.scopes) : scopes, nonce: request.nonce,
                isOffline: request.isOffline)
            // There are no sessions here: a person who signs in to an app also signs in at Google.
            if request.sessionClaims.contains("auth_time") { details.authTime = now }
            if request.sessionClaims.contains("amr") { details.methods = account.google.authenticationMethods }
            var code: String?
            if request.responseTypes.contains("code") {
                let text = GoogleToken.code.make(from: &tables.random)
                tables.put(
                    AuthorizationCode<GoogleGrant>(
                        text, grant: grant.key, client: client,
                        // https://developers.google.com/identity/oauth2/web/guides/use-code-model#popup_mode
                        redirectURI: request.relayOrigin == nil ? request.redirectURI : "postmessage",
                        challenge: request.challenge, expires: now + settings.codeLifetime, usedBy: exchange.spentBy,
                        details: GoogleGrant.CodeDetails(
                            token: details,
                            givesRefreshToken: request.isOffline && (isConsent || request.client.type.isInstalled))))
                code = text
            }
            let wantsToken = request.responseTypes.contains("token")
            let accessToken = wantsToken ? tables.makeAccessToken(grant, details) : nil
            return Approved(details: details, code: code, accessToken: accessToken, isConsent: isConsent, at: now)
        }
    }

    /// Returns Google's page for a person who may not use this app; `nil` if the person may.
    func blocked(_ client: GoogleClient, _ scopes: GoogleScopes, _ account: Account) -> Response? {
        if let domain = client.organization,
            !(account.google.hostedDomain?.equalsIgnoringASCIICase(domain) ?? false)
        {
            // https://github.com/googlesamples/google-services/issues/404
            return page(
                GoogleError(
                    "org_internal", "This client is restricted to users within its organization.", status: 403,
                    Diagnosis(
                        received: "the account \(Diagnosis.quote(account.id))",
                        expected: "one whose hostedDomain is \(Diagnosis.quote(domain))",
                        "the client's \"organization\" in the seed keeps others out")))
        }
        // A person who only signs in needn't be a test user: https://github.com/MomenSherif/react-oauth/issues/126
        guard client.publishingStatus == .testing, !scopes.optional.isEmpty,
            !client.testUsers.contains(account.id)
        else { return nil }
        // https://github.com/koush/scrypted/issues/1282
        return page(
            GoogleError(
                "access_denied",
                "\(client.name) has not completed the Google verification process. The app is currently being tested, and can only be "
                    + "accessed by developer-approved testers. If you think you should have access, contact the developer.",
                status: 403,
                Diagnosis(
                    received: "the account \(Diagnosis.quote(account.id))",
                    expected: client.testUsers.isEmpty
                        ? nil : Diagnosis.alternatives(client.testUsers.sorted()),
                    "the client's publishing status is testing: name the account in its \"testUsers\"")))
    }

    /// Returns the answer to an approval. `granting` has the scopes that the person hasn't deselected.
    private func approved(
        _ exchange: Exchange, _ request: AuthorizationRequest, by account: Account, granting: [String]? = nil
    ) throws -> Response {
        let scopes = request.scopes.granted(granting)
        guard !scopes.names.isEmpty else {
            return failed(exchange, request, "access_denied", "the person granted none of the scopes")
        }
        guard let approved = try approve(exchange, request, by: account, scopes) else {
            return choosePerson(exchange, request)
        }
        var response = answer(exchange, request)
        response.append("state", exchange.redirectState(request.state)?.value)
        response.append("iss", issuer(exchange))
        response.append("code", approved.code)
        if let accessToken = approved.accessToken {
            response.append("access_token", accessToken)
            response.append("token_type", "Bearer")
            response.append("expires_in", String(GoogleToken.accessLifetime.seconds))
        }
        if request.responseTypes.contains("id_token") {
            let token = IDToken(
                issuer: issuer(exchange), client: request.client.id, account: account, details: approved.details,
                issuedAt: approved.at, accessToken: approved.accessToken, code: approved.code)
            do { response.append("id_token", try token.minted(exchange)) } catch {
                // The name is RFC 6749's: Google's isn't documented.
                return failed(
                    exchange, request, "server_error", "the ID token can't be signed: \(error.description)")
            }
        }
        response.append("scope", approved.details.scopes.callbackText(asked: request.form["scope"] ?? ""))
        response.append("authuser", "0")
        response.append("hd", account.google.hostedDomain)
        response.append("prompt", approved.isConsent ? "consent" : "none")
        return deliver(response, request)
    }

    private func failed(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ error: String, _ reason: String
    ) -> Response {
        var response = answer(exchange, request)
        response.append("state", exchange.redirectState(request.state)?.value)
        // A callback in public logs has: state=…&error_subtype=access_denied&error=interaction_required
        if error == "interaction_required" { response.append("error_subtype", "access_denied") }
        response.append("error", error)
        return deliver(response, request).diagnosed(Diagnosis(reason))
    }

    private func answer(_ exchange: Exchange, _ request: AuthorizationRequest) -> AuthorizationResponse {
        AuthorizationResponse(redirectURI: exchange.reachable(request.redirectURI), mode: request.mode)
    }

    /// Sends the response to the redirect URI, or to the page that opened the pop-up.
    private func deliver(_ response: AuthorizationResponse, _ request: AuthorizationRequest) -> Response {
        if GoogleProvider.isOutOfBand(request.redirectURI) { return pages.outOfBand(response.fields) }
        guard let origin = request.relayOrigin else { return response.deliver() }
        let fields = JSONObject(response.fields.map { ($0.name, .string($0.value)) })
        return AuthorizationResponse(redirectURI: origin, mode: .webMessage).messagePage(.object(fields))
    }

    /// Returns Google's own page, for errors that aren't sent to the redirect URI.
    func page(_ error: GoogleError) -> Response {
        pages.problem(
            error.status, "Error \(error.status): \(error.name)", error.diagnosis, text: error.description)
    }
}
