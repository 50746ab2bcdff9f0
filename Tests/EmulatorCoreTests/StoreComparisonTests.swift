import Foundation
import JOSE
import JSON
import Synchronization
import TestSupport
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// Tests that stores differ only in where they keep rows.
@Suite("all stores do the same")
struct StoreComparisonTests {
    private typealias Note = TableTests.Note

    private struct Refusal: Error {}

    private static let people = #"{"accounts":[{"id":"p0"},{"id":"p1"},{"id":"p2"},{"id":"p3"},{"id":"p4"}]}"#

    private let seed: Seed
    private let persons: [Account]

    init() throws {
        seed = try Seed(
            [SeedSource(name: "seed", text: StoreComparisonTests.people, directory: ".")], format: .tested)
        persons = try (0..<9).map { number in
            let member = LocatedJSON(["id": .string("p\(number)")], file: "test")
            return try Providers.seedFormat.account.value(checking: member)
        }
    }

    /// Returns everything that can be read of both tables. After the rows are loaded again, an index has them in the
    /// order in which they were added, and not in which they got the value.
    private func all(_ tables: borrowing Snapshot, isReadAgain: Bool = false) -> [String] {
        var seen = [tables.all(Note.self).map(\.key), tables.all(Account.self).map { "\($0.id) \($0.email)" }]
        for value in (0..<8).map(String.init) {
            if isReadAgain {
                seen.append(tables.rows(Note.byTopic, value).map(\.key).sorted())
                seen.append(tables.rows(Note.byTag, value).map(\.key).sorted())
            } else {
                seen.append(tables.rows(Note.byTopic, value).map(\.key))
                seen.append(tables.rows(Note.byTag, value, limit: 3).map(\.key))
                seen.append(tables.newest(Note.byTag, value, limit: 2).map(\.key))
            }
            seen.append([String(tables.count(Note.byTag, value)), String(tables.count(Note.byTopic, value))])
            seen.append(tables.rows(Note.self, after: value, limit: 4).map(\.key))
            seen.append(tables.rows(Note.names, prefix: value, after: "1\(value)", limit: 3).map(\.text))
            let person = "p\(value)"
            seen.append(tables.rows(Account.self, after: person, limit: 3).map(\.id))
            seen.append(tables.rows(Account.names, prefix: "p", after: person, limit: 5).map(\.text))
            seen.append(tables.rows(Account.byEmail, "\(person)@example.com").map(\.id))
            seen.append(
                isReadAgain
                    ? tables.rows(Account.byEmail, "x@example.com").map(\.id).sorted()
                    : tables.newest(Account.byEmail, "x@example.com", limit: 2).map(\.id))
            seen.append([String(tables.count(Account.byEmail, "x@example.com"))])
        }
        seen.append([
            String(tables.count(Note.self)), String(tables.count(Account.self)), tables.first(Account.self)?.id ?? "",
            tables.value(OutcomeQueue.self).queued.map(\.id).joined(),
        ])
        return seen.map { $0.joined(separator: ",") }
    }

    private func change(_ tables: inout Transaction, _ random: inout Randomness, _ start: Instant) {
        for _ in 0..<(random.bytes(1)[0] % 12 + 1) {
            let bytes = random.bytes(6)
            let key = String(bytes[1] % 40)
            let drop = bytes[5] % 5 == 0 ? start + .minutes(Int64(bytes[5])) : nil
            switch bytes[0] % 12 {
            case 0: tables.remove(Note.self, key)
            case 1: tables.remove(Note.byTopic, String(bytes[2] % 4))
            case 2: tables.change(Note.self, key) { $0.tags.append(String(bytes[3] % 8)) }
            case 3: tables.remove(Account.self, "p\(bytes[1] % 9)")
            case 4: tables.put(persons[Int(bytes[1] % 9)])
            case 5: tables.change(Account.self, "p\(bytes[1] % 9)") { $0.email = "x@example.com" }
            case 6: _ = tables.clock.advance(by: .minutes(Int64(bytes[2] % 16)))
            case 7: tables.outcomes.remove("o\(bytes[2] % 5)")
            default:
                tables.put(
                    Note(
                        key: key, topic: bytes[2] % 5 == 0 ? nil : String(bytes[2] % 4),
                        tags: (0..<(bytes[3] % 4)).map { String((bytes[4] >> 3) % 6 + $0) }, drop: drop))
            }
        }
    }

    @Test("whatever is done, and undone", arguments: TestedStore.others, 0..<12)
    func anything(kind: TestedStore, run: Int) throws {
        let (memory, other) = (try TestedStore.memory.open(seed), try kind.open(seed))
        let start = try #require(Instant(seconds: 2_000_000_000))
        for store in [memory, other] {
            try store.update { tables in
                tables.clock.set(start)
                tables.clock.freeze(true)
            }
        }
        var random = Randomness(seed: "stores-\(run)")
        for _ in 0..<40 {
            let fails = random.bytes(1)[0] % 3 == 0
            let choices = random
            for store in [memory, other] {
                do {
                    try store.update { tables in
                        var random = choices
                        change(&tables, &random, start)
                        if fails { throw Refusal() }
                    }
                } catch is Refusal {}
            }
            _ = random.bytes(7)
            let (expected, found) = (memory.read { all($0) }, other.read { all($0) })
            try #require(expected == found)
            if random.bytes(1)[0] % 16 == 0 { for store in [memory, other] { try store.reset(to: seed) } }
        }
    }

    @Test("whatever is done, written and read again", arguments: 0..<12)
    func readingAgain(run: Int) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "again-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (memory, start) = (WorldStore("test", seed), try #require(Instant(seconds: 2_000_000_000)))
        var stores = try SQLiteArchive("\(path)/w")
        defer { stores.close() }
        var kept = try stores.store(of: "w", seed: seed)
        for store in [memory, kept] {
            try store.update { tables in
                tables.clock.set(start)
                tables.clock.freeze(true)
            }
        }
        var random = Randomness(seed: "again-\(run)")
        for _ in 0..<60 {
            let bytes = random.bytes(3)
            let choices = random
            for store in [memory, kept] {
                if bytes[0] % 16 == 0 { try store.reset(to: seed) }
                try? store.update { tables in
                    var random = choices
                    change(&tables, &random, start)
                    if bytes[0] % 3 == 0 { throw Refusal() }
                }
            }
            _ = random.bytes(7)
            if bytes[2] % 3 == 0 {
                stores.close()
                stores = try SQLiteArchive("\(path)/w")
                kept = try stores.store(of: "w", seed: seed)
            }
            try #require(memory.read { all($0, isReadAgain: true) } == kept.read { all($0, isReadAgain: true) })
        }
    }

    @Test("a code is redeemed once, however many come at once", arguments: TestedStore.allCases)
    func once(kind: TestedStore) async throws {
        let store = try kind.open(seed)
        for round in 0..<5 {
            try store.update { $0.put(Note(key: "code-\(round)")) }
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<200 { group.addTask { try store.update { $0.pop(Note.self, "code-\(round)") } != nil } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(count == 1)
        }
    }
}
