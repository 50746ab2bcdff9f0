import EmulatorCore
import HTTPServer
import JSON
import Synchronization
import Time
import Worlds

/// The treatment of API keys and project IDs that aren't in the seed: they are accepted or refused.
enum UnknownKeys: String, CaseIterable, Sendable {
    /// Unknown API keys and project IDs are accepted from SDKs in emulator mode, and refused at real hosts.
    case auto
    case accept
    case refuse
}

/// The Firebase projects of a seed, which are found by ID, number or API key.
struct ProjectDirectory: Sendable {
    private let projects: [String: Project]
    private let keys: [String: String]
    private let numbers: [String: String]
    /// The project IDs and API keys in the seed, sorted.
    private let names: [String]
    private let defaultID: String?
    private let unknownKeys: UnknownKeys
    private let imported: AccountExport?
    private let functionsEmulator: String?

    /// Stores the Firebase projects of a seed, for lookup by ID, API key or project number. `hidesEmails` is the
    /// default for projects without `emailEnumerationProtection` in the seed.
    init(_ section: FirebaseSection, imported: AccountExport?, hidesEmails: Bool) {
        self.imported = imported
        functionsEmulator = section.functionsEmulator
        let seeded = section.projects.map { project in
            var project = project
            project.hidesEmails = project.seededProtection ?? hidesEmails
            project.userEvents.emulator = section.functionsEmulator
            if project.id == imported?.project { project.imported = imported }
            return project
        }
        projects = Dictionary(seeded.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        keys = Dictionary(
            seeded.flatMap { project in project.apiKeys.map { ($0, project.id) } },
            uniquingKeysWith: { first, _ in first })
        numbers = Dictionary(seeded.map { ($0.number, $0.id) }, uniquingKeysWith: { first, _ in first })
        names = projects.keys.sorted() + keys.keys.sorted()
        defaultID = section.defaultProjectID
        unknownKeys = section.unknownKeys
    }

    /// The Firebase project for requests that name none, and for unknown API keys that are accepted; `nil` if the seed
    /// has no project and names no default.
    var defaultProject: Project? { defaultID.flatMap { project(id: $0) } }

    /// Returns the Firebase project with this ID or number. It is in the seed, is the default project, or has an ID
    /// that begins with `demo-`.
    func project(id: String) -> Project? {
        projects[id] ?? numbers[id].flatMap { projects[$0] }
            ?? (id == defaultID || ProjectDirectory.isDemo(id) ? unseeded(id) : nil)
    }

    /// Returns the Firebase project of an API key. A project without API keys in the seed has its ID as its key. A key
    /// that begins with `demo-` is also the ID of its project.
    func project(apiKey: String) -> Project? {
        if let id = keys[apiKey] { return projects[id] }
        if let project = projects[apiKey], project.apiKeys.isEmpty { return project }
        let isUnseededDefault = apiKey == defaultID && projects[apiKey] == nil
        return isUnseededDefault || ProjectDirectory.isDemo(apiKey) ? project(id: apiKey) : nil
    }

    /// Returns a Firebase project with the Emulator Suite's defaults for an unknown ID, if unknown projects are
    /// accepted at the request's address.
    func trustedProject(id: String, at address: Address) -> Project? {
        acceptsUnknown(at: address) && ProjectDirectory.isID(id) ? unseeded(id) : nil
    }

    /// Returns the default Firebase project for an unknown API key, if unknown keys are accepted at the request's
    /// address.
    func trustedProject(forKey key: String, at address: Address) -> Project? {
        let isKey = (1...200).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isKey && acceptsUnknown(at: address) ? defaultProject : nil
    }

    /// Returns the Firebase project with this ID if it is in the seed, is the default project, or was made by requests
    /// in this test world.
    func existing(_ id: String, in world: World) -> Project? {
        if let project = projects[id] { return project }
        let pool = UserPool(project: id, tenant: nil)
        return id == defaultID || world.read({ $0.find(UnseededPool.self, pool) != nil }) ? unseeded(id) : nil
    }

    private func unseeded(_ id: String) -> Project {
        var project = Project(unseeded: id)
        project.userEvents.emulator = functionsEmulator
        if id == imported?.project { project.imported = imported }
        return project
    }

    /// Whether a request to `address` that names an unknown tenant creates the tenant, as in the Firebase emulator. The
    /// project must be outside the seed, or have an ID that begins with `demo-`. Besides, requests to `address` must be
    /// allowed to name unknown projects.
    func acceptsUnknownTenant(_ id: String, of project: Project, at address: Address) -> Bool {
        let isOpen = !project.isSeeded || ProjectDirectory.isDemo(project.id)
        return isOpen && acceptsUnknown(at: address) && ProjectDirectory.isID(id)
    }

    private func acceptsUnknown(at address: Address) -> Bool {
        switch unknownKeys {
        case .auto: address.form == .prefix
        case .accept: true
        case .refuse: false
        }
    }

    static func isDemo(_ id: String) -> Bool { id.hasPrefix("demo-") && isID(id) }

    private static func isID(_ id: String) -> Bool { id.utf8.count <= 64 && TextRule.identifier.holds(id) }

    /// Returns the project ID or API key in the seed that is probably meant by a misspelled one; `nil` if none is
    /// similar. A name that only continues a name in the seed, such as `demo-app-2`, isn't misspelled.
    func meant(by name: String) -> String? {
        let near = Spelling.nearest(to: name, among: names)
        return near.flatMap { name.hasPrefix($0) ? nil : $0 }
    }

    func hint(forKey key: String) -> String {
        let known = keys.keys.sorted()
        let hint = Spelling.hint(key, among: known)
        return hint.isEmpty && !known.isEmpty ? "; seeded: \(known.prefix(5).joined(separator: ", "))" : hint
    }
}

// The official emulator takes every API key as its project's and makes every project that a request names, so a test
// suite with a key of its own passes there: https://firebase.google.com/docs/emulator-suite/connect_auth. A misspelled
// ID passes, too. So we tell the user which names outside the seed were accepted.

/// A notice that an API key, a project or a tenant was accepted though the seed doesn't have it.
struct TakenOnTrust: Row {
    static let table = Table<TakenOnTrust>("firebase.takenOnTrust")
    /// The greatest number of notices in one test world. Each notice names an API key, a project or a tenant that was
    /// accepted though the seed doesn't have it.
    static let limit = 50

