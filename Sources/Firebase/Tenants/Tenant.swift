import EmulatorCore
import JSON

/// A tenant: users of their own within a project, and how they may sign in.
/// <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct Tenant: Row {
    static let table = Table<Tenant>("firebase.tenant", sortedBy: order)
    static let order = SortedIndex<Tenant>("order") { [place(of: $0.project) + $0.id] }

    let project: String
    let id: String
    var displayName: String?
    var allowsPasswords = false
    var allowsEmailLinks = false
    var allowsAnonymous = false
    /// Nobody may sign in, and administrators may not manage its users.
    var isDisabled = false
    var mfa = MFAConfig()
    /// `nil` where the project's setting holds.
    var hidesEmails: Bool?
    /// Numbers that may be second factors, and the code that each takes.
    var testNumbers: [String: String] = [:]
    /// Whether it came into being when it was named, and nobody has set it up.
    var isImplicit = false
    /// Whether the seed holds it, which may also say what its providers are.
    var isSeeded = false
    var others = OtherSettings()

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// What the texts of a project's tenants begin with.
    static func place(of project: String) -> String { "\(project)\0" }

    /// As an administrator sees it. In emulator mode it has `tenantId` and everything that is off, as the official emulator's has;
    /// production tells only what is on. Recorded as `tenant/manage` (https://github.com/t-k/fireemu,
    /// conformance/auth-tenant-blocking-production.json).
    func document(in call: FirebaseCall) -> JSONObject {
        var body = JSONObject([("name", .string("\(call.resourceName)/tenants/\(id)"))])
        if call.isInEmulatorMode { body["tenantId"] = .string(id) }
        body["displayName"] = displayName.map { .string($0) }
        for (name, isOn) in [
            ("allowPasswordSignup", allowsPasswords), ("enableEmailLinkSignin", allowsEmailLinks),
            ("disableAuth", isDisabled), ("enableAnonymousUser", allowsAnonymous),
        ] where isOn || call.isInEmulatorMode { body[name] = .bool(isOn) }
        if mfa.isSet || call.isInEmulatorMode {
            body["mfaConfig"] = .object(mfa.document(listsNone: call.isInEmulatorMode))
        }
        if !call.isInEmulatorMode { body["inheritance"] = [:] }
        if !testNumbers.isEmpty {
            let numbers = testNumbers.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
            body["testPhoneNumbers"] = .object(JSONObject(numbers))
        }
        // Off is an empty object at both addresses: firebase-admin-node, test/integration/auth.spec.ts, "updateTenant() should
        // resolve with the updated tenant".
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
    /// One that nobody has set up, as the official emulator makes one when it is named: everything is enabled.
    init(unconfigured id: String, of project: String) {
        self.init(
            project: project, id: id, allowsPasswords: true, allowsEmailLinks: true, allowsAnonymous: true,
            mfa: MFAConfig(state: "ENABLED", enabledProviders: [MFAConfig.phone]), isImplicit: true)
    }
}

extension Project {
    /// The project as it is for the users of a tenant.
    ///
    /// In production, a tenant doesn't inherit the protection from enumeration, nor that several users may have one address
    /// (`tenant/inheritance#wrong-password-in-tenant`, `#create-dup-in-tenant`); at the official emulator it does.
    func within(_ tenant: Tenant, inEmulatorMode isInEmulatorMode: Bool) -> Project {
        var project = self
        let own = tenant.isSeeded ? seededTenant(tenant.id)?.providers : nil
        project.providers = providers.within(tenant, own)
        project.mfaConfig = tenant.mfa
        if let hidesEmails = tenant.hidesEmails ?? (isInEmulatorMode ? nil : false) {
            project.hidesEmails = hidesEmails
        }
        if !isInEmulatorMode { project.oneAccountPerEmail = true }
        return project
    }
}
