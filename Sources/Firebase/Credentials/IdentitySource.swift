import EmulatorCore
import HTTPServer
import JSON

/// An identity provider as a Firebase project has configured it. It checks credentials by requests to the provider's
/// own endpoints.
protocol IdentitySource: Sendable {
    var isEnabled: Bool { get }

    /// Returns the request that begins a sign-in in the browser. `scopes` are the scopes that the app asks for. For
    /// some providers, Firebase adds scopes that it needs itself.
    func authorization(scopes: [String], in exchange: Exchange) async throws -> WebAuthorization
    /// Checks a credential of the identity provider, and returns the person's identity.
    func identity(of credential: Credential, in call: FirebaseCall) async throws -> FederatedIdentity
}

/// An identity provider that Firebase knows by name, such as Apple. A project in the seed can have each such provider
/// once.
protocol KnownSource: IdentitySource, SchemaObject {
    /// The ID of the identity provider in Firebase, such as `github.com`. Its settings in the seed have the same name.
    static var id: String { get }
    /// The identity provider's name in texts, such as "GitHub".
    static var title: String { get }
    /// The sentence that describes the identity provider's settings in the documentation of seed files.
    static var about: String { get }
    /// The token issuer to which the identity provider's signing keys belong; `nil` if the provider signs no tokens.
    static var keyOwner: KeyOwner? { get }
    /// The bundle IDs of the apps in which people sign in natively. If there are any, a sign-in in the browser that
    /// returns to an app must name one of them.
    var bundleIDs: [String] { get }

    /// Checks that the seed defines the clients, apps and keys to which the identity provider's settings refer.
    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences)
    /// Returns the URL that Firebase's answers have in `federatedId` for a user ID at the identity provider.
    static func federatedID(_ rawID: String) -> String
    /// Whether Firebase trusts the identity provider to have verified the given e-mail address.
    /// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
    static func isTrusted(email: String?, isVerified: Bool) -> Bool
    /// Asks the identity provider's mail relay whether it forwards a mail. Returns `nil` if the recipient's address
    /// doesn't belong to the relay.
    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async throws -> RelayedMessage?
    /// The settings of the identity provider in the form of Google's resource `defaultSupportedIdpConfigs`, without
    /// `enabled`.
    var config: JSONObject { get }
    /// Returns the settings of a resource `defaultSupportedIdpConfigs` in the form that they have in the seed.
    static func seed(of config: JSONObject) -> JSONObject
    /// Returns the request to the identity provider's authorization endpoint that begins a sign-in in the browser.
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

/// An identity provider that Firebase knows by name and at which a project has one OAuth client.
protocol ClientSource: KnownSource {
    /// The name of the seed's section that defines the identity provider's clients, such as `github`.
    static var section: String { get }
    var clientID: String { get }
    var clientSecret: String? { get }
}

extension ClientSource {
    var config: JSONObject { JSONObject(["clientId": clientID, "clientSecret": clientSecret]) }

    static func seed(of config: JSONObject) -> JSONObject {
        JSONObject(["clientID": config["clientId"], "clientSecret": config["clientSecret"]])
    }

    /// Returns the OAuth client secret from the Firebase project's settings, or else from the identity provider's own
    /// section of the seed.
    func secret(in call: FirebaseCall) -> String {
        let section = call.exchange.world.seed.section(named: Self.section)
        return clientSecret ?? section?.secret(ofClient: clientID) ?? ""
    }
}

extension Response {
    /// The response body of an identity provider as JSON; `nil` if the body isn't JSON.
    var document: JSONValue? { try? JSONValue(parsing: body, limits: .answer) }
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// The request that begins a sign-in in the browser: the identity provider's authorization endpoint and the fields that
/// Firebase sends.
struct WebAuthorization: Sendable {
    let host: String
    let path: String
    let fields: [(String, String)]
    /// Whether Firebase sends a nonce to the identity provider. The ID token must contain this nonce.
    var needsNonce = false
}

/// An identity provider whose tokens Firebase can revoke.
protocol RevokingSource: KnownSource {
    /// Redeems an authorization code at the identity provider, and revokes the grant that the code belongs to.
    func revoke(code: String, in call: FirebaseCall) async throws
    /// Revokes an access or refresh token at the identity provider; `type` is OAuth's `token_type_hint`.
    func revoke(_ token: String, type: String, in call: FirebaseCall) async throws
}

/// The decision of an identity provider's mail relay whether it forwards a mail.
struct RelayedMessage: Sendable {
    /// The person's own address, to which the relay forwarded the mail; `nil` if the relay refused the mail.
    let forwardedTo: String?
    /// The sender's address in the forwarded mail.
    let sender: String?
    /// The relay's answer to a mail that it didn't forward; `nil` if it forwarded the mail.
    let refusal: String?
    /// The reason why the relay refused the mail, and what to do.
    let reason: String?

    /// A description of what the relay did with the mail: the address to which it forwarded the mail, or the refusal.
    var outcome: String { forwardedTo.map { "forwarded to \($0)" } ?? refusal ?? "refused" }
}

extension FirebaseProvider {
    /// Returns the identity provider with this ID in a project or tenant.
    ///
    /// - Throws: An error if the provider isn't configured or isn't enabled.
    func source(_ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange)
        throws(FirebaseError) -> any IdentitySource
    {
        guard let source = configuredSource(id, of: project, pool, in: exchange) else {
            let openID = exchange.world.read { $0.rows(OAuthIdpConfig.byPool, pool, limit: 100) }.map(\.id)
            throw FirebaseProvider.notConfigured(id, takesFakes: project.takesFakes, openID: openID)
        }
        guard source.isEnabled else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "The identity provider configuration is disabled.",
                because: "the identity provider \(Diagnosis.quote(id)) is disabled (\"enabled\": false)")
        }
        return source
    }

    /// Returns the identity provider with this ID in a project or tenant, whether it is enabled or not; `nil` if it
    /// isn't configured.
    func configuredSource(
        _ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange
    ) -> (any IdentitySource)? {
        guard id.hasPrefix(OAuthIdpConfig.prefix) else { return knownSource(id, of: project, pool, in: exchange) }
        return exchange.world.read { $0.find(OAuthIdpConfig.self, OAuthIdpConfig.Key(pool: pool, id: id)) }
            .map { OpenIDSource($0) }
    }

    /// Returns an identity provider that Firebase knows by name. Its settings are those that an administrator has set,
    /// or else those in the seed.
    func knownSource(_ id: String, of project: Project, _ pool: UserPool, in exchange: Exchange) -> (any KnownSource)? {
        let key = ProviderConfig.Key(pool: pool, kind: .known, id: id)
        guard let config = exchange.world.read({ $0.find(ProviderConfig.self, key) }) else {
            return project.providers.source(id)
        }
        return config.source
    }
}

/// The list of the identity providers that Firebase knows by name and Understudy simulates.
enum IdentitySources {
    static let all: [any KnownSource.Type] = [
        AppleSource.self, GitHubSource.self, GoogleSource.self, FacebookSource.self, MicrosoftSource.self,
    ]

    /// The suffix of Google's client IDs for iOS apps. The client ID with its parts in reverse order is the app's URL
    /// scheme.
    static let appClientSuffix = GoogleSource.appClientSuffix

    static var revoking: [any RevokingSource.Type] { all.compactMap { $0 as? any RevokingSource.Type } }

    static func source(_ id: String) -> (any KnownSource.Type)? { all.first { $0.id == id } }

    /// The token issuers whose signing keys must have been made before a sign-in with an identity provider begins.
    static var keyOwners: [KeyOwner] { all.compactMap { $0.keyOwner } }
}
