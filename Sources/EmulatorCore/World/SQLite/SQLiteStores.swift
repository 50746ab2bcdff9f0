import JOSE
import Platform
import SQLite
import Time

/// Keeps worlds in a file of SQLite's, which one daemon uses at a time.
package final class SQLiteStores: WorldStores {
    private let queue: SQLiteQueue
    private let path: String
    /// A folder that goes with this; `nil` for a file that stays.
    private let temporaryFolder: String?

    package let canFail = true

    /// Only while something must be read from the file, or that can't be written.
    package var waits: Bool { queue.waits }

    package var health: StoreHealth {
        var health = StoreHealth(kind: "sqlite")
        let known = queue.failure
        (health.failure, health.failingSince) = (known?.failure, known?.since)
        return health
    }

    package func tryAgain() { queue.tryAgain() }

    /// Opens the file or makes it. Without a path, it is a file of its own, which goes with this.
    package init(_ path: String) throws(SQLiteStartFailure) {
        var opened = path
        temporaryFolder = path.isEmpty ? try SQLiteStores.makeFolder() : nil
        if let temporaryFolder { opened = "\(temporaryFolder)/worlds" }
        self.path = opened
        let file = try SQLiteFile(opened)
        do throws(SQLiteError) { queue = try SQLiteQueue(FileLock(file)) } catch {
            throw SQLiteStartFailure(opened, error)
        }
    }

    deinit { close() }

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
        queue.store(of: world)?.remove()
        let store = SQLiteStore(world, seed, queue)
        queue.open(store)
        return store
    }

    /// Keeps the seed from which worlds begin, or sees that it is the one that was kept.
    package func begin(with seed: Seed) throws(SQLiteStartFailure) {
        let digest = seed.digest
        let known: String
        do throws(StoreFailure) { known = try queue.text("seed", orKeep: digest) } catch {
            throw SQLiteStartFailure(path, error.detail)
        }
        guard known != digest else { return }
        throw SQLiteStartFailure(
            path,
            "its worlds began from the seed \(known), with what was imported, and this one is \(digest): start with that one, "
                + "or with another file")
    }

    /// Writes what is left, and leaves the file to others, when nothing is served any more.
    package func close() {
        queue.changes.close()
        removeTemporary()
    }

    package var worlds: [String] {
        queue.changes.flush()
        return queue.names
    }

    package var sharedTexts: (any SharedTexts)? { self }
}

extension SQLiteStores: SharedTexts {
    package func text(_ name: String) throws(StoreFailure) -> String? { queue.text(name) }

    package func text(_ name: String, orKeep text: String) throws(StoreFailure) -> String {
        try queue.text(name, orKeep: text)
    }
}
