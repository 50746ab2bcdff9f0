import Foundation
import PostgreSQL

@testable import EmulatorCore

/// What keeps recordings that replicas share.
enum TestedKeeping: Sendable {
    case memory
    /// At the server that `UNDERSTUDY_TEST_POSTGRESQL` leads to.
    case postgresql(String)

    static var all: [TestedKeeping] {
        let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"]
        return [.memory] + (url.map { [.postgresql($0)] } ?? [])
    }

    static var hasServer: Bool { all.count > 1 }

    func make() throws -> any SharedKeeping {
        switch self {
        case .memory: KeptRecordings()
        case .postgresql(let url): try DatabaseRecordings(url)
        }
    }
}

/// Recordings in a schema of their own.
final class DatabaseRecordings: SharedKeeping {
    private let address: PostgreSQLAddress
    let schema = "understudy_\(UInt64.random(in: 0 ... .max))"

    init(_ url: String) throws {
        address = try PostgreSQLAddress(url)
        let connection = try PostgreSQLConnection(address, until: .now + .seconds(10))
        try connection.run([call("CREATE SCHEMA \(schema)"), call("SET search_path = \(schema)")], until: limit)
        // Each is prepared when those before it are there.
        for table in RecordingSchema.tables { try connection.run([call(table)], until: limit) }
    }

    deinit {
        let connection = try? PostgreSQLConnection(address, until: limit)
        _ = try? connection?.run([call("DROP SCHEMA \(schema) CASCADE")], until: limit)
    }

    private var limit: ContinuousClock.Instant { .now + .seconds(10) }

    private func call(_ sql: String) -> PostgreSQLCall { PostgreSQLStatement(sql, sql)() }

    func keeper(of replica: Int) throws -> any RecordingKeeper {
        PostgreSQLRecordings(writer: Int64(replica)) { [self] () throws(StoreFailure) in try connected() }
    }

    func connected() throws(StoreFailure) -> PostgreSQLConnection {
        do throws(PostgreSQLError) {
            let connection = try PostgreSQLConnection(address, until: limit)
            try connection.run(
                [call("SET search_path = \(schema)"), call("SET application_name = '\(schema)'")], until: limit)
            return connection
        } catch { throw StoreFailure(error) }
    }
}
