import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// Firebase Authentication as Understudy simulates it: Identity Toolkit, the token service, and the sign-in handler for
/// browsers. <https://cloud.google.com/identity-platform/docs/reference/rest>
///
/// Like the real service, it checks credentials by requests to the identity providers' endpoints, here inside the same
/// process. So it refuses a credential for the same reasons as the provider itself.
package struct FirebaseProvider: RefusesUnserved, MintsIDTokens, LeavesTokensUnsigned, HasUserDirectories, ExportsData,
    ExtendsWorlds, TakesUnseeded, ExplainsValues, StartsSeeds
{
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "firebase", title: "Firebase Authentication", section: FirebaseSection.self,
        rows: UserPool.rowTypes + [
            Session.self, EndedSession.self, ProjectSettings.self, TakenOnTrust.self, Tenant.self, DeletedTenant.self,
            PopulatedProject.self, UnseededPool.self, RecaptchaToken.self, AppCheckChallenge.self,
            ConsumedAppCheckToken.self,
        ], isService: true,
        // The answer of the Emulator Suite's Authentication emulator.
        emulatorStatus: JSONObject([
            "authEmulator": [
                "ready": true, "docs": "https://firebase.google.com/docs/emulator-suite",
                "apiSpec": "/emulator/openapi.json",
            ] as JSONValue
        ]), changes: [emailEnumerationProtection], evidence: evidence
    ) { daemon in
        // Firebase's Admin SDKs read a host and a port, without a scheme:
        // https://firebase.google.com/docs/emulator-suite/connect_auth#admin_sdks
        [(name: "FIREBASE_AUTH_EMULATOR_HOST", value: String(daemon.drop { $0 != "/" }.dropFirst(2)))]
    }

    package static let host = "identitytoolkit.googleapis.com"
    package static let tokenHost = "securetoken.googleapis.com"
    package static let legacyHost = "www.googleapis.com"
    /// The beginning of the issuer in Firebase ID tokens. The project's ID follows.
    static let issuerPrefix = "https://securetoken.google.com/"
    static let handlerPath = "/__/auth/handler"
    static let legacyPrefix = "/identitytoolkit/v3/relyingparty"

    let projects: ProjectDirectory

    package init(seed: Seed) {
        projects = ProjectDirectory(
            seed[FirebaseSection.self], imported: seed.export(AccountExport.self),
            hidesEmails: seed.plays(FirebaseProvider.emailEnumerationProtection))
    }

    package func seedExtended(in world: World, after earlier: Seed) throws(StoreFailure) {
        let known = earlier[FirebaseSection.self].projects
        for project in world.seed[FirebaseSection.self].projects {
            try world.populate(project, after: known.first { $0.id == project.id })
        }
    }

    package static func isIssuer(_ issuer: String) -> Bool { issuer.hasPrefix(issuerPrefix) }

    /// Returns Google's page for an unknown path. The host `www.googleapis.com` also serves other providers, so there
    /// the page is only for unknown paths of Identity Toolkit v3.
    package func notServed(_ exchange: Exchange) -> Response? {
        switch exchange.address.host {
        case FirebaseProvider.host, FirebaseProvider.tokenHost: FirebaseProvider.unknownMethod(exchange)
        case .some(let host) where FirebaseProvider.appCheckHosts.contains(host):
            FirebaseProvider.unknownMethod(exchange)
        case FirebaseProvider.legacyHost where exchange.address.path.hasPrefix("\(FirebaseProvider.legacyPrefix)/"):
            FirebaseProvider.unknownMethod(exchange)
        default: nil
        }
    }

    /// Returns the ID of the Firebase project that a request names by its path, its host or its API key. An
    /// administrator's request that names none is for the default project.
    package func client(of exchange: Exchange) -> String? {
        if let project = exchange.parameters["project"] {
            let id = String(project.prefix { $0 != ":" })
            return projects.project(id: id)?.id ?? id
        }
        if let host = exchange.address.host, host.hasSuffix(".firebaseapp.com") {
            return String(host.dropLast(".firebaseapp.com".count))
        }
        let key = exchange.request.queryForm["key"] ?? exchange.request.header("X-Goog-Api-Key")
        guard let key else {
            return FirebaseProvider.isAdministrator(exchange) ? projects.defaultProject?.id : nil
        }
        return (projects.project(apiKey: key) ?? projects.trustedProject(forKey: key, at: exchange.address))?.id
    }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "no-cache, no-store, max-age=0, must-revalidate")],
            body: value.serialized())
    }

    // MARK: - Serving a method

    /// Makes the endpoint of an API method that apps call. `dialect` is the JSON shape of its errors.
    func method(
        _ method: String, _ host: String, _ path: String, title: String? = nil, step: SignInStep? = nil,
        in dialect: FirebaseError.Dialect = .list, run: @escaping Method
    ) -> Endpoint {
        Endpoint(
            method, [host], path, title: title, step: step, cors: .any, keys: IdentitySources.keyOwners + [.firebase],
            .api(FirebaseError.ordered(dialect), mints: .firebase)
        ) { exchange in
            try await FirebaseProvider.serve(exchange, dialect, run) { try clientCall(exchange) }
        }
    }

    /// Makes the endpoint of an API method that only administrators may call.
    func adminMethod(
        _ method: String, _ path: String, step: SignInStep? = nil, in dialect: FirebaseError.Dialect = .list,
        run: @escaping Method
    ) -> Endpoint {
        Endpoint(
            method, [FirebaseProvider.host], path, step: step, cors: .any, keys: [.firebase],
            .api(FirebaseError.ordered(dialect), mints: .firebase)
        ) { exchange in
            try await FirebaseProvider.serve(exchange, dialect, run) { try adminCall(exchange) }
        }
    }

    static func serve(
        _ exchange: Exchange, _ dialect: FirebaseError.Dialect, _ run: Method,
        call: () throws -> FirebaseCall
    ) async throws -> Response {
        do {
            let received = try call()
            let answer = try await run(received)
            var response = FirebaseProvider.json(.object(answer.body))
            if let note = answer.note { response = response.addingNote(note) }
            if let note = received.acceptanceNote { response = response.addingNote(note) }
            return answer.diagnosis.map { response.diagnosed($0) } ?? response
        } catch let error as FirebaseError {
            return error.response(dialect)
        }
    }

    /// Reads the call of an API method for apps. The API key names the project. An administrator may call the method,
    /// too, and name the project in the body.
    private func clientCall(_ exchange: Exchange) throws -> FirebaseCall {
        let isAdmin = FirebaseProvider.isAdministrator(exchange)
        let body = try FirebaseCall.body(of: exchange)
        let named = body["targetProjectId"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        let project =
            if let named, isAdmin { try project(id: named, in: exchange) } else { try project(of: exchange) }
        guard named == nil || isAdmin else {
            throw FirebaseError.foreignProject
        }
        let idToken = DecodedIDToken(body)
        let tenant = try FirebaseProvider.tenantID(of: exchange, body, idToken, project)
        var call = try scoped(exchange, project, tenant: tenant, isAdmin: isAdmin, body, idToken: idToken)
        call.acceptanceNote = acceptanceNote(
            call, key: exchange.request.queryForm["key"] ?? exchange.request.header("X-Goog-Api-Key"))
        if exchange.request.method == "POST" { try call.checkApp() }
        return call
    }

    /// Reads the call of an API method for administrators. The path names the project. If `isOpen` is true, the caller
    /// needn't be an administrator.
    func adminCall(_ exchange: Exchange, isOpen: Bool = false) throws -> FirebaseCall {
        guard isOpen || FirebaseProvider.isAdministrator(exchange) else {
            throw FirebaseError.notAdministrator(exchange)
        }
        let text = exchange.parameters["project"] ?? ""
        // "P:createSessionCookie" is one segment.
        let id = String(text.prefix { $0 != ":" })
        if text.contains(":"), FirebaseProvider.scopeMethod(of: exchange) == nil {
            throw FirebaseError(
                "NOT_FOUND", status: 404, because: "Firebase has no such method: \(Diagnosis.quote(text))")
        }
        let project = try project(id: id, in: exchange)
        let body = try FirebaseCall.body(of: exchange)
        // In version 2 the path names the tenant itself, or the tenant's configuration of a provider.
        let isSecond = FirebaseProvider.isSecondVersion(exchange)
        let collections = ["oauthIdpConfigs"] + ProviderConfig.Kind.allCases.map(\.rawValue)
        let segments = exchange.address.path.split(separator: "/")
        if isSecond, !collections.contains(where: { segments.contains(Substring($0)) }) {
            var call = try scoped(exchange, project, tenant: nil, isAdmin: true, body)
            call.acceptanceNote = acceptanceNote(call)
            return call
        }
        let idToken = DecodedIDToken(body)
        let tenant = try FirebaseProvider.tenantID(of: exchange, body, idToken, project)
        var call = try scoped(
            exchange, project, tenant: tenant, isAdmin: true, takesDisabled: isOpen || isSecond, body, idToken: idToken)
        call.acceptanceNote = acceptanceNote(call)
        return call
    }

    /// Returns the action in a path such as `projects/P:createSessionCookie`: the part of the last segment after the
    /// colon; `nil` if there is no known action.
    static func scopeMethod(of exchange: Exchange) -> String? {
        let method = exchange.address.path.split(separator: ":").last.map(String.init)
        return method.flatMap { ["createSessionCookie", "queryAccounts"].contains($0) ? $0 : nil }
    }

    /// Whether an administrator sent the request: with the token `owner`, which Admin SDKs send to an emulator; with
    /// the daemon's control token; or with a token that looks like a service account's access token.
    static func isAdministrator(_ exchange: Exchange) -> Bool {
        if exchange.showsControlToken { return true }
        let words = (exchange.request.header("Authorization") ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
        return words[1].lowercased() == "owner" || words[1].hasPrefix("ya29.")
    }

    /// Returns the project of the request's API key. An administrator's request without a key is for the default
    /// project.
    func project(of exchange: Exchange) throws -> Project {
        let key = exchange.request.queryForm["key"] ?? exchange.request.header("X-Goog-Api-Key") ?? ""
        guard key.isEmpty else { return try project(apiKey: key, in: exchange) }
        guard FirebaseProvider.isAdministrator(exchange), let id = projects.defaultProject?.id else {
            throw FirebaseError.noAPIKey()
        }
        return try project(id: id, in: exchange)
    }
}

extension FirebaseProvider {
    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        let pool = UserPool(project: client, tenant: nil)
        return world.read { $0.user(subject, in: pool) }.map { user in
            KnownSubject(about: "the user \(user.email ?? user.displayName ?? subject) of project \(client)")
        }
    }

    /// Whether ID tokens of a project can be unsigned. They can't if the seed's `idTokenSignature` is `RS256`. By
    /// default, SDKs in emulator mode get unsigned tokens.
    package func leavesUnsigned(tokensFor client: String, in world: World) -> Bool {
        projects.project(id: client)?.idTokenSignature != .rs256
    }
}

