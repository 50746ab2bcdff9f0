import Foundation
import PostgreSQL
@testable import Recordings
@testable import Worlds

@testable import EmulatorCore

/// The stores of recordings that replicas share.
enum TestedKeeping: Sendable {
    case memory
    /// A database at the server with the URL `UNDERSTUDY_TEST_POSTGRESQL`.
    case postgresql(String)

    static var all: [TestedKeeping] {
        let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"]
        return [.memory] + (url.map { [.postgresql($0)] } ?? [])
    }

    static var hasServer: Bool { all.count > 1 }

    func make() throws -> any RecordingKeeper {
        switch self {
        case .memory: KeptRecordings()
        case .postgresql(let url): try DatabaseRecordings(url).keeper()
        }
    }
}

/// Recordings in a schema of their own.
final class DatabaseRecordings: Sendable {
    private let address: PostgreSQLAddress
    let schema = "understudy_\(UInt64.random(in: 0 ... .max))"

    init(_ url: String) throws {
        address = try PostgreSQLAddress(url)
        let connection = try PostgreSQLConnection(address, until: .now + .seconds(10))
        try connection.run([call("CREATE SCHEMA \(schema)"), call("SET search_path = \(schema)")], until: limit)
        // A statement can be prepared only when the tables before it exist.
        for table in PostgreSQLSchema.tables + PostgreSQLRecordings.tables {
            try connection.run([call(table)], until: limit)
        }
    }

    deinit {
        let connection = try? PostgreSQLConnection(address, until: limit)
        _ = try? connection?.run([call("DROP SCHEMA \(schema) CASCADE")], until: limit)
    }

    private var limit: ContinuousClock.Instant { .now + .seconds(10) }

    private func call(_ sql: String) -> PostgreSQLCall { PostgreSQLStatement(sql, sql)() }

    /// Returns a store of the recordings with connections of its own.
    func keeper() -> any RecordingKeeper {
        Keeper(base: PostgreSQLRecordings(PostgreSQLPool(address, schema: schema)), recordings: self)
    }

    /// A store that keeps the schema while it exists.
    private struct Keeper: RecordingKeeper {
        let base: PostgreSQLRecordings
        let recordings: DatabaseRecordings

        func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)? {
            try base.append(exchange, limit: limit)
        }
        func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews {
            try base.read(worlds)
        }
        func summaries() throws(StoreFailure) -> [RecordingSummary] { try base.summaries() }
        func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure) {
            try base.clear(worlds, keepingRefusals: keepingRefusals)
        }
        func refusedByGoneWorlds(
            known: Set<Int>
        ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange]) {
            try base.refusedByGoneWorlds(known: known)
        }
        func forgetGoneWorlds() throws(StoreFailure) { try base.forgetGoneWorlds() }
    }

    func connected() throws(StoreFailure) -> PostgreSQLConnection {
        do throws(PostgreSQLError) {
            let connection = try PostgreSQLConnection(address, until: limit)
            try connection.run([call("SET search_path = \(schema)")], until: limit)
            return connection
        } catch { throw StoreFailure(error) }
    }
}
