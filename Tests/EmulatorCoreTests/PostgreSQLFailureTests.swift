import Foundation
import Platform
import PostgreSQL
import Testing
import Understudy

@testable import EmulatorCore

@Suite("a database of PostgreSQL's that fails", .enabled(if: TestDatabase.isAtHand))
struct PostgreSQLFailureTests {
    private typealias Note = TableTests.Note

    private func seed(_ text: String = "{}") throws -> Seed {
        try Seed([SeedSource(name: "seed", text: text, directory: ".")], format: Providers.seedFormat)
    }

    private func failure(_ url: String) -> String {
        do throws(PostgreSQLStartFailure) {
            _ = try PostgreSQLStores(url)
            return "none"
        } catch { return error.description }
    }

    /// How an update fails, or that it doesn't.
    private func attempt(_ store: any Store, _ key: String) -> StoreFailure.Kind? {
        do throws(StoreFailure) {
            try StoreCall.checked { store.update { $0.put(Note(key: key)) } }
            return nil
        } catch {
            #expect(!error.diagnosis.line.contains("s3cret"))
            return error.kind
        }
    }

    private func keys(_ store: any Store) throws -> [String] {
        try StoreCall.checked {
            _ = store.refresh()
            return store.read { $0.all(Note.self).map(\.key) }
        }
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
            try PostgreSQLStores(url).begin(with: one)
            try PostgreSQLStores(url).begin(with: one)
            #expect(throws: PostgreSQLStartFailure.self) { try PostgreSQLStores(url).begin(with: other) }
            try TestDatabase.execute("UPDATE understudy_meta SET value = '99' WHERE name = 'schema'", at: url)
            #expect(
                failure(url).hasSuffix("(its schema is 99, this one's \(PostgreSQLSchema.version)): use that version"))
        }
    }

    @Test("a world that somebody else keeps locked is refused in time, and used again")
    func slow() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let store = try PostgreSQLStores(url).store(of: "w", seed: seed)
            let other = try PostgreSQLConnection(PostgreSQLAddress(url), until: .now + .seconds(5))
            let statements = ["BEGIN", "SELECT * FROM understudy_worlds FOR UPDATE"]
            try other.run(statements.map { PostgreSQLStatement($0, $0)() }, until: .now + .seconds(5))
            #expect(attempt(store, "a") == .slow)
            // Looking doesn't wait.
            #expect(try keys(store).isEmpty)
            try other.run([PostgreSQLStatement("ROLLBACK", "ROLLBACK")()], until: .now + .seconds(5))
            #expect(attempt(store, "b") == nil)
            #expect(try keys(store) == ["b"])
        }
    }

    @Test("a full disk changes nothing")
    func full() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let store = try PostgreSQLStores(url).store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            try TestDatabase.execute(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$
                """, at: url)
            try TestDatabase.execute(
                "CREATE TRIGGER fail BEFORE INSERT ON understudy_rows FOR EACH ROW EXECUTE FUNCTION fail()", at: url)
            #expect(attempt(store, "b") == .full)
            #expect(try keys(store) == ["a"])
            try TestDatabase.execute("DROP TRIGGER fail ON understudy_rows", at: url)
            #expect(attempt(store, "c") == nil)
            #expect(try keys(store) == ["a", "c"])
        }
    }

    @Test("a version that no world can have is refused", arguments: [Int64.max, Int64.max - 1, 1 << 43, -1])
    func versions(version: Int64) async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let stores = try PostgreSQLStores(url)
            let store = stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            try TestDatabase.execute("UPDATE understudy_worlds SET version = version + 1000", at: url)
            #expect(attempt(store, "b") == nil)
            try TestDatabase.execute("UPDATE understudy_worlds SET version = \(version)", at: url)
            #expect(attempt(store, "x") == .unreadable)
            #expect(attempt(stores.store(of: "w", seed: seed), "x") == .unreadable)
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
            let stores = try PostgreSQLStores("\(url)&user=\(role)&password=s3cret")
            let store = stores.store(of: "w", seed: seed)
            #expect(attempt(store, "a") == nil)
            let states: [(String, String, StoreFailure.Kind)] = [
                (
                    "ALTER ROLE \(role) SET default_transaction_read_only = on",
                    "ALTER ROLE \(role) RESET default_transaction_read_only", .readOnly
                ),
                ("ALTER ROLE \(role) NOLOGIN", "ALTER ROLE \(role) LOGIN", .gone),
                (
                    "UPDATE understudy_meta SET value = '99' WHERE name = 'schema'",
                    "UPDATE understudy_meta SET value = '1' WHERE name = 'schema'", .newer
                ),
            ]
            var expected = ["a"]
            for (close, open, kind) in states {
                try TestDatabase.execute(close, at: url)
                try end(role)
                #expect(attempt(store, "x") == kind)
                if kind != .readOnly {
                    #expect(stores.health.failure?.kind == kind && stores.health.failingSince != nil)
                    // Whoever comes meanwhile doesn't wait.
                    let began = ContinuousClock.now
                    for _ in 0..<20 { #expect(attempt(store, "y") == kind) }
                    #expect(ContinuousClock.now - began < .seconds(2))
                }
                try TestDatabase.execute(open, at: url)
                try end(role)
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

    private func end(_ role: String) throws {
        try TestDatabase.execute(
            "SELECT pg_terminate_backend(pid, 1000)::text FROM pg_stat_activity WHERE usename = '\(role)'")
    }

    @Test("daemons know of one another, and each has a number of its own")
    func replicas() async throws {
        try await TestDatabase.withSchema { url in
            let (one, other) = (try PostgreSQLStores(url), try PostgreSQLStores(url))
            #expect(one.replica == 1 && other.replica == 2)
            try one.upkeep()
            #expect(one.health.replicas.map(\.number) == [1, 2])
            one.close()
            try other.upkeep()
            #expect(other.health.replicas.map(\.number) == [2])
            #expect(try PostgreSQLStores(url).replica == 1)
        }
    }

    @Test("what there is to know of all worlds is known, and those that nobody uses go")
    func directory() async throws {
        let seed = try seed()
        try await TestDatabase.withSchema { url in
            let (one, other) = (try PostgreSQLStores(url), try PostgreSQLStores(url))
            let held = ["a", "b", "c"].map { one.store(of: $0, seed: seed) }
            #expect(try other.count() == 3 && other.has("b") && !other.has("d"))
            try TestDatabase.execute("UPDATE understudy_worlds SET used = now() - interval '1 hour'", at: url)
            try one.noteUse(of: ["b"])
            let idle = try other.list().filter { $0.idle > 3_000 }.map(\.name)
            #expect(idle == ["a", "c"])
            #expect(try other.removeIdle(60, atMost: 10, but: "c") == ["a"])
            let news = held.map { $0.refresh() }
            #expect(news == [.gone, .same, .same])
            #expect(try other.text("x") == nil)
            let kept = [try one.text("x", orKeep: "1"), try other.text("x", orKeep: "2")]
            #expect(kept == ["1", "1"])
        }
    }
}

/// A server that speaks another protocol, for one connection.
private final class OtherServer {
    let port: UInt16
    private let listener: Int32

    init() throws {
        let listener = understudy_socket(AF_INET, understudy_stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(listener, pointer, length)
                _ = listen(listener, 1)
                _ = getsockname(listener, pointer, &length)
            }
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread {
            let client = understudy_accept(listener, nil, nil, 1)
            let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = send(client, answer, answer.count, understudy_no_signal)
            close(client)
        }.start()
    }

    deinit { close(listener) }
}
