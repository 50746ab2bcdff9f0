import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// A Microsoft tenant in the seed: an organization with work or school accounts.
struct MicrosoftTenant: SchemaObject {
    /// The ID of Microsoft's tenant for personal accounts.
    static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"

    let id: String
    let name: String
    let domains: [String]

    init(_ fields: inout Fields) {
        id = fields("id", .text(.guid), "The tenant ID.")
        name = fields("name", .text(.name), default: "Example", "The organization's name.")
        domains = fields(
            "domains", .set(of: .text(.mailDomain)), default: [],
            "Verified domains. Addresses may name the tenant by one of them.")
    }
}

/// A client at Microsoft in the seed (an app registration):
/// <https://learn.microsoft.com/en-us/entra/identity-platform/reference-microsoft-graph-app-manifest>.
struct MicrosoftClient: SeededOAuthClient {
    /// The types of Microsoft accounts that may sign in to a client:
    /// <https://learn.microsoft.com/en-us/entra/identity-platform/supported-accounts-validation>.
    enum Audience: String, CaseIterable, Sendable {
        case oneTenant = "AzureADMyOrg"
        case anyTenant = "AzureADMultipleOrgs"
        case everybody = "AzureADandPersonalMicrosoftAccount"
        case personal = "PersonalMicrosoftAccount"
    }

    /// The platform for which a client's redirect URI is registered at Microsoft. It decides how authorization codes
    /// that are sent to the redirect URI are redeemed.
    enum Platform: String, Codable, Sendable {
        case web
        case spa
        case publicClient
    }

    let id: String
    let secret: String?
    let name: String
    let audience: Audience
    let tenant: String?
    let webRedirectURIs, spaRedirectURIs, publicRedirectURIs: [String]
    /// Whether the client may use the device flow without a secret.
    let allowsPublicFlows: Bool
    /// Whether Microsoft's authorization endpoint returns ID tokens to the client.
    let issuesIDTokens: Bool
    let optionalClaims: [String]
    /// The client's application ID URI. If the client is an API, this URI is the beginning of the API's scopes.
    let identifierURI: String
    let scopes, appRoles, applicationPermissions: [String]
    let interaction: Interaction?

    init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        func texts(_ name: String, _ about: String, _ rule: TextRule = .identifier) -> [String] {
            fields(name, .set(of: .text(rule)), default: [], about)
        }
        let id = fields("clientID", .text(.guid), "The application (client) ID.")
        self.id = id
        let written = fields.nullable(
            "clientSecret", .text(.nonEmpty),
            "The client secret, `\(words.defaultSecret)` by default; none if `allowPublicClient` is true.")
        name = fields("name", .text(.nonEmpty), default: "Example", "The app's name on the consent page.")
        audience = fields(
            "signInAudience", .choice(Audience.self), default: .everybody,
            "The supported account types: one tenant, any tenant, any tenant and personal accounts, or personal ones.")
        tenant = fields.nullable("tenant", .text(.guid), "The home tenant, which `AzureADMyOrg` needs.")
        webRedirectURIs = texts(
            "redirectURIs", "\(words.redirectURIs) of the platform Web. The port of `http://localhost` is ignored.",
            RegisteredRedirectURI.rule)
        spaRedirectURIs = texts(
            "spaRedirectURIs",
            "\(words.redirectURIs) of the platform Single-page application, whose scripts redeem codes with PKCE.",
            RegisteredRedirectURI.rule)
        publicRedirectURIs = texts(
            "publicClientRedirectURIs",
            "\(words.redirectURIs) of the platform Mobile and desktop applications, which have no secret.",
            RegisteredRedirectURI.rule)
        allowsPublicFlows = fields(
            "allowPublicClient", .boolean, default: false,
            "\"Allow public client flows\": the device flow without a secret.")
        issuesIDTokens = fields(
            "enableIdTokenIssuance", .boolean, default: false,
            "Whether the authorization endpoint returns ID tokens: `response_type=id_token`, alone or with `code`.")
        let claims = ["email", "family_name", "given_name", "upn"]
        optionalClaims = fields(
            "optionalClaims", .set(of: .choice(claims)), default: [], "Optional claims of ID tokens.")
        identifierURI =
            fields.optional(
                "identifierURI", .text(.nonEmpty), "The application ID URI as an API; `api://` and the ID by default.")
            ?? "api://\(id)"
        scopes = texts("scopes", "The delegated scopes that the app exposes as an API.")
        appRoles = texts("appRoles", "The app roles that the app defines.")
        applicationPermissions = texts(
            "applicationPermissions",
            "App roles of other apps that this one has for itself, in tokens of the grant `client_credentials`.")
        interaction = fields.clientInteraction()
        secret = written ?? (allowsPublicFlows ? nil : words.defaultSecret)
    }

    var redirectURIs: [String] { webRedirectURIs + spaRedirectURIs + publicRedirectURIs }

    /// Returns the platform for which a redirect URI is registered; `nil` if the client doesn't have this redirect URI.
    func platform(of uri: String) -> Platform? {
        let all = [(Platform.web, webRedirectURIs), (.spa, spaRedirectURIs), (.publicClient, publicRedirectURIs)]
        return all.first { $0.1.contains { MicrosoftClient.matches(uri, $0) } }?.0
    }

    /// Whether a redirect URI is the registered one. At `http://localhost` the port isn't compared.
    private static func matches(_ uri: String, _ registered: String) -> Bool {
        if RegisteredRedirectURI(registered).matches(uri) { return true }
        guard let sent = WebAddress(uri), let known = WebAddress(registered), !sent.hasFragment else { return false }
        return sent.scheme == "http" && known.scheme == "http" && sent.host == "localhost" && known.host == "localhost"
            && sent.rest == known.rest
    }
}

