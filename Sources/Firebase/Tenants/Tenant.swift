import EmulatorCore
import JSON
import Worlds

/// A tenant of a Firebase project: a separate set of users, with its own sign-in methods.
/// <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct Tenant: Row {
    static let table = Table<Tenant>("firebase.tenant", sortedBy: order, size: { $0.size })
    static let order = SortedIndex<Tenant>("order") { [place(of: $0.project) + $0.id] }

    private var size: Int { others.size + (displayName?.utf8.count ?? 0) }

    fileprivate(set) var project: String
    let id: String
    var displayName: String?
    var allowsPasswords = false
    var allowsEmailLinks = false
    var allowsAnonymous = false
    /// Whether the tenant is disabled: nobody may sign in, and administrators may not manage its users.
    var isDisabled = false
    var mfa = MFAConfig()
    /// Whether answers hide which e-mail addresses exist in the tenant (email enumeration protection); `nil` if nobody
    /// has set it. In emulator mode, `nil` means the project's setting. In production, `nil` means `false`.
    var hidesEmails: Bool?
    /// The fixed one-time code of each phone number that is for tests only. In a tenant such numbers can be second
    /// factors.
    var testNumbers: [String: String] = [:]
    /// Whether the tenant exists only because a request named it, and nobody has set it up.
    var isImplicit = false
    /// Whether the tenant is in the seed. The seed may give a tenant other identity providers than its project has.
    var isSeeded = false
    var others = OtherSettings()

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// The Boolean fields of a tenant in the API, by name.
    static let flags: [(name: String, flag: any WritableKeyPath<Tenant, Bool> & Sendable)] = [
        ("allowPasswordSignup", \.allowsPasswords), ("enableEmailLinkSignin", \.allowsEmailLinks),
        ("disableAuth", \.isDisabled), ("enableAnonymousUser", \.allowsAnonymous),
    ]

    /// Returns the text with which the sort key of each tenant of a project begins.
    static func place(of project: String) -> String { "\(project)\0" }

    /// Returns the tenant in the API's form for administrators. Production leaves out flags that are false (as in the
    /// recording `tenant/manage`: https://github.com/t-k/fireemu, conformance/auth-tenant-blocking-production.json). In
    /// emulator mode they are included, and also `tenantId`, as in the Firebase emulator.
    func document(in call: FirebaseCall) -> JSONObject {
        var body = JSONObject([
            "name": "\(call.resourceName)/tenants/\(id)", "tenantId": call.isInEmulatorMode ? id : nil,
            "displayName": displayName,
        ])
        for (name, flag) in Tenant.flags where self[keyPath: flag] || call.isInEmulatorMode {
            body[name] = .bool(self[keyPath: flag])
        }
        if mfa.isSet || call.isInEmulatorMode {
            body["mfaConfig"] = .object(mfa.document(listsNone: call.isInEmulatorMode))
        }
        if !call.isInEmulatorMode { body["inheritance"] = [:] }
        if !testNumbers.isEmpty {
            let numbers = testNumbers.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
            body["testPhoneNumbers"] = .object(JSONObject(numbers))
        }
        // If it is off, both addresses have an empty object: firebase-admin-node, test/integration/auth.spec.ts,
        // "updateTenant() should resolve with the updated tenant".
        body["emailPrivacyConfig"] = hidesEmails.map { $0 ? ["enableImprovedEmailPrivacy": true] : [:] }
        body.merge(others.members)
        return body
    }
}

/// The stored fact that an administrator has deleted a tenant. It is needed because production has different errors for
/// a deleted and an unknown tenant.
struct DeletedTenant: Row {
    static let table = Table<DeletedTenant>("firebase.deletedTenant", limit: 10_000)

    let key: UserPool
}

extension Tenant {
    /// Makes a tenant that exists only because a request named it, as in the Firebase emulator. All of its sign-in
    /// methods are enabled.
    init(unconfigured id: String, of project: String) {
        self.init(
            project: project, id: id, allowsPasswords: true, allowsEmailLinks: true, allowsAnonymous: true,
            mfa: MFAConfig(state: "ENABLED", enabledProviders: [MFAConfig.phone]), isImplicit: true)
    }
}

extension Project {
    /// Returns a copy of the project with the settings that apply to a tenant's users.
    ///
    /// In production, a tenant doesn't inherit the project's email enumeration protection, nor the permission for
    /// several users to have the same address (recordings `tenant/inheritance#wrong-password-in-tenant` and
    /// `tenant/inheritance#create-dup-in-tenant`). In the Firebase emulator it inherits both.
    func within(_ tenant: Tenant, inEmulatorMode isInEmulatorMode: Bool) -> Project {
        var project = self
        let own = tenant.isSeeded ? seededTenant(tenant.id)?.providers : nil
        project.providers = providers.within(tenant, own)
        project.mfaConfig = tenant.mfa
        // Recorded as `tenant/inheritance#sign-up-in-tenant`: permissions and policies of the project don't apply.
        project.otherSettings = tenant.others
        if let hidesEmails = tenant.hidesEmails ?? (isInEmulatorMode ? nil : false) {
            project.hidesEmails = hidesEmails
        }
        if !isInEmulatorMode { project.oneAccountPerEmail = true }
        return project
    }
}

