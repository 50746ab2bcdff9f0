import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// The handler's last page when a web page signs in. It passes on an event: after a pop-up to the frame that the SDK
// keeps in the opening page; after a redirect through session storage, where that frame finds it when the browser is
// back.
//
// Browsers partition the storage of a frame in a page of another site, so production's redirects end with no result
// there: https://firebase.google.com/docs/auth/web/redirect-best-practices. The same happens here at the real host. In
// emulator mode the daemon is at 127.0.0.1 and the app at localhost, and nobody has chosen two sites; so the daemon
// stores the event. The frame learns its name from `document.referrer` of the page around it: the address of the
// handler's page.

/// The answer to a redirect, stored until the frame asks for it.
struct KeptAnswer: TokenRow {
    static let table = Table<KeptAnswer>(
        "firebase.keptAnswer", limit: 2_000, indexes: [byPool], droppedAt: { $0.expires })
    static let byPool = Index<KeptAnswer, UserPool>("pool") { $0.pool }

    /// A name that can't be guessed.
    let token: String
    let pool: UserPool
    let expires: Instant
    /// The key of the SDK's app that gets the event: the world, the API key and the app's name.
    let storageKey: String
    /// The event as JSON.
    let event: String
}

extension WebFlow {
    var isPopup: Bool { authType.hasSuffix("ViaPopup") }
    var isRedirect: Bool { authType.hasSuffix("ViaRedirect") }

    /// Returns the SDK's `AuthEvent`: firebase-js-sdk, packages/auth/src/model/popup_redirect.ts.
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
        return response.noted(
            Note(
                Diagnosis(
                    received: "a redirect for \(Diagnosis.quote(page.origin))",
                    "browsers keep the storage of \(own.host) in a page of another site apart, so getRedirectResult() finds "
                        + "nothing there, as in production: give the app an authDomain on its own site")))
    }

    /// Returns the elements of a page that passes on an event, with the script.
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

    /// Returns the elements with which a page reports the refusal of a sign-in to the page that opened it. They are
    /// only for emulator mode, where the SDK doesn't check which domains are authorized.
    func refusal(_ exchange: Exchange, _ form: Form, _ project: Project, _ message: String) -> [HTML] {
        let pool = UserPool(project: project.id, tenant: form["tid"])
        let flow = WebFlow(
            form, project, in: pool, token: "", destination: .page(redirectURL: nil), now: exchange.world.now)
        guard flow.isPopup, exchange.address.form != .real else { return [] }
        let event = flow.event(.failure((code: "auth/unauthorized-domain", message: message))).text
        return FirebaseProvider.handOver(exchange, flow, event, nil)
    }

    /// Returns the name under which the handler and the frame store an event. Worlds share an origin.
    static func storageKey(_ exchange: Exchange, apiKey: String, app: String) -> String {
        let world = exchange.address.world
        return "\(world == "default" ? "" : "~\(world):")\(apiKey):\(app)"
    }

    /// Stores an event for the frame, and returns its name.
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

    /// Returns the event that is stored under the name in the frame's address, once.
    func takeKept(_ exchange: Exchange, storageKey: String, of project: Project) throws -> String? {
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
