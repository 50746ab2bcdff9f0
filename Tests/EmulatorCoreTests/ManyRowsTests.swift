import Foundation
import JSON
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// Tests that a large table works like a small one. `UNDERSTUDY_ROWS` is its number of rows, a multiple of 2,000: `make
/// test-rows` takes a million.
@Suite("many rows")
struct ManyRowsTests {
    struct Entry: Row, Equatable {
        static let table = Table<Entry>(
            "test.entry", indexes: [byGroup, byKind], sortedBy: names, droppedAt: { $0.drop })
        static let byGroup = Index<Entry, String>("group") { $0.group }
        static let byKind = Index<Entry, String>("kind") { $0.kind }
        static let names = SortedIndex<Entry>("names") { [$0.key] }

        let key: String
        var group: String
        var kind: String
        var drop: Instant?

        /// Makes an entry of one of seven kinds, in a group of twenty.
        init(_ number: Int) {
            key = ManyRowsTests.key(number)
            group = "g\(number / 20)"
            kind = "k\(number % 7)"
        }
    }

    private static let count = ProcessInfo.processInfo.environment["UNDERSTUDY_ROWS"].flatMap { Int($0) } ?? 14_000
    private static let portion = 1_000

    /// Returns a key that sorts like its number.
    static func key(_ number: Int) -> String { "e\(10_000_000 + number)" }

    private let seed: Seed

    init() throws {
        seed = try Seed([SeedSource(name: "seed", text: "{}", directory: ".")], format: .tested)
    }

    /// Runs `body` for numbers of rows, a portion of them in each update.
    private func eachPortion(
        _ store: WorldStore, from first: Int = 0, by step: Int = 1, _ body: (inout Transaction, Int) -> Void
    ) throws {
        var next = first
        while next < ManyRowsTests.count {
            let end = min(next + ManyRowsTests.portion * step, ManyRowsTests.count)
            try store.update { tables in for number in stride(from: next, to: end, by: step) { body(&tables, number) } }
            next = end
        }
    }

    private func fill(_ store: WorldStore) throws {
        try eachPortion(store) { tables, number in tables.put(Entry(number)) }
    }

    /// Reads all rows in portions. Returns their number, and whether each is as it was put, and in its place.
    private func readThrough(_ store: WorldStore) -> (count: Int, areRight: Bool) {
        var (count, areRight, last) = (0, true, nil as String?)
        while true {
            let page = store.read { tables in tables.rows(Entry.self, after: last, limit: ManyRowsTests.portion) }
            areRight = areRight && zip(page, count...).allSatisfy { row, number in row == Entry(number) }
            count += page.count
            guard let next = page.last?.key else { return (count, areRight) }
            last = next
        }
    }

    private func check(_ store: WorldStore) {
        let count = ManyRowsTests.count
        let all = readThrough(store)
        #expect(all.count == count && all.areRight)
        store.read { tables in
            #expect(tables.count(Entry.self) == count)
            for number in [0, count / 3, count - 1] {
                #expect(tables.find(Entry.self, ManyRowsTests.key(number)) == Entry(number))
            }
            #expect(tables.find(Entry.self, ManyRowsTests.key(count)) == nil)
            let group = count / 40
            #expect(tables.rows(Entry.byGroup, "g\(group)") == (group * 20..<group * 20 + 20).map { Entry($0) })
            #expect(tables.count(Entry.byKind, "k0") == (count + 6) / 7)
            #expect(tables.newest(Entry.byKind, "k0", limit: 1).first?.key == ManyRowsTests.key((count - 1) / 7 * 7))
            #expect(tables.first(Entry.byKind, "k6")?.key == ManyRowsTests.key(6))
            let names = tables.rows(Entry.names, prefix: "e1", after: ManyRowsTests.key(count / 2), limit: 3).map(
                \.text)
            #expect(names == (1...3).map { ManyRowsTests.key(count / 2 + $0) })
        }
    }

    /// Changes one row in a hundred, removes one group in ten, and makes the last tenth of the rows expire.
    private func change(_ store: WorldStore) throws {
        let count = ManyRowsTests.count
        try eachPortion(store, by: 100) { tables, number in
            tables.change(Entry.self, ManyRowsTests.key(number)) { $0.kind = "changed" }
        }
        #expect(store.read { $0.count(Entry.byKind, "changed") } == count / 100)
        try eachPortion(store, by: 200) { tables, number in tables.remove(Entry.byGroup, "g\(number / 20)") }
        #expect(store.read { $0.count(Entry.self) } == count - count / 10)
        // Half of the changed rows were in such a group.
        #expect(store.read { $0.count(Entry.byKind, "changed") } == count / 200)
        let end = store.read { $0.now } + .hours(1)
        try eachPortion(store, from: count - count / 10) { tables, number in
            tables.change(Entry.self, ManyRowsTests.key(number)) { $0.drop = end }
        }
        try store.update { tables in
            _ = tables.clock.advance(by: .hours(2))
            tables.put(Entry(count))
        }
        checkChanged(store)
    }

    private func checkChanged(_ store: WorldStore) {
        let count = ManyRowsTests.count
        store.read { tables in
            #expect(tables.count(Entry.self) == count / 100 * 81 + 1)
            #expect(tables.last(Entry.byGroup, "g\(count / 20)")?.key == ManyRowsTests.key(count))
            #expect(tables.count(Entry.byKind, "changed") == count / 1_000 * 9 / 2)
            #expect(tables.find(Entry.self, ManyRowsTests.key(count - 1)) == nil)
        }
    }

    @Test("all rows are found, by each way, and those that are changed or removed", arguments: TestedStore.allCases)
    func manyRows(kind: TestedStore) throws {
        let store = try kind.open(seed)
        try fill(store)
        check(store)
        try change(store)
        try store.reset(to: seed)
        #expect(store.read { $0.count(Entry.self) } == 0)
    }

    @Test("a file of SQLite's has them when it is opened again")
    func inFile() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("understudy-\(UUID().uuidString)").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        try inTurn { try SQLiteArchive(path) }
    }

    @Test("PostgreSQL has them for whoever comes later", .enabled(if: TestDatabase.isAtHand))
    func inDatabase() async throws {
        try await TestDatabase.withSchema { url in try inTurn { try PostgreSQLArchive(url) } }
    }

    /// Runs three daemons one after the other: the first fills the table, the second finds all rows and changes some,
    /// the third finds the changes.
    private func inTurn(_ open: () throws -> any Archive) throws {
        func daemon(_ step: (WorldStore) throws -> Void) throws {
            let archive = try open()
            try step(try archive.store(of: "w", seed: seed))
            archive.close()
        }
        try daemon(fill)
        try daemon { store in
            check(store)
            try change(store)
        }
        try daemon(checkChanged)
    }
}
