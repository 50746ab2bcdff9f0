import EmulatorCore
import HTTPServer
import JOSE
import OAuth

// The authorization endpoint: https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint

extension Issuer {
    func pages(_ exchange: Exchange) -> PersonPages { pages(at: policy.paths.authorization) }

    func request(
        _ sent: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> RequestedAuthorization {
        let form = sent.withoutEmptyFields
        // Until the redirect URI is known, refusals are shown on a page.
        var destination: (redirectURI: String, fields: Form)?
        do throws(OAuthRefusal) {
            try form.checkRepetitions()
            let client = try knownClient(try form.required("client_id"), exchange)
            // A remote request object isn't fetched here: https://openid.net/specs/openid-connect-core-1_0.html#AuthError
            if let uri = form["request_uri"], !uri.hasPrefix(PushedRequest.uriPrefix),
                let redirectURI = try? redirectURI(form, client)
            {
                destination = (redirectURI, form)
                throw OAuthRefusal(
                    "request_uri_not_supported",
                    Diagnosis(
                        received: "request_uri \(Diagnosis.quote(uri))",
                        expected: "a request_uri of a pushed request (RFC 9126)",
                        "push the request, or send the request object itself in the parameter request"))
            }
            let pushed = try pushed(form, client, exchange, isAnswer)
            let fields = try RequestObject.resolve(
                pushed?.form ?? form, client: client.credentials, issuer: identifier(exchange), in: exchange)
            let redirectURI = try redirectURI(fields, client)
            destination = (redirectURI, fields)
            return RequestedAuthorization(
                client: client, redirectURI: redirectURI,
                parameters: try AuthorizationParameters(fields, client, policy), fields: fields, form: form,
                isAnswer: isAnswer,
                pushed: pushed, interaction: client.interaction ?? interaction)
        } catch {
            throw RefusedAuthorization(
                destination.map { answer(error, to: $0.redirectURI, of: $0.fields, exchange) } ?? page(error, exchange))
        }
    }

    func answer(
        to request: RequestedAuthorization, _ end: AuthorizationEnd, _ exchange: Exchange
    ) -> Response {
        let (name, reason): (String, String) =
            switch end {
            case .cancelled: ("access_denied", end.reason)
            case .error(let name, _): (name, end.reason)
            case .nobodySignedIn:
                (
                    "login_required",
                    "prompt=none, and nobody is signed in with this browser, or not lately enough: sign in, or order an outcome"
                )
            case .consentMissing: ("consent_required", end.reason)
            }
        return answer(OAuthRefusal(name, Diagnosis(reason)), to: request.redirectURI, of: request.fields, exchange)
    }

    /// Returns the authorization response that sends an OAuth error to the client.
    func answer(
        _ refusal: OAuthRefusal, to redirectURI: String, of fields: Form, _ exchange: Exchange
    ) -> Response {
        var response = answer(exchange, to: redirectURI, of: fields)
        response.append("error", refusal.name)
        response.append("error_description", refusal.description)
        return response.deliver().diagnosed(refusal.diagnosis).known(by: refusal.evidence)
    }

    func page(_ refusal: OAuthRefusal, _ exchange: Exchange) -> Response {
        pages(exchange).problem(
            refusal.status == 401 ? 400 : refusal.status, "Error: \(refusal.name)", refusal.diagnosis
        ).known(by: refusal.evidence)
    }

    func hint(_ request: RequestedAuthorization, _ exchange: Exchange) -> String? {
        request.isAnswer ? nil : request.fields["login_hint"]
    }

    func personSignedIn(_ request: RequestedAuthorization, _ exchange: Exchange) -> Account? {
        guard policy.hasSingleSignOn, let session = session(for: request, exchange) else { return nil }
        return exchange.world.read { $0.account(session.account) }
    }

    /// Returns the browser's session if its user needn't sign in again for the authorization request.
    private func session(for request: RequestedAuthorization, _ exchange: Exchange) -> BrowserSession? {
        exchange.session(at: realm).flatMap { session in
            request.parameters.isContent(with: session, at: exchange.world.now) ? session : nil
        }
    }

    /// Returns the browser session in which the person was signed in before this authorization request; `nil` if the
    /// person begins a new session.
    func session(
        for request: RequestedAuthorization, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) -> BrowserSession? {
        if case .page(let form) = approval {
            // A person who has just chosen the account, and needs no consent, begins a session.
            guard form["action"] == "continue", policy.hasSingleSignOn else { return nil }
        }
        return session(for: request, exchange).flatMap { $0.account == account.id ? $0 : nil }
    }

    func consentPage(
        _ request: RequestedAuthorization, for account: Account, _ exchange: Exchange
    ) -> Response? {
        let (scopes, key) = (request.parameters.scopes, key(of: request.client))
        let isNeeded =
            request.parameters.prompts.contains("consent")
            || request.client.needsConsent
                && !exchange.world.read { $0.hasConsented(account.id, to: key, scopes: scopes) }
        guard isNeeded else { return nil }
        return consentPage(request, for: account, items: StandardScope.descriptions(of: scopes), exchange)
    }

    /// Returns the client with this ID, or throws `invalid_client`.
    func knownClient(_ id: String, _ exchange: Exchange) throws(OAuthRefusal) -> ClientMetadata {
        if let client = client(id, in: exchange.world) { return client }
        throw OAuthRefusal(
            "invalid_client", Diagnosis(received: "client_id \(Diagnosis.quote(id))", noClient(id)))
    }

    private func pushed(
        _ form: Form, _ client: ClientMetadata, _ exchange: Exchange, _ isAnswer: Bool
    ) throws(OAuthRefusal) -> PushedRequest? {
        if let uri = form["request_uri"] {
            let owner = key(of: client)
            return try exchange.world.read { (tables) throws(OAuthRefusal) in
                try tables.pushedRequest(uri, of: owner, isAnswer: isAnswer)
            }
        }
        guard policy.requiresPushedRequests else { return nil }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis("this issuer accepts only pushed requests (requirePushedRequests): send a request_uri"))
    }

