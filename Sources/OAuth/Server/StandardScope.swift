/// Descriptions of OpenID Connect's scopes, for consent pages.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims>
enum StandardScope {
    private static let words = [
        "openid": "who the person is", "profile": "the name and the profile", "email": "the e-mail address",
        "address": "the postal address", "phone": "the phone number",
        "offline_access": "access also while the person is away",
    ]

    /// Returns descriptions of scopes. An unknown scope is described by its name.
    static func descriptions(of scopes: [String]) -> [String] {
        scopes.map { scope in words[scope].map { "\($0) (\(scope))" } ?? scope }
    }
}
