import EmulatorCore
import JSON

/// A tenant: a separate set of users in a project, with its sign-in methods.
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
    /// Whether the tenant is disabled: nobody may sign in, and administrators may not manage its users.
    var isDisabled = false
    var mfa = MFAConfig()
    /// Whether addresses are protected from enumeration; `nil` if the project's setting applies.
    var hidesEmails: Bool?
    /// The code for each test number. They may be second factors.
    var testNumbers: [String: String] = [:]
    /// Whether it was created because a request named it, and nobody has set it up.
    var isImplicit = false
    /// Whether it is in the seed, which may also set its providers.
    var isSeeded = false
    var others = OtherSettings()

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// Returns the common prefix of the index texts of a project's tenants.
    static func place(of project: String) -> String { "\(project)\0" }

    /// Returns the tenant for an administrator. In emulator mode it has `tenantId` and everything that is off, as in
    /// the official emulator; production returns only what is on. Recorded as `tenant/manage`
    /// (https://github.com/t-k/fireemu, conformance/auth-tenant-blocking-production.json).
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