    /// Returns the redirect URI of the authorization request, or throws if the client hasn't registered it.
    func redirectURI(_ form: Form, _ client: ClientMetadata) throws(OAuthRefusal) -> String {
        let uri = form["redirect_uri"] ?? ""
        if client.mayUse(redirectURI: uri, among: client.redirectURIs, policy.redirectURIComparison) {
            return uri
        }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis(
                received: "redirect_uri \(Diagnosis.quote(uri))",
                expected: RegisteredRedirectURI.alternatives(client.redirectURIs),
                "register exactly this URI in redirectURIs of client \"\(client.clientID)\""
            ).mended(
                byMerging: [
                    provider: [
                        "issuers": [
                            [
                                "id": .string(id),
                                "clients": [
                                    ["clientID": .string(client.clientID), "redirectURIs": [.string(uri)]]
                                ],
                            ]
                        ]
                    ]
                ]))
    }
}

/// An authorization request to an OpenID issuer that has been read and checked.
struct RequestedAuthorization: CheckedAuthorization {
    let client: ClientMetadata
    let redirectURI: String
    let parameters: AuthorizationParameters
    /// The client's request parameters, which come from the query, a posted form, a request object, or a pushed
    /// authorization request.
    let fields: Form
    /// The parameters of the authorization request as they were sent, without empty ones. The sign-in page sends them
    /// to the server, together with the person's answer.
    let form: Form
    /// Whether a sign-in page has sent this authorization request, together with the person's answer.
    let isAnswer: Bool
    let pushed: PushedRequest?
    let interaction: Interaction?
    var isSilent: Bool { parameters.prompts.contains("none") }
}

// GET and POST /authorize: https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint

extension Issuer {
    private struct Approved: Sendable {
        let grant: OpenIDGrant
        let session: BrowserSession
        let code: String?
        let token: Token<OpenIDGrant>?
    }

    /// Stores the person's consent and a grant, continues the browser session or begins a new one, and returns the
    /// authorization response.
    func approve(
        _ request: RequestedAuthorization, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        let asked = request.parameters.scopes
        let scopes = approval.scopes.map { granted in asked.filter(granted.contains) } ?? asked
        let session = session(for: request, by: account, approval, exchange)
        do {
            // Without a question, only a session that still goes on may be continued.
            if case .remembered = approval, session == nil { throw Issuer.sessionHasEnded }
            return try approve(request, by: account, session, scopes: scopes, in: exchange)
        } catch let refusal as OAuthRefusal {
            return answer(refusal, to: request.redirectURI, of: request.fields, exchange)
        }
    }

