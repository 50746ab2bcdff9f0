import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// POST /_understudy/v1/facebook/authorizations: what the Facebook SDK on a device would deliver
// https://developers.facebook.com/docs/facebook-login/limited-login/token
//
// Quirks: Limited Login brings an ID token in place of an access token.

extension FacebookProvider {
    private struct NativeRequest: SchemaObject {
        enum Tracking: String, CaseIterable {
            case enabled
            case limited
        }

        let client: String
        let account: String?
        let scopes: [String]
        let tracking: Tracking
        let nonce: String?

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The app ID.")
            account = fields.nullable("account", .text(.nonEmpty), "Who signs in on the device.")
            scopes = fields(
                "scopes", .set(of: .text(.nonEmpty)), default: ["public_profile", "email"], "Permissions.")
            tracking = fields(
                "tracking", .choice(Tracking.self), default: .enabled,
                "\"limited\" is Limited Login: an ID token in place of an access token.")
            nonce = fields.nullable("nonce", .text(.nonEmpty), "What the app gave the SDK as nonce.")
        }
    }

    /// What the Facebook SDK on a device would deliver.
    /// <https://developers.facebook.com/docs/facebook-login/limited-login/token>
    func authorizeNatively(_ exchange: Exchange) -> Response {
        let body: NativeRequest
        do { body = try exchange.body(NativeRequest.self) } catch { return error.response }
        let id = body.client
        guard let app = apps[id] else {
            return ControlAnswer.error(
                404, "noSuchClient", "no app \(Diagnosis.quote(id)) is seeded\(hint(for: id))", path: "$.client")
        }
        let requested = body.account
        let interaction = app.interaction ?? exchange.world.seed.interaction
        let permissions = body.scopes
        let isLimited = body.tracking == .limited
        let (outcome, found) = exchange.world.update { state -> (Outcome?, (Account, String, [UInt8], Instant)?) in
            let outcome = exchange.outcome(
                &state, provider: name, client: id, interaction: interaction, account: requested)
            guard outcome.map({ $0.kind == .approve }) ?? true,
                let account = requested.map({ state.account($0) }) ?? state.personSigningIn(interaction, outcome)
            else { return (outcome, nil) }
            let now = state.clock.now
            let grant = FacebookState.Grant(account: account.id, app: id, permissions: permissions, issuedAt: now)
            let token = isLimited ? "" : FacebookProvider.issue(&state, grant)
            return (outcome, (account, token, isLimited ? state.random.bytes(16) : [], now))
        }
        if let outcome, outcome.kind != .approve {
            return ControlAnswer.error(409, outcome.error ?? "canceled", "this was ordered as an outcome")
        }
        guard let (account, token, jti, now) = found else {
            return ControlAnswer.error(404, "noSuchAccount", "there is no such account to sign in", path: "$.account")
        }
        let userID = JSONValue.string(account.facebook.id)
        guard isLimited else { return ControlAnswer.ok(["userID": userID, "accessToken": .string(token)]) }
        let claims = FacebookProvider.limitedClaims(
            account, app: id, permissions: permissions, nonce: body.nonce, jti: jti, at: now)
        do {
            let minted = try exchange.mint(.facebook, claims, at: now, withType: true)
            return ControlAnswer.ok(["userID": userID, "authenticationToken": .string(minted)])
        } catch {
            return ControlAnswer.error(500, "signing", error.description)
        }
    }

    /// The claims of Limited Login's token.
    private static func limitedClaims(
        _ account: Account, app: String, permissions: [String], nonce: String?, jti: [UInt8], at time: Instant
    ) -> JSONObject {
        var claims = JSONObject([
            ("iss", .string(issuer)), ("aud", .string(app)), ("sub", .string(account.facebook.id)),
            ("iat", .numericDate(time)), ("exp", .numericDate(time + .hours(1))), ("jti", .string(Hex.encode(jti))),
        ])
        claims["nonce"] = nonce.map { .string($0) }
        if permissions.contains("email"), account.emailVerified { claims["email"] = .string(account.email) }
        claims["given_name"] = .string(account.name.given)
        claims["family_name"] = .string(account.name.family)
        claims["name"] = .string(account.fullName)
        claims["picture"] = .string(picture(account))
        return claims
    }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard apps[wanted.client] != nil else { throw wanted.noSuchClient("app", hint: hint(for: wanted.client)) }
        let account = try wanted.person(in: exchange)
        let (jti, now) = exchange.world.update { ($0.random.bytes(16), $0.clock.now) }
        let claims = FacebookProvider.limitedClaims(
            account, app: wanted.client, permissions: wanted.scopes ?? ["public_profile", "email"], nonce: wanted.nonce,
            jti: jti, at: now)
        return TokenDraft(claims: claims, owner: .facebook, withType: true)
    }
}
