import EmulatorCore
import JOSE
import JSON
import Time

/// The claims of Limited Login's ID token, and of the one for a sign-in with the scope `openid`:
/// <https://developers.facebook.com/docs/facebook-login/limited-login/token>.
struct LimitedLogin: Sendable {
    static let lifetime = TimeSpan.hours(1)

    let app: String
    let account: Account
    let permissions: [String]
    /// The URL of the person's picture.
    let picture: String
    let nonce: String?
    /// The `jti`, unique to the token.
    let identifier: [UInt8]
    let issuedAt: Instant
    /// The access token beside it, for `at_hash`.
    var accessToken: String?
    /// The IDs of the friends that the app may see.
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
    /// Returns the claims of a person's token now.
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
        guard apps[wanted.client] != nil else { throw wanted.noSuchClient("app", hint: apps.hint(for: wanted.client)) }
        let token = try limitedLogin(
            try wanted.person(in: exchange), app: wanted.client,
            permissions: wanted.scopes ?? ["public_profile", "email"], nonce: wanted.nonce, in: exchange)
        return TokenDraft(claims: token.claims, owner: .facebook, type: "JWT")
    }
}