package struct SeededTenant: SchemaObject {
    /// The settings of the seeded tenant, still without the ID of its project.
    fileprivate let settings: Tenant
    /// The seeded tenant's own identity providers; `nil` if the tenant has all identity providers of its project.
    private(set) var providers: TenantProviders?
    let users: [SeededUser]

    var id: String { settings.id }

    package init(_ fields: inout Fields) {
        var tenant = Tenant(project: "", id: fields("id", .text(.identifier), "The tenant ID."), isSeeded: true)
        tenant.displayName = fields.optional("displayName", .text(.name), "The name that administrators see.")
        tenant.allowsPasswords = fields(
            "allowPasswordSignup", .boolean, default: true, "Whether people may sign in with a password.")
        tenant.allowsEmailLinks = fields(
            "enableEmailLinkSignin", .boolean, default: false, "Whether a link in an e-mail may sign people in.")
        tenant.allowsAnonymous = fields(
            "enableAnonymousUser", .boolean, default: false, "Whether anonymous users may be made.")
        tenant.isDisabled = fields("disableAuth", .boolean, default: false, "Whether every sign-in is refused.")
        tenant.mfa = MFAConfig(fields.object("mfa", MFA.self, "Multi-factor authentication."))
        let numbers = fields.map(
            "testPhoneNumbers", of: .text(.nonEmpty),
            "Numbers that may be second factors, and the code that each takes.")
        tenant.testNumbers = Dictionary(numbers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        tenant.others = OtherSettings(seeded: &fields)
        settings = tenant
        providers = fields.optional(
            "providers", .object(TenantProviders.self),
            "The tenant's providers of identities; all of the project's by default.")
        users = fields.list("users", of: SeededUser.self, key: "localId", "Users that exist from the start.")
    }

    /// Returns the seeded tenant with settings added to its identity providers: a setting that the tenant's provider
    /// lacks is taken from the project's provider. `providers` are the identity providers that the seed gives to the
    /// project.
    func inheriting(from providers: JSONValue?) -> SeededTenant {
        var tenant = self
        tenant.providers?.inherit(from: providers)
        return tenant
    }
}

/// The identity providers that the seed gives to a tenant, described by their differences from the project's providers.
struct TenantProviders: SchemaObject {
    /// The settings that the seed gives to the tenant's identity providers, by provider ID.
    private let differences: [(id: String, members: JSONObject)]
    private(set) var sources: [any KnownSource] = []
    private(set) var openID: [(id: String, provider: SeededOpenIDProvider)] = []

    init(_ fields: inout Fields) {
        var differences: [(id: String, members: JSONObject)] = []
        for type in IdentitySources.all {
            if let members = TenantProviders.members(type, &fields) {
                differences.append((id: type.id, members: members))
            }
        }
        differences += fields.family(
            OAuthIdpConfig.prefix, listedAs: "oidc.NAME", .part(of: SeededOpenIDProvider.self),
            "An OpenID Connect provider; missing members are those of the project's provider with the same name."
        ).map { (id: $0.name, members: $0.value) }
        self.differences = differences
    }

    private static func members<Source: KnownSource>(_ type: Source.Type, _ fields: inout Fields) -> JSONObject? {
        fields.optional(Source.id, .part(of: Source.self), "\(Source.title); what isn't said is as in the project's.")
    }

    mutating func inherit(from providers: JSONValue?) {
        for (id, members) in differences {
            if let type = IdentitySources.source(id) {
                sources.append(TenantProviders.whole(type, members, providers?[id]))
            } else {
                openID.append(
                    (id: id, provider: TenantProviders.whole(SeededOpenIDProvider.self, members, providers?[id])))
            }
        }
    }

    private static func whole<Object: SchemaObject>(
        _ type: Object.Type, _ members: JSONObject, _ ofProject: JSONValue?
    ) -> Object {
        let own = LocatedJSON(.object(members), file: "")
        let inherited = ofProject.map { LocatedJSON($0, file: "").replacingMembers(with: own) }
        return Object(reading: (inherited ?? own).value)
    }

    /// Checks that each identity provider of a tenant in the seed is complete, and that the clients, apps and keys to
    /// which it refers exist in the seed.
    static func check(_ providers: LocatedJSON?, of project: LocatedJSON, _ references: inout SeedReferences) {
        for (id, own) in providers?.members ?? [] {
            let schema = IdentitySources.source(id)?.schema ?? SeededOpenIDProvider.schema
            let whole = project["providers"]?[id]?.replacingMembers(with: own) ?? own
            references.check(whole, against: schema)
            if let type = IdentitySources.source(id) {
                type.check(whole, &references)
            } else {
                SeededOpenIDProvider.check(id, whole, &references)
            }
        }
    }
}

extension Tenant {
    init(_ seeded: SeededTenant, of project: String) {
        self = seeded.settings
        self.project = project
    }
}
