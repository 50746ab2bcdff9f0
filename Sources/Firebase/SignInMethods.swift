import JSON

/// The sign-in methods of a project. A method that the seed leaves out isn't configured, which differs from disabled.
package struct SignInMethods: SchemaObject {
    struct Phone: SchemaObject {
        let isEnabled: Bool
        /// The code for each test number.
        let testNumbers: [String: String]

        init(isEnabled: Bool, testNumbers: [String: String] = [:]) {
            self.isEnabled = isEnabled
            self.testNumbers = testNumbers
        }

        init(_ fields: inout Fields) {
            isEnabled = fields.enabled()
            let numbers = fields.map(
                "testNumbers", of: .text(.nonEmpty), "Phone numbers and the code that each takes.")
            testNumbers = Dictionary(numbers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }

    private struct Switch: SchemaObject {
        let isEnabled: Bool

        init(_ fields: inout Fields) { isEnabled = fields.enabled() }
    }

    private(set) var password: Bool?
    private(set) var anonymous: Bool?
    private(set) var phone: Phone?
    let passkey: PasskeySettings?
    private var sources: [any KnownSource]
    /// Whether a link in an e-mail signs in, if passwords are enabled as well; `nil` if the seed doesn't say.
    private(set) var emailLink: Bool?
    /// The OpenID providers with their IDs, such as `oidc.corp`.
    let openID: [(id: String, provider: SeededOpenIDProvider)]

    /// The methods of a project that isn't in the seed: those that need no provider.
    static let plain = SignInMethods()

    private init() {
        password = true
        emailLink = true
        anonymous = true
        phone = Phone(isEnabled: true)
        passkey = .plain
        sources = []
        openID = []
    }

    package init(_ fields: inout Fields) {
        password = fields.optional("password", .object(Switch.self), "E-mail address and password.")?.isEnabled
        emailLink =
            fields.optional(
                "emailLink", .object(Switch.self),
                "Links in e-mails, beside passwords; where it is left out, they sign in at the daemon's own address only."
            )?
            .isEnabled
        anonymous = fields.optional("anonymous", .object(Switch.self), "Anonymous users.")?.isEnabled
        phone = fields.optional("phone", .object(Phone.self), "Phone numbers.")
        passkey = fields.optional("passkey", .object(PasskeySettings.self), "Passkeys.")
        var sources: [any KnownSource] = []
        for type in IdentitySources.all {
            if let source = SignInMethods.source(type, &fields) { sources.append(source) }
        }
        self.sources = sources
        openID = fields.family(
            OAuthIdpConfig.prefix, listedAs: "oidc.NAME", .object(SeededOpenIDProvider.self),
            "An OpenID Connect provider."
        ).map { (id: $0.name, provider: $0.value) }
    }

    private static func source<Source: KnownSource>(_ type: Source.Type, _ fields: inout Fields) -> Source? {
        fields.optional(Source.id, .object(Source.self), Source.about)
    }

    mutating func apply(_ settings: SignInSettings) {
        if let isEnabled = settings.password { password = isEnabled }
        if let isAllowed = settings.emailLinks { emailLink = isAllowed }
        if let isEnabled = settings.anonymous { anonymous = isEnabled }
        if settings.phone != nil || settings.testNumbers != nil {
            phone = Phone(
                isEnabled: settings.phone ?? phone?.isEnabled ?? false,
                testNumbers: settings.testNumbers ?? phone?.testNumbers ?? [:])
        }
    }

    /// Returns the methods of a tenant. Its identity providers are the project's, unless the seed gives the tenant
    /// others.
    func within(_ tenant: Tenant, _ own: TenantProviders?) -> SignInMethods {
        var methods = self
        methods.password = tenant.allowsPasswords
        methods.emailLink = tenant.allowsEmailLinks
        methods.anonymous = tenant.allowsAnonymous
        // No tenant has sign-in by phone; numbers can be second factors.
        methods.phone = Phone(isEnabled: false, testNumbers: tenant.testNumbers)
        if let own { methods.sources = own.sources }
        return methods
    }

    /// Returns a provider by its ID, a domain; `nil` if it isn't configured.
    func source(_ id: String) -> (any KnownSource)? { sources.first { type(of: $0).id == id } }

    /// The bundle IDs of the first provider that has any, and that provider's ID.
    var bundleIDs: (ids: [String], source: String) {
        sources.lazy.filter { !$0.bundleIDs.isEmpty }.map { ($0.bundleIDs, type(of: $0).id) }.first ?? ([], "")
    }
}

extension Fields {
    mutating func enabled() -> Bool {
        self("enabled", .boolean, default: true, "Whether people may sign in with it.")
    }
}
