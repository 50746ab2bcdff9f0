import Foundation
import JOSE
import JSON
import PostgreSQL
import Synchronization
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

@Suite("a database of PostgreSQL's that daemons share", .enabled(if: TestDatabase.isAtHand))
struct PostgreSQLStoreTests {
    private typealias Note = TableTests.Note

    private struct Refusal: Error {}

    private static let people = #"{"accounts":[{"id":"ada"},{"id":"bob"},{"id":"cleo"}]}"#

    private func seed(_ text: String = people) throws -> Seed {
        try Seed([SeedSource(name: "seed", text: text, directory: ".")], format: .tested)
    }

    private func keys(_ store: WorldStore) -> [String] { store.read { $0.all(Note.self).map(\.key) } }

    /// Returns everything that can be read of the tables that these tests change.
    private func look(_ store: WorldStore) -> [String] {
        store.read { tables in
            var seen = [
                String(describing: tables.all(Note.self)), String(tables.count(Note.self)),
                String(describing: tables.all(Account.self).map { "\($0.id) \($0.email)" }),
                String(describing: tables.rows(Account.names, prefix: "", limit: 99).map(\.text)),
                String(describing: tables.rows(Account.byEmail, "x@example.com").map(\.id).sorted()),
                String(describing: tables.value(OutcomeQueue.self)), String(tables.count(Account.self)),
            ]
            for value in (0..<8).map(String.init) {
                seen.append(tables.rows(Note.byTopic, value).map(\.key).sorted().joined(separator: ","))
                seen.append(tables.newest(Note.byTag, value, limit: 99).map(\.key).sorted().joined(separator: ","))
            }
            return seen
        }
    }

