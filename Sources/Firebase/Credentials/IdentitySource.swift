import EmulatorCore
import HTTPServer
import JSON

/// A provider whose credentials Firebase checks, as a project has configured it. It asks the provider over its
/// endpoints.
protocol IdentitySource: Sendable {
    var isEnabled: Bool { get }

    /// Returns the address at which the web flow begins. `scopes` are asked for beside those that Firebase needs
    /// itself.
    func authorization(scopes: [String], in exchange: Exchange) async throws -> WebAuthorization
    /// Returns the person's identity that a credential shows.
    func identity(of credential: Credential, in call: FirebaseCall) async throws -> FederatedIdentity
}

/// A provider that Firebase knows by name. A project has each at most once, in the seed.
protocol KnownSource: IdentitySource, SchemaObject {
    /// Firebase's name of the provider, and that of its part of the seed, such as `github.com`.
    static var id: String { get }
    /// The provider's name, as people write it.
    static var title: String { get }
    /// A sentence about the part for the seed's reference.
    static var about: String { get }
    /// The owner of the signing keys with which the provider's tokens are checked.
    static var keyOwner: KeyOwner? { get }
    /// The apps in which people sign in natively. Sign-ins from the web return to no other apps. Empty if the seed
    /// doesn't list any.
    var bundleIDs: [String] { get }

    /// Checks the part's references to other parts of the seed.
    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences)
    /// Returns the URL that stands for an ID in answers.
    static func federatedID(_ rawID: String) -> String
    /// Whether Firebase trusts the provider to have verified an address.
    /// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
    static func isTrusted(email: String?, isVerified: Bool) -> Bool
    /// Has the provider forward a message to one of its relay addresses; `nil` for other addresses.
    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async throws -> RelayedMessage?
    /// The provider's members in `defaultSupportedIdpConfigs`, without `enabled`.
    var config: JSONObject { get }
    /// Returns the part of the seed for the members of `defaultSupportedIdpConfigs`.
    static func seed(of config: JSONObject) -> JSONObject
    /// Returns the address at which the web flow begins, for a provider whose authorization endpoint is fixed.
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

/// A known provider at which a project has one client.
protocol ClientSource: KnownSource {
    /// The provider's section of the seed.
    static var section: String { get }
    var clientID: String { get }
    var clientSecret: String? { get }
}

extension ClientSource {
    var config: JSONObject { JSONObject(["clientId": clientID, "clientSecret": clientSecret]) }

    static func seed(of config: JSONObject) -> JSONObject {
        JSONObject(["clientID": config["clientId"], "clientSecret": config["clientSecret"]])
    }

    /// Returns the project's client secret, or the one that the client has in the provider's section of the seed.
    func secret(in call: FirebaseCall) -> String {
        let section = call.exchange.world.seed.section(named: Self.section)
        return clientSecret ?? section?.secret(ofClient: clientID) ?? ""
    }
}

extension Response {
    /// The body of a provider's answer as JSON; `nil` if it isn't.
    var document: JSONValue? { try? JSONValue(parsing: body, limits: .answer) }
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A provider's authorization endpoint and the fields that Firebase sends there.
struct WebAuthorization: Sendable {
    let host: String
    let path: String
    let fields: [(String, String)]
    /// Whether the ID token must have a nonce that Firebase makes.
    var needsNonce = false
}

/// A provider that revokes its tokens when Firebase asks for it.
protocol RevokingSource: KnownSource {
    /// Redeems an authorization code, and revokes the grant.
    func revoke(code: String, in call: FirebaseCall) async throws
    /// Revokes an access or refresh token; `type` is OAuth's `token_type_hint`.
    func revoke(_ token: String, type: String, in call: FirebaseCall) async throws
}

/// The outcome of a message to a provider's relay address.
struct RelayedMessage: Sendable {
    /// The person's own address, unless the message was refused.
    let forwardedTo: String?
    /// The sender of the forwarded message.
    let sender: String?
    /// The relay's answer, or a description of what it did.
    let refusal: String?
    /// The reason for the refusal, with advice.
    let reason: String?

    /// A description of the outcome: the address to which it was forwarded, or the refusal.
    var outcome: String { forwardedTo.map { "forwarded to \($0)" } ?? refusal ?? "refused" }
}

extension FirebaseProvider {
    /// Returns the provider of a project or tenant with this ID, if it is enabled.
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

    /// Returns the provider of a project or tenant with this ID, enabled or not.
    func configuredSource(
        _ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange
    ) -> (any IdentitySource)? {
        guard id.hasPrefix(OAuthIdpConfig.prefix) else { return knownSource(id, of: project, pool, in: exchange) }
        return exchange.world.read { $0.find(OAuthIdpConfig.self, OAuthIdpConfig.Key(pool: pool, id: id)) }
            .map { OpenIDSource($0) }
    }

    /// Returns a provider that Firebase knows by name: as an administrator has configured it, or as the seed has.
    func knownSource(_ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange) -> (any KnownSource)? {
        let key = ProviderConfig.Key(pool: pool, kind: .known, id: id)
        guard let config = exchange.world.read({ $0.find(ProviderConfig.self, key) }) else {
            return project.providers.source(id)
        }
        return config.source
    }
}

/// The list of the providers that Firebase knows by name.
enum IdentitySources {
    static let all: [any KnownSource.Type] = [
        AppleSource.self, GitHubSource.self, GoogleSource.self, FacebookSource.self, MicrosoftSource.self,
    ]

    /// The suffix of iOS clients' IDs. Turned around, such an ID is the URL scheme of the app.
    static let appClientSuffix = GoogleSource.appClientSuffix

    static var revoking: [any RevokingSource.Type] { all.compactMap { $0 as? any RevokingSource.Type } }

    static func source(_ id: String) -> (any KnownSource.Type)? { all.first { $0.id == id } }

    /// The owners of the keys that a sign-in may need.
    static var keyOwners: [KeyOwner] { all.compactMap { $0.keyOwner } }
}