/// The section `microsoft` of a seed.
struct MicrosoftSection: SeedSection {
    static let name = "microsoft"
    static let about = "Microsoft: Entra ID and personal accounts."

    private static let words = RegisteredClientWords(
        noun: "client", defaultSecret: "microsoft-secret-for-tests", redirectURIs: "Redirect URIs")

    let issuer: IssuerChoice
    private let signingKeys: [SigningKey]
    let codeLifetime, deviceCodeLifetime: TimeSpan
    /// The Microsoft tenants of the seed, by ID and by each of their domains.
    let tenants: [String: MicrosoftTenant]
    let clients: RegisteredClients<MicrosoftClient>
    /// The clients of the seed, each by its application ID URI and by its client ID. An API is a client, too; the
    /// scopes of the API begin with its URI or its ID.
    let apis: [String: MicrosoftClient]

    init(_ fields: inout Fields) {
        issuer = IssuerChoice(&fields, own: "https://login.microsoftonline.com")
        signingKeys = fields.signingKeys()
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "The lifetime of an authorization code.")
        deviceCodeLifetime = fields(
            "deviceCodeLifetime", .duration, default: .minutes(15), "The lifetime of a device code.")
        let listed = fields.list(
            "tenants", of: MicrosoftTenant.self, key: "id", "Organizations. The tenant of personal accounts is there.")
        tenants = Dictionary(
            listed.flatMap { tenant in ([tenant.id] + tenant.domains).map { ($0.lowercased(), tenant) } },
            uniquingKeysWith: { first, _ in first })
        clients = RegisteredClients(&fields, MicrosoftSection.words, "App registrations.")
        apis = Dictionary(
            clients.all.flatMap { client in [(client.identifierURI, client), (client.id, client)] },
            uniquingKeysWith: { first, _ in first })
    }

    var issuerFollowsRequest: Bool { issuer == .request }
    var keys: [SeededKeys] { [SeededKeys(.microsoft, keys: signingKeys)] }
    var seededClients: [SeededClient] { clients.seeded(at: MicrosoftProvider.title) }

    func secret(ofClient id: String) -> String? { clients[id]?.secret }

    static func check(_ references: inout SeedReferences) {
        let section = references.root[name]
        let tenants = KnownNames(section?["tenants"], "id")
        for client in section?["clients"]?.items ?? [] {
            references.checkInteraction(client["interaction"])
            if client["signInAudience"]?.string == MicrosoftClient.Audience.oneTenant.rawValue, client["tenant"] == nil
            {
                references.add(client, "an app for one tenant only needs \"tenant\"")
            }
            references.expect(client["tenant"], among: tenants, "tenant")
        }
        let own = KnownNames(tenants.all + [MicrosoftTenant.consumers])
        for account in references.accounts {
            references.expect(account[name]?["tenant"], among: own, "tenant")
        }
    }
}

/// A person's Microsoft profile in the seed.
struct MicrosoftProfile: AccountProfile {
    static let name = "microsoft"
    static let about = "The person at Microsoft."

    /// The ID of the tenant to which the person's account belongs.
    let tenant: String
    let oid: String
    let userPrincipalName: String
    let roles: [String]
    let jobTitle: String?

    init(_ fields: inout Fields, of account: Account) {
        tenant = fields(
            "tenant", .text(.guid), default: MicrosoftTenant.consumers,
            "The ID of the tenant that the work or school account belongs to; by default the account is a personal one."
        )
        let derived = DerivedNumber.uuid(of: "microsoft:\(account.id)")
        // Object IDs of personal accounts begin with zeros.
        let isPersonal = tenant == MicrosoftTenant.consumers
        oid =
            fields.optional("oid", .text(.guid), "The object ID; made from the id by default.")
            ?? (isPersonal ? "00000000-0000-0000-\(derived.suffix(17))" : derived)
        userPrincipalName =
            fields.optional(
                "userPrincipalName", .text(.nonEmpty), "The user principal name; the e-mail address by default.")
            ?? account.email
        roles = fields("roles", .set(of: .text(.identifier)), default: [], "The app roles that the person has.")
        jobTitle = fields.nullable("jobTitle", .text(.nonEmpty), "The job title, for Microsoft Graph.")
    }

    var isPersonal: Bool { tenant == MicrosoftTenant.consumers }

    /// Returns the person's `sub` for a client. It is pairwise: each client gets a different one.
    func subject(for client: String) -> String {
        Base64URL.encode(Digest.sha256("microsoft.sub \(client) \(tenant) \(oid)"))
    }

    var uniqueIdentifiers: [(member: String, identifier: String)] {
        [(member: "oid", identifier: "microsoft.oid:\(oid)")]
    }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "oid", what: "person")
    }
}

extension Account {
    var microsoft: MicrosoftProfile { self[MicrosoftProfile.self] }
}

extension KeyOwner {
    static let microsoft = KeyOwner("microsoft")
}

extension TextRule {
    static let guid = TextRule(
        about: "a GUID in lower case, such as \"9188040d-6c67-4c5b-b112-36a304b66dad\"",
        pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
    ) { text in
        text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count) == [8, 4, 4, 4, 12]
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) || $0 == 0x2D }
    }
}
