import EmulatorCore
import JOSE
import JSON
import Time

/// The claims of Google's ID token, in Google's order.
/// <https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload>
struct IDToken: Sendable {
    static let lifetime = TimeSpan.hours(1)

    let issuer: String
    /// The audience.
    let client: String
    /// The client that requested the token, `azp`. An app on a device requests a token for its backend.
    var app: String?
    let account: Account
    let details: GoogleGrant.TokenDetails
    let issuedAt: Instant
    /// The access token beside it, for `at_hash`.
    var accessToken: String?
    /// The code beside it, for `c_hash`.
    var code: String?
    /// The `jti`, which tokens of Google's script for browsers have together with `nbf`:
    /// <https://developers.google.com/identity/gsi/web/reference/js-reference#credential>. That `nbf` is five minutes
    /// before `iat` isn't documented.
    var identifier: String?

    var claims: JSONObject {
        var claims = JSONObject([
            ("iss", .string(issuer)), ("azp", .string(app ?? client)), ("aud", .string(client)),
            ("sub", .string(account.google.sub)),
        ])
        claims["hd"] = account.google.hostedDomain.map { .string($0) }
        for (name, value) in details.scopes.profile(of: account) { claims[name] = value }
        claims["at_hash"] = accessToken.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        claims["c_hash"] = code.map { .string(Algorithm.rs256.leftHalf(of: $0)) }
        claims["nonce"] = details.nonce.map { .string($0) }
        claims["auth_time"] = details.authTime.map { .numericDate($0) }
        claims["amr"] = details.methods.map { .array($0.map { .string($0) }) }
        if identifier != nil { claims["nbf"] = .numericDate(issuedAt - .minutes(5)) }
        claims["iat"] = .numericDate(issuedAt)
        claims["exp"] = .numericDate(issuedAt + IDToken.lifetime)
        claims["jti"] = identifier.map { .string($0) }
        return claims
    }

    func minted(_ exchange: Exchange) throws(KeyError) -> String {
        try exchange.mint(.google, claims, at: issuedAt, type: "JWT")
    }
}
