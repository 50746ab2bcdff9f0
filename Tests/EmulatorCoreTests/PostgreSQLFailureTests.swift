import Foundation
import PostgreSQL
import Synchronization
import Testing
import Understudy
@testable import Worlds

@testable import EmulatorCore

@Suite("a database of PostgreSQL's that fails", .enabled(if: TestDatabase.isAtHand))
struct PostgreSQLFailureTests {
    private typealias Note = TableTests.Note

    private func seed(_ text: String = "{}") throws -> Seed {
        try Seed([SeedSource(name: "seed", text: text, directory: ".")], format: .tested)
    }

    private func failure(_ url: String) -> String {
        do throws(PostgreSQLStartFailure) {
            _ = try PostgreSQLArchive(url)
            return "none"
        } catch { return error.description }
    }

    /// Updates the store, and returns the failure; `nil` when it succeeds.
    private func attempt(_ store: WorldStore, _ key: String) -> StoreFailure.Kind? {
        do throws(StoreFailure) {
            try store.update { $0.put(Note(key: key)) }
            return nil
        } catch {
            #expect(!error.diagnosis.line.contains("s3cret"))
            return error.kind
        }
    }

    private func keys(_ store: WorldStore) throws -> [String] {
        try store.refresh()
        return store.read { $0.all(Note.self).map(\.key) }
    }

    @Test("what can't be used is said in a line at the start, without the password")
    func starting() async throws {
        let base = try #require(TestDatabase.url)
        let suffix = base.contains("?") ? "&" : "?"
        let nowhere = failure("\(base)\(suffix)dbname=nowhere&password=s3cret")
        #expect(nowhere.hasSuffix(#"database "nowhere" does not exist"#))
        let stranger = failure("\(base)\(suffix)user=s3cret_nobody&password=s3cret")
        #expect(stranger.contains("*****_nobody") && !stranger.contains("s3cret"))
        #expect(
            failure("postgresql://ada:s3cret@127.0.0.1:1/x").hasSuffix(
                "Is the server running on that host and accepting TCP/IP connections?"))
        #expect(failure("postgresql://ada:s3cret@[::1").hasPrefix("it isn't a URL like postgresql://"))
        let other = try OtherServer()
        let line = failure("postgresql://ada:s3cret@127.0.0.1:\(other.port)/x?sslmode=disable")
        #expect(line.contains("127.0.0.1:\(other.port)/x: ") && !line.contains("s3cret") && !line.contains("\n"))
        try await TestDatabase.withSchema { url in
            let (one, other) = (try seed(), try seed(#"{"accounts":[{"id":"ada"}]}"#))
            try PostgreSQLArchive(url).begin(withSeed: one.digest)
            try PostgreSQLArchive(url).begin(withSeed: one.digest)
            #expect(throws: PostgreSQLStartFailure.self) { try PostgreSQLArchive(url).begin(withSeed: other.digest) }
            try TestDatabase.execute("UPDATE understudy_meta SET value = '99' WHERE name = 'schema'", at: url)
            #expect(
                failure(url).hasSuffix(
                    "(its schema is 99, this version's \(PostgreSQLSchema.version)): use that version"))
            try TestDatabase.execute("UPDATE understudy_meta SET value = '1' WHERE name = 'schema'", at: url)
            #expect(failure(url).contains("earlier version of understudy (its schema is 1"))
        }
    }