    private static let sessionHasEnded = OAuthRefusal(
        "login_required", Diagnosis("the user's session ended while the request was being processed"))

    private func approve(
        _ request: RequestedAuthorization, by account: Account, _ known: BrowserSession?, scopes: [String],
        in exchange: Exchange
    ) throws -> Response {
        let (parameters, client) = (request.parameters, request.client)
        let acr = try parameters.acr(among: policy.acrValues)
        try check(account, request, in: exchange)
        let approved = try exchange.world.update { tables -> Approved? in
            guard tables.account(account.id) != nil else { throw OAuthRefusal.accountIsGone }
            if let pushed = request.pushed {
                guard tables.pop(PushedRequest.self, pushed.key) != nil else { return nil }
            }
            guard known == nil || tables.session(withID: known?.id ?? "", at: realm) != nil else {
                throw Issuer.sessionHasEnded
            }
            let session = known ?? tables.beginSession(of: account.id, at: realm, for: policy.lifetimes.session)
            tables.recordVisit(to: client.clientID, told: identifier(exchange), inSession: session.id, at: realm)
            tables.consent(account.id, to: key(of: client), scopes: scopes)
            let grant = tables.makeGrant(client, at: self, account: account.id, scopes: scopes) { grant in
                (grant.nonce, grant.acr, grant.claims) = (parameters.nonce, acr, parameters.claims)
                (grant.session, grant.authenticatedAt) = (session.id, session.authenticatedAt)
                grant.audience = parameters.resources
            }
            let types = parameters.responseTypes
            return Approved(
                grant: grant, session: session,
                code: types.contains("code") ? tables.makeCode(grant, request, at: self, exchange) : nil,
                token: types.contains("token") ? tables.makeAccessToken(grant, for: client, at: self) : nil)
        }
        guard let approved else {
            return page(.unknownPushedRequest(request.pushed?.key ?? ""), exchange)
        }
        let (grant, code) = (approved.grant, approved.code)
        var response = answer(exchange, to: request.redirectURI, of: request.fields)
        response.append("code", code)
        do throws(KeyError) {
            let accessToken = try approved.token.map { token throws(KeyError) in
                try text(of: token, grant, account, for: client, in: exchange)
            }
            if let accessToken {
                response.append("access_token", accessToken)
                response.append("token_type", "Bearer")
                response.append("expires_in", String(policy.lifetimes.accessToken.seconds))
                response.append("scope", scopes.joined(separator: " "))
            }
            if parameters.responseTypes.contains("id_token"), scopes.contains("openid") {
                let claims = idTokenClaims(
                    grant, of: account, for: client, in: exchange, nonce: grant.nonce, code: code,
                    accessToken: accessToken)
                response.append("id_token", try idToken(claims, for: client, in: exchange))
            }
        } catch { throw OAuthRefusal("server_error", Diagnosis("a token can't be signed: \(error.description)")) }
        var page = response.deliver()
        page.headers.append(BrowserSession.cookie(approved.session, at: realm, for: exchange))
        return page
    }

    /// Checks that the person who signs in is the one whom the request names, by `id_token_hint` for example.
    private func check(
        _ account: Account, _ request: RequestedAuthorization, in exchange: Exchange
    ) throws(OAuthRefusal) {
        let hint = try request.fields["id_token_hint"].map { text throws(OAuthRefusal) in
            if let subject = claims(ofIDToken: text, in: exchange)?["sub"]?.string { return subject }
            throw OAuthRefusal("invalid_request", Diagnosis("id_token_hint isn't an ID token of this issuer"))
        }
        guard let wanted = hint ?? request.parameters.claims.idToken["sub"]?.values.first?.string,
            wanted != subject(of: account, for: request.client)
        else { return }
        throw OAuthRefusal(
            "login_required",
            Diagnosis(
                received: "a sign-in by \"\(account.id)\"", expected: "the sub \(Diagnosis.quote(wanted))",
                "the user named by id_token_hint, or by sub in claims, must sign in"))
    }
}
