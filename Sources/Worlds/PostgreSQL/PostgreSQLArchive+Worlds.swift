import JSON
import Platform
import PostgreSQL

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Reading and changing worlds. A commit is one transaction that names the version from which the change began: if
// another daemon has changed the world since, all of it fails. The second attempt locks the world's row first, so that
// no other commit comes between.

extension PostgreSQLArchive {
    package func worlds() throws(StoreFailure) -> [String] {
        let result = try run(PostgreSQLSchema.names())[0]
        return (0..<result.count).map { result.text($0, 0) }
    }

    // MARK: - Reading

    package func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld? {
        var isMade = false
        for _ in 0..<10 {
            if var found = try pool.use({ connection throws(PostgreSQLError) in try read(world, connection) }) {
                _ = try PostgreSQLSchema.checked(found.version)
                found.wasThere = !isMade
                return found
            }
            guard let values = try beginning?() else { return nil }
            isMade = try pool.use { connection throws(PostgreSQLError) in try make(world, values, connection) }
        }
        throw StoreFailure(
            .unreachable,
            "PostgreSQL: the test world \(world) can't be loaded, because other daemons keep removing it: use another "
                + "world, or remove it from one place only")
    }

    private func run(
        _ connection: PostgreSQLConnection, _ calls: PostgreSQLCall...
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
    }

    /// Reads all data of a test world at one version from the database; `nil` when there is no world of this name.
    private func read(_ name: String, _ connection: PostgreSQLConnection) throws(PostgreSQLError) -> ArchivedWorld? {
        let results = try run(
            connection, PostgreSQLSchema.beginReading(), PostgreSQLSchema.find(.text(name)),
            PostgreSQLSchema.openRows(.text(name)), PostgreSQLSchema.nextRows())
        let found = results[1]
        guard found.count > 0 else {
            _ = try run(connection, PostgreSQLSchema.rollback())
            return nil
        }
        var world = ArchivedWorld(
            id: found.integer(0, 0), version: found.integer(0, 1), beginning: found.integer(0, 2))
        var rows = results[3]
        while true {
            for row in 0..<rows.count { PostgreSQLArchive.add(rows, row, to: &world) }
            guard rows.count == PostgreSQLSchema.rowCount else { break }
            rows = try run(connection, PostgreSQLSchema.nextRows())[0]
        }
        _ = try run(connection, PostgreSQLSchema.commit())
        return world
    }

    private static func add(_ rows: PostgreSQLResult, _ row: Int, to world: inout ArchivedWorld) {
        let value = String(decoding: rows.bytes(row, 4), as: UTF8.self)
        let kind = rows.integer(row, 2)
        guard let rowKind = ArchivedRow.Kind(rawValue: kind) else {
            if kind == PostgreSQLSchema.valueKind {
                world.values.append(ArchivedValue(name: rows.text(row, 1), value: value))
            }
            return
        }
        // For a removed seeded row, the value is the row's key.
        world.rows.append(
            ArchivedRow(
                table: rows.text(row, 0), key: rowKind == .removed ? value : rows.text(row, 1), kind: rowKind,
                place: rows.integer(row, 3), value: rowKind == .removed ? "" : value))
    }

