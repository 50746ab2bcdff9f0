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

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// What the texts of a project's tenants begin with.
    static func place(of project: String) -> String { "\(project)\0" }

    /// As an administrator sees it. In emulator mode it has `tenantId`, as the official emulator's has.
    func document(inEmulatorMode: Bool) -> JSONObject {
        var body = JSONObject([("name", .string("projects/\(project)/tenants/\(id)"))])
        if inEmulatorMode { body["tenantId"] = .string(id) }
        body["displayName"] = displayName.map { .string($0) }
        body["allowPasswordSignup"] = .bool(allowsPasswords)
        body["enableEmailLinkSignin"] = .bool(allowsEmailLinks)
        body["disableAuth"] = .bool(isDisabled)
        body["enableAnonymousUser"] = .bool(allowsAnonymous)
        body["mfaConfig"] = .object(mfa.document(listsNone: true))
        if !testNumbers.isEmpty {
            let numbers = testNumbers.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
            body["testPhoneNumbers"] = .object(JSONObject(numbers))
        }
        body["emailPrivacyConfig"] = hidesEmails.map { ["enableImprovedEmailPrivacy": .bool($0)] }
        return body
    }
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
    func within(_ tenant: Tenant) -> Project {
        var project = self
        let own = tenant.isSeeded ? seededTenant(tenant.id)?.providers : nil
        project.providers = providers.within(tenant, own)
        project.mfaConfig = tenant.mfa
        if let hidesEmails = tenant.hidesEmails { project.hidesEmails = hidesEmails }
        return project
    }
}
