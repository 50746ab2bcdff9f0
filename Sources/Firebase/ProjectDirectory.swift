import EmulatorCore
import HTTPServer
import JSON
import Synchronization
import Time
import Worlds

/// The treatment of API keys and project IDs that aren't in the seed.
enum UnknownKeys: String, CaseIterable, Sendable {
    /// Unknown keys and IDs are accepted from SDKs in emulator mode, and refused at the real hosts.
    case auto
    case accept
    case refuse
}

/// The projects of a seed, found by what a request names.
struct ProjectDirectory: Sendable {
    private let projects: [String: Project]
    private let keys: [String: String]
    private let numbers: [String: String]
    private let defaultID: String?
    private let unknownKeys: UnknownKeys
    private let imported: AccountExport?
    private let functionsEmulator: String?

    /// Makes the directory. `hidesEmails` is for projects whose seed doesn't say.
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
        defaultID = section.defaultProject ?? seeded.first?.id
        unknownKeys = section.unknownKeys
    }

    /// The project of requests that name none, and of API keys that are taken on trust; `nil` if the seed has no
    /// project and names no default.
    var defaultProject: Project? { defaultID.flatMap { project(id: $0) } }

    /// Returns a seeded project, by its ID or number, the default project, or one whose ID begins with `demo-`.
    func project(id: String) -> Project? {
        projects[id] ?? numbers[id].flatMap { projects[$0] }
            ?? (id == defaultID || ProjectDirectory.isDemo(id) ? unseeded(id) : nil)
    }

    /// Returns the project of an API key. The ID is the API key of a project that isn't in the seed or has no keys
    /// there.
    func project(apiKey: String) -> Project? {
        if let id = keys[apiKey] { return projects[id] }
        if let project = projects[apiKey], project.apiKeys.isEmpty { return project }
        let isUnseededDefault = apiKey == defaultID && projects[apiKey] == nil
        return isUnseededDefault || ProjectDirectory.isDemo(apiKey) ? project(id: apiKey) : nil
    }

    /// Returns an unknown project, if it is taken on trust at this address.
    func trustedProject(id: String, at address: Address) -> Project? {
        takesUnknown(at: address) && ProjectDirectory.isID(id) ? unseeded(id) : nil
    }

    /// Returns the project for an unknown API key, if it is taken on trust at this address.
    func trustedProject(forKey key: String, at address: Address) -> Project? {
        let isKey = (1...200).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isKey && takesUnknown(at: address) ? defaultProject : nil
    }

    /// Returns a project that is in the seed, is the default one, or was made by requests in this world.
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

    /// Whether naming an unknown tenant creates it, as in the official emulator: only in projects that aren't seeded or
    /// whose ID begins with `demo-`, at addresses where unknown projects are taken.
    func takesUnknownTenant(_ id: String, of project: Project, at address: Address) -> Bool {
        let isOpen = !project.isSeeded || ProjectDirectory.isDemo(project.id)
        return isOpen && takesUnknown(at: address) && ProjectDirectory.isID(id)
    }

    private func takesUnknown(at address: Address) -> Bool {
        switch unknownKeys {
        case .auto: address.form == .prefix
        case .accept: true
        case .refuse: false
        }
    }

    static func isDemo(_ id: String) -> Bool { id.hasPrefix("demo-") && isID(id) }

    private static func isID(_ id: String) -> Bool { id.utf8.count <= 64 && TextRule.identifier.holds(id) }

    func hint(forKey key: String) -> String {
        let known = keys.keys.sorted()
        let hint = Spelling.hint(key, among: known)
        return hint.isEmpty && !known.isEmpty ? "; seeded: \(known.prefix(5).joined(separator: ", "))" : hint
    }
}

// The official emulator takes every API key as its project's and makes every project that a request names, so a test
// suite with a key of its own passes there: https://firebase.google.com/docs/emulator-suite/connect_auth. A misspelled
// ID passes, too. So we tell the user which names were taken on trust.

/// A key, project or tenant that isn't in the seed and was accepted all the same.
struct TakenOnTrust: Row {
    static let table = Table<TakenOnTrust>("firebase.takenOnTrust")
    /// The greatest number in one world.
    static let limit = 50

    /// A sentence that says what was accepted, and as what.
    let text: String

    var key: String { text }
}

