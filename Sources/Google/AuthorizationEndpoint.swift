import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

// GET /o/oauth2/v2/auth
//
// Quirks: an invalid request ends at Google's own page, "Error 400: redirect_uri_mismatch". Redirect URIs are compared
// exactly. The callback has scope, authuser, prompt and, recently, iss beside the code. A refresh token is issued with
// access_type=offline, and only at the first consent or with prompt=consent; an installed app gets one each time.
// People may deselect scopes of Google's APIs.

struct GoogleSignIn: PersonPagesFlow {
    let google: GoogleProvider

    var provider: String { google.name }

    func pages(_ exchange: Exchange) -> PersonPages { google.pages }

    func request(
        _ form: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> AuthorizationRequest {
        do throws(GoogleError) { return try AuthorizationRequest(form, google, isAnswer: isAnswer) } catch {
            throw RefusedAuthorization(google.page(error))
        }
    }

    /// Handles a POST to Google's authorization endpoint. The body is the form of a sign-in page, or an authorization
    /// request: <https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest>.
    func decideOrAuthorize(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        return form["response_type"] == nil ? try decide(exchange) : try authorize(exchange, form)
    }

    func answer(to request: AuthorizationRequest, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        switch end {
        case .cancelled: return failed(exchange, request, "access_denied", end.reason)
        case .nobodySignedIn, .consentMissing: return failed(exchange, request, "interaction_required", end.reason)
        case .error(let name, _):
            guard let known = GoogleError.statusesOfPageErrors.first(where: { $0.name == name }) else {
                return failed(exchange, request, name, end.reason)
            }
            return google.page(GoogleError(name, nil, status: known.status, Diagnosis(end.reason)))
        }
    }

    func admit(
        _ account: Account, to request: AuthorizationRequest, _ exchange: Exchange
    ) throws(RefusedAuthorization) {
        if let page = google.blocked(request.client, request.scopes, account) { throw RefusedAuthorization(page) }
    }

    func consentPage(_ request: AuthorizationRequest, for account: Account, _ exchange: Exchange) -> Response? {
        let hasConsented = exchange.world.read {
            $0.hasConsented(account.id, to: request.client.id, scopes: request.scopes)
        }
        guard !hasConsented || request.asksForConsent else { return nil }
        return consentPage(
            request, for: account, items: request.scopes.ofSignIn.descriptions, choices: request.scopes.optional,
            exchange)
    }

    func hint(_ request: AuthorizationRequest, _ exchange: Exchange) -> String? {
        guard !request.isAnswer else { return nil }
        return request.form["login_hint"].map { google.accountID(of: $0, exchange) }
    }

    /// Returns the person whom the `login_hint` names, for a request in a pop-up of Google's script: "When successful,
    /// account selection is skipped."
    /// <https://developers.google.com/identity/oauth2/web/reference/js-reference#CodeClientConfig>
    func personSignedIn(_ request: AuthorizationRequest, _ exchange: Exchange) -> Account? {
        guard request.relayOrigin != nil, !request.prompts.contains("select_account") else { return nil }
        return request.form["login_hint"].flatMap { google.account(hinted: $0, exchange) }
    }

    /// Returns a function that tells whether a person belongs to the domain in `hd`, and so comes first in the account
    /// chooser; `nil` if the request has no `hd`. "The account selection UI should be optimized for accounts at that
    /// domain." <https://developers.google.com/identity/openid-connect/openid-connect#hd-param>
    func preference(_ request: AuthorizationRequest) -> ((Account) -> Bool)? {
        request.form["hd"].map { domain in { $0.google.isAt(domain) } }
    }

    // MARK: - Answers

    /// The code and the access token for which an approved authorization request asked.
    private struct Approved: Sendable {
        let details: GoogleGrant.TokenDetails
        let code: String?
        let accessToken: String?
        /// Whether the sign-in needed the person's consent, because the client demanded it or a scope was new.
        let isConsent: Bool
        let at: Instant
    }

    /// Records the person's consent, and makes the code and the access token for which the request asks. Returns `nil`
    /// if the account doesn't exist any more.
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
                        redirectURI: request.relayOrigin == nil
                            ? request.redirectURI : GoogleProvider.popupRedirectURI,
                        challenge: request.challenge, expires: now + google.settings.codeLifetime,
                        usedBy: exchange.spentBy,
                        details: GoogleGrant.CodeDetails(
                            token: details,
                            givesRefreshToken: request.isOffline && (isConsent || request.client.type.isInstalled),
                            popupOrigin: request.relayOrigin)))
                code = text
            }
            let wantsToken = request.responseTypes.contains("token")
            let accessToken = wantsToken ? tables.makeAccessToken(grant, details) : nil
            return Approved(details: details, code: code, accessToken: accessToken, isConsent: isConsent, at: now)
        }
    }

    func approve(
        _ request: AuthorizationRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        let scopes = request.scopes.granted(approval.scopes)
        guard !scopes.names.isEmpty else {
            return failed(exchange, request, "access_denied", "the person granted none of the scopes")
        }
        guard let approved = try approve(exchange, request, by: account, scopes) else { return nil }
        var response = answer(exchange, request)
        response.append("state", exchange.redirectState(request.state)?.value)
        response.append("iss", google.issuer(exchange))
        response.append("code", approved.code)
        if let accessToken = approved.accessToken {
            response.append("access_token", accessToken)
            response.append("token_type", "Bearer")
            response.append("expires_in", String(GoogleToken.accessLifetime.seconds))
        }
        if request.responseTypes.contains("id_token") {
            let token = IDToken(
                issuer: google.issuer(exchange), client: request.client.id, account: account, details: approved.details,
                issuedAt: approved.at, accessToken: approved.accessToken, code: approved.code)
            do { response.append("id_token", try token.minted(exchange)) } catch {
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
        if error == "interaction_required" { response.append("error_subtype", "access_denied") }
        response.append("error", error)
        return deliver(response, request).diagnosed(Diagnosis(reason)).known(by: GoogleProvider.evidence.ofError(error))
    }

    private func answer(_ exchange: Exchange, _ request: AuthorizationRequest) -> AuthorizationResponse {
        AuthorizationResponse(redirectURI: exchange.reachable(request.redirectURI), mode: request.mode)
    }

    /// Sends the authorization response to the redirect URI or to the page that opened the pop-up, or shows it as the
    /// out-of-band flow demands.
    private func deliver(_ response: AuthorizationResponse, _ request: AuthorizationRequest) -> Response {
        if GoogleProvider.isOutOfBand(request.redirectURI) { return google.pages.outOfBand(response.fields) }
        guard let origin = request.relayOrigin else { return response.deliver() }
        let fields = JSONObject(response.fields.map { ($0.name, .string($0.value)) })
        return AuthorizationResponse(redirectURI: origin, mode: .webMessage).messagePage(.object(fields))
    }
}

extension GoogleProvider {
    /// Returns the ID of the account whose `sub` the `login_hint` is. Any other hint, such as an email address, is
    /// returned as it is (<https://developers.google.com/identity/openid-connect/openid-connect#login-hint>).
    func accountID(of hint: String, _ exchange: Exchange) -> String {
        account(named: hint, in: exchange.world) ?? hint
    }

    func account(hinted hint: String, _ exchange: Exchange) -> Account? {
        guard !hint.isEmpty else { return nil }
        let id = accountID(of: hint, exchange)
        return exchange.world.read { $0.account(id) ?? $0.first(Account.byEmail, id.lowercased()) }
    }

    /// Returns Google's error page for a person who may not sign in to the client; `nil` if the person may.
    func blocked(_ client: GoogleClient, _ scopes: GoogleScopes, _ account: Account) -> Response? {
        if let domain = client.organization, !account.google.isAt(domain, orAny: false) {
            return page(
                GoogleError(
                    "org_internal", "This client is restricted to users within its organization.", status: 403,
                    Diagnosis(
                        received: "the account \(Diagnosis.quote(account.id))",
                        expected: "an account whose hostedDomain is \(Diagnosis.quote(domain))",
                        "the client's \"organization\" in the seed admits no other accounts")))
        }
        // A person who only signs in needn't be a test user.
        guard client.publishingStatus == .testing, !scopes.optional.isEmpty,
            !client.testUsers.contains(account.id)
        else { return nil }
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
                    "the client's publishing status is testing: add the account to its \"testUsers\" in the seed")))
    }

    /// Returns Google's own error page, for errors that aren't sent to the redirect URI.
    func page(_ error: GoogleError) -> Response {
        pages.problem(
            error.status, "Error \(error.status): \(error.name)", error.diagnosis, text: error.description
        ).known(by: error.evidence)
    }
}
