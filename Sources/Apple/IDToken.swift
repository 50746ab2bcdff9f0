import JOSE
import JSON
import EmulatorCore
import Time

/// The claims of Apple's ID token, in Apple's order.
/// <https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple>
///
/// Quirks: there is never a name or a photo; `nonce` is returned exactly as it was sent; Booleans may be the strings
/// "true" and "false"; `email` exists only if that scope was granted. `is_private_email` is missing if it is false,
/// which is our choice: Apple's page allows "true" and "false", and doesn't say whether the claim can be missing. A
/// client must accept both.
struct IDToken: Sendable {
    let issuer: String
    let client: AppleDirectory.Client
    let grant: AppleGrant
    let account: Account
    var nonce: String?
    let authenticatedAt: Instant
    let issuedAt: Instant
    /// The code, if the token is issued beside one; for `c_hash`.
    var code: String?
    /// The access token, if the token comes from the token endpoint; for `at_hash`.
    var accessToken: String?
    /// The status; only in a new user's first native sign-in.
    var realUserStatus: Int64?

    func claims(_ settings: AppleSection) -> JSONObject {
        let team = grant.team
        var members: [(String, JSONValue)] = [
            ("iss", .string(issuer)), ("aud", .string(client.id)),
            ("exp", .numericDate(issuedAt + settings.idTokenLifetime)),
            ("iat", .numericDate(issuedAt)),
            ("sub", .string(AppleIdentifiers.subject(account: account.id, team: team))),
        ]
        if let nonce { members.append(("nonce", .string(nonce))) }
        if let code { members.append(("c_hash", .string(Algorithm.rs256.leftHalf(of: code)))) }
        if let accessToken { members.append(("at_hash", .string(Algorithm.rs256.leftHalf(of: accessToken)))) }
        if grant.scopes.contains(.email) {
            // A relay address is always verified, because Apple made it.
            let isVerified = !grant.sharesEmail || account.emailVerified
            members.append(("email", .string(grant.email(of: account))))
            members.append(("email_verified", settings.boolean(isVerified)))
            if !grant.sharesEmail { members.append(("is_private_email", settings.boolean(true))) }
        }
        members += [("auth_time", .numericDate(authenticatedAt)), ("nonce_supported", .bool(true))]
        if let realUserStatus { members.append(("real_user_status", .integer(realUserStatus))) }
        if let transfer = client.transfer, issuedAt >= transfer.at,
            issuedAt < transfer.at + AppleSection.Transfer.period
        {
            let subject = AppleIdentifiers.transferSubject(account: account.id, from: transfer.fromTeam, to: team)
            members.append(("transfer_sub", .string(subject)))
        }
        return JSONObject(members)
    }
}

extension AppleSection {
    /// Returns a Boolean claim in the form that the seed chooses.
    func boolean(_ value: Bool) -> JSONValue {
        switch booleanClaims {
        case .boolean: .bool(value)
        case .string: .string(value ? "true" : "false")
        }
    }
}
