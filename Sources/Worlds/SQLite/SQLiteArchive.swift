import Platform
import SQLite
import Synchronization
import Time

/// Keeps test worlds in an SQLite file, which one daemon uses at a time. Each change is a transaction of the file.
package final class SQLiteArchive: Archive {
    private let path: String
    /// The temporary folder of the SQLite file, which is removed when the archive is closed; `nil` for a file that
    /// stays.
    private let temporaryFolder: String?
    private let file: Mutex<SQLiteFile>
    private let state = Mutex(State())

    private struct State {
        /// The reason why the last change couldn't be written to the SQLite file; `nil` when it could.
        var failure: StoreFailure?
        var failingSince: Instant?
        var isClosed = false
    }

    /// Opens or makes the SQLite file of test worlds. With an empty path, the file is temporary, and removed when the
    /// archive is closed.
    package init(_ path: String) throws(SQLiteStartFailure) {
        let folder = path.isEmpty ? try SQLiteArchive.makeFolder() : nil
        let opened = folder.map { "\($0)/worlds" } ?? path
        temporaryFolder = folder
        self.path = opened
        do throws(SQLiteStartFailure) { file = Mutex(try SQLiteFile(opened)) } catch {
            if let folder { SQLiteArchive.remove(folder) }
            throw error
        }
    }

    deinit { close() }

    private static func makeFolder() throws(SQLiteStartFailure) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/understudy-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw SQLiteStartFailure(
                parent, "no folder can be made in this directory: \(reason): set TMPDIR to another one")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Stores the digest of the seed and the imported data in the SQLite file. If the file has a digest already, checks
    /// that it is the same.
    package func begin(withSeed digest: String) throws(SQLiteStartFailure) {
        let known: String
        do throws(StoreFailure) { known = try text("seed", orKeep: digest) } catch {
            throw SQLiteStartFailure(path, error.detail)
        }
        guard known != digest else { return }
        throw SQLiteStartFailure(
            path,
            "the worlds in the file were made from a seed and imported data with the digest \(known), but this "
                + "daemon's seed and imported data have the digest \(digest): start with the file's seed and imported "
                + "data, or use another file")
    }

    package func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        file.withLock { $0.close() }
        if let temporaryFolder { SQLiteArchive.remove(temporaryFolder) }
    }

    private static func remove(_ folder: String) {
        for name in ["worlds", "worlds-wal", "worlds-shm", "worlds-lock"] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    // MARK: - The file

    private func use<Value>(
        _ body: (SQLiteFile) throws(SQLiteError) -> Value
    ) throws(StoreFailure) -> Value {
        // A lock doesn't pass typed errors on for a value that isn't copied.
        let result = file.withLock { file -> Outcome<Value> in
            guard !state.withLock({ $0.isClosed }) else {
                return Outcome(.failure(StoreFailure(.unreachable, "the daemon has stopped")))
            }
            do throws(SQLiteError) { return Outcome(.success(try body(file))) } catch {
                // This releases SQLite's cache, so that a repaired file works without a restart.
                file.database.releaseMemory()
                return Outcome(.failure(StoreFailure(error)))
            }
        }
        return try result.value.get()
    }

    /// The result of reading or changing the SQLite file. Only one thread uses the result.
    private struct Outcome<Value>: @unchecked Sendable {
        let value: Result<Value, StoreFailure>
        init(_ value: Result<Value, StoreFailure>) { self.value = value }
    }

    /// Runs `body` in one transaction of the SQLite file. `health` reports later whether the transaction failed.
    private func change<Value>(
        _ body: (SQLiteFile) throws(SQLiteError) -> Value
    ) throws(StoreFailure) -> Value {
        do throws(StoreFailure) {
            let value = try use { file throws(SQLiteError) in
                // One request waits for a program that has locked the file. While it has, others are refused at once.
                let isFailing = state.withLock { $0.failure != nil }
                file.database.wait(milliseconds: isFailing ? 0 : SQLiteFile.patience)
                return try file.change { () throws(SQLiteError) in try body(file) }
            }
            recordHealth(failure: nil)
            return value
        } catch {
            recordHealth(failure: error)
            throw error
        }
    }

    private func recordHealth(failure: StoreFailure?) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.failingSince = failure == nil ? nil : state.failingSince ?? MachineClock.now
            state.failure = failure
        }
    }

    package var health: StoreHealth {
        var health = StoreHealth(kind: "sqlite")
        state.withLock { (health.failure, health.failingSince) = ($0.failure, $0.failingSince) }
        return health
    }

    package func tryAgain() {
        guard health.failure != nil else { return }
        // This is as much as a large request may write, for which a full disk has no space.
        try? change { file throws(SQLiteError) in
            try file.statements.setText.run(.text("tried"), .text(String(repeating: "-", count: 65_536)))
        }
    }

    // MARK: - Worlds

    package func worlds() throws(StoreFailure) -> [String] {
        try use { file throws(SQLiteError) in
            var names: [String] = []
            try file.statements.worlds.each { row in
                names.append(row.text(0))
                return true
            }
            return names
        }
    }

    package func load(
        _ world: String, beginning: (() throws(StoreFailure) -> [ArchivedValue])?
    ) throws(StoreFailure) -> ArchivedWorld? {
        let known = try use { file throws(SQLiteError) -> ArchivedWorld? in
            guard let id = try file.id(of: world) else { return nil }
            return try file.load(id)
        }
        if let known { return known }
        guard let values = try beginning?() else { return nil }
        return try change { file throws(SQLiteError) in
            try file.statements.addWorld.run(.text(world))
            let id = file.database.lastInsertedRow
            for value in values { try file.put(value, of: id) }
            return ArchivedWorld(id: id, version: 0, beginning: 0, values: values, wasThere: false)
        }
    }

    package func commit(
        to world: Int64, after version: Int64, isLocking: Bool,
        _ make: ([ArchivedChange]) throws(StoreFailure) -> WorldChange?
    ) throws(StoreFailure) -> CommitOutcome {
        guard let made = try make([]) else { return .unchanged }
        try change { file throws(SQLiteError) in
            if made.isReset { try file.removeContent(of: world) }
            for row in made.rows { try file.put(row, of: world) }
            for value in made.values { try file.put(value, of: world) }
        }
        return .committed(version: version + 1)
    }

    package func remove(_ world: Int64) throws(StoreFailure) -> Bool {
        try change { file throws(SQLiteError) in
            try file.removeContent(of: world)
            try file.statements.removeWorld.run(.integer(world))
            return file.database.changedRows == 1
        }
    }

    // MARK: - Texts

    package func text(_ name: String) throws(StoreFailure) -> String? {
        try use { file throws(SQLiteError) in try file.statements.text.first(.text(name)) { $0.text(0) } }
    }

    package func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        if let known = try self.text(name) { return known }
        try change { file throws(SQLiteError) in try file.statements.keepText.run(.text(name), .text(text)) }
        return try self.text(name) ?? text
    }
}

