import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A sign-in in the browser that uses Firebase's sign-in handler, or that the API method `createAuthUri` begins. It
/// ends when the client redeems the result with verifyAssertion, when the handler gets an error from the identity
/// provider, or after an hour.
struct WebFlow: TokenRow {
    static let table = Table<WebFlow>(
        "firebase.webFlow", limit: 10_000, byteLimit: 64 << 20, indexes: [byPool], droppedAt: { $0.expires },
        size: { $0.size })
    static let byPool = Index<WebFlow, UserPool>("pool") { $0.pool }

    /// The place to which the result of a sign-in in the browser goes.
    enum Destination: Codable, Sendable {
        /// The result goes to an app, through the app's own URL scheme.
        case app(scheme: String)
        /// The result goes to the page that opened the sign-in handler in a window, or that redirected to it.
        case page(redirectURL: String?)
        /// The result goes to the URL that the client gave to createAuthUri.
        case client
    }

    static let lifetime = TimeSpan.hours(1)

    /// The parameter `state` in the request to the identity provider, by which the provider's answer is recognized.
    let token: String
    let pool: UserPool
    let expires: Instant
    let providerId: String
    /// The URL to which the identity provider redirects the browser.
    let redirectURI: String
    /// The SHA-256, in hex, of the session ID that the client must send to verifyAssertion; `nil` if none is needed.
    let sessionHash: String?
    let destination: Destination
    /// Parameters that the sign-in handler received from the SDK. They are passed back unchanged.
    var authType = ""
    var eventId = ""
    var apiKey = ""
    var appName = ""
    var tenantId: String?
    /// The nonce that the ID token of an OpenID provider must contain; `nil` for other providers.
    var nonce: String?

    /// The number of bytes of the texts that the client or its user chose.
    private var size: Int {
        var texts = [redirectURI, sessionHash, authType, eventId, apiKey, appName, nonce]
        switch destination {
        case .app(let scheme): texts.append(scheme)
        case .page(let redirectURL): texts.append(redirectURL)
        case .client: break
        }
        return texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    func isBegunWith(_ sessionID: String?) -> Bool {
        guard let sessionHash else { return true }
        guard let sessionID else { return false }
        return Hex.encode(Digest.sha256(sessionID)) == sessionHash.lowercased()
    }
}

extension WebFlow {
    init(_ form: Form, _ project: Project, in pool: UserPool, token: String, destination: Destination, now: Instant) {
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
    /// Returns the sign-in under way to which `state` belongs, in the project or in one of its tenants.
    func flow(_ state: String, of project: Project) -> WebFlow? {
        guard let flow = find(WebFlow.self, state), flow.pool.project == project.id, flow.expires > now else {
            return nil
        }
        return flow
    }
}

extension FirebaseProvider {
    /// The parameters that an app can't set in the request to the identity provider. They are left out if an app sets
    /// them. <https://firebase.google.com/docs/auth/ios/github-auth>
    static let reservedParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    ]

    /// Returns the URL that begins a sign-in at an identity provider. It leads to Understudy's simulation of the
    /// provider, not to the real one.
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

