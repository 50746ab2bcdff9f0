import Foundation
import SQLite
import Synchronization
import Testing
import Time
import Understudy

@testable import EmulatorCore

@Suite("what answers wait for, where changes are written behind the world in memory")
struct WrittenBehindTests {
    private typealias Note = TableTests.Note

    /// A row for which nobody waits.
    private struct Tally: Row, Equatable {
        static let table = Table<Tally>("test.tally", limit: 100, isWrittenBehind: true)

        let key: String
        var count = 0
    }

    /// A world in a file of SQLite's, with the queue of its changes.
    private final class World {
        let path = FileManager.default.temporaryDirectory.appending(path: "behind-\(UUID().uuidString)").path
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
        world.store.update { $0.put(Tally(key: "t")) }
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

    @Test("nobody waits for what is written behind, unless more has changed")
    func behind() throws {
        let world = try World(try seed())
        world.store.update { $0.put(Note(key: "a")) }
        world.queue.changes.flush()
        world.whileNothingIsWritten {
            #expect(!world.waits { $0.update { $0.put(Tally(key: "t", count: 1)) } })
            #expect(!world.waits { $0.update { _ = $0.change(Tally.self, "t") { $0.count += 1 } } })
            #expect(!world.waits { $0.read { _ = ($0.all(Tally.self), $0.find(Tally.self, "t")) } })
            #expect(
                world.waits { store in
                    store.update { tables in
                        tables.put(Tally(key: "u"))
                        tables.change(Note.self, "a") { $0.topic = "x" }
                    }
                })
            #expect(!world.waits { $0.update { $0.remove(Tally.self, "u") } })
        }
    }

    /// Writes nothing, and counts how often.
    private final class Counter: ChangeWriter {
        let writes = Mutex<[[Int]]>([])

        func exclusively<Result>(_ body: () -> Result) -> Result { body() }
        func write(_ works: [Int], due: [Int]) { writes.withLock { $0.append(works + due) } }
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
        func write(_ works: [Int], due: [Int]) throws(StoreFailure) {
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

    private func tallies(_ path: String) throws -> [Tally] {
        let stores = try SQLiteStores(path)
        defer { stores.close() }
        return stores.store(of: "w", seed: try seed()).read { $0.all(Tally.self) }
    }

    @Test("what is written behind is written soon, by itself")
    func soon() throws {
        let world = try World(try seed())
        // In a call that is never answered, so that nothing else has it written.
        let call = StoreCall()
        for count in 1...3 {
            StoreCall.within(call) { world.store.update { $0.put(Tally(key: "t", count: count)) } }
            var written = 0
            while written < count {
                usleep(10_000)
                written =
                    try world.queue.load("w").rows["test.tally"].map { rows in
                        try JSONDecoder().decode(Tally.self, from: Data(try #require(rows.first).value)).count
                    } ?? 0
            }
        }
        #expect(!call.endsUnwritten())
    }

    @Test("what is written behind is written also while other changes keep coming")
    func meanwhile() throws {
        let world = try World(try seed())
        world.store.update { $0.put(Tally(key: "t", count: 1)) }
        var number = 0
        var written: [SharedTables.WrittenRow] = []
        repeat {
            number += 1
            try StoreCall.checked { world.store.update { $0.put(Note(key: "\(number)")) } }
            written = try world.queue.load("w").rows["test.tally"] ?? []
        } while written.isEmpty
        #expect(written.map(\.key) == ["t"])
    }

    @Test("what is written behind is left out until it is due, and then written as it is at last")
    func due() throws {
        let world = try World(try seed())
        world.store.update { tables in
            tables.put(Note(key: "a"))
            tables.put(Tally(key: "kept", count: 1))
        }
        world.queue.changes.flush()
        try world.queue.file.withLock { _ in
            for count in 2...4 {
                world.store.update { tables in
                    tables.put(Note(key: "b", topic: "\(count)"))
                    tables.put(Tally(key: "kept", count: count))
                    tables.put(Tally(key: "short", count: count))
                }
                world.store.update { tables in tables.remove(Tally.self, "short") }
                let rows = try #require(world.store.takeChange(isDue: false)).change.summary().rows
                #expect(rows.map(\.key) == ["b"])
            }
            let rows = try #require(world.store.takeChange(isDue: true)).change.summary().rows
            #expect(rows.filter { $0.kind != nil }.map(\.key) == ["kept"])
            let kept = try #require(rows.first { $0.key == "kept" })
            #expect(try JSONDecoder().decode(Tally.self, from: Data(kept.value)).count == 4)
            #expect(try #require(world.store.takeChange(isDue: true)).change.summary().rows.isEmpty)
        }
    }

    @Test("with what a world begins afresh, all of it is written at once")
    func beginningWithAll() throws {
        let (world, seed) = (try World(try seed()), try seed())
        try world.queue.file.withLock { _ in
            world.store.reset(to: seed, putting: { $0.put(Tally(key: "t", count: 1)) }, also: {})
            let rows = try #require(world.store.takeChange(isDue: false)).change.summary().rows
            #expect(rows.map(\.key) == ["t"])
        }
    }

    @Test("what is written behind isn't kept without a bound")
    func bound() throws {
        let world = try World(try seed())
        try world.queue.file.withLock { _ in
            world.store.update { tables in for count in 1...20_000 { tables.put(Tally(key: "t", count: count)) } }
            let rows = try #require(world.store.takeChange(isDue: false)).change.summary().rows
            #expect(rows.map(\.key) == ["t"])
        }
    }

    @Test("what is written behind is there after a proper end")
    func end() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "behind-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for count in 1...3 {
            let stores = try SQLiteStores("\(folder)/w")
            stores.store(of: "w", seed: try seed()).update { $0.put(Tally(key: "t", count: count)) }
            stores.close()
            #expect(try tallies("\(folder)/w") == [Tally(key: "t", count: count)])
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

    @Test("who lets go of a world has written all of it", .enabled(if: TestDatabase.isAtHand))
    func lettingGo() async throws {
        try await TestDatabase.withSchema { url in
            let one = try PostgreSQLStores(url)
            let store = try #require(one.store(of: "w", seed: try seed()) as? PostgreSQLStore)
            store.own()
            try #require(store.isCurrent)
            try StoreCall.checked { store.update { $0.put(Note(key: "a")) } }
            let call = StoreCall()
            StoreCall.within(call) { store.update { $0.put(Tally(key: "t", count: 7)) } }
            #expect(!call.endsUnwritten())
            store.letGo()
            let other = try PostgreSQLStores(url)
            let second = other.store(of: "w", seed: try seed())
            #expect(try StoreCall.checked { second.read { $0.all(Tally.self) } } == [Tally(key: "t", count: 7)])
            other.close()
            one.close()
        }
    }
}