    @Test("a world that somebody else keeps locked is refused in time, and used again; others are used meanwhile")
    func slow() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive(url)
            let (store, free) = (try stores.store(of: "w", seed: seed), try stores.store(of: "free", seed: seed))
            let other = try PostgreSQLConnection(PostgreSQLAddress(url), until: .now + .seconds(5))
            let statements = ["BEGIN", "SELECT * FROM understudy_worlds WHERE name = 'w' FOR UPDATE"]
            try other.run(statements.map { PostgreSQLStatement($0, $0)() }, until: .now + .seconds(5))
            let isRefused = Atomic<Bool>(false)
            Thread {
                #expect(attempt(store, "a") == .slow)
                isRefused.store(true, ordering: .releasing)
            }.start()
            var count = 0
            while !isRefused.load(ordering: .acquiring) {
                #expect(attempt(free, "\(count)") == nil)
                count += 1
            }
            #expect(count > 1)
            // The rows weren't written, and reading takes no lock.
            #expect(try keys(store).isEmpty)
            try other.run([PostgreSQLStatement("ROLLBACK", "ROLLBACK")()], until: .now + .seconds(5))
            #expect(attempt(store, "b") == nil)
            #expect(try keys(store) == ["b"])
        }
    }

    @Test("a full disk changes nothing, and health tells until there is room")
    func full() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive(url)
            let store = try stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            try TestDatabase.execute(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$
                """, at: url)
            for table in ["rows", "meta"] {
                try TestDatabase.execute(
                    "CREATE TRIGGER fail BEFORE INSERT ON understudy_\(table) FOR EACH ROW EXECUTE FUNCTION fail()",
                    at: url)
            }
            #expect(attempt(store, "b") == .full)
            #expect(try keys(store) == ["a"])
            for _ in 0..<2 {
                #expect(stores.health.failure?.kind == .full && stores.health.failingSince != nil)
                stores.tryAgain()
            }
            for table in ["rows", "meta"] {
                try TestDatabase.execute("DROP TRIGGER fail ON understudy_\(table)", at: url)
            }
            stores.tryAgain()
            #expect(stores.health.failure == nil)
            #expect(attempt(store, "c") == nil)
            #expect(try keys(store) == ["a", "c"])
        }
    }

    @Test("a version that no world can have is refused", arguments: [Int64.max, Int64.max - 1, 1 << 43, -1])
    func versions(version: Int64) async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive(url)
            let store = try stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            try TestDatabase.execute("UPDATE understudy_worlds SET version = version + 1000", at: url)
            #expect(attempt(store, "b") == nil)
            try TestDatabase.execute("UPDATE understudy_worlds SET version = \(version)", at: url)
            #expect(attempt(store, "x") == .unreadable)
            let failure = #expect(throws: StoreFailure.self) { try stores.store(of: "w", seed: seed) }
            #expect(failure?.kind == .unreadable)
            try TestDatabase.execute("UPDATE understudy_worlds SET version = 5000", at: url)
            #expect(attempt(store, "c") == nil)
            #expect(try keys(store) == ["a", "b", "c"])
        }
    }

    @Test(
        "a database that is read-only, that nobody may enter, or that is newer is told as that, and used when it is back"
    )
    func closed() async throws {
        let seed = try seed()
        let role = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
        try TestDatabase.execute("CREATE ROLE \(role) SUPERUSER LOGIN")
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive("\(url)&user=\(role)&password=s3cret")
            let store = try stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            let states: [(String, String, StoreFailure.Kind)] = [
                (
                    "ALTER ROLE \(role) SET default_transaction_read_only = on",
                    "ALTER ROLE \(role) RESET default_transaction_read_only", .readOnly
                ),
                ("ALTER ROLE \(role) NOLOGIN", "ALTER ROLE \(role) LOGIN", .unreachable),
                (
                    "UPDATE understudy_meta SET value = '99' WHERE name = 'schema'",
                    "UPDATE understudy_meta SET value = '\(PostgreSQLSchema.version)' WHERE name = 'schema'", .newer
                ),
            ]
            var expected = ["a"]
            for (close, open, kind) in states {
                try TestDatabase.execute(close, at: url)
                try end(role)
                #expect(attempt(store, "x") == kind)
                #expect(stores.health.failure?.kind == kind && stores.health.failingSince != nil)
                for _ in 0..<20 { #expect(attempt(store, "y") == kind) }
                try TestDatabase.execute(open, at: url)
                let deadline = ContinuousClock.now + .seconds(8)
                while attempt(store, "\(kind)") != nil, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(50))
                }
                expected.append("\(kind)")
                #expect(try keys(store) == expected)
                #expect(stores.health.failure == nil)
            }
        }
        try end(role)
        try TestDatabase.execute("DROP ROLE \(role)")
    }

    @Test(
        "a database that becomes read-only while its connections stay is told as that, and used when it isn't any more")
    func readOnlySessions() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive(url)
            let store = try stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            // The session is like one of a server that has become a standby.
            _ = try stores.pool.use { connection throws(PostgreSQLError) in
                let sql = "SET default_transaction_read_only = on"
                return try connection.run([PostgreSQLStatement(sql, sql)()], until: .now + .seconds(5))
            }
            let refused = attempt(store, "b")
            // The store may have used the session before by itself.
            #expect(refused == .readOnly || refused == nil)
            #expect(attempt(store, "c") == nil)
            #expect(try keys(store) == (refused == nil ? ["a", "b", "c"] : ["a", "c"]))
        }
    }

    @Test("with fewer connections than it would like, a daemon goes on with those that it has")
    func crowded() async throws {
        let seed = try seed()
        let role = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
        try TestDatabase.execute("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 2 PASSWORD 's3cret'")
        let database = try #require(TestDatabase.execute("SELECT current_database()::text").first)
        try TestDatabase.execute(#"GRANT ALL ON DATABASE "\#(database)" TO \#(role)"#)
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLArchive("\(url)&user=\(role)&password=s3cret")
            defer { stores.close() }
            let worlds = try (0..<16).map { try stores.store(of: "w\($0)", seed: seed) }
            let failures = Mutex<[StoreFailure.Kind]>([])
            DispatchQueue.concurrentPerform(iterations: 64) { place in
                guard let failure = attempt(worlds[place % worlds.count], "k\(place)") else { return }
                failures.withLock { $0.append(failure) }
            }
            #expect(failures.withLock { $0 } == [])
            #expect(stores.health.failure == nil)
            let limit = try TestDatabase.execute(
                "SELECT count(*)::text FROM pg_stat_activity WHERE usename = '\(role)'")
            #expect(["1", "2"].contains(limit.first))
        }
        try TestDatabase.execute("DROP OWNED BY \(role)")
        try TestDatabase.execute("DROP ROLE \(role)")
    }

    @Test("while a server can't be reached, it is asked now and then, and whoever comes meanwhile doesn't wait")
    func pauses() throws {
        let other = try OtherServer()
        let pool = PostgreSQLPool(
            try PostgreSQLAddress("postgresql://ada:s3cret@127.0.0.1:\(other.port)/x?sslmode=disable"), schema: nil)
        let began = ContinuousClock.now
        for _ in 0..<200 {
            #expect(throws: StoreFailure.self) { try pool.use { _ throws(PostgreSQLError) -> Void in () } }
        }
        let pauses = (ContinuousClock.now - began) / .milliseconds(500)
        #expect((1...Int(pauses) + 2).contains(other.connections))
    }

    private func end(_ role: String) throws {
        try TestDatabase.execute(
            "SELECT pg_terminate_backend(pid, 1000)::text FROM pg_stat_activity WHERE usename = '\(role)'")
    }

    @Test("daemons know of one another, and each has a number of its own")
    func replicas() async throws {
        try await TestDatabase.withSchema { url in
            let (one, other) = (try PostgreSQLArchive(url), try PostgreSQLArchive(url))
            #expect(one.replica == 1 && other.replica == 2)
            try one.upkeep()
            #expect(one.health.replicas.map(\.number) == [1, 2])
            one.close()
            try other.upkeep()
            #expect(other.health.replicas.map(\.number) == [2])
            #expect(try PostgreSQLArchive(url).replica == 1)
        }
    }

    @Test("what there is to know of all worlds is known, and those that nobody uses go")
    func directory() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let (one, other) = (try PostgreSQLArchive(url), try PostgreSQLArchive(url))
            let held = try ["a", "b", "c"].map { try one.store(of: $0, seed: seed) }
            #expect(try other.count() == 3 && other.has("b") && !other.has("d"))
            try TestDatabase.execute("UPDATE understudy_worlds SET used = now() - interval '1 hour'", at: url)
            try one.recordUse(of: ["b"])
            let idle = try other.list().filter { $0.idle > 3_000 }.map(\.name)
            #expect(idle == ["a", "c"])
            #expect(try other.removeIdle(60, atMost: 10, but: "c") == ["a"])
            let news = try held.map { try $0.refresh() }
            #expect(news == [false, true, true])
            #expect(try other.text("x") == nil)
            let kept = [try one.text("x", orKeep: "1"), try other.text("x", orKeep: "2")]
            #expect(kept == ["1", "1"])
        }
    }
}
