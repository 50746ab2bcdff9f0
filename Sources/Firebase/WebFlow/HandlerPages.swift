import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// The pages /__/auth/handler and /__/auth/iframe at a project's own domain, and /emulator/auth/… in emulator mode.
// https://firebase.google.com/docs/auth/web/redirect-best-practices
//
// The handler redirects to the provider's real authorization page and receives the answer. It passes it to an app by
// its URL scheme, and to a web page through the window that opened it or through session storage. Quirks: the iOS SDK's
// link has the whole callback URL, which verifyAssertion then gets as requestUri. A cancel is `firebaseError`.

extension FirebaseProvider {
    func handlerEndpoints(at hosts: [String], below prefix: String) -> [Endpoint] {
        let step = SignInStep(.page, "open the sign-in handler")
        return [
            Endpoint(
                "GET", hosts, "\(prefix)/handler", title: hosts.isEmpty ? "pop-ups and redirects" : nil, step: step,
                .page
            ) { try await handler($0, $0.request.queryForm) },
            Endpoint("POST", hosts, "\(prefix)/handler", step: step, .page) {
                try await handler($0, $0.request.bodyForm)
            },
            Endpoint("GET", hosts, "\(prefix)/iframe", step: SignInStep(.page, "open the sign-in frame"), .page, frame),
        ]
    }

    static func problem(_ status: Int, _ title: String, _ diagnosis: Diagnosis, then answer: [HTML] = []) -> Response {
        Page.response(
            title: title, status: status, look: .firebase,
            [.tag("h1", [], title), Page.why(diagnosis)] + answer
        ).diagnosed(diagnosis)
    }

    /// Handles a request to Firebase's sign-in handler: one that begins a sign-in, or an identity provider's answer.
    private func handler(_ exchange: Exchange, _ form: Form) async throws -> Response {
        if let request = form.carriedRequest { return try personAnswered(exchange, form, to: request) }
        let isAnswer = ["code", "id_token", "error"].contains { form[$0] != nil }
        if form["state"] != nil, isAnswer { return try answered(exchange, form) }
        if exchange.request.method == "GET", form.fields.isEmpty { return FirebaseProvider.fragmentPage }
        guard let apiKey = form["apiKey"], let providerId = form["providerId"], !providerId.isEmpty else {
            return FirebaseProvider.problem(
                400, "Something is missing", Diagnosis("the query must contain apiKey and providerId"))
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
            var flow = WebFlow(form, project, in: call.pool, token: token, destination: destination, now: tables.now)
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
            return response.addingNote(
                Note("customParameters may not set \(reserved.joined(separator: ", ")): left out"))
        case .failure(let error):
            if project.takesFakes, configuredSource(providerId, of: call.project, flow.pool, in: exchange) == nil {
                return try fakeSignIn(exchange, flow, project)
            }
            return try finish(
                exchange, flow, .failure((code: "auth/operation-not-allowed", message: error.message))
            ).diagnosed(error.diagnosis).known(by: FirebaseProvider.inSDKs)
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

    /// The page that gets an OpenID provider's answer in the fragment of its URL. Browsers don't send fragments, so the
    /// page's script sends the answer again as a query.
    private static let fragmentPage = Page.response(
        title: "Signing in…", look: .firebase,
        [
            .tag("h1", [], "Signing in…"),
            .tag("p", [("id", "answer")], "The provider's answer is read from the address of this page."),
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
                        received: "a response of \(answer.utf8.count) bytes from \(flow.providerId)",
                        expected: "at most \(FirebaseProvider.longestAnswer) bytes", "let the provider send less data"))
            }
            let link = "\(project.handler)?\(answer)"
            return try finish(exchange, flow, .success(link))
        }
        return try failed(exchange, flow, error, form["error_description"])
    }

    /// Returns the sign-in under way to which `state` belongs, with its project; `nil` if there is none.
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
            Diagnosis(
                "state belongs to no pending sign-in: the sign-in has ended, is over an hour old, or is of another test world"
            ))
    }

    /// Ends a sign-in to which the identity provider answered with an OAuth `error`. A sign-in can end only once.
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
            Diagnosis(
                isCancel
                    ? "the user cancelled the sign-in at the provider \(flow.providerId)"
                    : "the provider \(flow.providerId) returned the error \(error)"
            )
        )
        .known(by: FirebaseProvider.inSDKs)
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
                400, "Nobody waits here",
                Diagnosis("createAuthUri began this sign-in: the provider's response belongs at continueUri, not here"))
        }
    }

    /// Redirects to the app with `SCHEME://firebaseauth/link?deep_link_id=URL`. The query of the URL in `deep_link_id`
    /// contains the sign-in's result.
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
        return .redirect(to: "\(scheme)://firebaseauth/link?deep_link_id=\(PercentCoding.encode(Array(callback.utf8)))")
    }
}

