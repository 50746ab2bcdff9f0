import Foundation
import PostgreSQL
import Testing

/// A server for tests: `UNDERSTUDY_TEST_POSTGRESQL` is its URL.
enum TestDatabase {
    static let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"]
    static var isAtHand: Bool { url != nil }

    static func connection() throws -> PostgreSQLConnection {
        try PostgreSQLConnection(PostgreSQLAddress(#require(url)), until: .now + .seconds(5))
    }
}

@Suite("connections to PostgreSQL", .enabled(if: TestDatabase.isAtHand))
struct PostgreSQLTests {
    private func call(_ sql: String, _ values: PostgreSQLValue...) -> PostgreSQLCall {
        PostgreSQLCall(statement: PostgreSQLStatement(sql, sql), values: values)
    }

    private func run(
        _ connection: PostgreSQLConnection, _ calls: PostgreSQLCall..., seconds: Int = 5
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        try connection.run(calls, until: .now + .seconds(seconds))
    }

    @Test("values come back as they went")
    func values() throws {
        let connection = try TestDatabase.connection()
        let numbers: [Int64] = [0, 1, -1, .max, .min, 255, -256]
        for number in numbers {
            let result = try run(connection, call("SELECT $1::bigint", .integer(number)))
            #expect(result[0].integer(0, 0) == number)
        }
        #expect(try run(connection, call("SELECT -2::smallint"))[0].integer(0, 0) == -2)
        for text in ["", "a", "grüß dich, Welt"] {
            #expect(try run(connection, call("SELECT $1::text", .text(text)))[0].text(0, 0) == text)
        }
        let bytes: [UInt8] = [0, 255, 0, 1]
        let results = try run(
            connection, call("SELECT $1::bytea, $2::bytea, $3::bytea", .bytes(bytes), .null, .bytes([])))
        #expect(results[0].bytes(0, 0) == bytes)
        #expect(results[0].isNull(0, 1) && !results[0].isNull(0, 2))
        #expect(results[0].bytes(0, 2).isEmpty && results[0].isNull(7, 0))
    }

    @Test("several statements go together, much more than a socket holds, and all of them or none")
    func pipelines() throws {
        let connection = try TestDatabase.connection()
        _ = try run(connection, call("CREATE TEMPORARY TABLE things(name text PRIMARY KEY, value bytea)"))
        let add = "INSERT INTO things VALUES ($1, $2)"
        let large = [UInt8](repeating: 7, count: 1 << 20)
        let results = try connection.run(
            (0..<40).map { call(add, .text("\($0)"), .bytes(large)) }
                + (0..<40).map { call("SELECT value FROM things WHERE name = $1", .text("\($0)")) },
            until: .now + .seconds(60))
        #expect(results.prefix(40).allSatisfy { $0.changed == 1 })
        #expect(results.suffix(40).allSatisfy { $0.bytes(0, 0) == large })
        do throws(PostgreSQLError) {
            _ = try run(connection, call(add, .text("x"), .null), call(add, .text("1"), .null), call("SELECT 1"))
            Issue.record("it was taken twice")
        } catch {
            #expect(error.kind == .refused && error.state == "23505")
        }
        // A statement that was refused before it was prepared is prepared later.
        #expect(try run(connection, call("SELECT count(*) FROM things"))[0].integer(0, 0) == 40)
        #expect(try run(connection, call("SELECT 1"))[0].integer(0, 0) == 1)
    }

    @Test("a transaction goes on over several rounds, and ends as it is told to")
    func transactions() throws {
        let connection = try TestDatabase.connection()
        _ = try run(connection, call("CREATE TEMPORARY TABLE things(name text)"))
        _ = try run(connection, call("BEGIN"), call("INSERT INTO things VALUES ('a')"))
        #expect(!connection.isIdle)
        _ = try run(connection, call("ROLLBACK"))
        #expect(connection.isIdle)
        #expect(try run(connection, call("SELECT * FROM things"))[0].count == 0)
    }

    @Test("whatever takes too long ends at its deadline, and whoever has gone is noticed")
    func ending() throws {
        let (slow, other) = (try TestDatabase.connection(), try TestDatabase.connection())
        do throws(PostgreSQLError) {
            _ = try run(slow, call("SELECT pg_sleep(20)"), seconds: 1)
            Issue.record("it came back")
        } catch {
            #expect(error.kind == .late && slow.isBroken)
        }
        let process = try run(other, call("SELECT pg_backend_pid()"))[0].integer(0, 0)
        let killer = try TestDatabase.connection()
        _ = try run(killer, call("SELECT pg_terminate_backend($1::bigint::integer)", .integer(process)))
        do throws(PostgreSQLError) {
            while true { _ = try run(other, call("SELECT 1")) }
        } catch {
            #expect(error.state == "57P01" || error.kind == .lost || error.kind == .closed)
            #expect(other.isBroken)
        }
    }
}

@Suite("addresses of PostgreSQL")
struct AddressTests {
    @Test("a URL is told without its password, and what is none without anything")
    func titles() throws {
        let address = try PostgreSQLAddress("postgresql://ada:s3cret@db.example:5433/worlds?sslmode=require")
        #expect(address.title == "db.example:5433/worlds")
        for text in ["postgresql://ada:s3cret@[::1]x/", "postgresql://ada:s3c%zzret@h/", "postgres//ada:s3cret@h"] {
            do throws(PostgreSQLError) {
                _ = try PostgreSQLAddress(text)
                Issue.record("\(text) was taken")
            } catch {
                #expect(error.kind == .address && !error.message.contains("s3c"))
            }
        }
    }

    @Test(
        "a password that a URL can't have as it is doesn't become a host, a port or a database",
        arguments: ["s3c/ret", "s3c@ret", "/s3cret", "s3cret@", "s3c/r@et"])
    func bareCharacters(password: String) throws {
        do throws(PostgreSQLError) {
            _ = try PostgreSQLAddress("postgresql://ada:\(password)@db.example:5433/worlds")
            Issue.record("it was taken")
        } catch {
            #expect(error.kind == .address && error.message.contains("%40") && !error.message.contains("s3c"))
        }
    }

    @Test(
        "other characters of a password, and any in what follows the host, are taken",
        arguments: [
            "postgresql://ada:s3:c#r$et@db.example/worlds", "postgresql://ada:s3c%2Fr%40et@db.example/worlds",
            "postgresql://db.example/worlds?user=a@b&application_name=a/b@c", "postgresql://ada@db.example/worlds",
        ])
    func otherCharacters(url: String) throws { #expect(try PostgreSQLAddress(url).title == "db.example/worlds") }

    @Test("nobody there is told at once, in a line")
    func nobody() throws {
        do throws(PostgreSQLError) {
            _ = try PostgreSQLConnection(
                PostgreSQLAddress("postgresql://ada:s3cret@127.0.0.1:1/x"), until: .now + .seconds(5))
            Issue.record("somebody was there")
        } catch {
            #expect(error.kind == .unreachable && error.message.contains("127.0.0.1"))
            #expect(!error.message.contains("s3cret") && !error.message.contains("\n"))
        }
    }
}
