import Foundation
import SQLite
import Synchronization
import Testing
import Time
import Understudy

@testable import EmulatorCore

@Suite("what answers wait for, where changes are in memory before they are in a file")
struct UnwrittenChangesTests {
    private typealias Note = TableTests.Note

    /// A world in a file of SQLite's, with the queue of its changes.
    private final class World {
        let path = FileManager.default.temporaryDirectory.appending(path: "unwritten-\(UUID().uuidString)").path
        let queue: SQLiteQueue
        let store: SQLiteStore

        init(_ seed: Seed) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            queue = try SQLiteQueue(FileLock(SQLiteFile("\(path)/w")))
            store = SQLiteStore("w", seed, queue)
            queue.open(store)
        }

        deinit {
            queue.changes.close()
            try? FileManager.default.removeItem(atPath: path)
        }

        /// Whether an answer that has done this has to wait.
        func waits(_ body: (any Store) -> Void) -> Bool {
            let call = StoreCall()
            StoreCall.within(call) { body(store) }
            return call.endsUnwritten()
        }

        /// Runs `body` while nothing is written.
        func whileNothingIsWritten(_ body: () -> Void) { queue.file.withLock { _ in body() } }
    }

    private func seed() throws -> Seed {
        try Seed(
            [SeedSource(name: "seed", text: #"{"accounts":[{"id":"ada"},{"id":"bob"}]}"#, directory: ".")],
            format: Providers.seedFormat)
    }

    @Test("a look waits for the rows and values that it has seen, and for no others")
    func looking() throws {
        let world = try World(try seed())
        world.store.update { for key in ["a", "b", "c"] { $0.put(Note(key: key, topic: "x")) } }
        world.queue.changes.flush()
        world.whileNothingIsWritten {
            #expect(!world.waits { $0.read { _ = $0.all(Note.self) } })
            #expect(world.waits { $0.update { _ = $0.change(Note.self, "b") { $0.topic = "y" } } })
            // A row of its own.
            #expect(!world.waits { $0.read { _ = $0.find(Note.self, "a") } })
            #expect(world.waits { $0.read { _ = $0.find(Note.self, "b") } })
            #expect(!world.waits { $0.read { _ = $0.find(Note.self, "none") } })
            // What lists rows may have found this one.
            #expect(world.waits { $0.read { _ = $0.rows(Note.byTopic, "x") } })
            #expect(world.waits { $0.read { _ = $0.newest(Note.byTopic, "z", limit: 1) } })
            #expect(world.waits { $0.read { _ = $0.count(Note.byTopic, "z") } })
            #expect(world.waits { $0.read { _ = $0.count(Note.self) } })
            #expect(world.waits { $0.read { _ = $0.rows(Note.self, limit: 1) } })
            #expect(world.waits { $0.read { _ = $0.rows(Note.names, prefix: "a", limit: 1) } })
            // Other tables, and what was never changed.
            #expect(!world.waits { $0.read { _ = $0.all(Account.self) } })
            #expect(!world.waits { $0.read { _ = ($0.value(OutcomeQueue.self), $0.now) } })
            // Whoever would change something and doesn't has looked, too.
            #expect(!world.waits { $0.update { _ = $0.find(Note.self, "a") } })
            #expect(world.waits { $0.update { _ = $0.find(Note.self, "b") } })
            #expect(
                world.waits { store in
                    #expect(throws: CancellationError.self) {
                        try store.update { tables in
                            _ = tables.find(Note.self, "b")
                            throw CancellationError()
                        }
                    }
                })
            // A row that was removed isn't there, of which somebody may be told.
            #expect(world.waits { $0.update { $0.remove(Note.self, "c") } })
            #expect(world.waits { $0.read { _ = $0.find(Note.self, "c") } })
            #expect(!world.waits { $0.read { _ = $0.find(Note.self, "a") } })
            // Values.
            #expect(world.waits { $0.update { $0.clock.freeze(true) } })
            #expect(world.waits { $0.read { _ = $0.now } })
            #expect(!world.waits { $0.read { _ = $0.value(OutcomeQueue.self) } })
        }
        world.queue.changes.flush()
        world.whileNothingIsWritten {
            #expect(!world.waits { $0.read { _ = ($0.all(Note.self), $0.now) } })
            // What was undone isn't seen by others.
            #expect(throws: CancellationError.self) {
                try world.store.update { tables in
                    tables.put(Note(key: "d"))
                    throw CancellationError()
                }
            }
            #expect(!world.waits { $0.read { _ = $0.all(Note.self) } })
        }
    }

    @Test("whoever sees a world that has begun afresh waits for that")
    func beginning() throws {
        let (world, seed) = (try World(try seed()), try seed())
        world.store.update { $0.put(Note(key: "a")) }
        world.queue.changes.flush()
        world.whileNothingIsWritten {
            #expect(world.waits { $0.reset(to: seed) })
            #expect(world.waits { $0.read { _ = $0.find(Note.self, "a") } })
            #expect(world.waits { $0.read { _ = $0.find(Account.self, "ada") } })
        }
        world.queue.changes.flush()
        world.whileNothingIsWritten {
            #expect(!world.waits { $0.read { _ = $0.find(Account.self, "ada") } })
            #expect(world.waits { $0.adopt(seed) })
            #expect(world.waits { $0.read { _ = $0.find(Account.self, "bob") } })
        }
    }

    /// Writes nothing, and counts how often.
    private final class Counter: ChangeWriter {
        let writes = Mutex<[[Int]]>([])

        func exclusively<Result>(_ body: () -> Result) -> Result { body() }
        func write(_ works: [Int]) { writes.withLock { $0.append(works) } }
        func giveUp(_ works: [Int]) -> [Int] { [] }
        func end() {}
    }

    @Test("everybody is answered, however many waited before")
    func gathering() async throws {
        let (queue, counter) = (WriteQueue<Int>(), Counter())
        try #require(queue.begin(counter))
        let rounds = [8, 3, 8, 1, 5, 64, 2]
        for (round, clients) in rounds.enumerated() {
            await withTaskGroup(of: Void.self) { group in
                for client in 0..<clients {
                    group.addTask {
                        for _ in 0..<20 {
                            let position = queue.add(round * 100 + client)
                            await withCheckedContinuation { done in queue.whenWritten(position) { _ in done.resume() } }
                        }
                    }
                }
            }
        }
        queue.close()
        let writes = counter.writes.withLock { $0 }
        let count = writes.joined().count
        #expect(count == 20 * rounds.reduce(0, +))
        // Together, most of the time.
        #expect(writes.count < count)
    }

    /// While it writes for the first time, more is changed of what it is about to take; then it fails.
    private final class Late: ChangeWriter {
        let queue = WriteQueue<Int>()
        let late = Mutex<Int?>(nil)

        func exclusively<Result>(_ body: () -> Result) -> Result { body() }
        func write(_ works: [Int]) throws(StoreFailure) {
            guard late.withLock({ $0 }) == nil else { throw StoreFailure(.full, "no room") }
            let position = queue.add(nil)
            late.withLock { $0 = position }
        }
        func giveUp(_ works: [Int]) -> [Int] { [] }
        func end() {}
    }

    @Test("what was written together with an earlier change isn't refused when a later one fails")
    func late() throws {
        let writer = Late()
        let queue = writer.queue
        try #require(queue.begin(writer))
        #expect(queue.waitUntilWritten(queue.add(1)) == nil)
        #expect(queue.waitUntilWritten(queue.add(2))?.kind == .full)
        let late = try #require(writer.late.withLock { $0 })
        #expect(queue.waitUntilWritten(late) == nil)
        queue.close()
    }

    @Test("what was changed is there after a proper end, though nobody has waited for it")
    func end() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "unwritten-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for count in 1...3 {
            let stores = try SQLiteStores("\(folder)/w")
            let store = stores.store(of: "w", seed: try seed())
            #expect(store.read { $0.count(Note.self) } == count - 1)
            store.update { $0.put(Note(key: "\(count)")) }
            stores.close()
        }
    }

    @Test("what is changed for a call that is answered already is written, though nobody waits")
    func afterwards() throws {
        let world = try World(try seed())
        let call = StoreCall()
        #expect(!call.endsUnwritten())
        StoreCall.within(call) { world.store.update { $0.put(Note(key: "late")) } }
        while try world.queue.load("w").rows["test.note"] == nil { usleep(10_000) }
    }

    @Test("a world has its earlier seed again when one that it was given can't be written", arguments: [true, false])
    func seeds(isReset: Bool) async throws {
        let world = try World(try seed())
        let other = try Seed(
            [SeedSource(name: "other", text: #"{"accounts":[{"id":"zoe"}]}"#, directory: ".")],
            format: Providers.seedFormat)
        world.store.update { $0.put(Note(key: "a")) }
        world.queue.changes.flush()
        let file = try SQLiteDatabase("\(world.path)/w")
        try file.execute("CREATE TRIGGER f BEFORE INSERT ON rows BEGIN SELECT RAISE(FAIL, 'no room'); END")
        let call = StoreCall()
        StoreCall.within(call) {
            if isReset {
                world.store.reset(to: other, putting: { $0.put(Note(key: "z")) }, also: {})
            } else {
                world.store.update { $0.put(Note(key: "z")) }
                world.store.adopt(other)
            }
        }
        await withCheckedContinuation { done in call.whenWritten { done.resume() } }
        #expect(call.failure != nil)
        try file.execute("DROP TRIGGER f")
        world.queue.tryAgain()
        try StoreCall.checked {
            world.store.read { tables in
                #expect(tables.all(Note.self).map(\.key) == ["a"])
                #expect(tables.all(Account.self).map(\.id) == ["ada", "bob"])
            }
        }
        // One that was written stays when a later change fails.
        try StoreCall.checked { world.store.reset(to: other) }
        try file.execute("CREATE TRIGGER f BEFORE INSERT ON rows BEGIN SELECT RAISE(FAIL, 'no room'); END")
        #expect(throws: StoreFailure.self) {
            try StoreCall.checked { world.store.update { $0.put(Note(key: "y")) } }
        }
        try file.execute("DROP TRIGGER f")
        world.queue.tryAgain()
        try StoreCall.checked {
            world.store.read { tables in
                #expect(tables.all(Note.self).isEmpty)
                #expect(tables.all(Account.self).map(\.id) == ["zoe"])
            }
        }
    }
}
