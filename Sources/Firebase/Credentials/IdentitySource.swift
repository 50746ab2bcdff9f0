import EmulatorCore
import JSON

/// A provider whose credentials Firebase judges, as a project's part of the seed configures it. It asks the provider over
/// its endpoints.
protocol IdentitySource: SchemaObject {
    /// Firebase's name of the provider, and the part's in the seed, such as `github.com`.
    static var id: String { get }
    /// The provider's name, as people write it.
    static var title: String { get }
    /// What the part is, in a sentence for the seed's reference.
    static var about: String { get }
    /// Whose signing keys the provider's tokens are checked with.
    static var keyOwner: KeyOwner? { get }
    var isEnabled: Bool { get }
    /// The apps by which people sign in natively: the others may not be handed a sign-in from the web. Empty when the part
    /// doesn't say.
    var bundleIDs: [String] { get }

    /// Checks what the part says of other parts of the seed.
    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences)
    /// In answers the identifier is a URL.
    static func federatedID(_ rawID: String) -> String
    /// Whether Firebase trusts the provider to have verified an address.
    /// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
    static func isTrusted(email: String?, isVerified: Bool) -> Bool
    /// Has the provider forward a message to an address of its own at which it relays messages; `nil` for other addresses.
    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async -> RelayedMessage?
    /// Where the web flow begins, asking for `scopes` beside what Firebase asks for itself.
    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization
    /// Who somebody is, as a credential shows.
    func identity(
        of credential: Credential, in call: FirebaseCall
    ) async throws(FirebaseError) -> FederatedIdentity
}

extension IdentitySource {
    static var keyOwner: KeyOwner? { nil }
    var bundleIDs: [String] { [] }

    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async -> RelayedMessage? { nil }

    static func isTrusted(email: String?, isVerified: Bool) -> Bool { false }
}

/// A provider's authorization endpoint and the fields that Firebase sends there.
struct WebAuthorization: Sendable {
    let host: String
    let path: String
    let fields: [(String, String)]
}

/// A provider that takes its tokens back when Firebase asks for it.
protocol RevokingSource: IdentitySource {
    /// Redeems an authorization code, and revokes what it grants.
    func revoke(code: String, in call: FirebaseCall) async throws(FirebaseError)
    /// Revokes an access or refresh token; `type` is OAuth's `token_type_hint`.
    func revoke(_ token: String, type: String, in call: FirebaseCall) async throws(FirebaseError)
}

/// What became of a message to an address at which a provider relays messages.
struct RelayedMessage: Sendable {
    let isForwarded: Bool
    /// Where to, or the refusal.
    let outcome: String
}

/// The providers that Firebase knows.
enum IdentitySources {
    static let all: [any IdentitySource.Type] = [
        AppleSource.self, GitHubSource.self, GoogleSource.self, FacebookSource.self,
    ]

    /// How the IDs of iOS clients end. Turned around they are the URL schemes of their apps.
    static let appClientSuffix = GoogleSource.appClientSuffix

    static var revoking: [any RevokingSource.Type] { all.compactMap { $0 as? any RevokingSource.Type } }

    static func source(_ id: String) -> (any IdentitySource.Type)? { all.first { $0.id == id } }

    /// Whose keys a sign-in may need.
    static var keyOwners: [KeyOwner] { all.compactMap { $0.keyOwner } }
}
