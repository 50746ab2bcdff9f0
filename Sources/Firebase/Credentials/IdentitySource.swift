import EmulatorCore
import JSON

/// A provider whose credentials Firebase judges, as a project has configured it. It asks the provider over its endpoints.
protocol IdentitySource: Sendable {
    var isEnabled: Bool { get }

    /// Where the web flow begins, asking for `scopes` beside what Firebase asks for itself.
    func authorization(
        scopes: [String], in exchange: Exchange
    ) async throws -> WebAuthorization
    /// Who somebody is, as a credential shows.
    func identity(
        of credential: Credential, in call: FirebaseCall
    ) async throws -> FederatedIdentity
}

/// One of the providers that Firebase knows by name: a project has each at most once, in the seed.
protocol KnownSource: IdentitySource, SchemaObject {
    /// Firebase's name of the provider, and the part's in the seed, such as `github.com`.
    static var id: String { get }
    /// The provider's name, as people write it.
    static var title: String { get }
    /// What the part is, in a sentence for the seed's reference.
    static var about: String { get }
    /// Whose signing keys the provider's tokens are checked with.
    static var keyOwner: KeyOwner? { get }
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
    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async throws -> RelayedMessage?
    /// The same, for a provider whose authorization endpoint is known without asking.
    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization
}

extension KnownSource {
    func authorization(
        scopes: [String], in exchange: Exchange
    ) async throws -> WebAuthorization { authorization(scopes: scopes, exchange.world.seed) }

    static var keyOwner: KeyOwner? { nil }
    var bundleIDs: [String] { [] }

    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async throws -> RelayedMessage?
    { nil }

    static func isTrusted(email: String?, isVerified: Bool) -> Bool { false }
}

/// A provider's authorization endpoint and the fields that Firebase sends there.
struct WebAuthorization: Sendable {
    let host: String
    let path: String
    let fields: [(String, String)]
    /// Whether the ID token must bring a nonce that Firebase makes.
    var needsNonce = false
}

/// A provider that takes its tokens back when Firebase asks for it.
protocol RevokingSource: KnownSource {
    /// Redeems an authorization code, and revokes what it grants.
    func revoke(code: String, in call: FirebaseCall) async throws
    /// Revokes an access or refresh token; `type` is OAuth's `token_type_hint`.
    func revoke(_ token: String, type: String, in call: FirebaseCall) async throws
}

/// What became of a message to an address at which a provider relays messages.
struct RelayedMessage: Sendable {
    /// The person's own address, unless the message was refused.
    let forwardedTo: String?
    /// Who it is from when it gets there.
    let sender: String?
    /// The relay's answer, or in words what it did.
    let refusal: String?
    /// Why it was refused, and what to do.
    let reason: String?

    /// Where to, or the refusal.
    var outcome: String { forwardedTo.map { "forwarded to \($0)" } ?? refusal ?? "refused" }
}

extension FirebaseProvider {
    /// The provider of a project or tenant that has this ID, if people may sign in with it.
    func source(_ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange)
        throws(FirebaseError) -> any IdentitySource
    {
        guard let source = configuredSource(id, of: project, pool, in: exchange) else {
            throw FirebaseProvider.notConfigured(id, takesFakes: project.takesFakes)
        }
        guard source.isEnabled else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "The identity provider configuration is disabled.",
                because: "the provider \(Diagnosis.quote(id)) is configured with \"enabled\": false")
        }
        return source
    }

    /// The provider of a project or tenant that has this ID, enabled or not.
    func configuredSource(
        _ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange
    ) -> (any IdentitySource)? {
        guard id.hasPrefix(OAuthIdpConfig.prefix) else { return project.providers.source(id) }
        return exchange.world.read { $0.find(OAuthIdpConfig.self, OAuthIdpConfig.Key(pool: pool, id: id)) }
            .map { OpenIDSource($0) }
    }
}

/// The providers that Firebase knows by name.
enum IdentitySources {
    static let all: [any KnownSource.Type] = [
        AppleSource.self, GitHubSource.self, GoogleSource.self, FacebookSource.self,
    ]

    /// How the IDs of iOS clients end. Turned around they are the URL schemes of their apps.
    static let appClientSuffix = GoogleSource.appClientSuffix

    static var revoking: [any RevokingSource.Type] { all.compactMap { $0 as? any RevokingSource.Type } }

    static func source(_ id: String) -> (any KnownSource.Type)? { all.first { $0.id == id } }

    /// Whose keys a sign-in may need.
    static var keyOwners: [KeyOwner] { all.compactMap { $0.keyOwner } }
}
