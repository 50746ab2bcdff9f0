import EmulatorCore
import HTTPServer
import Synchronization

// How many projects that no seed holds, and how many users, there may be: whoever can reach the daemon can make them.
// Production has quotas, too, and answers QUOTA_EXCEEDED with status 429, RESOURCE_EXHAUSTED.
// https://cloud.google.com/identity-platform/quotas
// https://cloud.google.com/apis/design/errors#handling_errors

extension FirebaseError {
    static func quotaExceeded(_ detail: String, _ diagnosis: Diagnosis) -> FirebaseError {
        var error = FirebaseError("QUOTA_EXCEEDED", detail, status: 429, diagnosis: diagnosis)
        error.statusName = "RESOURCE_EXHAUSTED"
        error.reason = "rateLimitExceeded"
        return error
    }
}

/// A seeded project whose users are among the world's. They are put there when the project is first used.
struct PopulatedProject: Row {
    static let table = Table<PopulatedProject>("firebase.populatedProject")

    let id: String

    var key: String { id }
}

/// A project or tenant that no seed holds and that requests have made.
struct UnseededPool: Row {
    static let table = Table<UnseededPool>("firebase.unseededPool", indexes: [byMayBeEmpty])
    static let byMayBeEmpty = Index<UnseededPool, Bool>("mayBeEmpty") { $0.mayBeEmpty }
    /// Of one world.
    static let limit = 5_000

    let pool: UserPool
    /// `false` once it was found to hold something, until its last user is deleted.
    var mayBeEmpty = true

    var key: UserPool { pool }
}

/// Counts the pools of a world that no seed holds among those of all worlds, for as long as they are there.
final class UnseededPoolLeases: WorldCache {
    private let leases = Mutex<[Allowance.Lease]>([])
    let followsSeed = false

    init() {}

    /// Keeps a lease, and gives back as many as pools have been removed.
    func settle(_ lease: Allowance.Lease? = nil, in world: World) {
        leases.withLock { leases in
            if let lease { leases.append(lease) }
            let surplus = leases.count - world.read { $0.count(UnseededPool.self) }
            if surplus > 0 { leases.removeLast(surplus) }
        }
    }
}

extension World {
    /// Makes a project or tenant that no seed holds, unless it is there. `false` when there are too many; those in which
    /// nothing has happened make way.
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

    /// Makes sure that the users and OpenID providers of the project and of its tenants are among the world's, and what was
    /// imported to it.
    func populate(_ project: Project) throws(StoreFailure) {
        guard read({ $0.find(PopulatedProject.self, project.id) == nil }) else { return }
        let now = now
        // Passwords are hashed here, outside the lock.
        var users = project.users.map { User($0, in: project.pool, now: now) }
        var configs = project.providers.openID.map { OAuthIdpConfig($0.provider, id: $0.id, in: project.pool) }
        for tenant in project.tenants {
            let pool = UserPool(project: project.id, tenant: tenant.id)
            let openID = tenant.providers?.openID ?? project.providers.openID
            users += tenant.users.map { User($0, in: pool, now: now) }
            configs += openID.map { OAuthIdpConfig($0.provider, id: $0.id, in: pool) }
        }
        let (allUsers, allConfigs) = (users, configs)
        try update { tables in
            guard tables.find(PopulatedProject.self, project.id) == nil else { return }
            for tenant in project.tenants { tables.put(Tenant(tenant, of: project.id)) }
            for user in allUsers { tables.put(user) }
            for config in allConfigs { tables.put(config) }
            if let imported = project.imported { imported.put(&tables) }
            tables.put(PopulatedProject(id: project.id))
        }
    }

    /// Puts what a project has in this seed and hadn't in the earlier one among the world's, if the project's users are
    /// there already. Who is there stays as the world has made them.
    func populate(_ project: Project, after earlier: Project?) throws(StoreFailure) {
        guard read({ $0.find(PopulatedProject.self, project.id) != nil }) else { return }
        let now = now
        func new(_ users: [SeededUser], _ known: [SeededUser], in pool: UserPool) -> [User] {
            let ids = Set(known.map(\.localId))
            return users.filter { !ids.contains($0.localId) }.map { User($0, in: pool, now: now) }
        }
        var users = new(project.users, earlier?.users ?? [], in: project.pool)
        let tenants = project.tenants.filter { tenant in !(earlier?.tenants.contains { $0.id == tenant.id } ?? false) }
        for tenant in project.tenants {
            let before = earlier?.tenants.first { $0.id == tenant.id }
            users += new(tenant.users, before?.users ?? [], in: UserPool(project: project.id, tenant: tenant.id))
        }
        var configs: [OAuthIdpConfig] = []
        let knownConfigs = Set(earlier?.providers.openID.map(\.id) ?? [])
        for openID in project.providers.openID where !knownConfigs.contains(openID.id) {
            configs.append(OAuthIdpConfig(openID.provider, id: openID.id, in: project.pool))
        }
        for tenant in tenants {
            let pool = UserPool(project: project.id, tenant: tenant.id)
            let openID = tenant.providers?.openID ?? project.providers.openID
            configs += openID.map { OAuthIdpConfig($0.provider, id: $0.id, in: pool) }
        }
        let (allUsers, allConfigs) = (users, configs)
        try update { tables in
            for tenant in tenants { tables.put(Tenant(tenant, of: project.id)) }
            for user in allUsers where tables.find(User.self, user.key) == nil { tables.put(user) }
            for config in allConfigs where tables.find(OAuthIdpConfig.self, config.key) == nil { tables.put(config) }
        }
    }

    /// Removes a tenant with what belongs to it, and remembers that it was deleted. `false` when another request has removed it.
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

    /// Deletes all users of a pool, some at a time, so that other requests get their turn.
    func deleteUsers(of pool: UserPool) throws {
        let count = 100
        while try update({ $0.deleteUsers(of: pool, limit: count) }) == count {}
    }
}

extension Transaction {
    /// Removes the oldest pool in which nothing has happened. `false` when there is none.
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

    /// Whether an administrator has changed anything about it.
    private func isSetUp(_ pool: UserPool) -> Bool {
        if find(ProjectSettings.self, pool.project) != nil { return true }
        return pool.tenant != nil && !(find(Tenant.self, pool)?.isImplicit ?? true)
    }

    /// Removes a pool with what belongs to it. `false` when it isn't a tenant, or was removed before.
    @discardableResult
    mutating func remove(_ pool: UserPool) -> Bool {
        _ = deleteUsers(of: pool, limit: .max)
        pool.removeAll(&self)
        remove(UnseededPool.self, pool)
        return pop(Tenant.self, pool) != nil
    }
}

extension Exchange {
    /// Makes sure that a project or tenant is there, with the users that a seed brings.
    ///
    /// - Throws: `QUOTA_EXCEEDED` when no seed holds it, and there are too many of them.
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
    /// Makes sure that the world takes more users. Whatever makes them checks it again, in the transaction that does.
    func checkRoom(for count: Int = 1) throws(FirebaseError) {
        try read { (tables) throws(FirebaseError) in try tables.checkRoom(for: count, in: exchange.world) }
    }
}

extension TableReading where Self: ~Copyable {
    func checkRoom(for count: Int = 1, in world: World) throws(FirebaseError) {
        let limit = world.budget.usersOfWorld
        guard self.count(User.self) > limit - count else { return }
        throw .quotaExceeded(
            "Exceeded the number of accounts.",
            Diagnosis("a world has \(limit) users at most: delete some, or reset the world"))
    }
}
