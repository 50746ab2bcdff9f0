import EmulatorCore
import JOSE
import JSON

// v2 projects/P/tenants
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants

/// A tenant: users of their own within a project.
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
    var isDisabled = false
    /// Whether it came into being when it was named, and nobody has set it up.
    var isImplicit = false

    var key: UserPool { UserPool(project: project, tenant: id) }

    /// What the texts of a project's tenants begin with.
    static func place(of project: String) -> String { "\(project)\0" }

    var document: JSONObject {
        var body = JSONObject([("name", .string("projects/\(project)/tenants/\(id)"))])
        body["displayName"] = displayName.map { .string($0) }
        body["allowPasswordSignup"] = .bool(allowsPasswords)
        body["enableEmailLinkSignin"] = .bool(allowsEmailLinks)
        body["enableAnonymousUser"] = .bool(allowsAnonymous)
        body["disableAuth"] = .bool(isDisabled)
        return body
    }
}

extension Tenant {
    /// One that nobody has set up, as the official emulator makes one when it is named: everything is enabled.
    init(unconfigured id: String, of project: String) {
        self.init(
            project: project, id: id, displayName: id, allowsPasswords: true, allowsEmailLinks: true,
            allowsAnonymous: true, isImplicit: true)
    }
}

extension FirebaseProvider {
    /// - Throws: `TENANT_NOT_FOUND`.
    func tenant(_ id: String, of project: Project, in exchange: Exchange) throws(FirebaseError) -> Tenant {
        let pool = UserPool(project: project.id, tenant: id)
        if let tenant = exchange.world.read({ $0.find(Tenant.self, pool) }) { return tenant }
        return try exchange.world.update { (tables) throws(FirebaseError) -> Tenant in
            if let tenant = tables.find(Tenant.self, pool) { return tenant }
            // As in the official emulator, a tenant of a demo project, or of one that no seed has, comes into being when it
            // is named.
            guard !project.isSeeded || project.id.hasPrefix("demo-"), id.utf8.count <= 64,
                TextRule.identifier.holds(id),
                tables.count(Tenant.self) < UnseededPool.limit
            else {
                throw FirebaseError("TENANT_NOT_FOUND", because: "the project has no tenant \(Diagnosis.quote(id))")
            }
            let tenant = Tenant(unconfigured: id, of: project.id)
            tables.put(tenant)
            return tenant
        }
    }

    /// The tenant that the address names.
    private func tenant(_ call: FirebaseCall) throws(FirebaseError) -> Tenant {
        try tenant(call.exchange.parameters["tenant"] ?? "", of: call.project, in: call.exchange)
    }

    private func change(_ tenant: inout Tenant, _ call: FirebaseCall) throws(FirebaseError) {
        if let name = try call.text("displayName") { tenant.displayName = name }
        if let flag = try call.flag("allowPasswordSignup") { tenant.allowsPasswords = flag }
        if let flag = try call.flag("enableEmailLinkSignin") { tenant.allowsEmailLinks = flag }
        if let flag = try call.flag("enableAnonymousUser") { tenant.allowsAnonymous = flag }
        if let flag = try call.flag("disableAuth") { tenant.isDisabled = flag }
        tenant.isImplicit = false
    }

    func createTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let suffix = call.update { $0.random.text(5, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)) }
        let name = try call.text("displayName") ?? "tenant"
        let stem = name.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        var tenant = Tenant(project: call.project.id, id: "\(stem)-\(suffix)")
        try change(&tenant, call)
        try call.exchange.admit(call.project, tenant: tenant.id)
        let made = tenant
        call.update { $0.put(made) }
        return FirebaseAnswer(body: made.document)
    }

    func getTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        FirebaseAnswer(body: try tenant(call).document)
    }

    func patchTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        var tenant = try tenant(call)
        try change(&tenant, call)
        let changed = tenant
        call.update { $0.put(changed) }
        return FirebaseAnswer(body: changed.document)
    }

    func deleteTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        call.exchange.world.remove(try tenant(call).key)
        return FirebaseAnswer(body: JSONObject())
    }

    func listTenants(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let size = min(1000, max(1, query["pageSize"].flatMap { Int($0) } ?? 20))
        let place = Tenant.place(of: call.project.id)
        let tenants = call.read { tables in
            tables.rows(Tenant.order, prefix: place, after: place + (query["pageToken"] ?? ""), limit: size + 1)
        }.map(\.row)
        let page = tenants.prefix(size)
        var body = JSONObject([("tenants", .array(page.map { .object($0.document) }))])
        if tenants.count > size { body["nextPageToken"] = page.last.map { .string($0.id) } }
        return FirebaseAnswer(body: body)
    }
}
