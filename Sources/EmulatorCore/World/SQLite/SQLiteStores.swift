import JOSE
import Platform
import SQLite
import Synchronization
import Time

/// Keeps worlds in a file of SQLite's, which one daemon uses at a time.
package final class SQLiteStores: WorldStores {
    fileprivate let file: FileLock
    private let stores = Mutex<[String: Held]>([:])
    /// A folder that goes with this; `nil` for a file that stays.
    private let temporaryFolder: String?

    /// Worlds hold their stores, and stores hold this.
    private struct Held {
        weak var store: SQLiteStore?
    }

    package let waits = true
    /// Requests wait for hardly anything but their turn at the file's lock: more threads than cores would only take turns at waiting.
    private static let pool = WorkThreads(limit: max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    package var threads: WorkThreads { SQLiteStores.pool }

    /// The last failure, and since when there was no success.
    private let failing = Mutex<(failure: StoreFailure, since: Instant)?>(nil)
    private let isFailing = Atomic<Bool>(false)

    package var health: StoreHealth {
        var health = StoreHealth(kind: "sqlite")
        let known = failing.withLock { $0 }
        (health.failure, health.failingSince) = (known?.failure, known?.since)
        return health
    }

    /// Notes how a change of the file went, or, where there was none, that nothing failed.
    fileprivate func note(_ failure: StoreFailure?, hasWritten: Bool) {
        if let failure {
            failing.withLock { $0 = (failure, $0?.since ?? MachineClock.now) }
            isFailing.store(true, ordering: .relaxed)
        } else if hasWritten, isFailing.exchange(false, ordering: .relaxed) {
            failing.withLock { $0 = nil }
        }
    }

    package func tryAgain() {
        guard isFailing.load(ordering: .relaxed) else { return }
        let failure = file.withLock { file -> StoreFailure? in
            do throws(SQLiteError) {
                try file.tryWriting()
                return nil
            } catch { return StoreFailure(error) }
        }
        note(failure, hasWritten: true)
    }

    /// Opens the file or makes it. Without a path, it is a file of its own, which goes with this.
    package init(_ path: String) throws(SQLiteStartFailure) {
        var opened = path
        temporaryFolder = path.isEmpty ? try SQLiteStores.makeFolder() : nil
        if let temporaryFolder { opened = "\(temporaryFolder)/worlds" }
        file = FileLock(try SQLiteFile(opened))
    }

    deinit { removeTemporary() }

    private func removeTemporary() {
        guard let temporaryFolder else { return }
        for name in ["worlds", "worlds-wal", "worlds-shm", "worlds-lock"] { unlink("\(temporaryFolder)/\(name)") }
        rmdir(temporaryFolder)
    }

    private static func makeFolder() throws(SQLiteStartFailure) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/understudy-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = String(cString: strerror(errno))
            throw SQLiteStartFailure(parent, "no folder can be made in it: \(reason): set TMPDIR")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The store of a world. An earlier world of that name has gone.
    package func store(of world: String, seed: Seed) -> any Store {
        let store = file.withLock { SQLiteStore(SQLiteTables(world, seed, in: $0), of: self) }
        let earlier = stores.withLock { $0.updateValue(Held(store: store), forKey: world) }
        earlier?.store?.remove()
        return store
    }

    /// Keeps the seed from which worlds begin, or sees that it is the one that was kept.
    package func begin(with seed: Seed) throws(SQLiteStartFailure) {
        let digest = seed.digest
        try file.withLock { (file) throws(SQLiteStartFailure) in
            do throws(SQLiteError) {
                guard let known = try file.meta("seed") else { return try file.setMeta("seed", digest) }
                guard known != digest else { return }
                let reason =
                    "its worlds began from the seed \(known), with what was imported, and this one is \(digest): start with that one, or with another file"
                throw SQLiteError(code: -1, message: reason, systemError: 0)
            } catch { throw SQLiteStartFailure(file.path, error) }
        }
    }

    /// Leaves the file to others, when nothing is served any more.
    package func close() {
        file.withLock { $0.close() }
        removeTemporary()
    }

    package var worlds: [String] {
        file.withLock { file in
            var names: [String] = []
            try? file.statements.worlds.each { row in
                names.append(row.text(0))
                return true
            }
            return names
        }
    }

    package var sharedTexts: (any SharedTexts)? { self }

    fileprivate func forget(_ store: SQLiteStore, _ world: String) {
        stores.withLock { if $0[world]?.store === store { $0[world] = nil } }
    }
}

/// Keeps the tables of one world in the file of the daemon's worlds, behind the lock of that.
final class SQLiteStore: Store {
    private let tables: SQLiteTables
    private let stores: SQLiteStores
    private let isGone = Atomic<Bool>(false)

    init(_ tables: SQLiteTables, of stores: SQLiteStores) {
        self.tables = tables
        self.stores = stores
    }

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try stores.file.withLock { (_) throws(Failure) -> Result in
            tables.begin()
            defer { end(tables.undo) }
            return try body(Snapshot(tables: tables))
        }
    }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try stores.file.withLock { (_) throws(Failure) -> Result in
            tables.begin()
            var transaction = Transaction(tables: tables)
            do throws(Failure) {
                let result = try body(&transaction)
                end(
                    tables.failure == nil && !isGone.load(ordering: .acquiring) ? tables.commit : tables.undo,
                    hasWritten: tables.isChanging)
                return result
            } catch {
                end(tables.undo)
                throw error
            }
        }
    }

    /// Ends what is under way, and tells of what went wrong.
    private func end(_ body: () -> Void, hasWritten: Bool = false) {
        body()
        stores.note(tables.failure, hasWritten: hasWritten)
        if let failure = tables.failure { StoreCall.current?.note(failure) }
    }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        stores.file.withLock { _ in
            tables.removeAll()
            if let failure = tables.failure {
                stores.note(failure, hasWritten: true)
                StoreCall.current?.note(failure)
                return
            }
            tables.reset(to: seed)
            tables.begin()
            var transaction = Transaction(tables: tables)
            putting(&transaction)
            end(tables.commit)
            also()
        }
    }

    let lasts = true

    var isKept: Bool { stores.file.withLock { _ in tables.isKept } }

    func resume(_ seed: Seed, rows: Seed) { stores.file.withLock { _ in tables.resume(seed, rows: rows) } }

    func adopt(_ seed: Seed) {
        stores.file.withLock { _ in
            tables.adopt(seed)
            if let failure = tables.failure { StoreCall.current?.note(failure) }
        }
    }

    func remove() {
        guard !isGone.exchange(true, ordering: .acquiringAndReleasing) else { return }
        stores.file.withLock { _ in tables.removeAll() }
        stores.forget(self, tables.name)
    }
}

extension SQLiteStores: SharedTexts {
    package func text(_ name: String) throws(StoreFailure) -> String? {
        try file.withLock { (file) throws(StoreFailure) in try SQLiteStores.text(name, in: file) }
    }

    package func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        try file.withLock { (file) throws(StoreFailure) in
            if let known = try SQLiteStores.text(name, in: file) { return known }
            do throws(SQLiteError) { try file.setMeta(name, text) } catch { throw StoreFailure(error) }
            return text
        }
    }

    private static func text(_ name: String, in file: SQLiteFile) throws(StoreFailure) -> String? {
        guard !file.isClosed else { throw StoreFailure(.gone, "the daemon has stopped") }
        do throws(SQLiteError) { return try file.meta(name) } catch { throw StoreFailure(error) }
    }
}
