import Foundation
import HTTPServer
import JOSE
import JSON
import Synchronization
import Testing
import Time
import Understudy

@testable import EmulatorCore

@Suite("worlds of PostgreSQL's that a daemon owns", .enabled(if: TestDatabase.isAtHand))
struct PostgreSQLOwnershipTests {
    private typealias Note = TableTests.Note

    private struct Refusal: Error {}

    private func seed(_ text: String = #"{"accounts":[{"id":"ada"},{"id":"bob"}]}"#) throws -> Seed {
        try Seed([SeedSource(name: "seed", text: text, directory: ".")], format: Providers.seedFormat)
    }

    private func keys(_ store: any Store) throws -> [String] {
        try StoreCall.checked {
            _ = store.refresh()
            return store.read { $0.all(Note.self).map(\.key) }
        }
    }

    private func put(_ store: any Store, _ key: String) throws {
        try StoreCall.checked { store.update { $0.put(Note(key: key)) } }
    }

    private func owned(_ name: String, of stores: PostgreSQLStores) throws -> PostgreSQLStore {
        let store = try #require(stores.store(of: name, seed: try seed()) as? PostgreSQLStore)
        store.own()
        try #require(store.isCurrent)
        return store
    }

    @Test("one that begins finds all that was changed, and both go on")
    func another() async throws {
        try await TestDatabase.withSchema { url in
            let one = try PostgreSQLStores(url)
            let store = try owned("w", of: one)
            for number in 0..<50 { store.update { $0.put(Note(key: "\(number)")) } }
            // Nobody has waited for them. Whoever begins does.
            let other = try PostgreSQLStores(url)
            #expect(!store.isCurrent)
            let second = other.store(of: "w", seed: try seed())
            #expect(try keys(second).count == 50)
            second.own()
            #expect(!second.isCurrent)
            store.own()
            #expect(!store.isCurrent)
            try put(second, "from the second")
            #expect(try keys(store).last == "from the second")
            try put(store, "from the first")
            #expect(try keys(second).last == "from the first")
            other.close()
            try one.upkeep()
            store.own()
            #expect(try store.isCurrent && keys(store).count == 52)
        }
    }

