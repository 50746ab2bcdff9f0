import Dispatch
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// Cross-Account Protection: security events that Google posts to an app's receiver.
// https://developers.google.com/identity/protocols/risc
//
// Quirks: the issuer ends with a slash, unlike that of ID tokens. The token is the whole body. The seed has the
// receiver's address: apps register theirs by the RISC API, which is for service accounts and isn't served.

/// A security event in a person's Google account, for Google's Cross-Account Protection.
private enum SecurityEvent: String, CaseIterable, Sendable {
    case sessionsRevoked = "sessions-revoked"
    case tokensRevoked = "tokens-revoked"
    case tokenRevoked = "token-revoked"
    case accountDisabled = "account-disabled"
    case accountEnabled = "account-enabled"
    case credentialChangeRequired = "account-credential-change-required"
    /// A test event that Google sends to check the receiver of security events.
    case verification

    var type: String {
        let family = self == .tokensRevoked || self == .tokenRevoked ? "oauth" : "risc"
        return "https://schemas.openid.net/secevent/\(family)/event-type/\(rawValue)"
    }
}

extension GoogleProvider {
    private static let push = "https://schemas.openid.net/secevent/risc/delivery-method/push"
    /// The pauses between attempts to deliver a security event. "Events are delivered with limited retries." Google
    /// doesn't document the number of attempts.
    private static let pauses: [DispatchTimeInterval] = [.milliseconds(500), .seconds(1), .seconds(2)]

    private func securityIssuer(_ exchange: Exchange) -> JSONValue { .string(issuer(exchange) + "/") }

    /// Handles GET /.well-known/risc-configuration. Google's document also has addresses of the RISC API, which the
    /// stand-in leaves out.
    func securityConfiguration(_ exchange: Exchange) -> Response {
        GoogleProvider.json([
            "issuer": securityIssuer(exchange),
            "jwks_uri": .string(exchange.address.base(of: GoogleProvider.apiHost) + "/oauth2/v3/certs"),
            "delivery_methods_supported": [.string(GoogleProvider.push)],
        ])
    }

    // MARK: - POST /_understudy/v1/google/security-events

    var securityEventCall: Endpoint {
        .control(
            "POST", "google/security-events",
            "Sends a security event of Cross-Account Protection and tells what became of it. The two events about tokens revoke them.",
            reads: .body(SecurityEventOrder.self),
            answers: [
                .json(
                    "The event has happened.",
                    OutgoingMessage.Delivery.schema(beside: [
                        .optional("event", .map(of: .any), "The event's part of the token."),
                        .optional("token", .string, "The security event token, a signed JSON Web Token."),
                    ])),
                .refusal(404, "noSuchClient", "There is no such client."),
                .refusal(404, "noSuchAccount", "There is no such account."),
                .refusal(404, "noSuchToken", "No such refresh token works."),
                .refusal(409, "noConsent", "The person hasn't granted the client `email` or `profile`."),
                .refusal(500, "signing", "The token can't be signed; the event has happened."),
            ], keys: [.google]
        ) { try await sendSecurityEvent($0, $1) }
    }

    private struct SecurityEventOrder: SchemaObject {
        static let schemaName: String? = "GoogleSecurityEvent"

        let event: SecurityEvent
        let client: String
        let account: String?
        let refreshToken: String?
        let reason: String?
        let state: String?

        init(_ fields: inout Fields) {
            event = fields("type", .choice(SecurityEvent.self), "The event.")
            client = fields("client", .text(.nonEmpty), "The client ID of the app that is told.")
            account = fields.nullable(
                "account", .text(.nonEmpty), "The ID of the account; not for `token-revoked` and `verification`.")
            refreshToken = fields.nullable("refreshToken", .text(.nonEmpty), "For `token-revoked`: the token.")
            reason = fields.nullable(
                "reason", .choice(["hijacking", "bulk-account"]), "For `account-disabled`: the reason.")
            state = fields.nullable(
                "state", .text(.nonEmpty), "For `verification`: a text by which the receiver recognizes the event.")
        }
    }

    private func sendSecurityEvent(_ exchange: Exchange, _ order: SecurityEventOrder) async throws -> Response {
        let (event, token): (JSONObject, String)
        do {
            let client = try clients.client(named: order.client)
            event = try happen(order, to: client, exchange)
            token = try securityEventToken(order.event, event, for: client, exchange)
        } catch let error as ControlRefusal { return error.response }
        var answer: JSONObject
        if let url = settings.securityEventsURL {
            // https://datatracker.ietf.org/doc/html/rfc8935#section-2.1
            let message = OutgoingMessage(to: url, contentType: "application/secevent+jwt", body: Array(token.utf8))
            answer = await exchange.post(message, pauses: GoogleProvider.pauses).json(of: message)
        } else {
            let reason = "the seed's google has no securityEventsURL: nobody was told"
            answer = JSONObject([("delivered", false), ("attempts", 0), ("failure", .string(reason))])
        }
        answer["event"] = .object(event)
        answer["token"] = .string(token)
        return ControlAnswer.ok(.object(answer))
    }

