import EmulatorCore
import JSON

/// The users of a project or of one of its tenants, for the inspector. Changes are made as by an administrator, with
/// the service's own methods; no exchange is recorded, because no app has sent one.
struct FirebaseDirectory: UserDirectory {
    let provider: FirebaseProvider
    let exchange: Exchange
    let project: Project
    let pool: UserPool

    var fields: Schema { FirebaseUserFields.schema }
    let keyField = "localId"

    /// Returns the ID `firebase:PROJECT` or `firebase:PROJECT:TENANT`: neither name has a colon.
    static func id(of pool: UserPool) -> String {
        (["firebase", pool.project] + (pool.tenant.map { [$0] } ?? [])).joined(separator: ":")
    }

    var summary: UserDirectorySummary { FirebaseDirectory.summary(of: pool, in: exchange.world) }

    static func summary(of pool: UserPool, in world: World) -> UserDirectorySummary {
        UserDirectorySummary(
            id: id(of: pool), title: pool.tenant ?? pool.project,
            kind: pool.tenant == nil ? "Firebase project" : "tenant of \(pool.project)",
            users: world.read { $0.count(User.byPool, pool) },
            within: pool.tenant == nil ? nil : id(of: UserPool(project: pool.project, tenant: nil)))
    }

    func parts(after cursor: String?, limit: Int) -> UserDirectoryPage {
        guard pool.tenant == nil else { return UserDirectoryPage() }
        let place = Tenant.place(of: project.id)
        let tenants = exchange.world.read { tables in
            tables.rows(Tenant.order, prefix: place, after: place + (cursor ?? ""), limit: limit + 1)
        }.map(\.row)
        return UserDirectoryPage(
            tenants.prefix(limit).map { FirebaseDirectory.summary(of: $0.key, in: exchange.world) },
            next: tenants.count > limit ? tenants[limit - 1].id : nil)
    }

    func users(search: String, after cursor: String?, limit: Int) -> UserPage {
        let found = UserSearch(pool: pool, text: search).page(after: cursor, limit: limit, in: exchange.world)
        return UserPage(found.users.map(\.line), next: found.next)
    }

    func user(_ id: String) -> InspectedUser? {
        let limit = InspectedSection.limit
        let found = exchange.world.read { tables -> (User, [Session], Int)? in
            guard let user = tables.user(id, in: pool) else { return nil }
            let sessions = tables.newest(Session.byUser, user.key, limit: limit)
            return (user, sessions, tables.count(Session.byUser, user.key) - sessions.count)
        }
        return found.map { inspected($0, sessions: $1, moreSessions: $2) }
    }

    // MARK: - Changes

    func add(_ user: JSONObject) async throws -> String {
        let answer = try await run(user) { (call) throws in try provider.createAsAdmin(call) }
        return answer["localId"]?.string ?? ""
    }

    func change(_ id: String, _ patch: JSONObject) async throws {
        _ = try await run(patch, on: id) { (call) throws in try provider.updateAsAdmin(call) }
    }

    func delete(_ id: String) async throws {
        _ = try await run(on: id) { (call) throws in try provider.deleteAsAdmin(call) }
    }

    /// Runs a method of the service for an administrator, even in a tenant whose sign-in is disabled.
    func run(
        _ fields: JSONObject = JSONObject(), on id: String? = nil,
        _ method: (FirebaseCall) async throws -> FirebaseAnswer
    ) async throws -> JSONObject {
        do {
            var body = FirebaseUserFields.message(fields)
            if let id { body["localId"] = .string(id) }
            let call = try provider.scoped(
                exchange, project, tenant: pool.tenant, isAdmin: true, takesDisabled: true, body)
            return try await method(call).body
        } catch let error as FirebaseError {
            throw FirebaseUserFields.refusal(error)
        }
    }
}

extension FirebaseProvider {
    /// Returns the projects of the seed in its order, then those that requests have made.
    package func userDirectories(
        after cursor: String?, limit: Int, in exchange: Exchange
    ) throws -> UserDirectoryPage {
        let world = exchange.world
        let seeded = world.seed[FirebaseSection.self].projects.map(\.id)
        let unseededDefault = projects.defaultProject.flatMap { $0.isSeeded ? nil : $0.id }
        let first = seeded + (unseededDefault.map { [$0] } ?? [])
        var page = UserDirectoryPage()
        var place = cursor.map { Int($0) ?? first.count } ?? 0
        while place >= 0, place < first.count, page.directories.count < limit {
            if let directory = try userDirectory("firebase:\(first[place])", in: exchange) {
                page.directories.append(directory.summary)
            }
            place += 1
        }
        if place >= 0, place < first.count {
            page.next = String(place)
            return page
        }
        let after = cursor.flatMap { Int($0) == nil ? UserPool(project: String($0.dropFirst()), tenant: nil) : nil }
        var last = after
        while page.directories.count < limit {
            let rows = world.read { $0.rows(UnseededPool.self, after: last, limit: limit) }.map(\.pool)
            for pool in rows {
                last = pool
                guard pool.tenant == nil, pool.project != unseededDefault else { continue }
                page.directories.append(FirebaseDirectory.summary(of: pool, in: world))
                if page.directories.count == limit { break }
            }
            if rows.isEmpty { return page }
        }
        // No project's ID has a tilde, so a number is never one.
        page.next = last.map { "~\($0.project)" }
        return page
    }

    package func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)? {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), parts[0] == name else { return nil }
        let pool = UserPool(project: parts[1], tenant: parts.count == 3 ? parts[2] : nil)
        guard let project = projects.existing(parts[1], in: exchange.world) else { return nil }
        if project.hasContents { try exchange.world.populate(project) }
        guard pool.tenant == nil || exchange.world.read({ $0.find(Tenant.self, pool) != nil }) else { return nil }
        return FirebaseDirectory(provider: self, exchange: exchange, project: project, pool: pool)
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        try exchange.world.update { $0.pop(Session.self, text) }.map { ("refresh token", $0.user.pool.project) }
    }
}
