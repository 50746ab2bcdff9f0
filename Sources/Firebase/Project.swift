import EmulatorCore
import OAuth
import JOSE
import JSON
import Time
import Worlds

/// A Firebase project with its settings, and with the users and tenants that the seed gives to it.
package struct Project: SchemaObject {
    enum IDTokenSignature: String, CaseIterable, Sendable {
        /// ID tokens are signed with RS256 for requests to Google's hosts, and unsigned for SDKs in emulator mode.
        case auto
        case rs256 = "RS256"
        case none
    }

    package private(set) var id: String
    let number: String
    private(set) var apiKeys: [String]
    let authorizedDomains: [String]
    /// The project's custom domains of Firebase Hosting. Links in mails that open an app may be on these domains.
    let linkDomains: [String]
    /// The authorized domains that an administrator has set, which replace those of the seed; `nil` if no administrator
    /// has set any.
    var domains: [String]?
    var allowsTenants = true
    var otherSettings = OtherSettings()
    /// An administrator's changes to the project's sign-in methods.
    var signInSettings = SignInSettings()
    /// The app's name in the project's mails and text messages.
    let appName: String
    var oneAccountPerEmail: Bool
    var hidesEmails: Bool
    /// The value of `emailEnumerationProtection` in the seed; `nil` if the seed doesn't have it.
    let seededProtection: Bool?
    var mfaConfig: MFAConfig
    var blockingFunctions: BlockingFunctions
    var userEvents: UserEvents
    var notification = NotificationSettings()
    let takesFakes: Bool
    package internal(set) var providers: SignInMethods
    let idTokenSignature: IDTokenSignature
    /// The score of the reCAPTCHA tokens that the daemon's own reCAPTCHA script makes.
    let recaptchaScore: Double
    /// Texts of the seed that count as reCAPTCHA tokens, each with its score.
    let recaptchaTokens: [String: Double]
    let appCheck: AppCheck
    /// The enforcement mode of App Check that an administrator has set: `OFF`, `UNENFORCED` or `ENFORCED`; `nil` if no
    /// administrator has set it.
    var appCheckMode: String?
    /// The reCAPTCHA site keys that the seed gives to the project.
    let seededSiteKeys: Set<String>
    let users: [SeededUser]
    let tenants: [SeededTenant]
    private let tenantPlaces: [String: Int]
    /// Whether the seed has the project. Other projects are made when a request first names them.
    private(set) var isSeeded: Bool
    /// The users and settings that were imported into the project from an export of the Firebase emulator.
    var imported: AccountExport?

    /// Whether the project has users or settings from the start, from the seed or an import.
    var hasContents: Bool { isSeeded || imported != nil }

    var mfa: MFA { mfaConfig.effect }

    var issuer: String { FirebaseProvider.issuerPrefix + id }
    var host: String { "\(id).firebaseapp.com" }
    /// The set of the project's own users, without the users of its tenants.
    var pool: UserPool { UserPool(project: id, tenant: nil) }
    /// The URL to which identity providers redirect the browser after a sign-in.
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

    /// Makes a project that isn't in the seed, with the Emulator Suite's defaults. All sign-in methods that need no
    /// identity provider are enabled, fake credentials are accepted, and answers reveal which e-mail addresses exist.
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

    /// The password hashing parameters in the project's configuration. They are those of a new project, with a key
    /// derived from the project's ID. The daemon itself doesn't hash passwords with them.
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

    /// Whether a sign-in method or an identity provider is enabled in the project; `nil` if the project doesn't have
    /// it.
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

/// The settings of multi-factor sign-in in a project or tenant.
struct MFA: SchemaObject {
    let state: String
    let providers: [String]
    /// The tolerance for codes of authenticator apps: the number of time steps before and after the present one whose
    /// codes are accepted.
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

/// The changes to a project's settings that requests or an import have made.
struct ProjectSettings: Row {
    static let table = Table<ProjectSettings>("firebase.projectSettings", size: { $0.size })

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

/// An administrator's changes to the sign-in methods of a project, made in `signIn` of the project's configuration. A
/// member that is `nil` is as in the seed.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#SignInConfig>
struct SignInSettings: Codable, Sendable {
    private(set) var password: Bool?
    private(set) var emailLinks: Bool?
    private(set) var anonymous: Bool?
    private(set) var phone: Bool?
    private(set) var testNumbers: [String: String]?

    /// Sets the members of `signIn` that the update mask names. Without a mask, it sets the members that the request's
    /// body has.
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

/// The section `firebase` of a seed.
package struct FirebaseSection: SeedSection {
    package static let name = "firebase"
    package static let about = "Firebase Authentication."

    private let signingKeys: [SigningKey]
    let idTokenLifetime: TimeSpan
    let recentLoginWindow: TimeSpan
    let pendingTokenLifetime: TimeSpan
    package let projects: [Project]
    let defaultProject: String?
    /// The Firebase project of requests that name none; `nil` if the seed names none.
    package var defaultProjectID: String? { defaultProject ?? projects.first?.id }
    let unknownKeys: UnknownKeys
    /// The host and port of the Emulator Suite's Functions emulator; `nil` if the seed names none.
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

    /// Returns a seed that contains only the address of the Emulator Suite's Functions emulator.
    package static func seed(functionsEmulator address: String) -> JSONValue {
        [name: [functionsEmulatorField: .string(address)]]
    }

    private static let defaultProjectField = "defaultProject"

    /// Returns a seed that contains only the ID of the default Firebase project.
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

    /// Whether this is the ID of a project in the seed, of the default project, or of a project that requests are
    /// expected to make. Any ID that begins with `demo-` counts. Another ID counts if the seed's `unknownKeys` isn't
    /// `refuse`, and the ID has Google's form and doesn't look like a misspelled ID of the seed.
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

/// The sign-in methods of a project or tenant. A method that the seed leaves out isn't configured, which is different
/// from disabled.
package struct SignInMethods: SchemaObject {
    struct Phone: SchemaObject {
        let isEnabled: Bool
        /// The fixed code for each phone number that is for tests only.
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
    /// Whether people can sign in with a link that is mailed to them; `nil` if neither the seed nor an administrator
    /// says. In a project, but not in a tenant, such links work only if passwords are enabled, too.
    private(set) var emailLink: Bool?
    /// The OpenID providers of the project, each with its ID, such as `oidc.corp`.
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

    /// Returns the sign-in methods of a tenant. Its identity providers are those of the project, unless the seed gives
    /// the tenant its own.
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

    /// Returns the identity provider with this ID, such as `google.com`; `nil` if the project doesn't have it.
    func source(_ id: String) -> (any KnownSource)? { sources.first { type(of: $0).id == id } }

    /// The bundle IDs of the first identity provider that has bundle IDs in its settings, and the ID of this provider,
    /// such as `apple.com`. If no provider has bundle IDs, `ids` and `source` are empty.
    var bundleIDs: (ids: [String], source: String) {
        sources.lazy.filter { !$0.bundleIDs.isEmpty }.map { ($0.bundleIDs, type(of: $0).id) }.first ?? ([], "")
    }
}

extension Fields {
    mutating func enabled() -> Bool {
        self("enabled", .boolean, default: true, "Whether people may sign in with it.")
    }
}