extension SQLiteFile {
    fileprivate func id(of world: String) throws(SQLiteError) -> Int64? {
        try statements.world.first(.text(world)) { $0.integer(0) }
    }

    fileprivate func load(_ id: Int64) throws(SQLiteError) -> ArchivedWorld {
        var world = ArchivedWorld(id: id, version: 0, beginning: 0)
        var isReadable = true
        try statements.rows.each(.integer(id)) { row in
            guard let kind = ArchivedRow.Kind(rawValue: row.integer(2)) else {
                isReadable = false
                return false
            }
            world.rows.append(
                ArchivedRow(
                    table: row.text(0), key: row.text(1), kind: kind, place: row.integer(3), value: row.text(4)))
            return true
        }
        guard isReadable else {
            throw SQLiteError(code: 11, message: "a stored row has an unknown kind", systemError: 0)
        }
        try statements.values.each(.integer(id)) { row in
            world.values.append(ArchivedValue(name: row.text(0), value: row.text(1)))
            return true
        }
        return world
    }

    fileprivate func put(_ row: ArchivedRow, of world: Int64) throws(SQLiteError) {
        guard let kind = row.kind else {
            return try statements.removeRow.run(.integer(world), .text(row.table), .text(row.key))
        }
        try statements.putRow.run(
            .integer(world), .text(row.table), .text(row.key), .integer(row.place), .integer(kind.rawValue),
            .text(row.value))
    }

    fileprivate func put(_ value: ArchivedValue, of world: Int64) throws(SQLiteError) {
        try statements.setValue.run(.integer(world), .text(value.name), .text(value.value))
    }

    fileprivate func removeContent(of world: Int64) throws(SQLiteError) {
        try statements.removeRows.run(.integer(world))
        try statements.removeValues.run(.integer(world))
    }
}
