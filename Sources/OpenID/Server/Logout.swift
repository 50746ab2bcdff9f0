import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET and POST /logout: https://openid.net/specs/openid-connect-rpinitiated-1_0.html
// Clients are notified by https://openid.net/specs/openid-connect-backchannel-1_0.html before the browser continues,
// once each.

extension Issuer {
    func logout(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        if exchange.request.method == "POST", sent["refresh_token"] != nil { return try await endSignIn(exchange) }
        let pages = pages(at: policy.paths.endSession)
        let form = (sent.carriedRequest ?? sent).withoutEmptyFields
        do {
            let request = try LogoutRequest(form, at: self, in: exchange) { claims(ofIDToken: $0, in: exchange) }
            if request.needsQuestion {
                // The form of the question is a POST that carries the request.
                guard exchange.request.method == "POST", sent.carriedRequest != nil else {
                    return pages.ask(exchange, "Sign out?", "of \(name)", yes: "Sign out", request: form)
                }
                guard sent["action"] == "yes" else { return pages.notice("Still signed in", "Nothing has changed.") }
            }
            if let session = request.session { _ = try await end(session, exchange) }
            var response = request.target?.deliver() ?? pages.notice("Signed out", "You can close this window.")
            response.headers.append(BrowserSession.cookie(nil, at: realm, for: exchange))
            return response
        } catch let error as OAuthRefusal {
            return pages.problem(error.status, "Error: \(error.name)", error.diagnosis).known(by: error.evidence)
        }
    }

    /// Handles a logout request that a client sends directly, with a refresh token and without a browser. As in
    /// Keycloak, it ends the browser session of the refresh token, and the status is 204. With a refresh token for
    /// offline access, only its grant ends.
    private func endSignIn(_ exchange: Exchange) async throws -> Response {
        let form = try exchange.request.parameters()
        let owner = key(of: try authenticate(exchange, form))
        let text = try form.required("refresh_token")
        let reason = exchange.cause("the client ended the sign-in with its refresh token")
        let session = try exchange.world.update { tables -> BrowserSession? in
            let token = tables.find(Token<OpenIDGrant>.self, text).flatMap { $0.kind == .refresh ? $0 : nil }
            guard let token, token.client == owner, let grant = tables.find(OpenIDGrant.self, token.grant) else {
                let fault: String
                if let token, token.client != owner {
                    fault =
                        "it was issued to \(clientName(ofKey: token.client)), not to "
                        + "\(clientName(ofKey: owner)) that sent it"
                } else {
                    fault = tables.reason(againstUsing: text, .refresh, OpenIDGrant.self)
                }
                throw OAuthRefusal("invalid_grant", Diagnosis("the refresh token can't be used to log out: \(fault)"))
            }
            tables.end(grant, because: reason)
            guard !grant.scopes.contains("offline_access") else { return nil }
            return grant.session.flatMap { tables.session(withID: $0, at: realm) }
        }
        if let session { _ = try await end(session, exchange) }
        return Response(status: 204, headers: [(name: "Cache-Control", value: "no-store")])
    }

    /// Ends a browser session and its grants, except grants for offline access, and notifies the session's clients.
    /// Returns the results of the notifications, or `nil` if the session had ended before.
    func end(_ session: BrowserSession, _ exchange: Exchange) async throws -> [JSONValue]? {
        let reason = exchange.cause("the person signed out")
        let (ended, account, now) = try exchange.world.update { tables -> (BrowserSession?, Account?, Instant) in
            guard let session = tables.end(session) else { return (nil, nil, tables.now) }
            for grant in tables.rows(OpenIDGrant.bySession, session.id) where !grant.scopes.contains("offline_access") {
                tables.end(grant, because: reason)
            }
            return (session, tables.account(session.account), tables.now)
        }
        guard let ended else { return nil }
        var deliveries: [JSONValue] = []
        for visit in ended.clients {
            guard let account, let client = client(visit.id, in: exchange.world),
                let url = client.backchannelLogoutURI
            else { continue }
            let id = try exchange.world.update { Hex.encode($0.random.bytes(16)) }
            let claims = LogoutToken.claims(
                issuer: visit.issuer, client: client.clientID, subject: subject(of: account, for: client),
                session: session.id, id: id, at: now)
            var delivery = JSONObject([("client", .string(client.clientID))])
            do throws(KeyError) {
                let token = try sign(
                    claims, for: client, type: "logout+jwt", with: client.idTokenAlgorithm, in: exchange)
                let message = OutgoingMessage(to: url, form: [("logout_token", token)])
                delivery.merge(await exchange.post(message).json(of: message))
            } catch { delivery["failure"] = .string(error.description) }
            deliveries.append(.object(delivery))
        }
        return deliveries
    }
}

// POST /_understudy/v1/openid/logouts: ends a session at the issuer, without a browser.

extension OpenIDProvider {
    var logoutCall: Endpoint {
        let told = Schema.members(
            [.required("client", .string, "The client's ID.")]
                + OutgoingMessage.Delivery.schema(beside: []).fields.map { .optional($0.name, $0.schema, $0.about) })
        return .control(
            "POST", "openid/logouts", "Ends a person's sessions at an issuer without a browser; clients are told.",
            reads: .body(LogoutOrder.self),
            answers: [
                .json(
                    "The sessions have ended.",
                    .members([
                        .required("sessions", .count, "The number of sessions."),
                        .required("notifications", .sequence(of: told), "The deliveries of the logout tokens."),
                    ])), .refusal(404, "noSuchIssuer", "There is no such issuer."),
                .refusal(404, "noSuchAccount", "There is no such account."),
                .refusal(404, "noSuchSession", "The person has no such session."),
            ], keys: issuers.map(\.owner) + (takesUnknown ? [Issuer.ownerOnTrust] : [])
        ) { try await logOut($0, $1) }
    }

