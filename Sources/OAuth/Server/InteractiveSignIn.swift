import EmulatorCore
import HTTPServer

/// The next step of an authorization request at a server with sessions and consent.
private enum SignInStep {
    /// The person signs in, with or without an existing session. Only `scopes` are granted if an outcome lists them.
    case approved(Account, BrowserSession?, scopes: [String]?)
    case refused(OAuthRefusal)
    /// Show a page.
    case page(Response)
}

extension AuthorizationServer {
    private var signInPages: PersonPages { pages(at: policy.paths.authorization) }

    /// The authorization endpoint: <https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint>.
    package func authorize(_ exchange: Exchange, _ form: Form) throws -> Response {
        do {
            let request = try RequestedAuthorization(form, at: self, in: exchange)
            return try carryOut(begin(request, in: exchange), request, exchange)
        } catch let error as RequestedAuthorization.Failure { return response(to: error) }
    }

    /// Handles a POST: a page's form, or an authorization request.
    package func authorizeByPost(_ exchange: Exchange) throws -> Response {
        let body = exchange.request.bodyForm
        guard let (form, answer) = try signInPages.answer(body, in: exchange) else {
            return try authorize(exchange, body)
        }
        do {
            let request = try RequestedAuthorization(form, at: self, in: exchange, isAnswer: true)
            return try carryOut(go(on: request, answer, in: exchange), request, exchange)
        } catch let error as RequestedAuthorization.Failure { return response(to: error) }
    }

    private func carryOut(
        _ step: SignInStep, _ request: RequestedAuthorization, _ exchange: Exchange
    ) throws -> Response {
        do {
            switch step {
            case .page(let page): return page
            case .refused(let refusal): throw refusal
            case .approved(let account, let session, let scopes):
                let answer = try approve(
                    request, by: account, session, scopes: scopes ?? request.parameters.scopes, in: exchange)
                return answer ?? response(to: .page(.unknownPushedRequest(request.pushed?.key ?? "")))
            }
        } catch let error as OAuthRefusal {
            throw RequestedAuthorization.Failure.answer(
                error, answer(exchange, to: request.redirectURI, of: request.fields))
        }
    }

    /// Returns the first step of a new authorization request: an ordered outcome, the browser's session, or a page.
    private func begin(_ request: RequestedAuthorization, in exchange: Exchange) throws -> SignInStep {
        let session = exchange.session(at: realm).flatMap { session in
            request.parameters.isContent(with: session, at: exchange.world.now) ? session : nil
        }
        let decision = try exchange.decision(
            provider: provider, client: request.client.clientID, interaction: request.client.interaction ?? interaction)
        switch decision {
        case .cancel: return refused("access_denied", "a cancel was ordered as an outcome")
        case .error(let name, _): return refused(name, "this error was ordered as an outcome")
        case .nobody:
            let diagnosis = Diagnosis("there is no account to sign in: seed one, or add it")
            return .page(signInPages.problem(400, "Nobody can sign in", diagnosis))
        case .approve(let account, let outcome):
            let scopes = outcome?.scopes.map { granted in request.parameters.scopes.filter(granted.contains) }
            return .approved(account, session?.account == account.id ? session : nil, scopes: scopes)
        case .ask: return ask(request, policy.hasSingleSignOn ? session : nil, in: exchange)
        }
    }

    private func ask(_ request: RequestedAuthorization, _ session: BrowserSession?, in exchange: Exchange) -> SignInStep
    {
        let isSilent = request.parameters.prompts.contains("none")
        guard let session, let account = exchange.world.read({ $0.account(session.account) }) else {
            guard isSilent else { return choosePerson(request, in: exchange, hint: request.fields["login_hint"]) }
            return refused(
                "login_required",
                "prompt=none, and nobody is signed in with this browser, or not lately enough: sign in, or order an outcome"
            )
        }
        guard needsConsent(request, of: account, in: exchange) else { return .approved(account, session, scopes: nil) }
        guard isSilent else { return askForConsent(request, of: account, in: exchange) }
        return refused("consent_required", "prompt=none, and the person hasn't consented to these scopes")
    }