    /// The text of the notice. It says which API key, project or tenant was accepted.
    let text: String

    var key: String { text }
}

extension FirebaseProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenOnTrust.self, limit: TakenOnTrust.limit) }.map(\.text)
    }

    /// Returns the Firebase project of an API key. If the seed accepts unknown keys, an unknown key belongs to the
    /// default project.
    ///
    /// - Throws: An error if the key is unknown and unknown keys aren't accepted.
    func project(apiKey key: String, in exchange: Exchange) throws -> Project {
        if let project = projects.project(apiKey: key) { return try exchange.trusting(project) }
        guard let project = projects.trustedProject(forKey: key, at: exchange.address) else {
            throw FirebaseError.badAPIKey(
                key, hint: projects.hint(forKey: key), host: exchange.address.host ?? FirebaseProvider.host)
        }
        try exchange.recordTakenOnTrust(
            "API key \(Diagnosis.quote(key)), which no project has, as one of \(Diagnosis.quote(project.id))")
        return try exchange.trusting(project)
    }

    /// Returns the note for the answer to a call whose project, API key or tenant was accepted, but probably is
    /// misspelled: the seed lacks it, and has a similar project or key; or the seed has the project, and nobody has
    /// created the tenant. `key` is the API key that names the project.
    func acceptanceNote(_ call: FirebaseCall, key: String? = nil) -> Note? {
        let project = call.project
        if !project.isSeeded, project.id != projects.defaultProject?.id, let meant = projects.meant(by: project.id) {
            return Note(
                Diagnosis(
                    received: "project \(Diagnosis.quote(project.id))",
                    "no seed has it, so it was made with the Emulator Suite's defaults; did you mean "
                        + "\(Diagnosis.quote(meant))?"))
        }
        if let key, projects.project(apiKey: key) == nil, let meant = projects.meant(by: key),
            projects.project(apiKey: meant)?.id == project.id
        {
            return Note(
                Diagnosis(
                    received: "API key \(Diagnosis.quote(key))",
                    "no project has it, so it was accepted as one of the project \(Diagnosis.quote(project.id)); did "
                        + "you mean \(Diagnosis.quote(meant))?"))
        }
        guard project.isSeeded, let id = call.tenant else { return nil }
        let place = Tenant.place(of: project.id)
        let known = call.read { tables -> [Tenant]? in
            guard tables.find(Tenant.self, call.pool)?.isImplicit ?? false else { return nil }
            return tables.rows(Tenant.order, prefix: place, limit: Spelling.limit).map(\.row)
        }
        guard let known else { return nil }
        let hint = Spelling.hint(id, among: known.filter { !$0.isImplicit }.map(\.id))
        return Note(
            Diagnosis(
                received: "tenant \(Diagnosis.quote(id))",
                "nobody has created it, so it was made as by the Emulator Suite\(hint)"))
    }

    /// Returns the Firebase project with this ID.
    ///
    /// - Throws: An error if the ID is unknown and unknown projects aren't accepted.
    func project(id: String, in exchange: Exchange) throws -> Project {
        guard let project = projects.project(id: id) ?? projects.trustedProject(id: id, at: exchange.address) else {
            throw FirebaseError(
                "CONFIGURATION_NOT_FOUND", status: 404,
                because:
                    "no project \(Diagnosis.quote(id)) is configured in the seed, and its ID doesn't begin with demo-")
        }
        return try exchange.trusting(project)
    }
}

