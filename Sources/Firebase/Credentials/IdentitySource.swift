import EmulatorCore
import JSON

/// A provider whose credentials Firebase judges, as a project's part of the seed configures it. It asks the provider over
/// its endpoints.
protocol IdentitySource: SchemaObject {
    /// Firebase's name of the provider, and the part's in the seed, such as `github.com`.
    static var id: String { get }
    /// What the part is, in a sentence for the seed's reference.
    static var about: String { get }
    /// Whose signing keys the provider's tokens are checked with.
    static var keyOwner: KeyOwner? { get }
    var isEnabled: Bool { get }

    /// Checks what the part says of other parts of the seed.
    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences)
    /// In answers the identifier is a URL.
    static func federatedID(_ rawID: String) -> String
    /// Whether the provider's word is enough for an address.
    /// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
    static func isTrusted(email: String?, isVerified: Bool) -> Bool
    /// Where the web flow begins, asking for `scopes` beside what Firebase asks for itself.
    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization
    /// Who somebody is, as a credential shows.
    func identity(
        of credential: Credential, in call: FirebaseCall
    ) async throws(FirebaseError) -> FederatedIdentity
}

extension IdentitySource {
    static var keyOwner: KeyOwner? { nil }

    static func isTrusted(email: String?, isVerified: Bool) -> Bool { false }
}

/// A provider's authorization endpoint and the fields that Firebase sends there.
struct WebAuthorization: Sendable {
    let host: String
    let path: String
    let fields: [(String, String)]
}

/// The providers that Firebase knows.
enum IdentitySources {
    static let all: [any IdentitySource.Type] = [
        AppleSource.self, GitHubSource.self, GoogleSource.self, FacebookSource.self,
    ]

    static func source(_ id: String) -> (any IdentitySource.Type)? { all.first { $0.id == id } }

    /// Whose keys a sign-in may need.
    static var keyOwners: [KeyOwner] { all.compactMap { $0.keyOwner } }
}