    @Test("what was changed in many ways is the same in PostgreSQL as in memory")
    func changes() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let memory = MemoryStore(seed)
            var stores = try PostgreSQLStores(url)
            var store = try owned("w", of: stores)
            func look(_ store: any Store) -> [String] {
                store.read { tables in
                    [
                        String(describing: tables.all(Note.self)), String(describing: tables.all(Account.self)),
                        String(describing: tables.rows(Note.byTopic, "3").map(\.key)),
                        String(describing: tables.newest(Note.byTag, "2", limit: 99).map(\.key)),
                    ]
                }
            }
            var random = Randomness(seed: "owner")
            for round in 0..<150 {
                let bytes = random.bytes(40)
                for target in [memory as any Store, store] {
                    try? target.update { (tables) throws(Refusal) in
                        for step in stride(from: 0, to: 36, by: 3) {
                            let key = String(bytes[step] % 20)
                            switch bytes[step + 1] % 6 {
                            case 0: tables.remove(Note.self, key)
                            case 1: tables.change(Note.self, key) { $0.topic = String(bytes[step + 2] % 8) }
                            case 2: tables.change(Account.self, "bob") { $0.email = "\(key)@example.com" }
                            case 3: tables.remove(Account.self, "ada")
                            default:
                                tables.put(
                                    Note(key: key, topic: "3", tags: [String(bytes[step + 2] % 4), "2"]))
                            }
                        }
                        if bytes[39] % 4 == 0 { throw Refusal() }
                    }
                }
                if round == 70 { for target in [memory as any Store, store] { target.reset(to: seed) } }
                try #require(look(store) == look(memory))
                guard round % 50 == 49 else { continue }
                stores.close()
                stores = try PostgreSQLStores(url)
                store = try owned("w", of: stores)
                try #require(look(store) == look(memory))
            }
        }
    }

    @Test("what was taken away from an owner is refused, and not there afterwards")
    func takenAway() async throws {
        try await TestDatabase.withSchema { url in
            let store = try owned("w", of: PostgreSQLStores(url))
            try put(store, "a")
            // As if the daemon had been stopped for a while, and another had come.
            try TestDatabase.execute("UPDATE understudy_worlds SET owner = 0, version = version + 5000", at: url)
            #expect(throws: StoreFailure.self) { try put(store, "b") }
            #expect(try keys(store) == ["a"])
            try put(store, "c")
            #expect(try keys(store) == ["a", "c"])
        }
    }

    @Test("an owner that gives no answer is waited for, and then its worlds are taken away")
    func noAnswer() async throws {
        try await TestDatabase.withSchema { url in
            let one = try PostgreSQLStores(url)
            let store = one.store(of: "w", seed: try seed())
            try put(store, "a")
            try TestDatabase.execute("UPDATE understudy_worlds SET owner = 4711", at: url)
            let began = ContinuousClock.now
            try put(store, "b")
            #expect(ContinuousClock.now - began > .seconds(1))
            #expect(try TestDatabase.execute("SELECT owner::text FROM understudy_worlds", at: url) == ["0"])
            #expect(try keys(store) == ["a", "b"])
        }
    }

    @Test("a disk without room changes nothing, and whoever has seen the change is refused, too")
    func full() async throws {
        try await TestDatabase.withSchema { url in
            let store = try owned("w", of: PostgreSQLStores(url))
            try put(store, "a")
            try TestDatabase.execute(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$
                """, at: url)
            try TestDatabase.execute(
                "CREATE TRIGGER fail BEFORE INSERT ON understudy_rows FOR EACH ROW EXECUTE FUNCTION fail()", at: url)
            let call = StoreCall()
            let seen = StoreCall.within(call) {
                store.update { $0.put(Note(key: "b")) }
                return store.read { $0.all(Note.self).count }
            }
            #expect(seen == 2)
            let reader = StoreCall()
            _ = StoreCall.within(reader) { store.read { $0.all(Note.self).count } }
            await withCheckedContinuation { done in call.whenWritten { done.resume() } }
            await withCheckedContinuation { done in reader.whenWritten { done.resume() } }
            #expect(call.failure?.kind == .full && reader.failure?.kind == .full)
            try TestDatabase.execute("DROP TRIGGER fail ON understudy_rows", at: url)
            try put(store, "c")
            #expect(try keys(store) == ["a", "c"])
        }
    }

    @Test("a world that was removed is gone, with what wasn't written of it")
    func removal() async throws {
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLStores(url)
            let (store, other) = (try owned("w", of: stores), try owned("x", of: stores))
            store.update { $0.put(Note(key: "a")) }
            other.update { $0.put(Note(key: "kept")) }
            try StoreCall.checked { store.remove() }
            #expect(stores.worlds == ["x"])
            #expect(try keys(stores.store(of: "w", seed: try seed())).isEmpty)
            #expect(try keys(other) == ["kept"])
        }
    }

    @Test("requests for a world that is owned are answered at once, unless they belong to the daemon itself")
    func requests() async throws {
        try await TestDatabase.withSchema { url in
            let replica = try Replica(of: PostgreSQLStores(url))
            let keys = Request(
                method: "GET", target: "/appleid.apple.com/auth/keys", headers: [(name: "Host", value: "localhost")],
                body: [])
            func isAnsweredAtOnce(_ request: Request) -> Bool {
                if case .now(let response) = replica.dispatcher.handle(request) { return response.status == 200 }
                return false
            }
            #expect(!isAnsweredAtOnce(keys))
            #expect(replica.send(keys).status == 200)
            // An idle daemon lets go of its worlds, and owns them again.
            var tries = 0
            while !isAnsweredAtOnce(keys), tries < 1_000 {
                _ = replica.send(keys)
                tries += 1
            }
            #expect(tries < 1_000)
            let worlds = Request(
                method: "GET", target: "/_understudy/v1/worlds", headers: [(name: "Host", value: "localhost")], body: []
            )
            #expect(!isAnsweredAtOnce(worlds))
        }
    }
}