    /// Returns the step after a person's answer on a page that carries `request`.
    private func go(on request: RequestedAuthorization, _ answer: PersonPages.Answer, in exchange: Exchange)
        -> SignInStep
    {
        switch answer {
        case .cancel: return refused("access_denied", "the person cancelled")
        case .searched(let search): return choosePerson(request, in: exchange, search: search)
        case .page(let page): return .page(page)
        case .chosen(let account), .approved(let account):
            guard let account = exchange.world.read({ $0.account(account) }) else {
                return choosePerson(request, in: exchange)
            }
            guard case .approved = answer else {
                let asks = needsConsent(request, of: account, in: exchange)
                return asks ? askForConsent(request, of: account, in: exchange) : .approved(account, nil, scopes: nil)
            }
            let session = exchange.session(at: realm).flatMap { session in
                let goesOn = session.account == account.id && policy.hasSingleSignOn
                return goesOn && request.parameters.isContent(with: session, at: exchange.world.now) ? session : nil
            }
            return .approved(account, session, scopes: nil)
        }
    }

    private func needsConsent(
        _ request: RequestedAuthorization, of account: Account, in exchange: Exchange
    ) -> Bool {
        if request.parameters.prompts.contains("consent") { return true }
        guard request.client.needsConsent else { return false }
        let (scopes, key) = (request.parameters.scopes, key(of: request.client))
        return !exchange.world.read { $0.hasConsented(account.id, to: key, scopes: scopes) }
    }

    private func askForConsent(
        _ request: RequestedAuthorization, of account: Account, in exchange: Exchange
    ) -> SignInStep {
        .page(
            signInPages.consent(
                exchange, client: request.client.name, account: account,
                items: StandardScope.descriptions(of: request.parameters.scopes),
                request: request.form))
    }

    private func choosePerson(
        _ request: RequestedAuthorization, in exchange: Exchange, hint: String? = nil,
        search: PersonChooser.Search? = nil
    ) -> SignInStep {
        .page(
            signInPages.choose(
                exchange, client: request.client.name, request: request.form, hint: hint, search: search))
    }

    private func refused(_ name: String, _ reason: String) -> SignInStep {
        .refused(OAuthRefusal(name, Diagnosis(reason)))
    }

    /// Returns the answer to a refused request.
    package func response(to failure: RequestedAuthorization.Failure) -> Response {
        switch failure {
        case .page(let refusal):
            return signInPages.problem(
                refusal.status == 401 ? 400 : refusal.status, "Error: \(refusal.name)", refusal.diagnosis)
        case .answer(let refusal, var response):
            response.append("error", refusal.name)
            response.append("error_description", refusal.description)
            return response.deliver().diagnosed(refusal.diagnosis)
        }
    }
}

/// A checked authorization request.
package struct RequestedAuthorization: Sendable {
    /// The way in which a refusal is sent.
    package enum Failure: Error {
        /// On a page, because the client's redirect URI isn't known.
        case page(OAuthRefusal)
        case answer(OAuthRefusal, AuthorizationResponse)
    }

    package let client: ClientMetadata
    package let redirectURI: String
    package let parameters: AuthorizationParameters
    /// The client's parameters: from its query, a request object, or a pushed request.
    package let fields: Form
    /// The form as it came, for the sign-in page to carry along.
    package let form: Form
    /// The pushed request, if there is one.
    package let pushed: PushedRequest?

    /// Checks a request. `isAnswer` means that a page's form carries it.
    package init(
        _ sent: Form, at server: some AuthorizationServer, in exchange: Exchange, isAnswer: Bool = false
    ) throws(Failure) {
        let form = sent.withoutEmptyFields
        self.form = form
        do throws(OAuthRefusal) {
            client = try RequestedAuthorization.client(form, server, exchange)
        } catch { throw .page(error) }
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
        _ form: Form, _ server: some AuthorizationServer, _ exchange: Exchange
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
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer, _ exchange: Exchange
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
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer, _ exchange: Exchange,
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
    package static func redirectURI(
        _ form: Form, _ client: ClientMetadata, _ server: some AuthorizationServer
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