extension FirebaseProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenOnTrust.self, limit: TakenOnTrust.limit) }.map(\.text)
    }

    /// Returns the project with this API key, or the one to which an unknown key is taken to belong.
    func project(apiKey key: String, in exchange: Exchange) throws -> Project {
        if let project = projects.project(apiKey: key) { return try exchange.trusting(project) }
        guard let project = projects.trustedProject(forKey: key, at: exchange.address) else {
            throw FirebaseError.badAPIKey(
                key, hint: projects.hint(forKey: key), host: exchange.address.host ?? FirebaseProvider.host)
        }
        try exchange.take(
            "API key \(Diagnosis.quote(key)), which no project has, as one of \(Diagnosis.quote(project.id))")
        return try exchange.trusting(project)
    }

    /// Returns the project with this ID.
    func project(id: String, in exchange: Exchange) throws -> Project {
        guard let project = projects.project(id: id) ?? projects.trustedProject(id: id, at: exchange.address) else {
            throw FirebaseError(
                "CONFIGURATION_NOT_FOUND", status: 404,
                because: "no project \(Diagnosis.quote(id)) is seeded, and its ID doesn't begin with demo-")
        }
        return try exchange.trusting(project)
    }
}

extension Exchange {
    /// Records the use of a tenant that nobody has created.
    func takeTenant(_ id: String, of project: Project) throws {
        try take("tenant \(Diagnosis.quote(id)) of \(Diagnosis.quote(project.id)), which nobody has created")
    }

    fileprivate func trusting(_ project: Project) throws -> Project {
        if !project.isSeeded {
            try take("project \(Diagnosis.quote(project.id)), which no seed has, with the Emulator Suite's defaults")
        }
        return project
    }

    /// Records what is taken on trust, and logs it the first time.
    fileprivate func take(_ text: String) throws {
        guard world.read({ $0.takes(text) }) else { return }
        let isNew = try world.update { tables in
            guard tables.takes(text) else { return false }
            tables.put(TakenOnTrust(text: text))
            return true
        }
        guard isNew else { return }
        world.budget.notices.tellOnce("Firebase: taken on trust: \(text)")
    }
}

extension TableReading where Self: ~Copyable {
    /// Whether this text is new, and the table isn't full.
    fileprivate func takes(_ text: String) -> Bool {
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

/// A seeded project whose users are in the world's tables. They are put there when the project is first used.
struct PopulatedProject: Row {
    static let table = Table<PopulatedProject>("firebase.populatedProject")

    let id: String

    var key: String { id }
}

/// A project or tenant that isn't in a seed and that requests have made.
struct UnseededPool: Row {
    static let table = Table<UnseededPool>("firebase.unseededPool", indexes: [byMayBeEmpty])
    static let byMayBeEmpty = Index<UnseededPool, Bool>("mayBeEmpty") { $0.mayBeEmpty }
    /// The greatest number in one world.
    static let limit = 5_000

    let pool: UserPool
    /// A hint: `false` means that it had contents when last checked. The deletion of the last user sets it to `true`
    /// again.
    var mayBeEmpty = true

    var key: UserPool { pool }
}

/// The leases that count a world's unseeded pools among those of all worlds, each held while its pool exists.
final class UnseededPoolLeases: WorldCache {
    private let leases = Mutex<[Allowance.Lease]>([])
    let followsSeed = false

    init() {}

    /// Stores a new lease, and releases those of pools that have been removed.
    func settle(_ lease: Allowance.Lease? = nil, in world: World) {
        leases.withLock { leases in
            if let lease { leases.append(lease) }
            let surplus = leases.count - world.read { $0.count(UnseededPool.self) }
            if surplus > 0 { leases.removeLast(surplus) }
        }
    }
}

/// The rows that a project's seed puts into the world's tables.
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

    /// Returns the contents without those of an earlier seed. A tenant that the earlier seed has keeps its providers.
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
    /// Makes a project or tenant that isn't in a seed, unless it exists. If there are too many, an empty one is removed
    /// for it; returns `false` if none is empty.
    func admit(_ pool: UserPool, counting allowance: Allowance) throws -> Bool {
        guard read({ $0.find(UnseededPool.self, pool) == nil }) else { return true }
        let lease = allowance.take()
        let isCounted = lease != nil
        let isAdmitted = try update { tables in
            guard tables.find(UnseededPool.self, pool) == nil else { return true }
            let isFull = !isCounted || tables.count(UnseededPool.self) >= UnseededPool.limit
            guard !isFull || tables.dropEmptyPool() else { return false }
            tables.put(UnseededPool(pool: pool))
            return true
        }
        caches[UnseededPoolLeases.self].settle(lease, in: self)
        return isAdmitted
    }

    /// Puts the users and OpenID providers of the project and its tenants into the world's tables, with those that were
    /// imported, unless it was done before.
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

    /// Adds what this seed has and the earlier one hadn't, if the project's users are in the tables already. Existing
    /// users stay as the world has made them.
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

    /// Removes a tenant with its contents, and remembers that it was deleted. Returns `false` if another request has
    /// removed it.
    func remove(_ tenant: UserPool) throws -> Bool {
        try deleteUsers(of: tenant)
        let isRemoved = try update { tables in
            guard tables.remove(tenant) else { return false }
            tables.put(DeletedTenant(key: tenant))
            return true
        }
        caches[UnseededPoolLeases.self].settle(in: self)
        return isRemoved
    }

    /// Deletes all users of a pool, in batches, so that other requests don't have to wait for long.
    func deleteUsers(of pool: UserPool) throws {
        let count = 100
        while try update({ $0.deleteUsers(of: pool, limit: count) }) == count {}
    }
}

extension Transaction {
    /// Removes the oldest pool that is still empty. Returns `false` if there is none.
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

