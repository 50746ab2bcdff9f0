import EmulatorCore
import JSON

/// The standard claims about a person in OpenID Connect:
/// <https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims>.
package enum StandardClaims {
    /// The claims that each standard scope grants: <https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims>.
    package static let ofScopes: [(scope: String, claims: [String])] = [
        (
            "profile",
            [
                "name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile",
                "picture", "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at",
            ]
        ),
        ("email", ["email", "email_verified"]), ("address", ["address"]),
        ("phone", ["phone_number", "phone_number_verified"]),
    ]

    private static let scopes: [String: String] = {
        let pairs = ofScopes.flatMap { entry in entry.claims.map { ($0, entry.scope) } }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }()

    /// Returns the standard scope that grants a claim; `nil` if none does.
    package static func scope(of claim: String) -> String? { scopes[claim] }

    /// The claims about the token itself, such as its issuer. A person's claims in the seed can't replace them.
    package static let ofTokens: Set<String> = [
        "iss", "sub", "aud", "exp", "iat", "nbf", "jti", "auth_time", "nonce", "acr", "azp", "at_hash", "c_hash", "sid",
        "events", "client_id", "scope", "act",
    ]
}

extension Account {
    /// The standard claims that follow from an account's name, ID, email address and phone number.
    package var standardClaims: [(name: String, value: JSONValue)] {
        var claims: [(name: String, value: JSONValue)] = [
            ("name", .string(fullName)), ("given_name", .string(name.given)), ("family_name", .string(name.family)),
            ("preferred_username", .string(id)), ("email", .string(email)), ("email_verified", .bool(emailVerified)),
        ]
        if let phoneNumber {
            claims += [("phone_number", .string(phoneNumber)), ("phone_number_verified", true)]
        }
        return claims
    }
}

/// The descriptions of OpenID Connect's standard scopes, for consent pages.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims>
package enum StandardScope {
    private static let words = [
        "openid": "who the person is", "profile": "the name and the profile", "email": "the e-mail address",
        "address": "the postal address", "phone": "the phone number",
        "offline_access": "access also while the person is away",
    ]

    /// Returns the descriptions of scopes for a consent page. An unknown scope is described by its name.
    package static func descriptions(of scopes: [String]) -> [String] {
        scopes.map { scope in words[scope].map { "\($0) (\(scope))" } ?? scope }
    }
}