extension Exchange {
    /// Stores the notice that a request used a tenant that nobody has created.
    func recordTenantTakenOnTrust(_ id: String, of project: Project) throws {
        try recordTakenOnTrust(
            "tenant \(Diagnosis.quote(id)) of \(Diagnosis.quote(project.id)), which nobody has created")
    }

    fileprivate func trusting(_ project: Project) throws -> Project {
        if !project.isSeeded {
            try recordTakenOnTrust(
                "project \(Diagnosis.quote(project.id)), which no seed has, with the Emulator Suite's defaults")
        }
        return project
    }

    /// Stores the notice that an API key, project or tenant outside the seed was accepted. A new notice is logged, too.
    fileprivate func recordTakenOnTrust(_ text: String) throws {
        guard world.read({ $0.acceptsNotice(text) }) else { return }
        let isNew = try world.update { tables in
            guard tables.acceptsNotice(text) else { return false }
            tables.put(TakenOnTrust(text: text))
            return true
        }
        guard isNew else { return }
        world.budget.notices.logOnce(
            "Firebase: accepted \(text): check for a misspelled name, or add it to the seed")
    }
}

extension TableReading where Self: ~Copyable {
    /// Whether the notice with this text is new, and the table of notices isn't full.
    fileprivate func acceptsNotice(_ text: String) -> Bool {
        find(TakenOnTrust.self, text) == nil && count(TakenOnTrust.self) < TakenOnTrust.limit
    }
}

// The quotas for projects that aren't in a seed, and for users: every client that reaches the daemon can make them.
// Production has quotas, too, and answers QUOTA_EXCEEDED with status 429, RESOURCE_EXHAUSTED.
// https://cloud.google.com/identity-platform/quotas https://cloud.google.com/apis/design/errors#handling_errors

extension FirebaseError {
    static func quotaExceeded(_ detail: String, _ diagnosis: Diagnosis) -> FirebaseError {
        FirebaseError(
            "QUOTA_EXCEEDED", detail, status: 429, named: "RESOURCE_EXHAUSTED", reason: "rateLimitExceeded",
            diagnosis: diagnosis)
    }
}

/// The stored fact that the seeded and imported users, tenants and OpenID providers of a Firebase project have been put
/// into the tables of a test world. This is done when the project is first used.
struct PopulatedProject: Row {
    static let table = Table<PopulatedProject>("firebase.populatedProject")

    let id: String

    var key: String { id }
}

/// A Firebase project or tenant that isn't in the seed and that a request has made.
struct UnseededPool: Row {
    static let table = Table<UnseededPool>("firebase.unseededPool", indexes: [byMayBeEmpty])
    static let byMayBeEmpty = Index<UnseededPool, Bool>("mayBeEmpty") { $0.mayBeEmpty }
    /// The greatest number of Firebase projects and tenants outside the seed in one test world.
    static let limit = 5_000

    let pool: UserPool
    /// Whether the project or tenant is possibly empty, so that it could be removed to make room for a new one. The
    /// value becomes `false` when a check finds contents or changed settings, and `true` again when the last user is
    /// deleted.
    var mayBeEmpty = true

    var key: UserPool { pool }
}

extension UnseededPool: BoundedRow {
    static func excess(of rows: [UnseededPool]) -> String? {
        rows.count > limit ? "more than \(limit) Firebase projects and tenants outside the seed" : nil
    }
}

/// The leases by which the daemon counts the Firebase projects and tenants outside the seed in all test worlds
/// together. A lease is held while its project or tenant exists.
final class UnseededPoolLeases: WorldCache {
    private let leases = Mutex<[Allowance.Lease]>([])
    let followsSeed = false

    init() {}

    /// Keeps the lease by which a new project or tenant counts toward the daemon's limit, if a `lease` is given.
    /// Releases the leases of projects and tenants that have been removed.
    func reconcile(adding lease: Allowance.Lease? = nil, with world: World) {
        leases.withLock { leases in
            if let lease { leases.append(lease) }
            let surplus = leases.count - world.read { $0.count(UnseededPool.self) }
            if surplus > 0 { leases.removeLast(surplus) }
        }
    }
}

