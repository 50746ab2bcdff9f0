import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

/// A sign-in over the web handler or createAuthUri, from its beginning to verifyAssertion.
struct WebFlow: TokenRow {
    static let table = Table<WebFlow>(
        "firebase.webFlow", limit: 10_000, indexes: [byPool], droppedAt: { $0.expires })
    static let byPool = Index<WebFlow, UserPool>("pool") { $0.pool }

    /// The receiver of the answer.
    enum Destination: Codable, Sendable {
        /// An app, through its own URL scheme.
        case app(scheme: String)
        /// The window that opened the handler, or the page that redirected to it.
        case page(redirectURL: String?)
        /// The client itself, which gave its own URL to createAuthUri.
        case client
    }

    static let lifetime = TimeSpan.hours(1)

    /// The `state` that the provider gets.
    let token: String
    let pool: UserPool
    let expires: Instant
    let providerId: String
    /// The URL to which the provider redirects.
    let redirectURI: String
    /// The SHA-256 in hex of the session ID that verifyAssertion must have.
    let sessionHash: String?
    let destination: Destination
    /// The parameters that the handler got and passes back.
    var authType = ""
    var eventId = ""
    var apiKey = ""
    var appName = ""
    var tenantId: String?
    /// The nonce that an OpenID provider's token must have.
    var nonce: String?

    func isBegunWith(_ sessionID: String?) -> Bool {
        guard let sessionHash else { return true }
        guard let sessionID else { return false }
        return Hex.encode(Digest.sha256(sessionID)) == sessionHash.lowercased()
    }
}

extension WebFlow {
    /// Reads a request to the handler.
    init(
        _ form: Form, _ project: Project, in pool: UserPool, token: String, destination: Destination, now: Instant
    ) {
        self.init(
            token: token, pool: pool, expires: now + WebFlow.lifetime, providerId: form["providerId"] ?? "",
            redirectURI: project.handler, sessionHash: form["sessionId"].flatMap { $0.isEmpty ? nil : $0 },
            destination: destination)
        authType = form["authType"] ?? "signInWithRedirect"
        eventId = form["eventId"] ?? ""
        apiKey = form["apiKey"] ?? ""
        appName = form["appName"] ?? ""
        tenantId = pool.tenant
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the open sign-in that `state` names, in the project or in one of its tenants.
    func flow(_ state: String, of project: Project) -> WebFlow? {
        guard let flow = find(WebFlow.self, state), flow.pool.project == project.id, flow.expires > now else {
            return nil
        }
        return flow
    }
}

extension FirebaseProvider {
    /// The parameters that an app may not set: <https://firebase.google.com/docs/auth/ios/github-auth>. They are
    /// dropped.
    static let reservedParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    ]

    /// Returns the URL at which a sign-in begins at our own provider.
    func authorizationURL(
        _ authorization: WebAuthorization, _ flow: WebFlow, custom: [(String, String)], _ exchange: Exchange
    ) -> String {
        var fields = authorization.fields + [("redirect_uri", flow.redirectURI), ("state", flow.token)]
        if let nonce = flow.nonce { fields.append(("nonce", nonce)) }
        fields += custom.filter { !FirebaseProvider.reservedParameters.contains($0.0) }
        let query = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        let mark = authorization.path.contains("?") ? "&" : "?"
        return "\(exchange.address.base(of: authorization.host))\(authorization.path)\(mark)\(query)"
    }

    // MARK: - accounts:createAuthUri

    /// Begins a web flow: <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/createAuthUri>
    ///
    /// Quirks: for an address alone it lists the sign-in methods of the address, unless enumeration protection is on.
    func createAuthUri(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        var body = JSONObject([("kind", "identitytoolkit#CreateAuthUriResponse")])
        let sessionID = try call.text("sessionId") ?? call.update { Base64URL.encode($0.random.bytes(20)) }
        guard let continueURI = try call.text("continueUri") else {
            throw FirebaseError("MISSING_CONTINUE_URI", because: "continueUri is missing")
        }
        guard let address = WebAddress(continueURI), ["http", "https"].contains(address.scheme) else {
            throw FirebaseError("INVALID_CONTINUE_URI", because: "continueUri isn't an absolute URL")
        }
        if let providerId = try call.text("providerId") {
            let scopes = (try call.text("oauthScope") ?? "").split { $0 == " " || $0 == "," }.map(String.init)
            let custom = try call.customParameters()
            let sessionHash = Hex.encode(Digest.sha256(sessionID))
            let source = try source(providerId, of: call.project, call.pool, in: call.exchange)
            let authorization = try await source.authorization(scopes: scopes, in: call.exchange)
            let flow = try call.update { tables in
                var flow = WebFlow(
                    token: Base64URL.encode(tables.random.bytes(24)), pool: call.pool,
                    expires: tables.now + WebFlow.lifetime, providerId: providerId, redirectURI: continueURI,
                    sessionHash: sessionHash, destination: .client)
                if authorization.needsNonce { flow.nonce = Hex.encode(tables.random.bytes(32)) }
                tables.put(flow)
                return flow
            }
            let url = authorizationURL(authorization, flow, custom: custom, call.exchange)
            body["authUri"] = .string(url)
            body["providerId"] = .string(providerId)
        } else if let identifier = try call.text("identifier") {
            guard TextRule.email.holds(identifier) else {
                throw FirebaseError("INVALID_IDENTIFIER", because: "identifier isn't an e-mail address")
            }
            if !call.project.hidesEmails { describe(identifier, call, &body) }
        } else {
            throw FirebaseError("MISSING_IDENTIFIER", because: "send providerId, or identifier with an e-mail address")
        }
        body["sessionId"] = .string(sessionID)
        return FirebaseAnswer(body: body)
    }
}

extension FirebaseProvider {
    /// Adds the ways to sign in with an address to the answer.
    private func describe(_ address: String, _ call: FirebaseCall, _ body: inout JSONObject) {
        let user = call.read { tables in
            tables.user(email: address, in: call.pool) ?? tables.user(providerEmail: address, in: call.pool)
        }
        var methods = user?.signInMethods ?? []
        // If users may share an address, their providers aren't listed.
        if !call.project.oneAccountPerEmail { methods.removeAll { !["password", "emailLink"].contains($0) } }
        body["registered"] = .bool(user != nil)
        guard user != nil || call.isInEmulatorMode else { return }
        var providers: [JSONValue] = []
        for method in methods {
            let provider = JSONValue.string(method == "emailLink" ? "password" : method)
            if !providers.contains(provider) { providers.append(provider) }
        }
        // Recorded as `email-privacy#off-auth-uri-nopw`: an empty list is left out. The official emulator has it.
        guard !methods.isEmpty || call.isInEmulatorMode else { return }
        body["allProviders"] = .array(providers)
        body["signinMethods"] = .array(methods.map { .string($0) })
    }
}

extension FirebaseCall {
    /// Returns `customParameter`: a map of texts.
    fileprivate func customParameters() throws(FirebaseError) -> [(String, String)] {
        try map("customParameter").map { ($0.key, $0.value.string ?? $0.value.text) }
    }
}