// The handler's last page when a web page signs in. It passes on an event: after a pop-up to the frame that the SDK
// keeps in the opening page; after a redirect through session storage, where that frame finds it when the browser is
// back.
//
// Browsers partition the storage of a frame in a page of another site, so production's redirects end with no result
// there: https://firebase.google.com/docs/auth/web/redirect-best-practices. The same happens here at the real host. In
// emulator mode the daemon is at 127.0.0.1 and the app at localhost, and nobody has chosen two sites; so the daemon
// stores the event. The frame learns its name from `document.referrer` of the page around it: the address of the
// handler's page.

/// The result of a sign-in by redirect, stored until the SDK's frame in the app's page fetches it.
struct KeptAnswer: TokenRow {
    static let table = Table<KeptAnswer>(
        "firebase.keptAnswer", limit: 2_000, byteLimit: 64 << 20, indexes: [byPool], droppedAt: { $0.expires },
        size: { $0.storageKey.utf8.count + $0.event.utf8.count })
    static let byPool = Index<KeptAnswer, UserPool>("pool") { $0.pool }

    /// The secret name under which the SDK's frame fetches the result of a sign-in.
    let token: String
    let pool: UserPool
    let expires: Instant
    /// The key of the SDK instance that gets the result of a sign-in. It consists of the test world, the API key and
    /// the app's name.
    let storageKey: String
    /// The result of a sign-in as the JSON of the SDK's `AuthEvent`.
    let event: String
}

extension WebFlow {
    var isPopup: Bool { authType.hasSuffix("ViaPopup") }
    var isRedirect: Bool { authType.hasSuffix("ViaRedirect") }

    /// Returns the result of a sign-in as the SDK's `AuthEvent`: firebase-js-sdk,
    /// packages/auth/src/model/popup_redirect.ts.
    func event(_ outcome: FirebaseProvider.Outcome) -> JSONValue {
        var event = JSONObject([
            ("type", .string(authType)), ("eventId", eventId.isEmpty ? .null : .string(eventId)),
            ("urlResponse", .null), ("sessionId", .null), ("postBody", .null),
            ("tenantId", tenantId.map { .string($0) } ?? .null), ("error", .null),
        ])
        switch outcome {
        case .success(let link): event["urlResponse"] = .string(link)
        case .failure(let failure):
            event["error"] = ["code": .string(failure.code), "message": .string(failure.message)]
        }
        return .object(event)
    }
}

extension FirebaseProvider {
    func toPage(_ exchange: Exchange, _ flow: WebFlow, _ redirectURL: String?, _ outcome: Outcome) throws -> Response {
        let event = flow.event(outcome).text
        let own = WebAddress(exchange.address.base(of: "\(flow.pool.project).firebaseapp.com"))
        let page = redirectURL.flatMap { WebAddress($0) }
        var isElsewhere = false
        if flow.isRedirect, let own, let page { isElsewhere = !own.isSameSite(as: page) }
        let isEmulated = exchange.address.form != .real
        let name = try isElsewhere && isEmulated ? keep(event, of: flow, exchange) : nil
        var response = Page.response(
            title: "Signing in…", look: .firebase,
            [.tag("h1", [], "Back to the app")]
                + FirebaseProvider.handOver(exchange, flow, event, redirectURL, keptAs: name))
        if name != nil { response.headers.append((name: "Referrer-Policy", value: "unsafe-url")) }
        guard isElsewhere, !isEmulated, let own, let page else { return response }
        return response.addingNote(
            Note(
                Diagnosis(
                    received: "a redirect for \(Diagnosis.quote(page.origin))",
                    "browsers isolate the storage of \(own.host) on pages of other sites, so getRedirectResult() finds "
                        + "nothing on this page, as in production: give the app an authDomain on its own site")))
    }