/// The tenants, users and OpenID providers that the seed gives to a Firebase project.
private struct SeededContents: Sendable {
    private(set) var tenants: [Tenant]
    private(set) var users: [User]
    private(set) var providers: [OAuthIdpConfig]

    init(_ project: Project, now: Instant) {
        tenants = project.tenants.map { Tenant($0, of: project.id) }
        users = project.users.map { User($0, in: project.pool, now: now) }
        providers = project.providers.openID.map { OAuthIdpConfig($0.provider, id: $0.id, in: project.pool) }
        for tenant in project.tenants {
            let pool = UserPool(project: project.id, tenant: tenant.id)
            let openID = tenant.providers?.openID ?? project.providers.openID
            users += tenant.users.map { User($0, in: pool, now: now) }
            providers += openID.map { OAuthIdpConfig($0.provider, id: $0.id, in: pool) }
        }
    }

    /// Returns the seeded tenants, users and OpenID providers that `earlier`, an earlier version of the seed, doesn't
    /// have. OpenID providers of a tenant that `earlier` has are left out even if they are new.
    func without(_ earlier: SeededContents?) -> SeededContents {
        guard let earlier else { return self }
        let (pools, userKeys) = (Set(earlier.tenants.map(\.key)), Set(earlier.users.map(\.key)))
        let providerKeys = Set(earlier.providers.map(\.key))
        var rest = self
        rest.tenants.removeAll { pools.contains($0.key) }
        rest.users.removeAll { userKeys.contains($0.key) }
        rest.providers.removeAll { pools.contains($0.pool) || providerKeys.contains($0.key) }
        return rest
    }
}

extension World {
    /// Makes a Firebase project or tenant that isn't in the seed, unless it exists. If the limit on such projects and
    /// tenants is reached, one without contents is removed first. If there is none, nothing is made, and the result is
    /// `false`.
    func admit(_ pool: UserPool, counting allowance: Allowance) throws -> Bool {
        guard read({ $0.find(UnseededPool.self, pool) == nil }) else { return true }
        let lease = allowance.acquire()
        let isCounted = lease != nil
        let isAdmitted = try update { tables in
            guard tables.find(UnseededPool.self, pool) == nil else { return true }
            let isFull = !isCounted || tables.count(UnseededPool.self) >= UnseededPool.limit
            guard !isFull || tables.dropEmptyPool() else { return false }
            tables.put(UnseededPool(pool: pool))
            return true
        }
        caches[UnseededPoolLeases.self].reconcile(adding: lease, with: self)
        return isAdmitted
    }

    /// Puts the seeded and imported users, tenants and OpenID providers of a Firebase project into the test world's
    /// tables, unless they were put there by an earlier call.
    func populate(_ project: Project) throws(StoreFailure) {
        guard read({ $0.find(PopulatedProject.self, project.id) == nil }) else { return }
        // Passwords are hashed here, outside the lock.
        let seeded = SeededContents(project, now: now)
        try update { tables in
            guard tables.find(PopulatedProject.self, project.id) == nil else { return }
            for tenant in seeded.tenants { tables.put(tenant) }
            for user in seeded.users { tables.put(user) }
            for provider in seeded.providers { tables.put(provider) }
            if let imported = project.imported { imported.put(&tables) }
            tables.put(PopulatedProject(id: project.id))
        }
    }

    /// Adds a Firebase project's new tenants, users and OpenID providers to the test world after the seed was replaced.
    /// They are new if `earlier`, the project in the replaced seed, doesn't have them. Existing users stay unchanged.
    /// If the test world hasn't used the project yet, nothing is added.
    func populate(_ project: Project, after earlier: Project?) throws(StoreFailure) {
        guard read({ $0.find(PopulatedProject.self, project.id) != nil }) else { return }
        let known = earlier.map { SeededContents($0, now: now) }
        let seeded = SeededContents(project, now: now).without(known)
        try update { tables in
            for tenant in seeded.tenants { tables.put(tenant) }
            for user in seeded.users where tables.find(User.self, user.key) == nil { tables.put(user) }
            for provider in seeded.providers where tables.find(OAuthIdpConfig.self, provider.key) == nil {
                tables.put(provider)
            }
        }
    }