    /// Applies a security event to the person's tokens, and returns the event as JSON.
    private func happen(
        _ order: SecurityEventOrder, to client: GoogleClient, _ exchange: Exchange
    ) throws -> JSONObject {
        switch order.event {
        case .verification:
            var event = JSONObject()
            event["state"] = order.state.map { .string($0) }
            return event
        case .tokenRevoked: return try revokeToken(order, of: client, exchange)
        default: break
        }
        guard let id = order.account else {
            throw ControlRefusal(
                ControlAnswer.error(400, "invalidBody", "\(order.event.rawValue) needs an account", path: "$.account"))
        }
        let reason = exchange.cause("Google revoked the tokens of \(Diagnosis.quote(client.id))")
        let found = try exchange.world.update { tables -> (account: Account?, isTold: Bool) in
            let account = tables.account(id)
            guard let account, let grant = tables.grant(GoogleGrant.self, of: id, to: client.id),
                !tables.endIfExpired(grant)
            else { return (account, false) }
            let scopes = GoogleScopes(grant.scopes)
            guard scopes.contains("email") || scopes.contains("profile") else { return (account, false) }
            if order.event == .tokensRevoked { tables.end(grant, because: reason) }
            return (account, true)
        }
        guard let account = found.account else {
            throw ControlRefusal(
                ControlAnswer.error(404, "noSuchAccount", exchange.noAccount(id), path: "$.account"))
        }
        guard found.isTold else {
            let message =
                "account \(Diagnosis.quote(id)) has granted \(Diagnosis.quote(client.id)) neither email nor profile: sign in first"
            throw ControlRefusal(ControlAnswer.error(409, "noConsent", message, path: "$.account"))
        }
        let subject: JSONValue = [
            "subject_type": "iss-sub", "iss": securityIssuer(exchange), "sub": .string(account.google.sub),
        ]
        var event = JSONObject([("subject", subject)])
        if order.event == .accountDisabled { event["reason"] = order.reason.map { .string($0) } }
        return event
    }

    /// Revokes the refresh token that a security event is about. In the event, Google identifies the token by its
    /// prefix or by a hash; this stand-in uses the prefix.
    private func revokeToken(
        _ order: SecurityEventOrder, of client: GoogleClient, _ exchange: Exchange
    ) throws -> JSONObject {
        let text = order.refreshToken ?? ""
        let reason = exchange.cause("Google revoked it")
        let isRevoked = try exchange.world.update { tables in
            guard let token = tables.find(Token<GoogleGrant>.self, text), token.kind == .refresh,
                token.client == client.id, let grant = tables.find(GoogleGrant.self, token.grant),
                !tables.endIfExpired(grant)
            else { return false }
            tables.remove(Token<GoogleGrant>.self, text)
            tables.put(EndedCredential<GoogleGrant>(text, of: grant.account, because: reason))
            return true
        }
        guard isRevoked else {
            let message =
                text.isEmpty
                ? "token-revoked needs a refreshToken"
                : exchange.reason(againstUsing: text, .refresh, GoogleGrant.self, of: client.id)
            throw ControlRefusal(ControlAnswer.error(404, "noSuchToken", message, path: "$.refreshToken"))
        }
        let subject: JSONValue = [
            "subject_type": "oauth_token", "token_type": "refresh_token", "token_identifier_alg": "prefix",
            "token": .string(String(text.prefix(16))),
        ]
        return JSONObject([("subject", subject)])
    }

    /// Returns the signed security event token. Google doesn't document the `typ` of its header.
    private func securityEventToken(
        _ kind: SecurityEvent, _ event: JSONObject, for client: GoogleClient, _ exchange: Exchange
    ) throws -> String {
        let (now, jti) = try exchange.world.update { ($0.now, Hex.encode($0.random.bytes(16))) }
        let claims = JSONObject([
            ("iss", securityIssuer(exchange)), ("aud", .string(client.id)), ("iat", .numericDate(now)),
            ("jti", .string(jti)), ("events", .object(JSONObject([(kind.type, .object(event))]))),
        ])
        do { return try exchange.world.keys[.google].mint(claims, at: now, type: "JWT") } catch {
            throw ControlRefusal.signing(error)
        }
    }
}