    /// Adds the test world to the database. Returns `false` when another daemon has added it first.
    private func make(
        _ name: String, _ values: [ArchivedValue], _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> Bool {
        let made = try run(connection, PostgreSQLSchema.begin(), PostgreSQLSchema.make(.text(name)))[1]
        guard made.count > 0 else {
            _ = try run(connection, PostgreSQLSchema.rollback())
            return false
        }
        let id = made.integer(0, 0)
        let calls = values.map { PostgreSQLSchema.put($0, of: id) }
        try connection.run(calls + [PostgreSQLSchema.commit()], until: .now + PostgreSQLPool.answerLimit)
        return true
    }

    package func news(of world: Int64, after version: Int64) throws(StoreFailure) -> ArchiveNews {
        let result = try run(PostgreSQLSchema.news(.integer(world), .integer(version)))[0]
        guard result.count > 0 else { return .removed }
        guard result.integer(0, 0) > version else { return .none }
        let changes = try PostgreSQLArchive.changes(result, firstColumn: 2)
        guard PostgreSQLArchive.follow(changes, version) else { return .forgotten }
        return .changes(changes, isAll: result.count < PostgreSQLSchema.changeCount)
    }

    /// Returns whether the list of a test world's changes has no gap: the first change follows `version`, and each
    /// later one follows the change before it.
    private static func follow(_ changes: [ArchivedChange], _ version: Int64) -> Bool {
        var version = version
        for change in changes {
            guard change.before == version else { return false }
            version = change.version
        }
        return !changes.isEmpty
    }

    private static func changes(
        _ result: PostgreSQLResult, firstColumn column: Int
    ) throws(StoreFailure) -> [ArchivedChange] {
        var changes: [ArchivedChange] = []
        for row in 0..<result.count where !result.isNull(row, column) {
            let change: WorldChange
            do { change = try JSONDecoder().decode(WorldChange.self, from: Data(result.bytes(row, column + 2))) } catch
            {
                throw StoreFailure(.unreadable, "PostgreSQL: a stored change of a test world can't be read")
            }
            changes.append(
                ArchivedChange(
                    version: try PostgreSQLSchema.checked(result.integer(row, column)),
                    before: result.integer(row, column + 1), change: change))
        }
        return changes
    }

    // MARK: - Changing

    package func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome {
        if isLocking { return try commitLocked(to: world, after: version, make) }
        guard let change = try make([]) else { return .unchanged }
        let next = try PostgreSQLSchema.checked(version + 1)
        let calls = try calls(for: change, to: world, from: version, to: next)
        let sent = try pool.useOnce { connection throws(PostgreSQLError) -> Void in
            _ = try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
        }
        return try outcome(sent, of: world, next)
    }

    /// Commits a change of a test world in two round trips to the database. The first round trip locks the world's row
    /// and reads the changes of other daemons, and the second writes the change.
    private func commitLocked(
        to world: Int64, after version: Int64, _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome {
        /// The version of the test world after the change; `nil` when nothing is written.
        var next: Int64?
        var unwritten = Result<CommitOutcome, StoreFailure>.success(.unchanged)
        let sent = try pool.useOnce { connection throws(PostgreSQLError) -> Void in
            let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
            let results = try connection.run(
                [
                    PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(world)),
                    PostgreSQLSchema.changes(.integer(world), .integer(version)),
                ], until: deadline)
            var calls: [PostgreSQLCall] = []
            do throws(StoreFailure) {
                if results[1].count == 0 {
                    unwritten = .success(.removed)
                } else {
                    let locked = try PostgreSQLSchema.checked(results[1].integer(0, 0))
                    let changes = try PostgreSQLArchive.changes(results[2], firstColumn: 0)
                    if locked != version, changes.last?.version != locked || !PostgreSQLArchive.follow(changes, version)
                    {
                        unwritten = .success(.conflict)
                    } else if let change = try make(changes) {
                        let version = try PostgreSQLSchema.checked(locked + 1)
                        calls = try self.calls(for: change, to: world, from: locked, to: version)
                        next = version
                    }
                }
            } catch {
                unwritten = .failure(error)
            }
            try connection.run(
                calls + [next == nil ? PostgreSQLSchema.rollback() : PostgreSQLSchema.commit()], until: deadline)
        }
        if let next { return try outcome(sent, of: world, next) }
        // The rows that `make` has read are reliable only if the connection didn't fail until the end.
        if case .success(.unchanged) = unwritten, case .failure(let error) = sent { throw StoreFailure(error) }
        return try unwritten.get()
    }

    /// Returns all SQL statements of a commit. The first statement fails unless the test world has the version from
    /// which the change began.
    private func calls(
        for change: WorldChange, to world: Int64, from before: Int64, to version: Int64
    ) throws(StoreFailure) -> [PostgreSQLCall] {
        let body: Data
        do { body = try JSONEncoder().encode(change) } catch {
            throw StoreFailure(.undeclared, "a change of a test world can't be stored")
        }
        let (id, next) = (PostgreSQLValue.integer(world), PostgreSQLValue.integer(version))
        let set = change.isReset ? PostgreSQLSchema.compareAndSetBeginning : PostgreSQLSchema.compareAndSetVersion
        var calls = [
            set(id, .integer(before), next),
            PostgreSQLSchema.addChange(id, next, .integer(before), .integer(writer), .bytes(Array(body))),
        ]
        if change.isReset { calls.append(PostgreSQLSchema.removeRows(id)) }
        calls += change.rows.map { PostgreSQLSchema.put($0, of: world) }
        calls += change.values.map { PostgreSQLSchema.put($0, of: world) }
        return calls
    }

    private func outcome(
        _ sent: Result<Void, PostgreSQLError>, of world: Int64, _ version: Int64
    ) throws(StoreFailure) -> CommitOutcome {
        guard case .failure(let error) = sent else { return .committed(version: version) }
        if error.isUncertain, try hasCommitted(world, version) { return .committed(version: version) }
        let isOld = error.isConflict || error.state == PostgreSQLSchema.otherVersionState
        guard isOld || error.isEnd || error.isUncertain else { throw StoreFailure(error) }
        return .conflict
    }

    /// Returns whether a change was committed although the connection to the database was lost. First waits for the lock
    /// on the test world's row, until the change's transaction has ended or `lock_timeout` has passed. If the change
    /// wasn't committed, raises the test world's version, so that it can't be committed later.
    ///
    /// - Throws: `unknown` when it can't be determined whether the change was committed.
    private func hasCommitted(_ world: Int64, _ version: Int64) throws(StoreFailure) -> Bool {
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            do throws(StoreFailure) {
                return try pool.use { connection throws(PostgreSQLError) in
                    let limit = ContinuousClock.now + PostgreSQLPool.answerLimit
                    let found =
                        try connection.run(
                            [
                                PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(world)),
                                PostgreSQLSchema.change(.integer(world), .integer(version), .integer(writer)),
                            ], until: limit)[2].count > 0
                    // Calls that were sent may still arrive, and must then find another version.
                    let calls = found ? [] : [PostgreSQLSchema.skipVersion(.integer(world))]
                    try connection.run(calls + [PostgreSQLSchema.commit()], until: limit)
                    return found
                }
            } catch {
                guard ContinuousClock.now < deadline else { throw StoreFailure(.unknown, error.detail) }
                usleep(200_000)
            }
        }
    }

    package func remove(_ world: Int64) throws(StoreFailure) -> Bool {
        try pool.use { connection throws(PostgreSQLError) in
            try connection.run(
                [PostgreSQLSchema.begin()] + PostgreSQLSchema.removal(of: world) + [PostgreSQLSchema.commit()],
                until: .now + PostgreSQLPool.answerLimit)[1].changed == 1
        }
    }
}

extension PostgreSQLSchema {
    fileprivate static func put(_ value: ArchivedValue, of world: Int64) -> PostgreSQLCall {
        putRow(
            .integer(world), .text(""), .bytes(Array(value.name.utf8)), .integer(0), .integer(valueKind),
            .bytes(Array(value.value.utf8)))
    }

    fileprivate static func put(_ row: ArchivedRow, of world: Int64) -> PostgreSQLCall {
        let (id, table, key) = (
            PostgreSQLValue.integer(world), PostgreSQLValue.text(row.table), PostgreSQLValue.bytes(writtenKey(row.key))
        )
        guard let kind = row.kind else { return removeRow(id, table, key) }
        let value = kind == .removed ? row.key : row.value
        return putRow(id, table, key, .integer(row.place), .integer(kind.rawValue), .bytes(Array(value.utf8)))
    }
}
