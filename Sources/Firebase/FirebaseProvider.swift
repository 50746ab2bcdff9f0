import HTTPServer
import JOSE
import OAuth
import Stage

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
    let keySets = KeySetCache()

    package init(seed: Seed) { projects = ProjectDirectory(seed.firebase) }

    typealias Operation = @Sendable (FirebaseCall) async throws(FirebaseError) -> FirebaseAnswer

    /// Operations by their names in version 1, below `accounts:`, and in version 3.
    private var operations: [(name: String, legacy: String, run: Operation)] {
        [
            (
                "signInWithIdp", "verifyAssertion",
                { (call) async throws(FirebaseError) in try await signInWithIdp(call) }
            ),
            ("createAuthUri", "createAuthUri", { (call) async throws(FirebaseError) in try createAuthUri(call) }),
            ("signUp", "signupNewUser", { (call) async throws(FirebaseError) in try signUp(call) }),
            (
                "signInWithPassword", "verifyPassword",
                { (call) async throws(FirebaseError) in try signInWithPassword(call) }
            ),
            ("lookup", "getAccountInfo", { (call) async throws(FirebaseError) in try lookup(call) }),
            ("update", "setAccountInfo", { (call) async throws(FirebaseError) in try update(call) }),
            ("delete", "deleteAccount", { (call) async throws(FirebaseError) in try delete(call) }),
        ]
    }

    package var routes: [String: Router<Route>] {
        var toolkit = Router<Route>()
        var legacy = Router<Route>()
        let keys: [KeyOwner] = [.firebase, .apple, .google, .facebook]
        for operation in operations {
            let route = Route(cors: .any, keys: keys, waiting: { await serve($0, .list, operation.run) })
            toolkit.add("POST", "/v1/accounts:\(operation.name)", route)
            legacy.add("POST", "\(FirebaseProvider.legacyPrefix)/\(operation.legacy)", route)
        }
        toolkit.add(
            "POST", "/v2/accounts:revokeToken",
            Route(
                cors: .any, keys: keys,
                waiting: { exchange in
                    await serve(exchange, .status) { (call) async throws(FirebaseError) in try await revokeToken(call) }
                }))
        let configuration = Route(
            cors: .any,
            waiting: { exchange in
                await serve(exchange, .list) { (call) async throws(FirebaseError) in
                    FirebaseProvider.configuration(call)
                }
            })
        toolkit.add("GET", "/v1/projects", configuration)
        legacy.add("GET", "\(FirebaseProvider.legacyPrefix)/getProjectConfig", configuration)
        let recaptcha = Route(
            cors: .any,
            waiting: { exchange in
                await serve(exchange, .status) { (_) async throws(FirebaseError) in FirebaseProvider.recaptcha() }
            })
        toolkit.add("GET", "/v2/recaptchaConfig", recaptcha)
        var tokens = Router<Route>()
        let token = Route(cors: .any, keys: [.firebase]) { .now(self.token($0)) }
        tokens.add("POST", "/v1/token", token)
        legacy.add("POST", "/v1/token", token)
        let account = "securetoken@system.gserviceaccount.com"
        for prefix in ["/service_accounts/v1/jwk", "/robot/v1/metadata/jwk"] {
            legacy.add("GET", "\(prefix)/\(account)", Route(cors: .any, keys: [.firebase]) { .now(keySet($0)) })
        }
        for prefix in ["/robot/v1/metadata/x509", "/service_accounts/v1/metadata/x509"] {
            legacy.add("GET", "\(prefix)/\(account)", Route(cors: .any, keys: [.firebase]) { .now(certificates($0)) })
        }
        return [
            FirebaseProvider.host: toolkit, FirebaseProvider.legacyHost: legacy, FirebaseProvider.tokenHost: tokens,
            "*.firebaseapp.com": handlerRoutes(below: "/__/auth"), "": handlerRoutes(below: "/emulator/auth"),
        ]
    }

    package var controlRoutes: [ControlRoute] { [] }

    package func notServed(_ exchange: Exchange) -> Response? {
        guard exchange.address.host == FirebaseProvider.host || exchange.address.host == FirebaseProvider.tokenHost
        else {
            return nil
        }
        return FirebaseProvider.unknownMethod(exchange)
    }

    /// Google's page for an address that isn't served: HTML, not JSON.
    static func unknownMethod(_ exchange: Exchange) -> Response {
        let place = "\(exchange.request.method) \(exchange.address.path)"
        let page =
            "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error 404 (Not Found)!!1</title>\n"
            + "<p><b>404.</b> The requested URL was not found on this server.\n"
        return Response(status: 404, contentType: "text/html; charset=UTF-8", body: page)
            .diagnosed(Diagnosis(received: Diagnosis.quote(place), "no such method, or this operation isn't played"))
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

    private func serve(
        _ exchange: Exchange, _ dialect: FirebaseError.Dialect, _ run: Operation
    ) async -> Response {
        do throws(FirebaseError) {
            let project = try project(of: exchange)
            let body = try FirebaseCall.body(of: exchange)
            let answer = try await run(FirebaseCall(exchange, project: project, body: body))
            let response = FirebaseProvider.json(.object(answer.body))
            return answer.diagnosis.map { response.diagnosed($0) } ?? response
        } catch {
            return error.response(dialect)
        }
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
        let own = ["\(call.project.id).firebaseapp.com", "\(call.project.id).web.app"]
        let domains = call.project.authorizedDomains + own
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

    private func keySet(_ exchange: Exchange) -> Response {
        FirebaseProvider.cached(exchange.world.keys[.firebase].jwks)
    }

    private func certificates(_ exchange: Exchange) -> Response {
        do {
            let name = "securetoken.system.gserviceaccount.com"
            return FirebaseProvider.cached(try exchange.world.keys[.firebase].certificates(commonName: name))
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
