import EmulatorCore
import HTTPServer
import OAuth

// The authorization endpoint: https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint

extension Issuer {
    func pages(_ exchange: Exchange) -> PersonPages { pages(at: policy.paths.authorization) }

    func request(
        _ form: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> RequestedAuthorization {
        do throws(RequestedAuthorization.Failure) {
            return try RequestedAuthorization(form, at: self, in: exchange, isAnswer: isAnswer)
        } catch { throw RefusedAuthorization(response(to: error, exchange)) }
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
        return answer(to: request, OAuthRefusal(name, Diagnosis(reason)), exchange)
    }

    /// Returns the answer that gives a valid request's client a refusal.
    func answer(
        to request: RequestedAuthorization, _ refusal: OAuthRefusal, _ exchange: Exchange
    ) -> Response {
        response(to: .answer(refusal, answer(exchange, to: request.redirectURI, of: request.fields)), exchange)
    }

    func hint(_ request: RequestedAuthorization, _ exchange: Exchange) -> String? {
        request.fields["login_hint"]
    }

    func personSignedIn(_ request: RequestedAuthorization, _ exchange: Exchange) -> Account? {
        guard policy.hasSingleSignOn, let session = session(for: request, exchange) else { return nil }
        return exchange.world.read { $0.account(session.account) }
    }

    /// Returns the session of the browser, if the request allows to continue it.
    private func session(for request: RequestedAuthorization, _ exchange: Exchange) -> BrowserSession? {
        exchange.session(at: realm).flatMap { session in
            request.parameters.isContent(with: session, at: exchange.world.now) ? session : nil
        }
    }

    /// Returns the session that an approval continues; `nil` if it begins one.
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

    /// Returns the answer to a refused request.
    func response(to failure: RequestedAuthorization.Failure, _ exchange: Exchange) -> Response {
        switch failure {
        case .page(let refusal):
            return pages(exchange).problem(
                refusal.status == 401 ? 400 : refusal.status, "Error: \(refusal.name)", refusal.diagnosis)
        case .answer(let refusal, var response):
            response.append("error", refusal.name)
            response.append("error_description", refusal.description)
            return response.deliver().diagnosed(refusal.diagnosis)
        }
    }
}

/// A checked authorization request.
struct RequestedAuthorization: CheckedAuthorization {
    /// The way in which a refusal is sent.
    enum Failure: Error {
        /// On a page, because the client's redirect URI isn't known.
        case page(OAuthRefusal)
        case answer(OAuthRefusal, AuthorizationResponse)
    }

    let client: ClientMetadata
    let redirectURI: String
    let parameters: AuthorizationParameters
    /// The client's parameters: from its query, a request object, or a pushed request.
    let fields: Form
    /// The form as it came, for the sign-in page to carry along.
    let form: Form
    /// The pushed request, if there is one.
    let pushed: PushedRequest?
    let interaction: Interaction?
    var isSilent: Bool { parameters.prompts.contains("none") }

    /// Checks a request. `isAnswer` means that a page's form carries it.
    init(
        _ sent: Form, at server: Issuer, in exchange: Exchange, isAnswer: Bool = false
    ) throws(Failure) {
        let form = sent.withoutEmptyFields
        self.form = form
        do throws(OAuthRefusal) {
            client = try RequestedAuthorization.client(form, server, exchange)
        } catch { throw .page(error) }
        interaction = client.interaction ?? server.interaction
        try RequestedAuthorization.checkReference(form, client, server, exchange)
        do throws(OAuthRefusal) {
            pushed = try RequestedAuthorization.pushed(form, client, server, exchange, isAnswer)
            fields = try RequestObject.resolve(
                pushed?.form ?? form, client: client.credentials, issuer: server.identifier(exchange), in: exchange)
            redirectURI = try RequestedAuthorization.redirectURI(fields, client, server)
        } catch { throw .page(error) }
        do throws(OAuthRefusal) {
            parameters = try AuthorizationParameters(fields, client, server.policy)
        } catch { throw .answer(error, server.answer(exchange, to: redirectURI, of: fields)) }
    }

    private static func client(
        _ form: Form, _ server: Issuer, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ClientMetadata {
        try form.checkRepetitions()
        let id = try form.required("client_id")
        if let client = server.client(id, in: exchange.world) { return client }
        throw OAuthRefusal(
            "invalid_client",
            Diagnosis(received: "client_id \(Diagnosis.quote(id))", server.noClient(id)))
    }

    /// Refuses the URI of a remote request object, which isn't fetched here. If its redirect URI is registered, the
    /// client gets this error: <https://openid.net/specs/openid-connect-core-1_0.html#AuthError>.
    private static func checkReference(
        _ form: Form, _ client: ClientMetadata, _ server: Issuer, _ exchange: Exchange
    ) throws(Failure) {
        guard let uri = form["request_uri"], !uri.hasPrefix(PushedRequest.uriPrefix),
            let redirectURI = try? redirectURI(form, client, server)
        else { return }
        let diagnosis = Diagnosis(
            received: "request_uri \(Diagnosis.quote(uri))", expected: "one that was pushed (RFC 9126)",
            "push the request, or send the object itself in request")
        throw .answer(
            OAuthRefusal("request_uri_not_supported", diagnosis), server.answer(exchange, to: redirectURI, of: form))
    }

    private static func pushed(
        _ form: Form, _ client: ClientMetadata, _ server: Issuer, _ exchange: Exchange,
        _ isAnswer: Bool
    ) throws(OAuthRefusal) -> PushedRequest? {
        if let uri = form["request_uri"] {
            let owner = server.key(of: client)
            return try exchange.world.read { (tables) throws(OAuthRefusal) in
                try tables.pushedRequest(uri, of: owner, isAnswer: isAnswer)
            }
        }
        guard server.policy.requiresPushedRequests else { return nil }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis("this issuer takes pushed requests only (requirePushedRequests): send a request_uri"))
    }

    /// Returns the request's redirect URI, which must be registered.
    static func redirectURI(
        _ form: Form, _ client: ClientMetadata, _ server: Issuer
    ) throws(OAuthRefusal) -> String {
        let uri = form["redirect_uri"] ?? ""
        if client.mayUse(redirectURI: uri, among: client.redirectURIs, server.policy.redirectURIComparison) {
            return uri
        }
        throw OAuthRefusal(
            "invalid_request",
            Diagnosis(
                received: "redirect_uri \(Diagnosis.quote(uri))",
                expected: RegisteredRedirectURI.alternatives(client.redirectURIs),
                "register it in redirectURIs of \"\(client.clientID)\", character by character"
            ).mended(
                byMerging: [
                    server.provider: [
                        "issuers": [
                            [
                                "id": .string(server.id),
                                "clients": [
                                    ["clientID": .string(client.clientID), "redirectURIs": [.string(uri)]]
                                ],
                            ]
                        ]
                    ]
                ]))
    }
}