    private struct LogoutOrder: SchemaObject {
        static let schemaName: String? = "OpenIDLogout"

        let issuer: String
        let account: String
        let session: String?

        init(_ fields: inout Fields) {
            issuer = fields("issuer", .text(.nonEmpty), "The issuer's id.")
            account = fields("account", .text(.nonEmpty), "The ID of the account whose sessions end.")
            session = fields.nullable("session", .text(.nonEmpty), "The `sid` of the only session to end.")
        }
    }

    private func logOut(_ exchange: Exchange, _ order: LogoutOrder) async throws -> Response {
        guard let issuer = issuer(order.issuer, in: exchange.world) else {
            throw ControlRefusal(
                ControlAnswer.error(
                    404, "noSuchIssuer", "no issuer \(Diagnosis.quote(order.issuer)) is seeded", path: "$.issuer"))
        }
        let sessions = exchange.world.read { $0.sessions(of: order.account, at: issuer.realm) }.filter { session in
            order.session.map { $0 == session.id } ?? true
        }
        guard !sessions.isEmpty || exchange.world.read({ $0.account(order.account) != nil }) else {
            let message = exchange.noAccount(order.account)
            throw ControlRefusal(ControlAnswer.error(404, "noSuchAccount", message, path: "$.account"))
        }
        var (ended, deliveries): (Int64, [JSONValue]) = (0, [])
        for session in sessions {
            guard let told = try await issuer.end(session, exchange) else { continue }
            ended += 1
            deliveries += told
        }
        if let session = order.session, ended == 0 {
            let message = "account \(Diagnosis.quote(order.account)) has no session \(Diagnosis.quote(session))"
            throw ControlRefusal(ControlAnswer.error(404, "noSuchSession", message, path: "$.session"))
        }
        return ControlAnswer.ok(["sessions": .integer(ended), "notifications": .array(deliveries)])
    }
}

/// A request to sign a browser out: <https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout>.
struct LogoutRequest: Sendable {
    /// The browser session that the logout ends; `nil` if there is none.
    let session: BrowserSession?
    /// The redirect after the logout, to the `post_logout_redirect_uri`; `nil` if the request names none.
    let target: AuthorizationResponse?
    /// Whether the person must be asked before signing out. That is so if the browser has a session and the request has
    /// no ID token of that session, because any web page could send such a request.
    let needsQuestion: Bool

    /// Checks a logout request. `claims` reads an ID token that this issuer has signed, even if the token has expired.
    init(
        _ form: Form, at server: Issuer, in exchange: Exchange, claims: (String) -> JSONObject?
    ) throws(OAuthRefusal) {
        var hint: JSONObject?
        if let text = form["id_token_hint"] {
            guard let read = claims(text) else {
                throw OAuthRefusal("invalid_request", Diagnosis("id_token_hint isn't an ID token of this issuer"))
            }
            hint = read
        }
        let client = try LogoutRequest.client(form, hint, server, exchange)
        target = try LogoutRequest.target(form, client, exchange)
        let browser = exchange.session(at: server.realm)
        let hinted = hint?["sid"]?.string.flatMap { id in
            exchange.world.read { $0.session(withID: id, at: server.realm) }
        }
        session = browser ?? hinted
        // "If the supplied ID Token does not belong to the current OP session", the person is asked too.
        needsQuestion = browser != nil && browser?.id != hinted?.id
    }

    private static func client(
        _ form: Form, _ hint: JSONObject?, _ server: Issuer, _ exchange: Exchange
    ) throws(OAuthRefusal) -> ClientMetadata? {
        let audience = hint?["aud"]?.string
        guard let id = form["client_id"] ?? audience else { return nil }
        guard audience == nil || audience == id else {
            throw OAuthRefusal(
                "invalid_request", Diagnosis("client_id isn't the client to which id_token_hint was issued"))
        }
        return try server.knownClient(id, exchange)
    }

    private static func target(
        _ form: Form, _ client: ClientMetadata?, _ exchange: Exchange
    ) throws(OAuthRefusal) -> AuthorizationResponse? {
        guard let uri = form["post_logout_redirect_uri"] else { return nil }
        let known = client?.postLogoutRedirectURIs ?? []
        guard client?.mayUse(redirectURI: uri, among: known) ?? false else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: "post_logout_redirect_uri \(Diagnosis.quote(uri))",
                    expected: RegisteredRedirectURI.alternatives(known),
                    "send id_token_hint or client_id, and register the URI in postLogoutRedirectURIs"))
        }
        var response = AuthorizationResponse(redirectURI: exchange.reachable(uri), mode: .query)
        response.append("state", form["state"])
        return response
    }
}

/// The logout token that notifies a client of a session's end:
/// <https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken>.
enum LogoutToken {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    static func claims(
        issuer: String, client: String, subject: String, session: String, id: String, at now: Instant
    ) -> JSONObject {
        JSONObject([
            ("iss", .string(issuer)), ("aud", .string(client)), ("sub", .string(subject)), ("sid", .string(session)),
            ("iat", .numericDate(now)), ("exp", .numericDate(now + .minutes(2))), ("jti", .string(id)),
            ("events", .object(JSONObject([(event, [:])]))),
        ])
    }
}
