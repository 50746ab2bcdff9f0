import JOSE
import JSON
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// Tests that every store of tables must pass.
@Suite("tables")
struct TableTests {
    struct Note: Row, Equatable {
        static let table = Table<Note>(
            "test.note", limit: 100, byteLimit: 1_000, indexes: [byTopic, byTag], sortedBy: names,
            droppedAt: { $0.drop }, size: { $0.key.utf8.count })
        static let byTopic = Index<Note, String>("topic") { $0.topic }
        static let byTag = Index<Note, String>("tag", each: { $0.tags })
        static let names = SortedIndex<Note>("names") { [$0.key] }

        let key: String
        var topic: String?
        var tags: [String] = []
        var drop: Instant?
    }

    private struct Refusal: Error {}

    private static func person(_ id: String) throws -> Account {
        try Providers.seedFormat.account.value(checking: LocatedJSON(["id": .string(id)], file: "test"))
    }

    private func store(_ kind: TestedStore, _ seed: String = "{}") throws -> WorldStore {
        try kind.open(Seed([SeedSource(name: "seed", text: seed, directory: ".")], format: .tested))
    }

    private static func keys(_ rows: [Note]) -> String { rows.map(\.key).joined() }

    /// Looking for each of a row's entries in the index took a minute for so many values.
    @Test("a row with many values in an index is changed and removed in time in proportion")
    func manyValues() throws {
        let store = try store(.memory)
        let tags = (0..<60_000).map(String.init)
        try store.update { $0.put(Note(key: "a", tags: tags)) }
        let began = ContinuousClock.now
        try store.update { $0.put(Note(key: "a", tags: Array(tags.dropFirst(30_000)))) }
        store.read { #expect($0.first(Note.byTag, "5") == nil && $0.first(Note.byTag, "40000") != nil) }
        try store.update { $0.remove(Note.self, "a") }
        store.read { #expect($0.first(Note.byTag, "40000") == nil) }
        #expect(ContinuousClock.now - began < .seconds(20))
    }

    @Test("rows are found by key, by index and in the order in which they came", arguments: TestedStore.allCases)
    func finding(kind: TestedStore) throws {
        let store = try store(kind)
        try store.update { tables in
            for (key, topic) in [("c", "x"), ("a", "y"), ("b", "x"), ("d", nil)] {
                tables.put(Note(key: key, topic: topic, tags: ["all", key]))
            }
        }
        store.read { tables in
            #expect(tables.find(Note.self, "a")?.topic == "y")
            #expect(tables.find(Note.self, "e") == nil)
            #expect(TableTests.keys(tables.all(Note.self)) == "cabd")
            #expect(TableTests.keys(tables.rows(Note.self, after: "a", limit: 1)) == "b")
            #expect(TableTests.keys(tables.rows(Note.byTopic, "x")) == "cb")
            #expect(TableTests.keys(tables.rows(Note.byTag, "all")) == "cabd")
            #expect(tables.first(Note.byTag, "b")?.key == "b")
            #expect(tables.last(Note.byTag, "all")?.key == "d")
            #expect(tables.last(Note.byTag, "e") == nil)
            #expect(tables.count(Note.byTag, "all") == 4)
            #expect(tables.count(Note.byTopic, "z") == 0)
            #expect(tables.rows(Note.names, limit: 3).map(\.text) == ["a", "b", "c"])
            #expect(tables.rows(Note.names, after: "b", limit: 9).map(\.text) == ["c", "d"])
        }
    }

    @Test("above a table's number of bytes, the oldest rows go", arguments: TestedStore.allCases)
    func byteLimit(kind: TestedStore) throws {
        let store = try store(kind)
        for letter in ["a", "b", "c"] {
            try store.update { $0.put(Note(key: String(repeating: letter, count: 400), topic: "x")) }
        }
        store.read { tables in
            #expect(tables.rows(Note.byTopic, "x").map(\.key.first) == ["b", "c"])
            #expect(tables.size(Note.self) == 800)
        }
        try store.update { $0.put(Note(key: "d", topic: "x")) }
        try store.update { $0.put(Note(key: String(repeating: "e", count: 1_001), topic: "x")) }
        #expect(store.read { $0.all(Note.self) }.isEmpty)
    }

    @Test("a change moves a row in its indexes and leaves it in its place", arguments: TestedStore.allCases)
    func changing(kind: TestedStore) throws {
        let store = try store(kind)
        try store.update { tables in
            for key in ["a", "b", "c"] { tables.put(Note(key: key, topic: "x", tags: [key, "old"])) }
            #expect(tables.change(Note.self, "b") { ($0.topic, $0.tags) = ("y", ["b", "new"]) })
            #expect(!tables.change(Note.self, "z") { $0.topic = "y" })
            #expect(TableTests.keys(tables.rows(Note.byTopic, "x")) == "ac")
            #expect(TableTests.keys(tables.rows(Note.byTopic, "y")) == "b")
            #expect(TableTests.keys(tables.rows(Note.byTag, "old")) == "ac")
            #expect(TableTests.keys(tables.rows(Note.byTag, "new")) == "b")
            #expect(TableTests.keys(tables.all(Note.self)) == "abc")
            #expect(TableTests.keys(tables.remove(Note.byTopic, "x")) == "ac")
            #expect(tables.count(Note.self) == 1)
            #expect(tables.rows(Note.names, limit: 9).map(\.text) == ["b"])
        }
    }

    @Test("who pops a row gets it, once, unless it isn't what was wanted", arguments: TestedStore.allCases)
    func popping(kind: TestedStore) throws {
        let store = try store(kind, #"{"accounts":[{"id":"ada"}]}"#)
        try store.update { tables in
            for key in ["a", "b"] { tables.put(Note(key: key, topic: "x", tags: [key])) }
        }
        let pop = { (key: String, topic: String) in
            try store.update { tables in tables.pop(Note.self, key) { $0.topic == topic } }
        }
        try #expect(pop("a", "y") == nil)
        try #expect(pop("c", "x") == nil)
        #expect(store.read { TableTests.keys($0.rows(Note.byTopic, "x")) } == "ab")
        try #expect(pop("a", "x") == Note(key: "a", topic: "x", tags: ["a"]))
        try #expect(pop("a", "x") == nil)
        #expect(store.read { $0.first(Note.byTag, "a") } == nil)
        try #expect(store.update { $0.pop(Account.self, "ada") }?.id == "ada")
        try #expect(store.update { $0.pop(Account.self, "ada") } == nil)
        // An update that throws puts the row back.
        #expect(throws: Refusal.self) {
            try store.update { tables in
                #expect(tables.pop(Note.self, "b") != nil)
                #expect(tables.pop(Note.self, "b") == nil)
                throw Refusal()
            }
        }
        try #expect(pop("b", "x") != nil)
    }

    @Test("an update that throws has changed nothing, whatever it did", arguments: TestedStore.allCases)
    func undoing(kind: TestedStore) throws {
        let store = try store(kind, #"{"accounts":[{"id":"ada"},{"id":"bob"},{"id":"cleo"}]}"#)
        let (zoe, dan) = (try TableTests.person("zoe"), try TableTests.person("dan"))
        try store.update { tables in
            for key in ["a", "b", "c", "d"] { tables.put(Note(key: key, topic: "x", tags: [key, "t"])) }
            tables.put(zoe)
        }
        let before = store.read { [String(describing: $0.all(Note.self)), String(describing: $0.all(Account.self))] }
        #expect(throws: Refusal.self) {
            try store.update { tables in
                tables.remove(Note.self, "b")
                tables.remove(Note.self, "a")
                tables.change(Note.self, "c") { $0.topic = "y" }
                tables.put(Note(key: "e", topic: "x"))
                tables.remove(Note.self, "e")
                tables.put(Note(key: "a", topic: "z"))
                tables.remove(Account.self, "ada")
                tables.change(Account.self, "bob") { $0.email = "robert@example.com" }
                tables.remove(Account.self, "bob")
                tables.put(dan)
                _ = tables.clock.advance(by: .hours(1))
                tables.random = Randomness(seed: "other")
                throw Refusal()
            }
        }
        store.read { tables in
            let after = [String(describing: tables.all(Note.self)), String(describing: tables.all(Account.self))]
            #expect(after == before && tables.size(Note.self) == 4)
            #expect(TableTests.keys(tables.rows(Note.byTag, "t")) == "abcd")
            #expect(TableTests.keys(tables.rows(Note.byTopic, "x")) == "abcd")
            #expect(tables.rows(Note.names, limit: 9).map(\.text) == ["a", "b", "c", "d"])
            #expect(tables.first(Account.byEmail, "bob@example.com")?.id == "bob")
            #expect(tables.first(Account.byEmail, "robert@example.com") == nil)
            #expect(tables.now < MachineClock.now + .minutes(1))
        }
    }

    @Test(
        "rows go when their time is over and another comes, and the oldest when there are too many",
        arguments: TestedStore.allCases)
    func dropping(kind: TestedStore) throws {
        let store = try store(kind)
        try store.update { tables in
            let now = tables.now
            tables.put(Note(key: "long", drop: now + .hours(2)))
            tables.put(Note(key: "short", drop: now + .minutes(1)))
            tables.put(Note(key: "ever"))
            tables.put(Note(key: "kept", drop: now + .minutes(1)))
            tables.change(Note.self, "kept") { $0.drop = nil }
            _ = tables.clock.advance(by: .hours(1))
            tables.put(Note(key: "next"))
            #expect(tables.all(Note.self).map(\.key) == ["long", "ever", "kept", "next"])
            for number in 0..<200 { tables.put(Note(key: "n\(number)")) }
            #expect(tables.count(Note.self) == 100)
            #expect(tables.first(Note.self)?.key == "n100")
        }
    }

    @Test(
        "what a seed brings is shared: a world's changes are its own, and places stay", arguments: TestedStore.allCases)
    func seeded(kind: TestedStore) throws {
        let people = #"{"accounts":[{"id":"ada"},{"id":"bob"},{"id":"cleo"}]}"#
        let seed = try Seed([SeedSource(name: "seed", text: people, directory: ".")], format: .tested)
        let dan = try TableTests.person("dan")
        let (one, other) = (try kind.open(seed), try kind.open(seed))
        try one.update { tables in
            tables.change(Account.self, "bob") { $0.email = "robert@example.com" }
            tables.remove(Account.self, "ada")
            tables.put(dan)
        }
        one.read { tables in
            #expect(tables.all(Account.self).map(\.id) == ["bob", "cleo", "dan"])
            #expect(tables.count(Account.self) == 3)
            #expect(tables.first(Account.self)?.id == "bob")
            #expect(tables.first(Account.byEmail, "bob@example.com") == nil)
            #expect(tables.first(Account.byEmail, "robert@example.com")?.id == "bob")
            #expect(tables.rows(Account.names, prefix: "rob", limit: 9).map(\.row.id) == ["bob"])
            #expect(tables.count(Account.byEmail, "bob@example.com") == 0)
            #expect(tables.count(Account.byEmail, "cleo@example.com") == 1)
            #expect(tables.last(Account.byEmail, "bob@example.com") == nil)
            #expect(tables.last(Account.byEmail, "cleo@example.com")?.id == "cleo")
            #expect(tables.rows(Account.names, prefix: "ada", limit: 9).isEmpty)
            #expect(tables.rows(Account.self, after: "bob", limit: 9).map(\.id) == ["cleo", "dan"])
        }
        other.read { tables in
            #expect(tables.all(Account.self).map(\.id) == ["ada", "bob", "cleo"])
            #expect(Set(tables.rows(Account.names, prefix: "ada", limit: 9).map(\.row.id)) == ["ada"])
        }
        try one.reset(to: seed)
        #expect(one.read { $0.all(Account.self).map(\.id) } == ["ada", "bob", "cleo"])
    }

    @Test(
        "a seeded row that is removed and put again stands at the end, and a page after it goes on",
        arguments: TestedStore.allCases)
    func seededAgain(kind: TestedStore) throws {
        let store = try store(kind, #"{"accounts":[{"id":"ada"},{"id":"bob"}]}"#)
        try store.update { tables in
            guard let ada = tables.pop(Account.self, "ada") else { return }
            tables.put(ada)
        }
        store.read { tables in
            #expect(tables.all(Account.self).map(\.id) == ["bob", "ada"])
            #expect(tables.rows(Account.self, after: "bob", limit: 9).map(\.id) == ["ada"])
            #expect(tables.rows(Account.self, after: "ada", limit: 9).isEmpty)
        }
    }

    @Test("keys of several parts differ wherever a part does")
    func keyTexts() {
        let keys = [
            String(keyParts: "a", nil, "b"), String(keyParts: "a", "", "b"), String(keyParts: "a", "b"),
            String(keyParts: "ab"), String(keyParts: "a1:b"), String(keyParts: "a", "-1:b"),
        ]
        #expect(Set(keys).count == keys.count)
    }

    @Test("any sequence of changes leaves what a plain array would hold", arguments: 0..<20, TestedStore.allCases)
    func anySequence(run: Int, kind: TestedStore) throws {
        let store = try store(kind)
        var random = Randomness(seed: "tables-\(run)")
        var model: [Note] = []
        for _ in 0..<60 {
            let bytes = random.bytes(40)
            let fails = bytes[0] % 3 == 0
            var next = model
            try? store.update { tables in
                // The closure may run again.
                next = model
                for step in stride(from: 1, to: 37, by: 3) {
                    let key = String(bytes[step] % 30)
                    let note = Note(
                        key: key, topic: bytes[step + 1] % 4 == 0 ? nil : String(bytes[step + 1] % 4),
                        tags: (0..<(bytes[step + 2] % 3)).map { String((bytes[step + 2] >> 2) % 5 + $0) })
                    if bytes[step + 2] % 4 == 0 {
                        tables.remove(Note.self, key)
                        next.removeAll { $0.key == key }
                    } else {
                        tables.put(note)
                        if let place = next.firstIndex(where: { $0.key == key }) {
                            next[place] = note
                        } else {
                            next.append(note)
                        }
                    }
                }
                if fails { throw Refusal() }
            }
            if !fails { model = next }
            store.read { tables in
                #expect(tables.all(Note.self) == model)
                #expect(tables.rows(Note.names, limit: 99).map(\.text) == model.map(\.key).sorted())
                for value in (0..<8).map(String.init) {
                    let topics = Set(tables.rows(Note.byTopic, value).map(\.key))
                    #expect(topics == Set(model.filter { $0.topic == value }.map(\.key)))
                    let tags = Set(tables.rows(Note.byTag, value).map(\.key))
                    #expect(tags == Set(model.filter { $0.tags.contains(value) }.map(\.key)))
                    #expect(tables.count(Note.byTag, value) == tags.count)
                    #expect(tables.last(Note.byTag, value)?.key == tables.rows(Note.byTag, value).last?.key)
                    let newest = tables.newest(Note.byTag, value, limit: 3).map(\.key)
                    #expect(newest == tables.rows(Note.byTag, value).suffix(3).reversed().map(\.key))
                }
            }
        }
    }
}
