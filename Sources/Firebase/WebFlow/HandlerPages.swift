import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// The pages /__/auth/handler and /__/auth/iframe at a project's own domain, and /emulator/auth/… in emulator mode.
// https://firebase.google.com/docs/auth/web/redirect-best-practices
//
// The handler redirects to the provider's real authorization page and receives the answer. It passes it to an app by
// its URL scheme, and to a web page through the window that opened it or through session storage. Quirks: the iOS SDK's
// link has the whole callback URL, which verifyAssertion then gets as requestUri. A cancel is `firebaseError`.

extension FirebaseProvider {
    func handlerEndpoints(at hosts: [String], below prefix: String) -> [Endpoint] {
        let step = Step(.page, "open the sign-in handler")
        return [
            Endpoint(
                "GET", hosts, "\(prefix)/handler", title: hosts.isEmpty ? "pop-ups and redirects" : nil, step: step,
                .page
            ) { try await handler($0, $0.request.queryForm) },
            Endpoint("POST", hosts, "\(prefix)/handler", step: step, .page) {
                try await handler($0, $0.request.bodyForm)
            },
            Endpoint("GET", hosts, "\(prefix)/iframe", step: Step(.page, "open the sign-in frame"), .page, frame),
        ]
    }

    static func problem(
        _ status: Int, _ title: String, _ diagnosis: Diagnosis, then answer: [HTML] = []
    ) -> Response {
        Page.response(
            title: title, status: status, look: .firebase,
            [.tag("h1", [], title), Page.why(diagnosis)] + answer
        ).diagnosed(diagnosis)
    }

    /// Begins a sign-in, or receives a provider's answer.
    private func handler(_ exchange: Exchange, _ form: Form) async throws -> Response {
        if let request = form.carriedRequest { return try personAnswered(exchange, form, to: request) }
        let isAnswer = ["code", "id_token", "error"].contains { form[$0] != nil }
        if form["state"] != nil, isAnswer { return try answered(exchange, form) }
        if exchange.request.method == "GET", form.fields.isEmpty { return FirebaseProvider.fragmentPage }
        guard let apiKey = form["apiKey"], let providerId = form["providerId"], !providerId.isEmpty else {
            return FirebaseProvider.problem(
                400, "Something is missing", Diagnosis("apiKey and providerId must be in the query"))
        }
        let project: Project
        do { project = try self.project(apiKey: apiKey, in: exchange) } catch let error as FirebaseError {
            return FirebaseProvider.problem(400, "Unknown API key", error.diagnosis)
        }
        let custom: [(String, String)]
        do { custom = try FirebaseProvider.customParameters(form["customParameters"]) } catch {
            return FirebaseProvider.problem(400, "customParameters can't be read", error.diagnosis)
        }
        let call: FirebaseCall
        do { call = try scoped(exchange, project, tenant: form["tid"]) } catch let error as FirebaseError {
            let title = error.status == 429 ? "Too many projects" : error.code
            return FirebaseProvider.problem(error.status, title, error.diagnosis)
        }
        let destination: WebFlow.Destination
        do { destination = try WebFlow.Destination(form, project) } catch {
            return FirebaseProvider.problem(
                400, error.message, error.diagnosis, then: refusal(exchange, form, project, error.message))
        }
        let scopes = (form["scopes"] ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        let source: Result<WebAuthorization, FirebaseError> = try await authorization(providerId, scopes, call)
        let flow = try exchange.world.update { tables in
            let token = "\(project.id)." + Base64URL.encode(tables.random.bytes(24))
            var flow = WebFlow(
                form, project, in: call.pool, token: token, destination: destination, now: tables.now)
            if case .success(let authorization) = source, authorization.needsNonce {
                flow.nonce = Hex.encode(tables.random.bytes(32))
            }
            tables.put(flow)
            return flow
        }
        switch source {
        case .success(let authorization):
            let url = authorizationURL(authorization, flow, custom: custom, exchange)
            let reserved = custom.map(\.0).filter { FirebaseProvider.reservedParameters.contains($0) }
            let response = Response.redirect(to: url)
            guard !reserved.isEmpty else { return response }
            return response.noted(
                Note("customParameters may not set \(reserved.joined(separator: ", ")): left out"))
        case .failure(let error):
            if project.takesFakes, configuredSource(providerId, of: call.project, flow.pool, in: exchange) == nil {
                return try fakeSignIn(exchange, flow, project)
            }
            return try finish(
                exchange, flow, .failure((code: "auth/operation-not-allowed", message: error.message))
            ).diagnosed(error.diagnosis)
        }
    }

    private func authorization(
        _ providerId: String, _ scopes: [String], _ call: FirebaseCall
    ) async throws -> Result<WebAuthorization, FirebaseError> {
        do {
            let source = try source(providerId, of: call.project, call.pool, in: call.exchange)
            return .success(try await source.authorization(scopes: scopes, in: call.exchange))
        } catch let error as FirebaseError {
            return .failure(error)
        }
    }

    /// The page for an OpenID provider's ID token in the fragment, which browsers don't send: the page sends it as a
    /// query.
    private static let fragmentPage = Page.response(
        title: "Signing in…", look: .firebase,
        [
            .tag("h1", [], "Signing in…"),
            .tag(
                "p", [("id", "answer")], "The provider's answer is read from the address of this page."),
            .script(
                """
                (function(){var answer=location.hash.slice(1);\
                if(/(^|&)state=/.test(answer)){location.replace(location.pathname+'?'+answer)}\
                else{document.getElementById('answer').textContent='Something is missing: no sign-in begins or ends here.'}})()
                """),
        ])

    private static func customParameters(_ text: String?) throws(FirebaseError) -> [(String, String)] {
        guard let text, !text.isEmpty else { return [] }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw FirebaseError("INVALID_REQUEST", because: "customParameters must be a JSON object of strings")
        }
        return object.members.map { ($0.key, $0.value.string ?? $0.value.text) }
    }