    @Test("what one has changed is seen by the other from its next look on, in the same order, and after a reload")
    func changes() async throws {
        let (seed, dan) = (try seed(), try #require(try seed(#"{"accounts":[{"id":"dan"}]}"#).people.find("dan")))
        try await TestDatabase.withSchema { url in
            let (one, other) = (try PostgreSQLArchive(url), try PostgreSQLArchive(url))
            let stores = [try one.store(of: "w", seed: seed), try other.store(of: "w", seed: seed)]
            #expect(!stores[0].isKept && stores[1].isKept)
            var random = Randomness(seed: "replicas")
            for round in 0..<120 {
                let bytes = random.bytes(64)
                let store = stores[Int(bytes[0] % 2)]
                try? store.update { tables in
                    for step in stride(from: 1, to: 40, by: 4) {
                        let key = String(bytes[step] % 20)
                        switch bytes[step + 1] % 8 {
                        case 0: tables.remove(Note.self, key)
                        case 1: tables.change(Note.self, key) { $0.tags = [String(bytes[step + 2] % 8)] }
                        case 2: tables.change(Note.self, key) { $0.topic = String(bytes[step + 2] % 8) }
                        case 3: tables.remove(Account.self, ["ada", "bob", "dan"][Int(bytes[step + 2] % 3)])
                        case 4: tables.put(dan)
                        case 5: tables.change(Account.self, "bob") { $0.email = "x@example.com" }
                        default:
                            tables.put(
                                Note(
                                    key: key, topic: String(bytes[step + 2] % 8),
                                    tags: [String(bytes[step + 3] % 8), String(bytes[step + 3] % 5)]))
                        }
                    }
                    if bytes[41] % 4 == 0 { throw Refusal() }
                }
                for store in stores { _ = try store.refresh() }
                try #require(look(stores[0]) == look(stores[1]))
                guard round % 20 == 19 else { continue }
                let third = try PostgreSQLArchive(url).store(of: "w", seed: seed)
                try #require(look(third) == look(stores[0]))
            }
        }
    }

    @Test("a refresh says what is new, and whoever wants to know is told by name")
    func news() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = [try PostgreSQLArchive(url), try PostgreSQLArchive(url)]
            let (one, other) = (try stores[0].store(of: "w", seed: seed), try stores[1].store(of: "w", seed: seed))
            let told = Mutex<[StoreChange]>([])
            other.whenOthersChange { change in told.withLock { $0.append(change) } }
            try #expect(other.refresh())
            try one.update { tables in
                tables.put(Note(key: "a"))
                _ = tables.clock.advance(by: .hours(1))
            }
            #expect(keys(other).isEmpty)
            try #expect(other.refresh())
            #expect(keys(other) == ["a"])
            #expect(other.read { $0.now } > MachineClock.now + .minutes(59))
            try one.reset(to: seed)
            try #expect(other.refresh())
            #expect(keys(other).isEmpty && other.read { $0.now } < MachineClock.now + .minutes(1))
            // An update has the changes of others without a refresh.
            try one.update { $0.put(Note(key: "b")) }
            try #expect(other.update { $0.find(Note.self, "b") } != nil)
            let changes = told.withLock { $0 }
            #expect(changes.map(\.isReset) == [false, true, false])
            #expect(changes.first?.names == ["test.note", "clock"] && changes.last?.names == ["test.note"])
            try one.remove()
            try #expect(!other.refresh())
            try other.update { $0.put(Note(key: "lost")) }
            let again = try stores[0].store(of: "w", seed: seed)
            #expect(!again.isKept && keys(again).isEmpty)
            #expect(try stores[1].worlds() == ["w"])
        }
    }

    @Test("changes that are gone are no matter: the world is loaded anew")
    func trimmed() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let (stores, others) = (try PostgreSQLArchive(url), try PostgreSQLArchive(url))
            let (one, other) = (try stores.store(of: "w", seed: seed), try others.store(of: "w", seed: seed))
            for number in 0..<700 { try one.update { $0.put(Note(key: "\(number % 90)", topic: "\(number % 3)")) } }
            // There are more changes than are read at once.
            _ = try other.refresh()
            #expect(look(one) == look(other))
            try one.update { $0.remove(Note.self, "7") }
            try TestDatabase.execute("UPDATE understudy_changes SET at = now() - interval '1 hour'", at: url)
            try stores.upkeep()
            #expect(try TestDatabase.execute("SELECT 'x' FROM understudy_changes", at: url).isEmpty)
            _ = try other.refresh()
            #expect(look(one) == look(other))
            try one.update { $0.remove(Note.self, "8") }
            try TestDatabase.execute("UPDATE understudy_changes SET at = now() - interval '1 hour'", at: url)
            try stores.upkeep()
            try #expect(other.update { $0.find(Note.self, "8") } == nil)
            _ = try one.refresh()
            #expect(look(one) == look(other))
        }
    }

    @Test("a code is redeemed once, whichever daemon is asked")
    func once() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let opened = [try PostgreSQLArchive(url), try PostgreSQLArchive(url)]
            let stores = try opened.map { try $0.store(of: "w", seed: seed) }
            for round in 0..<10 {
                try stores[round % 2].update { $0.put(Note(key: "code-\(round)")) }
                let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            try stores[number % 2].update { $0.pop(Note.self, "code-\(round)") } != nil
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(count == 1)
            }
        }
    }

    @Test("when connections are ended in the middle of it, nothing is lost and nothing happens twice")
    func killed() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            // The connections of other tests stay.
            let named = "\(url)&application_name=ended"
            let opened = [try PostgreSQLArchive(named), try PostgreSQLArchive(named)]
            let stores = try opened.map { try $0.store(of: "w", seed: seed) }
            let ends = ContinuousClock.now + .seconds(4)
            let counts = Mutex<[String]>([])
            let workers = (0..<8).map { worker in
                PostgreSQLStoreTests.start {
                    let count = PostgreSQLStoreTests.count(stores[worker % 2], worker, until: ends)
                    counts.withLock { $0 += count }
                }
            }
            while ContinuousClock.now < ends {
                try TestDatabase.execute(
                    """
                    SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                    WHERE application_name = 'ended' AND random() < 0.3
                    """)
                try await Task.sleep(for: .milliseconds(30))
            }
            for worker in workers { worker.wait() }
            let expected = Set(counts.withLock { $0 })
            #expect(expected.count == 8)
            try await Task.sleep(for: .milliseconds(700))
            for store in stores {
                try _ = store.refresh()
                let found = store.read { tables in
                    tables.all(Note.self).map { "\($0.key) \($0.tags.count)" }
                }
                #expect(Set(found) == expected)
            }
        }
    }

    /// Runs `body` on a thread of its own, which may wait.
    private static func start(_ body: @escaping @Sendable () -> Void) -> DispatchGroup {
        let group = DispatchGroup()
        group.enter()
        Thread {
            body()
            group.leave()
        }.start()
        return group
    }

    /// Adds tags to a note, one with each update, and returns the note with the expected number of tags.
    private static func count(_ store: WorldStore, _ worker: Int, until end: ContinuousClock.Instant) -> [String] {
        var count = 0
        while ContinuousClock.now < end {
            do throws(StoreFailure) {
                try store.update { tables in
                    var note = tables.find(Note.self, "w\(worker)") ?? Note(key: "w\(worker)")
                    note.tags.append("\(note.tags.count)")
                    tables.put(note)
                }
                count += 1
            } catch {
                if error.kind == .unknown { Issue.record("\(error)") }
            }
        }
        return ["w\(worker) \(count)"]
    }
}