    /// Begins a sign-in in the browser, and returns the URL at the identity provider:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/createAuthUri>
    ///
    /// A request with only an e-mail address gets the sign-in methods of that address, unless email enumeration
    /// protection is on.
    func createAuthUri(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        var body = JSONObject(["kind": "identitytoolkit#CreateAuthUriResponse"])
        let sessionID = try call.text("sessionId") ?? call.update { Base64URL.encode($0.random.bytes(20)) }
        let continueURI = try call.required("continueUri")
        guard let address = WebAddress(continueURI), ["http", "https"].contains(address.scheme) else {
            throw FirebaseError("INVALID_CONTINUE_URI", because: "continueUri isn't an absolute http or https URL")
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
    /// Adds the sign-in methods of an e-mail address to `body`, the answer of `accounts:createAuthUri`.
    private func describe(_ address: String, _ call: FirebaseCall, _ body: inout JSONObject) {
        let user = call.read { tables in
            tables.user(email: address, in: call.pool)
                ?? tables.users(.providerEmail, address.lowercased(), in: call.pool, limit: 1).first
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
    /// Returns the names and texts in the request's `customParameter`, which are for the identity provider.
    fileprivate func customParameters() throws(FirebaseError) -> [(String, String)] {
        try map("customParameter").map { ($0.key, $0.value.string ?? $0.value.text) }
    }
}

// The address to which a sign-in returns. Whoever gets the answer can finish the sign-in, so every part of the address
// is checked.
//
// The handler asks production whether an app belongs to the project: the messages are those of its `INVALID_APP_ID`,
// `INVALID_OAUTH_CLIENT_ID` and `UNAUTHORIZED_DOMAIN`, as the web SDK has them (`auth/invalid-app-id` …). That it shows
// them on its own page with status 400 isn't documented.

/// The error when a sign-in may not return to the app or page that the request names.
struct ReturnAddressFailure: Error {
    let message: String
    let diagnosis: Diagnosis

    static func app(_ received: String, _ reason: String) -> ReturnAddressFailure {
        ReturnAddressFailure(
            message: "The mobile app identifier is not registered for the current project.",
            diagnosis: Diagnosis(received: received, reason))
    }

    static func client(_ received: String, _ reason: String) -> ReturnAddressFailure {
        ReturnAddressFailure(
            message: "The OAuth client ID provided is either invalid or does not match the specified API key.",
            diagnosis: Diagnosis(received: received, reason))
    }
}

extension WebFlow.Destination {
    private static let longestIdentifier = 256

    /// Reads from a request the app or page to which a sign-in returns.
    ///
    /// - With `clientId`: the app whose URL scheme is the `clientId` with its parts in reverse order.
    /// - Otherwise, with `ibi` (the bundle ID) and `appId`: the app whose URL scheme is made of `appId`.
    /// - With `ibi` alone: the app whose URL scheme is `ibi`.
    /// - With neither `clientId` nor `ibi`: the page at `redirectUrl`.
    init(_ form: Form, _ project: Project) throws(ReturnAddressFailure) {
        func value(_ name: String) -> String? { form[name].flatMap { $0.isEmpty ? nil : $0 } }
        let (bundleID, clientID) = (value("ibi"), value("clientId"))
        guard bundleID != nil || clientID != nil else {
            self = .page(redirectURL: try WebFlow.Destination.page(value("redirectUrl"), project))
            return
        }
        try WebFlow.Destination.check(bundleID: bundleID, project)
        if let clientID {
            guard clientID.hasSuffix(IdentitySources.appClientSuffix), WebFlow.Destination.isIdentifier(clientID)
            else {
                throw .client(
                    "clientId \(Diagnosis.quote(clientID))",
                    "an iOS client's ID has letters, digits, \"-\" and \".\" before \(IdentitySources.appClientSuffix)"
                )
            }
            self = .app(scheme: clientID.split(separator: ".").reversed().joined(separator: "."))
        } else if let appID = value("appId") {
            let scheme = "app-" + appID.replacing(":", with: "-")
            guard WebFlow.Destination.isIdentifier(scheme) else {
                throw .app(
                    "appId \(Diagnosis.quote(appID))",
                    "a Firebase app's ID has letters, digits and \":\" only, such as 1:123:ios:abc")
            }
            self = .app(scheme: scheme)
        } else {
            self = .app(scheme: bundleID ?? "")
        }
    }

    private static func check(bundleID: String?, _ project: Project) throws(ReturnAddressFailure) {
        let (registered, source) = project.providers.bundleIDs
        guard let bundleID else {
            guard registered.isEmpty else { throw .app("no ibi", "ibi must be the app's bundle ID") }
            return
        }
        // The dot rules out schemes that a browser knows, such as javascript and https.
        guard isIdentifier(bundleID), bundleID.contains(".") else {
            throw .app(
                "ibi \(Diagnosis.quote(bundleID))",
                "a bundle ID has letters, digits, \"-\" and \".\" only, such as com.example.app")
        }
        guard registered.isEmpty || registered.contains(bundleID) else {
            throw .app(
                "ibi \(Diagnosis.quote(bundleID))",
                "the project's bundleIDs are \(registered.prefix(5).joined(separator: ", "))"
                    + "\(Spelling.hint(bundleID, among: registered)): add it to \(source) in the seed")
        }
    }

    private static func isIdentifier(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count <= longestIdentifier, let first = bytes.first, isLetterOrDigit(first) else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x2E }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func page(_ redirectURL: String?, _ project: Project) throws(ReturnAddressFailure) -> String? {
        guard let redirectURL else { return nil }
        // The SDKs take subdomains of an authorized domain, too (firebase-js-sdk: packages/auth, validate_origin).
        do { _ = try project.checkedReturnURL(redirectURL, named: "redirectUrl", takesSubdomains: true) } catch {
            throw ReturnAddressFailure(
                message: "This domain is not authorized for OAuth operations for your Firebase project.",
                diagnosis: error.diagnosis)
        }
        return redirectURL
    }
}

extension Project {
    /// The domains to which a browser may be redirected after a sign-in or from a mail's link.
    var returnDomains: [String] {
        domains ?? authorizedDomains
            + ["\(id).firebaseapp.com", "\(id).web.app"].filter { !authorizedDomains.contains($0) }
    }

    /// Returns `text` as the URL of a web page on one of the project's domains or on this machine. If `takesSubdomains`
    /// is true, subdomains of the project's domains are accepted, too.
    ///
    /// - Throws: `INVALID_CONTINUE_URI` if it isn't an http or https URL, `UNAUTHORIZED_DOMAIN` for any other domain.
    func checkedReturnURL(
        _ text: String, named name: String = "continueUrl", takesSubdomains: Bool = false
    ) throws(FirebaseError) -> WebAddress {
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme) else {
            throw FirebaseError("INVALID_CONTINUE_URI", because: "\(name) isn't an absolute http or https URL")
        }
        let isKnown = returnDomains.contains { domain in
            address.host == domain || takesSubdomains && address.host.hasSuffix(".\(domain)")
        }
        guard address.isLoopback || isKnown else {
            throw FirebaseError(
                "UNAUTHORIZED_DOMAIN", "Domain not allowlisted by project",
                because:
                    "the domain of \(name) isn't authorized: add \(Diagnosis.quote(address.host)) to authorizedDomains of the project in the seed"
            )
        }
        return address
    }
}