    /// Whether an administrator has changed the pool's settings.
    private func isSetUp(_ pool: UserPool) -> Bool {
        if find(ProjectSettings.self, pool.project) != nil { return true }
        return pool.tenant != nil && !(find(Tenant.self, pool)?.isImplicit ?? true)
    }

    /// Removes a pool with its contents. Returns `false` if it isn't a tenant, or was removed before.
    @discardableResult
    mutating func remove(_ pool: UserPool) -> Bool {
        _ = deleteUsers(of: pool, limit: .max)
        pool.removeAll(&self)
        remove(UnseededPool.self, pool)
        return pop(Tenant.self, pool) != nil
    }
}

extension Exchange {
    /// Makes sure that a project or tenant exists, with its seeded users.
    ///
    /// - Throws: `QUOTA_EXCEEDED` if it isn't in a seed, and there are too many of them.
    func admit(_ project: Project, tenant: String? = nil) throws {
        if project.hasContents { try world.populate(project) }
        guard tenant != nil || !project.isSeeded else { return }
        let allowance = world.budget.projects
        guard try !world.admit(UserPool(project: project.id, tenant: tenant), counting: allowance) else { return }
        let isWorldFull = allowance.count < allowance.limit
        if isWorldFull { allowance.noteRefusal() }
        world.budget.notices.tell(
            .projects,
            isWorldFull
                ? "a world has \(UnseededPool.limit) Firebase projects that no seed holds: no more are made in it"
                : "there are \(allowance.count) Firebase projects that no seed holds, in all worlds: no more are made here"
        )
        throw FirebaseError.quotaExceeded(
            "Exceeded the number of projects.",
            Diagnosis(
                received: "project \(Diagnosis.quote(project.id))",
                "no seed holds it, and of such projects and tenants a world has \(UnseededPool.limit) and all "
                    + "worlds together \(allowance.limit) at most: use fewer, reset the world, or seed them"))
    }
}

extension FirebaseCall {
    /// Checks that the world may have more users. Code that makes users checks it again, in the same transaction.
    func checkRoom(for count: Int = 1) throws(FirebaseError) {
        try read { (tables) throws(FirebaseError) in try tables.checkRoom(for: count, in: exchange.world) }
    }
}

extension TableReading where Self: ~Copyable {
    /// Checks that the world may have more settings of projects and tenants.
    func checkRoomForSettings(in world: World) throws(FirebaseError) {
        let limit = world.budget.settingsBytesOfWorld
        guard size(ProjectSettings.self) + size(Tenant.self) > limit else { return }
        throw .quotaExceeded(
            "Exceeded the size of settings.",
            Diagnosis(
                "a world has at most \(limit) bytes of settings of projects and tenants: shorten some, or reset the world"
            ))
    }

    func checkRoom(for count: Int = 1, in world: World) throws(FirebaseError) {
        let (limit, bytes) = (world.budget.usersOfWorld, world.budget.userBytesOfWorld)
        guard self.count(User.self) > limit - count || size(User.self) > bytes else { return }
        throw .quotaExceeded(
            "Exceeded the number of accounts.",
            Diagnosis(
                "a world has at most \(limit) users, whose texts have at most \(bytes) bytes: delete some, or reset the world"
            ))
    }
}
