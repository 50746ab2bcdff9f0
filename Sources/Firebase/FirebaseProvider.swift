import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore

/// Firebase Authentication: Identity Toolkit, the token service, and the web sign-in handler.
/// <https://cloud.google.com/identity-platform/docs/reference/rest>
///
/// It asks the providers over their own endpoints, in process, as the real service asks the real ones: what a provider
/// refuses here, it refuses for its own reasons.
package struct FirebaseProvider: Provider {
    package static let host = "identitytoolkit.googleapis.com"
    package static let tokenHost = "securetoken.googleapis.com"
    package static let legacyHost = "www.googleapis.com"
    static let appleHost = "appleid.apple.com"
    static let handlerPath = "/__/auth/handler"
    static let legacyPrefix = "/identitytoolkit/v3/relyingparty"

    package let name = "firebase"
    let projects: ProjectDirectory

    package init(seed: Seed) { projects = ProjectDirectory(seed.firebase) }

    typealias Operation = @Sendable (FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer

    package var routes: [String: Router<Route>] {
        var toolkit = Router<Route>()
        var legacy = Router<Route>()
        for operation in operations {
            let route = route(run: operation.run)
            toolkit.add("POST", "/v1/accounts:\(operation.name)", route)
            legacy.add("POST", "\(FirebaseProvider.legacyPrefix)/\(operation.legacy)", route)
        }
        for operation in secondOperations {
            toolkit.add("POST", "/v2/accounts\(operation.path)", route(in: .status, run: operation.run))
        }
        for operation in adminOperations {
            for scope in ["/v1/projects/:project", "/v1/projects/:project/tenants/:tenant"] {
                toolkit.add(operation.method, scope + operation.path, adminRoute(run: operation.run))
            }
        }
        // The last segment is the project's ID, a colon and what is done with it.
        toolkit.add(
            "POST", "/v1/projects/:project",
            adminRoute { (call) async throws(FirebaseError) in try createSessionCookie(call) })
        toolkit.add(
            "POST", "/v1/projects/:project/tenants/:tenant",
            adminRoute { (call) async throws(FirebaseError) in try createSessionCookie(call) })
        for operation in configOperations {
            toolkit.add(
                operation.method, "/v2/projects/:project\(operation.path)", adminRoute(in: .status, run: operation.run))
        }
        let configuration = route { (call) async throws(FirebaseError) in FirebaseProvider.configuration(call) }
        toolkit.add("GET", "/v1/projects", configuration)
        legacy.add("GET", "\(FirebaseProvider.legacyPrefix)/getProjectConfig", configuration)
        toolkit.add(
            "GET", "/v2/recaptchaConfig",
            route(in: .status) { (_) async throws(FirebaseError) in FirebaseProvider.recaptcha() })
        let recaptcha = route { (_) async throws(FirebaseError) in FirebaseProvider.recaptchaParameters() }
        toolkit.add("GET", "/v1/recaptchaParams", recaptcha)
        legacy.add("GET", "\(FirebaseProvider.legacyPrefix)/getRecaptchaParam", recaptcha)
        toolkit.add(
            "GET", "/v1/sessionCookiePublicKeys",
            Route(cors: .any, keys: [.firebase], .keySet(.firebase)) { .now(keySet($0)) })
        for path in FirebaseProvider.unplayed {
            for method in ["GET", "POST", "PATCH", "DELETE"] {
                toolkit.add(method, path, Route(cors: .any) { .now(FirebaseProvider.notPlayed($0)) })
            }
        }
        var tokens = Router<Route>()
        let token = Route(cors: .any, keys: [.firebase], .api(FirebaseError.ordered(.status), mints: .firebase)) {
            .now(self.token($0))
        }
        tokens.add("POST", "/v1/token", token)
        legacy.add("POST", "/v1/token", token)
        addKeyRoutes(to: &legacy)
        var hosting = handlerRoutes(below: "/__/auth")
        addActionRoutes(at: "/__/auth/action", to: &hosting)
        var own = handlerRoutes(below: "/emulator/auth")
        addActionRoutes(at: "/emulator/action", to: &own)
        addEmulatorRoutes(to: &own)
        return [
            FirebaseProvider.host: toolkit, FirebaseProvider.legacyHost: legacy, FirebaseProvider.tokenHost: tokens,
            "*.firebaseapp.com": hosting, "": own,
        ]
    }

    private func addKeyRoutes(to router: inout Router<Route>) {
        let account = "securetoken@system.gserviceaccount.com"
        for prefix in ["/service_accounts/v1/jwk", "/robot/v1/metadata/jwk"] {
            router.add(
                "GET", "\(prefix)/\(account)",
                Route(cors: .any, keys: [.firebase], .keySet(.firebase)) { .now(keySet($0)) })
        }
        for prefix in ["/robot/v1/metadata/x509", "/service_accounts/v1/metadata/x509"] {
            router.add(
                "GET", "\(prefix)/\(account)",
                Route(cors: .any, keys: [.firebase], .keySet(.firebase)) { .now(certificates($0)) })
        }
        router.add(
            "GET", "\(FirebaseProvider.legacyPrefix)/publicKeys",
            Route(cors: .any, keys: [.firebase], .keySet(.firebase)) { .now(certificates($0)) })
    }

    package var controlRoutes: [ControlRoute] { [] }

    package func notServed(_ exchange: Exchange) -> Response? {
        guard exchange.address.host == FirebaseProvider.host || exchange.address.host == FirebaseProvider.tokenHost
        else {
            return nil
        }
        return FirebaseProvider.unknownMethod(exchange)
    }

    /// The project, which an API key or the address names.
    package func client(of exchange: Exchange) -> String? {
        if let project = exchange.parameters["project"] { return String(project.prefix { $0 != ":" }) }
        if let host = exchange.address.host, host.hasSuffix(".firebaseapp.com") {
            return String(host.dropLast(".firebaseapp.com".count))
        }
        let key = exchange.request.queryForm["key"] ?? exchange.request.header("X-Goog-Api-Key")
        return key.flatMap { projects.project(apiKey: $0) }?.id
    }

    /// An account of the seed that goes takes nothing with it here: Firebase's users are its own.
    package func accountDeleted(_ account: String, in exchange: Exchange) {}

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "no-cache, no-store, max-age=0, must-revalidate")],
            body: value.text)
    }

    // MARK: - Serving an operation

    private func route(in dialect: FirebaseError.Dialect = .list, run: @escaping Operation) -> Route {
        Route(
            cors: .any, keys: KeyOwner.allCases, .api(FirebaseError.ordered(dialect), mints: .firebase),
            waiting: { exchange in
                await FirebaseProvider.serve(exchange, dialect, run) { () throws(FirebaseError) in
                    try clientCall(exchange)
                }
            })
    }

    private func adminRoute(in dialect: FirebaseError.Dialect = .list, run: @escaping Operation) -> Route {
        Route(
            cors: .any, keys: [.firebase], .api(FirebaseError.ordered(dialect), mints: .firebase),
            waiting: { exchange in
                await FirebaseProvider.serve(exchange, dialect, run) { () throws(FirebaseError) in
                    try adminCall(exchange)
                }
            })
    }

    private static func serve(
        _ exchange: Exchange, _ dialect: FirebaseError.Dialect, _ run: Operation,
        call: () throws(FirebaseError) -> FirebaseCall
    ) async -> Response {
        do throws(FirebaseError) {
            let answer = try await run(try call())
            let response = FirebaseProvider.json(.object(answer.body))
            return answer.diagnosis.map { response.diagnosed($0) } ?? response
        } catch {
            return error.response(dialect)
        }
    }

    /// A call by an app, whose project its API key names.
    private func clientCall(_ exchange: Exchange) throws(FirebaseError) -> FirebaseCall {
        if FirebaseProvider.isAdministrator(exchange), let call = try ownersCall(exchange) { return call }
        let project = try project(of: exchange)
        let body = try FirebaseCall.body(of: exchange)
        let tenantID = body["tenantId"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        return try scoped(exchange, project, tenantID, isAdmin: false, body)
    }

    /// An administrator may call an app's operations, too, and name the project in the body.
    private func ownersCall(_ exchange: Exchange) throws(FirebaseError) -> FirebaseCall? {
        let body = try FirebaseCall.body(of: exchange)
        guard let id = body["targetProjectId"]?.string, let project = projects.project(id: id) else { return nil }
        return try scoped(exchange, project, body["tenantId"]?.string, isAdmin: true, body)
    }

    /// A call by an administrator, whose project the address names.
    func adminCall(_ exchange: Exchange, isOpen: Bool = false) throws(FirebaseError) -> FirebaseCall {
        guard isOpen || FirebaseProvider.isAdministrator(exchange) else { throw .notAdministrator(exchange) }
        let text = exchange.parameters["project"] ?? ""
        // "P:createSessionCookie" is one segment.
        let id = String(text.prefix { $0 != ":" })
        if text.contains(":"), !text.hasSuffix(":createSessionCookie") {
            throw FirebaseError("NOT_FOUND", status: 404, because: "no such operation: \(Diagnosis.quote(text))")
        }
        guard let project = projects.project(id: id) else {
            throw FirebaseError(
                "CONFIGURATION_NOT_FOUND", status: 404,
                because: "no project \(Diagnosis.quote(id)) is seeded, and its ID doesn't begin with demo-")
        }
        let body = try FirebaseCall.body(of: exchange)
        let tenantID = exchange.parameters["tenant"].map { String($0.prefix { $0 != ":" }) } ?? body["tenantId"]?.string
        let isTenantItself = exchange.address.path.hasPrefix("/v2/")
        return try scoped(exchange, project, isTenantItself ? nil : tenantID, isAdmin: true, body)
    }

    private func scoped(
        _ exchange: Exchange, _ project: Project, _ tenantID: String?, isAdmin: Bool, _ body: JSONObject
    ) throws(FirebaseError) -> FirebaseCall {
        let settings = exchange.world.update { $0[FirebaseState.self].settings[project.id] }
        let project = settings?.apply(to: project) ?? project
        if let tenantID, tenant(tenantID, of: project, in: exchange) == nil {
            throw FirebaseError("TENANT_NOT_FOUND", because: "the project has no tenant \(Diagnosis.quote(tenantID))")
        }
        try exchange.admit(project, tenant: tenantID)
        return FirebaseCall(exchange, project: project, tenant: tenantID, isAdmin: isAdmin, body: body)
    }

    /// `Bearer owner`, as Admin SDKs send it to an emulator, or any token of a service account's form.
    static func isAdministrator(_ exchange: Exchange) -> Bool {
        let words = (exchange.request.header("Authorization") ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
        return words[1].lowercased() == "owner" || words[1].hasPrefix("ya29.")
    }

    func project(of exchange: Exchange) throws(FirebaseError) -> Project {
        let key = exchange.request.queryForm["key"] ?? exchange.request.header("X-Goog-Api-Key") ?? ""
        guard !key.isEmpty else { throw .noAPIKey() }
        guard let project = projects.project(apiKey: key) else {
            throw .badAPIKey(key, hint: projects.hint(forKey: key))
        }
        return project
    }

    // MARK: - Small operations

    private static func configuration(_ call: FirebaseCall) -> FirebaseAnswer {
        let domains = call.project.returnDomains
        return FirebaseAnswer(
            body: JSONObject([
                ("projectId", .string(call.project.number)),
                ("authorizedDomains", .array(domains.map { .string($0) })),
            ]))
    }

    /// reCAPTCHA is never asked for.
    private static func recaptcha() -> FirebaseAnswer {
        let states = ["EMAIL_PASSWORD_PROVIDER", "PHONE_PROVIDER"].map { provider -> JSONValue in
            ["provider": .string(provider), "enforcementState": "OFF"]
        }
        return FirebaseAnswer(body: JSONObject([("recaptchaEnforcementState", .array(states))]))
    }

    private static func recaptchaParameters() -> FirebaseAnswer {
        FirebaseAnswer(
            body: JSONObject([
                ("kind", "identitytoolkit#GetRecaptchaParamResponse"),
                ("recaptchaStoken", "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service__Understudy"),
                ("recaptchaSiteKey", "Fake-key__Do-not-send-this-to-Recaptcha_"),
            ]))
    }

    private func keySet(_ exchange: Exchange) -> Response {
        FirebaseProvider.cached(exchange.keySet(.firebase))
    }

    private func certificates(_ exchange: Exchange) -> Response {
        do {
            let name = "securetoken.system.gserviceaccount.com"
            return FirebaseProvider.cached(try exchange.certificates(.firebase, commonName: name))
        } catch {
            return FirebaseError("INTERNAL_ERROR", status: 500, because: error.description).response(.list)
        }
    }

    private static func cached(_ value: JSONValue) -> Response {
        Response(
            status: 200, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "public, max-age=19800, must-revalidate, no-transform")],
            body: value.text)
    }
}
