import EmulatorCore
import JSON
import Worlds

/// A tenant: a separate set of users in a project, with its sign-in methods.
/// <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct Tenant: Row {
    static let table = Table<Tenant>("firebase.tenant", sortedBy: order, size: { $0.others.size })
    static let order = SortedIndex<Tenant>("order") { [place(of: $0.project) + $0.id] }

    fileprivate(set) var project: String
    let id: String
    var displayName: String?
    var allowsPasswords = false
    var allowsEmailLinks = false
    var allowsAnonymous = false
    /// Whether the tenant is disabled: nobody may sign in, and administrators may not manage its users.
    var isDisabled = false
    var mfa = MFAConfig()
    /// Whether addresses are protected from enumeration; `nil` if the project's setting applies.
    var hidesEmails: Bool?
    /// The code for each test number. They may be second factors.
    var testNumbers: [String: String] = [:]
    /// Whether the tenant exists only because a request named it, and nobody has set it up.
    var isImplicit = false
    /// Whether the tenant is in the seed, which may also set the tenant's providers.
    var isSeeded = false
    var others = OtherSettings()

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// The fields of the resource that are true or false.
    static let flags: [(name: String, flag: any WritableKeyPath<Tenant, Bool> & Sendable)] = [
        ("allowPasswordSignup", \.allowsPasswords), ("enableEmailLinkSignin", \.allowsEmailLinks),
        ("disableAuth", \.isDisabled), ("enableAnonymousUser", \.allowsAnonymous),
    ]

    /// Returns the common prefix of the index texts of a project's tenants.
    static func place(of project: String) -> String { "\(project)\0" }

    /// Returns the tenant for an administrator. In emulator mode it has `tenantId` and everything that is off, as in
    /// the official emulator; production returns only what is on. Recorded as `tenant/manage`
    /// (https://github.com/t-k/fireemu, conformance/auth-tenant-blocking-production.json).
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

/// A tenant that an administrator has deleted.
struct DeletedTenant: Row {
    static let table = Table<DeletedTenant>("firebase.deletedTenant", limit: 10_000)

    let key: UserPool
}

extension Tenant {
    /// Makes a tenant that nobody has set up, as the official emulator does when one is named: everything is enabled.
    init(unconfigured id: String, of project: String) {
        self.init(
            project: project, id: id, allowsPasswords: true, allowsEmailLinks: true, allowsAnonymous: true,
            mfa: MFAConfig(state: "ENABLED", enabledProviders: [MFAConfig.phone]), isImplicit: true)
    }
}

extension Project {
    /// Returns the project with the settings that apply to the users of a tenant.
    ///
    /// In production, a tenant inherits neither the protection from enumeration nor the permission for several users to
    /// have one address (`tenant/inheritance#wrong-password-in-tenant`, `#create-dup-in-tenant`); in the official
    /// emulator it does.
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

/// A tenant in a project's seed.
package struct SeededTenant: SchemaObject {
    /// The tenant's settings, without the project to which it belongs.
    fileprivate let settings: Tenant
    /// The tenant's providers; `nil` if it has all of the project's.
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

    /// Returns the tenant completed by `providers`, the project's in the seed.
    func inheriting(from providers: JSONValue?) -> SeededTenant {
        var tenant = self
        tenant.providers?.inherit(from: providers)
        return tenant
    }
}

/// The identity providers of a tenant, and how they differ from the project's.
struct TenantProviders: SchemaObject {
    /// The members that the seed gives for each, by the provider's ID.
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

    /// Completes the providers by `providers`, the project's in the seed.
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

    /// Checks that each provider is complete, and its references to other parts of the seed.
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