// The services' refusals before any endpoint is called.

extension FirebaseProvider {
    /// Returns the error for a request that is too large. It is JSON at the hosts of Identity Toolkit and the token
    /// service, and a page at other hosts. The result is `nil` for a request to the daemon itself, not to a host of
    /// Firebase.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard let host = exchange.address.host else { return nil }
        guard [FirebaseProvider.host, FirebaseProvider.legacyHost, FirebaseProvider.tokenHost].contains(host) else {
            return Page.response(
                title: "Request too large", status: 400, look: .firebase,
                [.tag("h1", [], "This request can't be read"), .tag("p", [], diagnosis.line)]
            ).diagnosed(diagnosis)
        }
        let hasStatus = host == FirebaseProvider.tokenHost || FirebaseProvider.isSecondVersion(exchange)
        return FirebaseError.invalidArgument(diagnosis).response(hasStatus ? .status : .list)
    }

    static func isSecondVersion(_ exchange: Exchange) -> Bool {
        adminVersions.contains { exchange.address.path.hasPrefix("\($0)/") }
    }

    /// Returns Google's answer for an API method that doesn't exist. The answer is an HTML page, not JSON.
    static func unknownMethod(_ exchange: Exchange) -> Response {
        let place = "\(exchange.request.method) \(exchange.address.path)"
        let prefix = "/v1/accounts:"
        let name = exchange.address.path.hasPrefix(prefix) ? String(exchange.address.path.dropFirst(prefix.count)) : ""
        let advice =
            successors[name].map { "\(name) is a method of version 3: send POST \(prefix)\($0)" }
            ?? "this method doesn't exist in Firebase, or Understudy doesn't support it"
        let page =
            "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error 404 (Not Found)!!1</title>\n"
            + "<p><b>404.</b> The requested URL was not found on this server.\n"
        return Response(status: 404, contentType: "text/html; charset=UTF-8", body: page)
            .diagnosed(Diagnosis(received: Diagnosis.quote(place), advice))
    }

    /// The methods of version 1 of the API that replace those of version 3 with other names.
    private static let successors = [
        "verifyAssertion": "signInWithIdp", "signupNewUser": "signUp", "verifyPassword": "signInWithPassword",
        "verifyCustomToken": "signInWithCustomToken", "emailLinkSignin": "signInWithEmailLink",
        "getOobConfirmationCode": "sendOobCode", "verifyPhoneNumber": "signInWithPhoneNumber",
        "getAccountInfo": "lookup", "setAccountInfo": "update", "deleteAccount": "delete",
    ]
}

