import EmulatorCore
import OAuth
import JOSE
import JSON
import Time
import Worlds

/// A Firebase project.
package struct Project: SchemaObject {
    /// The signature of Firebase ID tokens.
    enum IDTokenSignature: String, CaseIterable, Sendable {
        /// RS256 for requests to a real host, no signature for those in emulator mode.
        case auto
        case rs256 = "RS256"
        case none
    }

    package private(set) var id: String
    let number: String
    private(set) var apiKeys: [String]
    let authorizedDomains: [String]
    /// The custom domains of Firebase Hosting on which links in e-mails may open an app.
    let linkDomains: [String]
    /// The domains that an administrator has set; they replace all others.
    var domains: [String]?
    /// Whether the project may have tenants.
    var allowsTenants = true
    var otherSettings = OtherSettings()
    /// An administrator's changes to the sign-in methods.
    var signInSettings = SignInSettings()
    /// The app's name in mails and texts.
    let appName: String
    var oneAccountPerEmail: Bool
    var hidesEmails: Bool
    /// The seed's `emailEnumerationProtection`.
    let seededProtection: Bool?
    var mfaConfig: MFAConfig
    var blockingFunctions: BlockingFunctions
    var userEvents: UserEvents
    var notification = NotificationSettings()
    let takesFakes: Bool
    package internal(set) var providers: SignInMethods
    let idTokenSignature: IDTokenSignature
    /// The score of the tokens that our reCAPTCHA script gives out.
    let recaptchaScore: Double
    /// Tokens that count as reCAPTCHA's, with their scores.
    let recaptchaTokens: [String: Double]
    let appCheck: AppCheck
    /// The mode that an administrator has set: `OFF`, `UNENFORCED` or `ENFORCED`.
    var appCheckMode: String?
    /// The site keys in the seed.
    let seededSiteKeys: Set<String>
    let users: [SeededUser]
    let tenants: [SeededTenant]
    private let tenantPlaces: [String: Int]
    /// Whether the project is in a seed.
    private(set) var isSeeded: Bool
    /// The accounts that were imported into the project.
    var imported: AccountExport?

    /// Whether the project has contents when a world begins.
    var hasContents: Bool { isSeeded || imported != nil }

    var mfa: MFA { mfaConfig.effect }

    var issuer: String { FirebaseProvider.issuerPrefix + id }
    var host: String { "\(id).firebaseapp.com" }
    /// The project's own users, without those of its tenants.
    var pool: UserPool { UserPool(project: id, tenant: nil) }
    /// The URL to which providers redirect.
    var handler: String { "https://\(host)\(FirebaseProvider.handlerPath)" }

    package init(_ fields: inout Fields) {
        id = fields("id", .text(.identifier), "The project ID.")
        number =
            fields.optional("number", .text(.nonEmpty), "The project number; made from the ID by default.")
            ?? Project.number(of: id)
        // A new project's public name contains its number.
        appName =
            fields.optional(
                "appName", .text(.nonEmpty),
                "The name of the app in e-mails and text messages, its public-facing name; `project-` and the number by "
                    + "default.") ?? "project-\(number)"
        apiKeys = fields("apiKeys", .set(of: .text(.nonEmpty)), default: [], "API keys that name the project.")
        authorizedDomains = fields(
            "authorizedDomains", .set(of: .text(.nonEmpty)), default: ["localhost"],
            "Domains of continue URLs, beside the project's own.")
        linkDomains = fields(
            "linkDomains", .set(of: .text(.nonEmpty)), default: [],
            "Custom domains of Firebase Hosting that `linkDomain` may name, in links that open an app."
        ).map { $0.lowercased() }
        oneAccountPerEmail = fields(
            "oneAccountPerEmail", .boolean, default: true, "Whether an address belongs to one user only.")
        seededProtection = fields.optional(
            "emailEnumerationProtection", .boolean,
            "Whether answers hide which addresses exist (e-mail enumeration protection). By default on, as in projects created since 15 September 2023, unless `asOf` is an earlier day."
        )
        hidesEmails = seededProtection ?? true
        providers = fields.object("providers", SignInMethods.self, "Sign-in methods.")
        takesFakes = fields(
            "acceptFakeCredentials", .boolean, default: false,
            "Take the official emulator's unsigned credentials, too.")
        idTokenSignature = fields(
            "idTokenSignature", .choice(IDTokenSignature.self), default: .auto,
            "The signature of Firebase ID tokens.")
        mfaConfig = MFAConfig(fields.object("mfa", MFA.self, "Multi-factor authentication."))
        blockingFunctions = fields.object(
            "blockingFunctions", BlockingFunctions.self,
            "Functions that are asked before a user is created or signs in.")
        userEvents = fields.object(
            "userEvents", UserEvents.self,
            "Functions that learn about new and deleted users: at this machine, or at `blockingFunctions.allowedHosts`."
        )
        otherSettings = OtherSettings(seeded: &fields)
        seededSiteKeys = Recaptcha.siteKeys(in: otherSettings)
        recaptchaScore = fields(
            "recaptchaScore", .number(0...1), default: 0.9,
            "The score of reCAPTCHA tokens that our script gives out: 0 is a bot, 1 a person.")
        let tokens = fields.map(
            "recaptchaTokens", of: .number(0...1),
            "Texts that count as reCAPTCHA tokens, any number of times, each with its score: for apps that have no browser."
        )
        recaptchaTokens = Dictionary(tokens.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        appCheck = fields.object("appCheck", AppCheck.self, "Firebase App Check.")
        users = fields.list("users", of: SeededUser.self, key: "localId", "Users that exist from the start.")
        let tenants = fields.list("tenants", of: SeededTenant.self, key: "id", "Tenants, each with users of its own.")
        let written = fields.written["providers"]
        self.tenants = tenants.map { $0.inheriting(from: written) }
        tenantPlaces = Dictionary(tenants.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        isSeeded = true
    }

    /// Makes a project that isn't in a seed, as the Emulator Suite does: all methods that need no provider are enabled,
    /// fake credentials are accepted, and answers tell which addresses exist.
    init(unseeded id: String) {
        self = Project.unseeded
        self.id = id
        apiKeys = [id]
    }

    private static let unseeded: Project = {
        var project = Project(reading: [
            // The official emulator gives every project this number.
            "id": "unseeded", "number": "12345", "emailEnumerationProtection": false, "acceptFakeCredentials": true,
            "providers": ["password": [:], "emailLink": [:], "anonymous": [:], "phone": [:], "passkey": [:]],
            "mfa": ["state": "ENABLED", "providers": ["phone", "totp"]],
        ])
        project.isSeeded = false
        return project
    }()

    /// The parameters with which production would hash passwords: a new project's, with a key derived from the
    /// project's ID. Nothing is hashed here.
    var hashConfig: JSONValue {
        let key = Digest.sha256("firebase:hash:\(id)") + Digest.sha256("firebase:hash:\(id):")
        return [
            "algorithm": "SCRYPT", "signerKey": .string(Base64.encode(key)), "saltSeparator": "Bw==", "rounds": 8,
            "memoryCost": 14,
        ]
    }

    private static func number(of id: String) -> String {
        let number = Digest.sha256("firebase:project:\(id)").prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return String(100_000_000_000 + number % 900_000_000_000)
    }

    func seededTenant(_ id: String) -> SeededTenant? { tenantPlaces[id].map { tenants[$0] } }

    /// Whether a sign-in method or provider is enabled; `nil` if the project doesn't have it.
    func isEnabled(_ method: String) -> Bool? {
        switch method {
        case "password": providers.password
        case "anonymous": providers.anonymous
        case "phone": providers.phone?.isEnabled
        case "passkey": providers.passkey?.isEnabled
        default: providers.source(method)?.isEnabled
        }
    }
}

/// The multi-factor authentication of a project.
struct MFA: SchemaObject {
    let state: String
    let providers: [String]
    /// The number of time steps before and after the present one whose authenticator app codes are accepted.
    private(set) var adjacentIntervals = TOTP.adjacentIntervals

    init(state: String, providers: [String], adjacentIntervals: Int64 = TOTP.adjacentIntervals) {
        self.state = state
        self.providers = providers
        self.adjacentIntervals = adjacentIntervals
    }

    init(_ fields: inout Fields) {
        state = fields("state", .choice(["ENABLED", "DISABLED", "MANDATORY"]), default: "DISABLED", "Second factors.")
        providers = fields("providers", .set(of: .choice(["phone", "totp"])), default: [], "Kinds of second factor.")
    }

    var isOn: Bool { state != "DISABLED" }

    func allows(_ provider: String) -> Bool { isOn && providers.contains(provider) }
}

/// An administrator's changes to a project's settings, made at run time.
struct ProjectSettings: Row {
    static let table = Table<ProjectSettings>("firebase.projectSettings", size: { $0.size })

    /// The bytes of the settings' texts.
    private var size: Int {
        (domains ?? []).reduce(0) { $0 + $1.utf8.count } + (notification?.size ?? 0) + (others?.size ?? 0)
    }

    let project: String
    var oneAccountPerEmail: Bool?
    var hidesEmails: Bool?
    var mfa: MFAConfig?
    var blockingFunctions: BlockingFunctions?
    var notification: NotificationSettings?
    var signIn = SignInSettings()
    var domains: [String]?
    var allowsTenants: Bool?
    var others: OtherSettings?
    var appCheckMode: String?

    var key: String { project }

    func apply(to project: Project) -> Project {
        var project = project
        if let oneAccountPerEmail { project.oneAccountPerEmail = oneAccountPerEmail }
        if let hidesEmails { project.hidesEmails = hidesEmails }
        if let mfa { project.mfaConfig = mfa }
        if let blockingFunctions { project.blockingFunctions = blockingFunctions }
        if let notification { project.notification = notification }
        project.signInSettings = signIn
        project.providers.apply(signIn)
        if let domains { project.domains = domains }
        if let allowsTenants { project.allowsTenants = allowsTenants }
        if let others { project.otherSettings = others }
        project.appCheckMode = appCheckMode
        return project
    }
}

/// An administrator's changes to a project's sign-in methods: `signIn` of its configuration. A member that is `nil` is
/// as in the seed. <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#SignInConfig>
struct SignInSettings: Codable, Sendable {
    private(set) var password: Bool?
    private(set) var emailLinks: Bool?
    private(set) var anonymous: Bool?
    private(set) var phone: Bool?
    private(set) var testNumbers: [String: String]?

    /// Sets the members that the mask names; without a mask, those that the body has.
    mutating func change(_ given: MessageFields?, _ mask: UpdateMask?) throws(FirebaseError) {
        func isMeant(_ path: String, _ isGiven: Bool) -> Bool {
            guard let mask, !mask.isFullUpdate else { return isGiven }
            return mask.names("signIn.\(path)")
        }
        func flag(_ message: String, _ name: String, _ current: Bool?) throws(FirebaseError) -> Bool? {
            let value = try given?.nested(message)?.flag(name)
            return isMeant("\(message).\(name)", value != nil) ? value ?? false : current
        }
        password = try flag("email", "enabled", password)
        emailLinks = try flag("email", "passwordRequired", emailLinks.map { !$0 }).map { !$0 }
        anonymous = try flag("anonymous", "enabled", anonymous)
        phone = try flag("phoneNumber", "enabled", phone)
        let numbers = try given?.nested("phoneNumber")
        if isMeant("phoneNumber.testPhoneNumbers", numbers?.has("testPhoneNumbers") ?? false) {
            testNumbers = try TestNumbers.read(numbers?.map("testPhoneNumbers") ?? [])
        }
    }
}

extension FirebaseProvider {
    static let emailEnumerationProtection = Change(
        "emailEnumerationProtection", ("2023-09-15", nil),
        summary: "new projects hide which addresses exist (email enumeration protection)",
        evidence: "https://cloud.google.com/identity-platform/docs/admin/email-enumeration-protection")
}

/// The seed's section `firebase`.
package struct FirebaseSection: SeedSection {
    package static let name = "firebase"
    package static let about = "Firebase Authentication."

    private let signingKeys: [SigningKey]
    let idTokenLifetime: TimeSpan
    let recentLoginWindow: TimeSpan
    let pendingTokenLifetime: TimeSpan
    package let projects: [Project]
    let defaultProject: String?
    let unknownKeys: UnknownKeys
    /// The host and port of the Emulator Suite's Functions emulator.
    let functionsEmulator: String?

    package init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        idTokenLifetime = fields("idTokenLifetime", .duration, default: .hours(1), "The lifetime of an ID token.")
        recentLoginWindow = fields(
            "recentLoginWindow", .duration, default: .minutes(5),
            "The greatest age of a sign-in with which a user may change the password or address, or delete the account."
        )
        pendingTokenLifetime = fields(
            "pendingTokenLifetime", .duration, default: .minutes(10),
            "The time for which the credential of a refused sign-in or link may be used again.")
        projects = fields.list("projects", of: Project.self, key: "id", "Projects.")
        defaultProject = fields.optional(
            FirebaseSection.defaultProjectField, .text(.identifier),
            "The project of requests that name none, also `serve --project`; the first one by default.")
        unknownKeys = fields(
            "unknownKeys", .choice(UnknownKeys.self), default: .auto,
            "API keys and project IDs that no seed holds: `accept` takes such a key as the default project's and such a "
                + "project with the Emulator Suite's defaults, `refuse` refuses them, `auto` takes them at the daemon's own "
                + "address only, where SDKs are in emulator mode.")
        functionsEmulator = fields.optional(
            FirebaseSection.functionsEmulatorField, .text(FirebaseSection.emulatorRule),
            "The Emulator Suite's Functions emulator, to which events of new and deleted users of every project are posted; "
                + "also the environment variable `FIREBASE_FUNCTIONS_EMULATOR_HOST`.")
    }

    private static let functionsEmulatorField = "functionsEmulator"
    private static let emulatorRule = TextRule(
        about: "a host and a port, such as \"localhost:5001\"", pattern: "^[^/?#@\\s]+:[0-9]+$"
    ) { text in
        guard let address = WebAddress("http://\(text)/") else { return false }
        return text.contains(":") && !text.contains { "/?#@ ".contains($0) } && !address.host.isEmpty
    }

    /// Returns a seed that only names the Functions emulator.
    package static func seed(functionsEmulator address: String) -> JSONValue {
        [name: [functionsEmulatorField: .string(address)]]
    }

    private static let defaultProjectField = "defaultProject"

    /// Returns a seed that only names the default project.
    package static func seed(defaultProject id: String) -> JSONValue {
        [name: [defaultProjectField: .string(id)]]
    }

    package var keys: [SeededKeys] { [SeededKeys(.firebase, keys: signingKeys), SeededKeys(.appCheck, keys: [])] }

    package var seededClients: [SeededClient] {
        projects.map {
            SeededClient(
                id: $0.id, kind: "Firebase project", addresses: "API keys: \($0.apiKeys.joined(separator: " "))")
        }
    }

    /// Whether this project exists or may be made at its first use: one with a `demo-` ID always, and another where
    /// unknown projects are taken, unless its ID is nearly that of a seeded one.
    package func knows(client id: String) -> Bool {
        let seeded = projects.map(\.id)
        if seeded.contains(id) || id == defaultProject || ProjectDirectory.isDemo(id) { return true }
        // The form of an ID: https://cloud.google.com/resource-manager/docs/creating-managing-projects
        let isID =
            (6...30).contains(id.utf8.count)
            && id.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        return unknownKeys != .refuse && isID && Spelling.hint(id, among: seeded).isEmpty
    }

    package var hosts: [String] {
        let unseeded = defaultProject.flatMap { id in projects.contains { $0.id == id } ? nil : Project(unseeded: id) }
        return (projects + (unseeded.map { [$0] } ?? [])).map(\.host)
    }

    package static func check(_ references: inout SeedReferences) {
        var keys: [String: LocatedJSON] = [:]
        for project in references.root[name]?["projects"]?.items ?? [] {
            for key in project["apiKeys"]?.items ?? [] { references.claim(key, as: "API key", in: &keys) }
            BlockingFunctions.check(project["blockingFunctions"], &references)
            UserEvents.check(project, &references)
            for source in IdentitySources.all {
                if let settings = project["providers"]?[source.id] { source.check(settings, &references) }
            }
            for (id, settings) in project["providers"]?.members ?? [] where id.hasPrefix(OAuthIdpConfig.prefix) {
                SeededOpenIDProvider.check(id, settings, &references)
            }
            for tenant in project["tenants"]?.items ?? [] {
                TenantProviders.check(tenant["providers"], of: project, &references)
            }
        }
    }
}

extension KeyOwner {
    static let firebase = KeyOwner("firebase")
}

/// The sign-in methods of a project. A method that the seed leaves out isn't configured, which differs from disabled.
package struct SignInMethods: SchemaObject {
    struct Phone: SchemaObject {
        let isEnabled: Bool
        /// The code for each test number.
        let testNumbers: [String: String]

        init(isEnabled: Bool, testNumbers: [String: String]) {
            self.isEnabled = isEnabled
            self.testNumbers = testNumbers
        }

        init(_ fields: inout Fields) {
            isEnabled = fields.enabled()
            let numbers = fields.map("testNumbers", of: .text(.nonEmpty), "Phone numbers and the code that each takes.")
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
