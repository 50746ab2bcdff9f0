import Foundation
import PostgreSQL
import Testing

@testable import EmulatorCore

/// The stores that all do the same.
enum TestedStore: String, CaseIterable, CustomTestStringConvertible {
    case memory
    /// Memory, with each update run twice and each row written and read.
    case checked
    case sqlite
    /// With the server of `TestDatabase`.
    case postgresql

    static let allCases: [TestedStore] =
        [.memory, .checked, .sqlite] + (TestDatabase.isAtHand ? [.postgresql] : [])

    /// All but that of which the others must not differ.
    static var others: [TestedStore] { allCases.filter { $0 != .memory } }

    var testDescription: String { rawValue }

    /// A store of a new world.
    func open(_ seed: Seed) throws -> any Store {
        switch self {
        case .memory: MemoryStore(seed)
        case .checked: MemoryStore(seed, isChecked: true)
        case .sqlite: try OwnStore(in: SQLiteStores(""), seed)
        case .postgresql:
            try PostgreSQLStores("\(TestDatabase.url ?? "")#temporary").store(of: "test", seed: seed)
        }
    }
}

/// The only world of a file of SQLite's, which goes with it.
private final class OwnStore: Store {
    private let stores: SQLiteStores
    private let store: any Store

    init(in stores: SQLiteStores, _ seed: Seed) {
        self.stores = stores
        store = stores.store(of: "test", seed: seed)
    }

    deinit { stores.close() }

    var lastClock: LastClock? { store.lastClock }

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result { try store.read(body) }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result { try store.update(body) }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        store.reset(to: seed, putting: putting, also: also)
    }

    func adopt(_ seed: Seed) { store.adopt(seed) }
    var lasts: Bool { store.lasts }
    var isKept: Bool { store.isKept }
    func resume(_ seed: Seed, rows: Seed) { store.resume(seed, rows: rows) }
    func remove() { store.remove() }
}

/// A server of PostgreSQL's for tests, where there is one: `UNDERSTUDY_TEST_POSTGRESQL` is its URL.
enum TestDatabase {
    static let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"]
    static var isAtHand: Bool { url != nil }

    /// Runs `body` with the URL of a schema of its own, in which several stores may be opened.
    static func withSchema(_ body: (String) async throws -> Void) async throws {
        let name = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
        let base = try #require(url)
        try await body("\(base)\(base.contains("?") ? "&" : "?")options=-csearch_path%3D\(name)")
        try execute(#"DROP SCHEMA IF EXISTS "\#(name)" CASCADE"#)
    }

    /// Runs a statement, and returns its rows' first column, as text.
    @discardableResult
    static func execute(_ sql: String, at url: String? = nil) throws -> [String] {
        let address = try PostgreSQLAddress(#require(url ?? TestDatabase.url))
        let connection = try PostgreSQLConnection(address, until: .now + .seconds(5))
        let result = try connection.run([PostgreSQLStatement(sql, sql)()], until: .now + .seconds(20))[0]
        return (0..<result.count).map { result.text($0, 0) }
    }
}
