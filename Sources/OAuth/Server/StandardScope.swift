/// OpenID Connect's scopes in words, for people who are asked for consent.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims>
enum StandardScope {
    private static let words = [
        "openid": "who the person is", "profile": "the name and the profile", "email": "the e-mail address",
        "address": "the postal address", "phone": "the phone number",
        "offline_access": "access also while the person is away",
    ]

    /// Other scopes stand as they are.
    static func descriptions(of scopes: [String]) -> [String] {
        scopes.map { scope in words[scope].map { "\($0) (\(scope))" } ?? scope }
    }
}
