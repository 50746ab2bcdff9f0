import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// POST /_understudy/v1/facebook/authorizations: the result of the Facebook SDK on a device.
//
// Quirk: Limited Login yields an ID token instead of an access token.

extension FacebookProvider {
    var nativeCall: Endpoint {
        .control(
            "POST", "facebook/authorizations", "Signs a person in on a device: what the Facebook SDK would deliver.",
            reads: .body(NativeRequest.self),
            answers: [
                .json(
                    "The result that the app gets.",
                    .members(
                        "FacebookUser",
                        [
                            .required("userID", .string, "The person's ID."),
                            .optional("accessToken", .string, "The access token."),
                            .optional("authenticationToken", .string, "With Limited Login, the ID token in its place."),
                        ]))
            ] + CallAnswer.nativeRefusals, keys: [.facebook],
            // https://github.com/facebook/facebook-ios-sdk/blob/main/FBSDKLoginKit/FBSDKLoginKit/LoginErrorCode.swift
            .native(
                errors: ["canceled"],
                others: [
                    "unknown", "passwordChanged", "userCheckpointed", "userMismatch", "unconfirmedUser",
                    "systemAccountAppDisabled", "systemAccountUnavailable", "badChallengeString", "invalidIDToken",
                    "missingAccessToken",
                ], mints: .facebook)
        ) { try authorizeNatively($0, $1) }.titled("the SDK on a device")
    }

    private struct NativeRequest: SchemaObject {
        static let schemaName: String? = "FacebookAuthorization"

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
            account = fields.nullable("account", .text(.nonEmpty), "The account that signs in on the device.")
            scopes = fields(
                "scopes", .set(of: .text(.nonEmpty)), default: ["public_profile", "email"], "Permissions.")
            tracking = fields(
                "tracking", .choice(Tracking.self), default: .enabled,
                "\"limited\" is Limited Login: an ID token in place of an access token.")
            nonce = fields.nullable("nonce", .text(.nonEmpty), "The nonce that the app gave to the SDK.")
        }
    }

    private func authorizeNatively(_ exchange: Exchange, _ body: NativeRequest) throws -> Response {
        let app = try apps.client(named: body.client)
        let account = try exchange.nativeAccount(provider: name, client: app, account: body.account)
        // The SDK reports this as a cancel: https://github.com/facebook/facebook-ios-sdk/issues/2365.
        guard app.admits(account) else {
            throw ControlRefusal(
                ControlAnswer.error(409, "canceled", app.reason(againstAdmitting: account).line))
        }
        let permissions = FacebookPermission.asked(body.scopes)
        let userID = JSONValue.string(account.facebook.id)
        guard body.tracking == .limited else {
            guard let token = try makeAccessToken(of: account, app: app.id, permissions, exchange) else {
                throw Decision.noSuchAccount
            }
            return ControlAnswer.ok(["userID": userID, "accessToken": .string(token)])
        }
        let token = try limitedLogin(
            account, app: app.id, permissions: permissions, nonce: body.nonce, in: exchange)
        return ControlAnswer.ok(["userID": userID, "authenticationToken": .string(try mint(token, exchange))])
    }

    /// Makes an access token for a sign-in with Facebook's SDK on a device; `nil` if the person's account was deleted.
    private func makeAccessToken(
        of account: Account, app: String, _ permissions: [String], _ exchange: Exchange
    ) throws -> String? {
        try exchange.world.update(for: account.id) { tables in
            let grant = tables.consent(account.id, to: app, asked: permissions, approving: permissions)
            return tables.makeAccessToken(grant, issuedAt: tables.now)
        }
    }

    private func mint(_ token: LimitedLogin, _ exchange: Exchange) throws(ControlRefusal) -> String {
        do { return try exchange.mint(.facebook, token.claims, at: token.issuedAt, type: "JWT") } catch {
            throw .signing(error)
        }
    }
}

/// The content of Facebook's ID token, both for Limited Login and for other sign-ins.
struct LimitedLogin: Sendable {
    static let lifetime = TimeSpan.hours(1)

    let app: String
    let account: Account
    let permissions: [String]
    /// The URL of the person's Facebook profile picture.
    let picture: String
    let nonce: String?
    /// The unique ID of the ID token, for its claim `jti`.
    let identifier: [UInt8]
    let issuedAt: Instant
    /// The access token that is issued together with the ID token, for the claim `at_hash`; `nil` if no access token is
    /// issued.
    var accessToken: String?
    /// The Facebook user IDs of those friends of the person whom the app may see.
    var friends: [String] = []

    var claims: JSONObject {
        var claims = JSONObject([
            ("iss", .string(FacebookProvider.issuer)), ("aud", .string(app)), ("sub", .string(account.facebook.id)),
            ("iat", .numericDate(issuedAt)), ("exp", .numericDate(issuedAt + LimitedLogin.lifetime)),
            ("jti", .string(Hex.encode(identifier))),
        ])
        claims["nonce"] = nonce.map { .string($0) }
        claims["at_hash"] = accessToken.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        if permissions.contains("email"), account.emailVerified { claims["email"] = .string(account.email) }
        claims["given_name"] = .string(account.name.given)
        claims["family_name"] = .string(account.name.family)
        claims["name"] = .string(account.fullName)
        claims["picture"] = .string(picture)
        for detail in account.facebook.details where permissions.contains(detail.permission) {
            claims[detail.permission] = detail.value
        }
        if permissions.contains("user_friends") { claims["user_friends"] = .array(friends.map { .string($0) }) }
        return claims
    }
}

extension FacebookProvider {
    func limitedLogin(
        _ account: Account, app: String, permissions: [String], nonce: String?, accessToken: String? = nil,
        in exchange: Exchange
    ) throws -> LimitedLogin {
        let (identifier, now, friends) = try exchange.world.update { tables in
            (tables.random.bytes(16), tables.now, tables.friends(of: account, in: app).map(\.facebook.id))
        }
        return LimitedLogin(
            app: app, account: account, permissions: permissions,
            picture: exchange.reachable(FacebookProvider.picture(account)), nonce: nonce, identifier: identifier,
            issuedAt: now, accessToken: accessToken, friends: friends)
    }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws -> TokenDraft? {
        _ = try apps.client(of: wanted)
        let token = try limitedLogin(
            try wanted.person(in: exchange), app: wanted.client,
            permissions: wanted.scopes ?? ["public_profile", "email"], nonce: wanted.nonce, in: exchange)
        return TokenDraft(claims: token.claims, owner: .facebook, type: "JWT")
    }
}