extension FirebaseProvider {
    /// Makes the claims of an ID token that a test wants for a user. The test names the user by user ID, by e-mail
    /// address, or by the ID of a person in the test world who has the user's e-mail address. If the test names no
    /// user, the project's oldest user is taken.
    package func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft? {
        guard
            let project = projects.project(id: wanted.client) ?? projects.existing(wanted.client, in: exchange.world)
        else { throw wanted.noSuchClient("project", hint: "") }
        do { try exchange.admit(project) } catch let error as FirebaseError {
            throw ControlRefusal(ControlAnswer.error(429, "tooManyProjects", error.diagnosis.line, path: "$.client"))
        }
        let call = FirebaseCall(exchange, project: project, isAdmin: true, body: JSONObject())
        let (user, now) = call.read { tables -> (User?, Instant) in
            guard let name = wanted.account else { return (tables.first(User.byPool, call.pool), tables.now) }
            let found = tables.user(name, in: call.pool) ?? tables.user(email: name, in: call.pool)
            guard found == nil, let email = tables.account(name)?.email else { return (found, tables.now) }
            return (tables.user(email: email, in: call.pool), tables.now)
        }
        guard let user else {
            let message = wanted.account.map { "no user \(Diagnosis.quote($0)) in" } ?? "nobody has signed up in"
            throw ControlRefusal(
                ControlAnswer.error(
                    404, "noSuchAccount", "\(message) project \(Diagnosis.quote(wanted.client))", path: "$.account"))
        }
        let session = Session(
            refreshToken: "", user: user.key, provider: user.links.first?.providerId ?? "password", authTime: now)
        var claims = call.claims(session, user, at: now)
        claims["nonce"] = wanted.nonce.map { .string($0) }
        return TokenDraft(claims: claims, owner: .firebase, type: "JWT", isSigned: call.signsTokens)
    }
}

// Documents that anybody may read before a sign-in: a project's configuration, the settings of reCAPTCHA, and the keys.

extension FirebaseProvider {
    static func configuration(_ call: FirebaseCall) -> FirebaseAnswer {
        let domains = call.project.returnDomains
        return FirebaseAnswer(["projectId": call.project.number, "authorizedDomains": domains])
    }

    static func recaptchaParameters(_ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer([
            "kind": "identitytoolkit#GetRecaptchaParamResponse",
            "recaptchaStoken": "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service__Understudy",
            "recaptchaSiteKey": "Fake-key__Do-not-send-this-to-Recaptcha_",
            "producerProjectNumber": call.project.number,
        ])
    }

    func keySet(_ exchange: Exchange) -> Response {
        FirebaseProvider.cached(exchange.keySet(.firebase))
    }

    func certificates(_ exchange: Exchange) -> Response {
        do {
            let name = "securetoken.system.gserviceaccount.com"
            return FirebaseProvider.cached(try exchange.certificates(.firebase, commonName: name))
        } catch {
            return FirebaseError("INTERNAL_ERROR", status: 500, because: error.description).response(.list)
        }
    }

    static func cached(_ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=19800, must-revalidate, no-transform")],
            body: value.serialized())
    }
}