    /// Returns the HTML elements of a page that passes the result of a sign-in on to the app's page, including the
    /// script.
    private static func handOver(
        _ exchange: Exchange, _ flow: WebFlow, _ event: String, _ redirectURL: String?, keptAs name: String? = nil
    ) -> [HTML] {
        [
            .tag(
                "p",
                [
                    ("id", "answer"), ("data-event", event), ("data-api-key", flow.apiKey), ("data-app", flow.appName),
                    ("data-key", storageKey(exchange, apiKey: flow.apiKey, app: flow.appName)),
                    ("data-flow", flow.isPopup ? "popup" : flow.isRedirect ? "redirect" : ""),
                    ("data-url", redirectURL ?? ""), ("data-kept-as", name ?? ""),
                    // The opener's origin isn't known here, but that of the page that asked for the sign-in is.
                    ("data-origin", redirectURL.flatMap { WebAddress($0)?.origin } ?? ""),
                ], "The answer goes to the window that opened this one."),
            .script(Scripts.handler),
        ]
    }

    /// Returns the HTML elements with which a page tells the app's page that a sign-in in a pop-up was refused. They
    /// are for emulator mode only, because there the SDK doesn't check which domains are authorized. The list is empty
    /// in all other cases.
    func refusal(_ exchange: Exchange, _ form: Form, _ project: Project, _ message: String) -> [HTML] {
        let pool = UserPool(project: project.id, tenant: form["tid"])
        let flow = WebFlow(
            form, project, in: pool, token: "", destination: .page(redirectURL: nil), now: exchange.world.now)
        guard flow.isPopup, exchange.address.form != .real else { return [] }
        let event = flow.event(.failure((code: "auth/unauthorized-domain", message: message))).text
        return FirebaseProvider.handOver(exchange, flow, event, nil)
    }

    /// Returns the name under which the handler's page and the SDK's frame store the result of a sign-in. It contains
    /// the name of the test world, unless that is `default`, because the pages of all test worlds have the same origin.
    static func storageKey(_ exchange: Exchange, apiKey: String, app: String) -> String {
        let world = exchange.address.world
        return "\(world == "default" ? "" : "~\(world):")\(apiKey):\(app)"
    }

    /// Stores the result of a sign-in for the SDK's frame, and returns the secret name under which the frame can fetch
    /// it.
    private func keep(_ event: String, of flow: WebFlow, _ exchange: Exchange) throws -> String {
        let key = FirebaseProvider.storageKey(exchange, apiKey: flow.apiKey, app: flow.appName)
        return try exchange.world.update { tables in
            let token = Hex.encode(tables.random.bytes(16))
            tables.put(
                KeptAnswer(
                    token: token, pool: flow.pool, expires: tables.now + WebFlow.lifetime, storageKey: key, event: event
                ))
            return token
        }
    }

    /// Returns the sign-in result that was stored for the Firebase SDK's frame, and deletes it from the store. The
    /// result is found by its secret name, which is in the URL that the frame requests.
    func popKeptEvent(_ exchange: Exchange, storageKey: String, of project: Project) throws -> String? {
        guard let token = exchange.request.queryForm["understudy_answer"] else { return nil }
        return try exchange.world.update { tables in
            let now = tables.now
            // The event may belong to a tenant, of which the frame doesn't know.
            return tables.pop(KeptAnswer.self, token) { kept in
                kept.pool.project == project.id && kept.storageKey == storageKey && kept.expires > now
            }?.event
        }
    }
}

extension Look {
    /// The look of Firebase's pages: a white card with square corners under an amber line, like widgets on an app's own
    /// site.
    static let firebase = Look(
        name: "Firebase",
        style: """
            :root{--ink:#202124;--soft:#5f6368;--paper:#eceff1;--card:#fff;--line:#dadce0;--act:#1967d2;--on-act:#fff;\
            --link:#1967d2;--radius:4px}\
            @media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#9aa0a6;--paper:#17181a;--card:#202124;\
            --line:#5f6368;--act:#8ab4f8;--on-act:#10213d;--link:#8ab4f8}}\
            main{border:0;border-top:4px solid #ffa000;border-radius:2px;max-width:26rem;\
            box-shadow:0 1px 3px rgb(0 0 0/.25)}\
            ul.plain{list-style:none;margin:0;padding:0}
            """)
}