    // MARK: - The provider's answer

    typealias Failure = (code: String, message: String)

    private static let longestAnswer = 32 << 10

    private func answered(_ exchange: Exchange, _ form: Form) throws -> Response {
        guard let (project, flow) = signInUnderWay(exchange, form["state"] ?? "") else {
            return FirebaseProvider.noSuchSignIn()
        }
        guard let error = form["error"] else {
            let answer = form.encoded
            // The limit is that of an address; the answer may be stored for the frame.
            guard answer.utf8.count <= FirebaseProvider.longestAnswer else {
                return FirebaseProvider.problem(
                    413, "The answer is too long",
                    Diagnosis(
                        received: "\(answer.utf8.count) bytes from \(flow.providerId)",
                        expected: "at most \(FirebaseProvider.longestAnswer)", "let the provider send less"))
            }
            let link = "\(project.handler)?\(answer)"
            return try finish(exchange, flow, .success(link))
        }
        return try failed(exchange, flow, error, form["error_description"])
    }

    /// Returns the sign-in that `state` names, and its project.
    func signInUnderWay(_ exchange: Exchange, _ state: String) -> (Project, WebFlow)? {
        let id = String(state.prefix { $0 != "." })
        let project = projects.project(id: id) ?? projects.trustedProject(id: id, at: exchange.address)
        return project.flatMap { project in
            exchange.world.read { $0.flow(state, of: project) }.map { (project, $0) }
        }
    }

    static func noSuchSignIn() -> Response {
        problem(
            400, "No such sign-in",
            Diagnosis("state belongs to no sign-in under way: it is over, an hour old, or of another world"))
    }

    /// Ends a sign-in to which the provider answered with OAuth's `error`. It can only end once.
    func failed(_ exchange: Exchange, _ flow: WebFlow, _ error: String, _ description: String?) throws -> Response {
        guard try exchange.world.update({ $0.pop(WebFlow.self, flow.token) }) != nil else {
            return FirebaseProvider.noSuchSignIn()
        }
        let isCancel = ["access_denied", "user_cancelled_authorize"].contains(error)
        let failure: Failure =
            isCancel
            ? (
                code: "auth/user-cancelled",
                message: "The user did not grant your application the permissions it requested."
            ) : (code: "auth/internal-error", message: description ?? error)
        return try finish(exchange, flow, .failure(failure)).diagnosed(
            Diagnosis(isCancel ? "the person cancelled at \(flow.providerId)" : "\(flow.providerId) answered \(error)"))
    }

    enum Outcome {
        case success(String)
        case failure(Failure)
    }

    func finish(_ exchange: Exchange, _ flow: WebFlow, _ outcome: Outcome) throws -> Response {
        switch flow.destination {
        case .app(let scheme): return toApp(exchange, flow, scheme: scheme, outcome)
        case .page(let redirectURL): return try toPage(exchange, flow, redirectURL, outcome)
        case .client:
            return FirebaseProvider.problem(
                400, "Nobody waits here", Diagnosis("createAuthUri names its own continueUri"))
        }
    }

    /// Redirects to `SCHEME://firebaseauth/link?deep_link_id=URL`, where the URL's query has the answer.
    private func toApp(_ exchange: Exchange, _ flow: WebFlow, scheme: String, _ outcome: Outcome) -> Response {
        var fields = [
            Form.Field(name: "authType", value: flow.authType), Form.Field(name: "eventId", value: flow.eventId),
        ]
        switch outcome {
        case .success(let link): fields.append(Form.Field(name: "link", value: link))
        case .failure(let failure):
            let error: JSONValue = ["code": .string(failure.code), "message": .string(failure.message)]
            fields.append(Form.Field(name: "firebaseError", value: error.text))
        }
        let query = fields.map { "\($0.name)=\(PercentCoding.encode($0.bytes))" }.joined(separator: "&")
        let callback =
            "\(exchange.address.base(of: WebAddress(flow.redirectURI)?.host ?? ""))/__/auth/callback?\(query)"
        return .redirect(
            to: "\(scheme)://firebaseauth/link?deep_link_id=\(PercentCoding.encode(Array(callback.utf8)))")
    }
}
