import Foundation
import JSON
import SQLite
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

@Suite("a file of SQLite's with worlds in it")
struct SQLiteFileTests {
    private typealias Note = TableTests.Note

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "worlds-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { "\(path)/w" }
    }

    private func seed(_ text: String = #"{"accounts":[{"id":"ada"},{"id":"bob"},{"id":"cleo"}]}"#) throws -> Seed {
        try Seed([SeedSource(name: "seed", text: text, directory: ".")], format: .tested)
    }

    private func failure(_ path: String) -> String {
        do throws(SQLiteStartFailure) {
            _ = try SQLiteArchive(path)
            return "none"
        } catch { return error.description }
    }

    /// Runs `body` on the file's world, and closes the file.
    private func use(_ folder: Folder, _ seed: Seed, _ body: (WorldStore) throws -> Void) throws {
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        try body(stores.store(of: "w", seed: seed))
    }

    @Test("what was changed is there when the file is opened again, in its order")
    func reopening() throws {
        let (folder, seed) = (try Folder(), try seed())
        var before: [String] = []
        let look: (WorldStore) -> [String] = { store in
            store.read { tables in
                [
                    String(describing: tables.all(Note.self)),
                    String(describing: tables.rows(Note.byTag, "t").map(\.key).sorted()),
                    String(describing: tables.newest(Note.byTopic, "x", limit: 9).map(\.key).sorted()),
                    String(describing: tables.all(Account.self).map { "\($0.id) \($0.email)" }),
                    String(describing: tables.rows(Account.names, prefix: "", limit: 99).map(\.text)),
                    String(tables.count(Note.self)), String(tables.count(Account.self)), String(describing: tables.now),
                    String(describing: tables.value(OutcomeQueue.self)),
                ]
            }
        }
        try use(folder, seed) { store in
            #expect(!store.isKept)
            #expect(throws: CancellationError.self) {
                try store.update { tables in
                    tables.put(Note(key: "undone"))
                    throw CancellationError()
                }
            }
            try store.update { tables in
                for key in ["a", "b", "c"] { tables.put(Note(key: key, topic: "x", tags: ["t", key])) }
                tables.change(Note.self, "a") { ($0.topic, $0.tags) = ("y", []) }
                tables.change(Note.self, "a") { ($0.topic, $0.tags) = ("x", ["t"]) }
                tables.remove(Account.self, "ada")
                tables.change(Account.self, "bob") { $0.email = "robert@example.com" }
                tables.clock.set(Instant.first + TimeSpan.days(20_000))
                tables.clock.freeze(true)
            }
            before = look(store)
        }
        try use(folder, seed) { store in
            #expect(store.isKept)
            #expect(look(store) == before)
            try store.update { tables in
                tables.put(Note(key: "d", tags: ["t"]))
                #expect(tables.all(Note.self).map(\.key) == ["a", "b", "c", "d"])
                #expect(tables.rows(Note.byTag, "t").map(\.key) == ["a", "b", "c", "d"])
            }
        }
    }

    @Test("a clock that the seed sets goes on from where it was")
    func clock() throws {
        let folder = try Folder()
        let seed = try seed(#"{"clock": {"set": "2030-01-01T00:00:00Z", "freeze": true}}"#)
        try use(folder, seed) { store in try store.update { tables in _ = tables.clock.advance(by: .hours(5)) } }
        try use(folder, seed) { store in #expect(store.read { $0.now }.text == "2030-01-01T05:00:00Z") }
    }

    @Test("a world that has gone leaves nothing, and what is still under way in it is lost")
    func removing() throws {
        let (folder, seed) = (try Folder(), try seed())
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        let store = try stores.store(of: "w", seed: seed)
        try store.update { $0.put(Note(key: "a", tags: ["t"])) }
        #expect(try stores.worlds() == ["w"])
        try store.remove()
        #expect(try stores.worlds().isEmpty)
        let next = try stores.store(of: "w", seed: seed)
        try store.update { $0.put(Note(key: "b")) }
        #expect(!next.isKept)
        #expect(next.read { $0.count(Note.self) } == 0)
    }

    @Test("what isn't ours, or not to be used, is said in a line")
    func unusable() throws {
        let folder = try Folder()
        #expect(
            failure("\(folder.path)/none/w")
                == "\(folder.path)/none/w: the file can't be opened: No such file or directory")
        try "not a database, but long enough to be taken for one. ".data(using: .utf8)?.write(
            to: URL(filePath: "\(folder.path)/text"))
        #expect(failure("\(folder.path)/text").hasSuffix("the file isn't a SQLite database"))
        try SQLiteDatabase("\(folder.path)/other").execute("CREATE TABLE people(name TEXT)")
        #expect(failure("\(folder.path)/other").hasSuffix("the file is another program's database"))
        #expect(failure(folder.file) == "none")
        try SQLiteDatabase(folder.file).execute("PRAGMA user_version = 99")
        #expect(failure(folder.file).contains("newer version of understudy"))
        try SQLiteDatabase(folder.file).execute("PRAGMA user_version = 1")
        #expect(failure(folder.file).contains("earlier version of understudy"))
        try SQLiteDatabase(folder.file).execute("PRAGMA user_version = 2; DROP TABLE rows")
        #expect(failure(folder.file).hasSuffix("the database is damaged (no such table: rows)"))
    }

    @Test("what is no file isn't touched")
    func noFile() throws {
        let folder = try Folder()
        let fifo = "\(folder.path)/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [folder.path, fifo, "/dev/null"] {
            #expect(failure(path) == "\(path): it isn't a file")
            #expect(!FileManager.default.fileExists(atPath: "\(path)-lock"))
        }
    }

    @Test("a row that can't be read is told with its place, not with its key")
    func unreadable() throws {
        let (folder, seed) = (try Folder(), try seed())
        try use(folder, seed) { store in
            try store.update { tables in for key in ["a", "s3cret"] { tables.put(Note(key: key)) } }
        }
        try SQLiteDatabase(folder.file).execute("UPDATE rows SET value = '{}' WHERE key = 's3cret'")
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        do {
            _ = try stores.store(of: "w", seed: seed)
            Issue.record("it was read")
        } catch let error as StoreFailure {
            #expect(error.kind == .unreadable)
            #expect(error.detail.hasPrefix("row 1 of the table test.note can't be loaded"), "\(error.detail)")
            #expect(!error.diagnosis.line.contains("s3cret"))
        }
    }

    @Test("a row may have any place", arguments: [Int64.max, Int64.max - 1, -1, Int64.min])
    func places(place: Int64) throws {
        let (folder, seed) = (try Folder(), try seed())
        try use(folder, seed) { store in try store.update { $0.put(Note(key: "a")) } }
        try SQLiteDatabase(folder.file).execute("UPDATE rows SET place = \(place)")
        for keys in [["a", "b", "c"], ["a", "b", "c", "d"]] {
            try use(folder, seed) { store in
                for key in keys.dropFirst() {
                    try store.update { $0.put(Note(key: key, topic: "x")) }
                }
                #expect(store.read { $0.all(Note.self).map(\.key) }.sorted() == keys)
            }
        }
    }

    @Test("all is in the file itself once it is closed, also while something still refers to it")
    func closing() throws {
        let (folder, seed) = (try Folder(), try seed())
        let stores = try SQLiteArchive(folder.file)
        let store = try stores.store(of: "w", seed: seed)
        try store.update { $0.put(Note(key: "a")) }
        stores.close()
        try FileManager.default.copyItem(atPath: folder.file, toPath: "\(folder.path)/copy")
        withExtendedLifetime(store) {}
        let copy = try SQLiteArchive("\(folder.path)/copy")
        defer { copy.close() }
        try #expect(copy.store(of: "w", seed: seed).read { $0.all(Note.self).map(\.key) } == ["a"])
    }

    @Test("a path that SQLite takes for no file is a file's")
    func memoryByName() throws {
        let folder = FileManager.default.currentDirectoryPath
        let name = ":memory:"
        defer {
            for suffix in ["", "-lock", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: "\(folder)/\(name)\(suffix)")
            }
        }
        for keys in [["a"], ["a", "a2"]] {
            let stores = try SQLiteArchive(name)
            defer { stores.close() }
            let store = try stores.store(of: "w", seed: try seed())
            try store.update { $0.put(Note(key: "a\(keys.count == 1 ? "" : "2")")) }
            #expect(store.read { $0.all(Note.self).map(\.key) } == keys)
        }
    }

    @Test("a second daemon is refused, and a seed that isn't the file's")
    func sharing() throws {
        let folder = try Folder()
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        #expect(failure(folder.file).contains("another understudy process uses the file"))
        let link = "\(folder.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file)
        #expect(
            failure(link) == "\(link): another understudy process uses the file: end that process, or use another file")
        let hardLink = "\(folder.path)/other"
        try FileManager.default.linkItem(atPath: folder.file, toPath: hardLink)
        #expect(failure(hardLink).hasPrefix("\(hardLink): the file has 2 names (hard links)"))
        let (one, other) = (try seed(), try seed("{}"))
        try stores.begin(withSeed: one.digest)
        try stores.begin(withSeed: one.digest)
        #expect(throws: SQLiteStartFailure.self) { try stores.begin(withSeed: other.digest) }
    }

    @Test("nobody else may read it")
    func permissions() throws {
        let folder = try Folder()
        try use(folder, seed()) { store in
            try store.update { $0.put(Note(key: "a")) }
            for name in ["w", "w-wal", "w-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
        }
    }

    @Test("a file that fails is told, changes nothing, and is used again when it is back")
    func failing() throws {
        let (folder, seed) = (try Folder(), try seed())
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        let store = try stores.store(of: "w", seed: seed)
        try store.update { $0.put(Note(key: "a")) }
        let other = try SQLiteDatabase(folder.file)
        try other.execute("BEGIN IMMEDIATE")
        #expect(throws: StoreFailure.self) {
            try store.update { $0.put(Note(key: "b")) }
        }
        #expect(stores.health.failure?.kind == .slow)
        // Reading still works.
        #expect(store.read { $0.all(Note.self).map(\.key) } == ["a"])
        try other.execute("ROLLBACK")
        let found = try store.update { tables in
            tables.put(Note(key: "c"))
            return tables.all(Note.self).map(\.key)
        }
        #expect(found == ["a", "c"])
        #expect(stores.health.failure == nil)
    }

    @Test("a change that can't be written is undone before anybody sees it", arguments: [false, true])
    func undone(isReset: Bool) throws {
        let (folder, seed) = (try Folder(), try seed())
        let other = try self.seed(#"{"accounts":[{"id":"zoe"}]}"#)
        let stores = try SQLiteArchive(folder.file)
        defer { stores.close() }
        let store = try stores.store(of: "w", seed: seed)
        try store.update { $0.put(Note(key: "a")) }
        let file = try SQLiteDatabase(folder.file)
        try file.execute("CREATE TRIGGER f BEFORE INSERT ON rows BEGIN SELECT RAISE(FAIL, 'no room'); END")
        var hasEnded = false
        #expect(throws: StoreFailure.self) {
            if isReset {
                try store.reset(to: other, putting: { $0.put(Note(key: "z")) }, also: { hasEnded = true })
            } else {
                try store.update { $0.put(Note(key: "z")) }
            }
        }
        #expect(!hasEnded)
        for _ in 0..<2 {
            store.read { tables in
                #expect(tables.all(Note.self).map(\.key) == ["a"])
                #expect(tables.all(Account.self).map(\.id) == ["ada", "bob", "cleo"])
            }
            // The rows must be the same after the world is loaded again.
            try store.resume(seed, rows: seed)
        }
        try file.execute("DROP TRIGGER f")
        try store.update { $0.put(Note(key: "b")) }
        #expect(store.read { $0.all(Note.self).map(\.key) } == ["a", "b"])
    }

    @Test("what the earlier seed says stays when a world gets another one, also after the next start")
    func adopting() throws {
        let folder = try Folder()
        let (one, other) = (
            try seed(#"{"outcomes":[{"provider":"github","outcome":"cancel"}]}"#), try seed("{}")
        )
        try use(folder, one) { store in
            try store.adopt(other)
            #expect(store.read { $0.value(OutcomeQueue.self).queued.count } == 1)
        }
        try use(folder, other) { store in #expect(store.read { $0.value(OutcomeQueue.self).queued.count } == 1) }
    }
}
