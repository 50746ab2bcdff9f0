import Foundation
import PostgreSQL
import Testing
@testable import Worlds

@testable import EmulatorCore
@testable import Understudy

/// The stores, which must all behave the same.
enum TestedStore: String, CaseIterable, CustomTestStringConvertible {
    case memory
    /// An archive in memory, with each update run twice and each row written and read.
    case checked
    case sqlite
    /// A database at the server of `TestDatabase`.
    case postgresql

    static let allCases: [TestedStore] =
        [.memory, .checked, .sqlite] + (TestDatabase.isAtHand ? [.postgresql] : [])

    /// The stores that are compared with memory.
    static var others: [TestedStore] { allCases.filter { $0 != .memory } }

    var testDescription: String { rawValue }

    /// Returns the store of a new world.
    func open(_ seed: Seed) throws -> WorldStore { try WorldStore("test", seed, keptIn: archive()) }

    private func archive() throws -> (any Archive)? {
        switch self {
        case .memory: nil
        case .checked: MemoryArchive(isChecked: true)
        case .sqlite: try SQLiteArchive("")
        case .postgresql: try PostgreSQLArchive("\(TestDatabase.url ?? "")#temporary")
        }
    }
}

extension Archive {
    /// Returns the store of the world of this name.
    func store(of world: String, seed: Seed) throws -> WorldStore { try WorldStore(world, seed, in: self) }
}

extension SeedFormat {
    /// The format of seeds, for worlds that hold these tests' rows, too.
    static let tested = SeedFormat(Providers.all, rows: [TableTests.Note.self, ManyRowsTests.Entry.self])
}

/// A PostgreSQL server for tests: `UNDERSTUDY_TEST_POSTGRESQL` is its URL, if there is one.
enum TestDatabase {
    static let url = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_POSTGRESQL"]
    static var isAtHand: Bool { url != nil }

    /// Runs `body` with the URL of a new schema, in which several stores may be opened.
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