    /// Removes a tenant with its contents, and stores the fact that it was deleted. Returns `false` if another request
    /// has removed the tenant.
    func remove(_ tenant: UserPool) throws -> Bool {
        try deleteUsers(of: tenant)
        let isRemoved = try update { tables in
            guard tables.remove(tenant) else { return false }
            tables.put(DeletedTenant(key: tenant))
            return true
        }
        caches[UnseededPoolLeases.self].reconcile(with: self)
        return isRemoved
    }

    /// Deletes all users of a project or tenant. It does so in batches, so that other requests don't wait for long.
    func deleteUsers(of pool: UserPool) throws {
        let count = 100
        while try update({ $0.deleteUsers(of: pool, limit: count) }) == count {}
    }
}

extension Transaction {
    /// Removes the oldest project or tenant outside the seed that has neither contents nor changed settings. Returns
    /// `false` if there is none.
    fileprivate mutating func dropEmptyPool() -> Bool {
        while var candidate = first(UnseededPool.byMayBeEmpty, true) {
            let pool = candidate.pool
            if !isSetUp(pool), pool.isEmpty(self) {
                remove(pool)
                return true
            }
            candidate.mayBeEmpty = false
            put(candidate)
        }
        return false
    }

    /// Returns `true` if the project's settings have been changed. For a tenant, returns `true` also if an
    /// administrator has made or changed the tenant.
    private func isSetUp(_ pool: UserPool) -> Bool {
        if find(ProjectSettings.self, pool.project) != nil { return true }
        return pool.tenant != nil && !(find(Tenant.self, pool)?.isImplicit ?? true)
    }

    /// Removes all contents of a project or tenant, and also the tenant itself. Returns whether a tenant was removed.
    @discardableResult
    mutating func remove(_ pool: UserPool) -> Bool {
        _ = deleteUsers(of: pool, limit: .max)
        pool.removeAll(&self)
        remove(UnseededPool.self, pool)
        return pop(Tenant.self, pool) != nil
    }
}

extension Exchange {
    /// Makes sure that a Firebase project or tenant exists in the request's test world, with its seeded users.
    ///
    /// - Throws: `QUOTA_EXCEEDED` if the seed doesn't have it, and there are too many projects and tenants outside the
    ///   seed.
    func admit(_ project: Project, tenant: String? = nil) throws {
        if project.hasContents { try world.populate(project) }
        guard tenant != nil || !project.isSeeded else { return }
        let allowance = world.budget.projects
        guard try !world.admit(UserPool(project: project.id, tenant: tenant), counting: allowance) else { return }
        let isWorldFull = allowance.count < allowance.limit
        if isWorldFull { allowance.countRefusal() }
        world.budget.notices.warnOncePerMinute(
            .projects,
            isWorldFull
                ? "a world has \(UnseededPool.limit) Firebase projects that no seed holds: no more are made in it"
                : "there are \(allowance.count) Firebase projects that no seed holds, in all worlds: no more are made here"
        )
        throw FirebaseError.quotaExceeded(
            "Exceeded the number of projects.",
            Diagnosis(
                received: "project \(Diagnosis.quote(project.id))",
                "there are too many projects and tenants outside the seed (a test world may have "
                    + "\(UnseededPool.limit), and all test worlds together \(allowance.limit)): use fewer, reset the "
                    + "test world, or add them to the seed"))
    }
}

extension FirebaseCall {
    /// Checks that the limit of a test world allows `count` more users. The transaction that creates the users checks
    /// this again.
    func checkRoom(for count: Int = 1) throws(FirebaseError) {
        try read { (tables) throws(FirebaseError) in try tables.checkRoom(for: count, in: exchange.world) }
    }
}

extension TableReading where Self: ~Copyable {
    /// Checks that the settings of all projects and tenants don't exceed a test world's limit.
    func checkRoomForSettings(in world: World) throws(FirebaseError) {
        let limit = world.budget.settingsBytesOfWorld
        let size =
            size(ProjectSettings.self) + size(Tenant.self) + size(ProviderConfig.self) + size(OAuthIdpConfig.self)
        guard size > limit else { return }
        throw .quotaExceeded(
            "Exceeded the size of settings.",
            Diagnosis(
                "the settings of projects and tenants exceed a test world's limit of \(limit) bytes: shorten some, or reset the world"
            ))
    }

    func checkRoom(for count: Int = 1, in world: World) throws(FirebaseError) {
        let (limit, bytes) = (world.budget.usersOfWorld, world.budget.userBytesOfWorld)
        guard self.count(User.self) > limit - count || size(User.self) > bytes else { return }
        throw .quotaExceeded(
            "Exceeded the number of accounts.",
            Diagnosis(
                "the test world has reached its limit of \(limit) users, or of \(bytes) bytes for their data: delete some users, or reset the world"
            ))
    }
}
