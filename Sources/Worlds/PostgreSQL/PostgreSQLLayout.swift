import Platform
import PostgreSQL

/// Makes the database schema and the tables in which test worlds are kept. Several daemons may do this at once.
struct PostgreSQLLayout {
    private let pool: PostgreSQLPool
    private let tables: [String]

    init(_ pool: PostgreSQLPool, tables: [String]) {
        self.pool = pool
        self.tables = tables
    }

    func prepare() throws(StoreFailure) {
        let connection = try pool.connect()
        for attempt in 1... {
            do throws(PostgreSQLError) {
                guard let version = try otherVersion(connection) else { return }
                let isNewer = version > PostgreSQLSchema.version
                throw PostgreSQLError(
                    .refused,
                    "the database was written by \(isNewer ? "a newer" : "an earlier") version of understudy (its "
                        + "schema is \(version), this version's \(PostgreSQLSchema.version)): "
                        + (isNewer ? "use that version" : "use another schema (?options=-csearch_path%3DNAME)"))
            } catch {
                // If another daemon is making the same tables, they exist a moment later.
                guard attempt < 20, PostgreSQLLayout.isRivals(error), !connection.isBroken else {
                    throw StoreFailure(error)
                }
                if !connection.isIdle { _ = try? run(connection, [PostgreSQLSchema.rollback()]) }
                usleep(50_000)
            }
        }
    }

    private static func isRivals(_ error: PostgreSQLError) -> Bool {
        ["23505", "40001", "40P01", "42P06", "42P07", "42710", "XX000"].contains(error.state)
    }

    @discardableResult
    private func run(
        _ connection: PostgreSQLConnection, _ calls: [PostgreSQLCall]
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
    }

    private func call(_ sql: String) -> PostgreSQLCall { PostgreSQLStatement(sql, sql)() }

    /// Makes the database tables if they don't exist. If another version of this program has made them, returns the
    /// version of their layout, otherwise `nil`.
    private func otherVersion(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Int? {
        let path = try run(connection, [call("SELECT current_schema(), current_setting('search_path')")])[0]
        if path.isNull(0, 0) {
            guard let name = PostgreSQLLayout.firstSchema(path.text(0, 1)) else {
                throw PostgreSQLError(
                    .refused,
                    "no database schema is chosen: name one in the database's URL (?options=-csearch_path%3DNAME)")
            }
            try run(connection, [call("CREATE SCHEMA IF NOT EXISTS \"\(name)\"")])
        }
        let known = try run(connection, [call("SELECT to_regclass('understudy_meta') IS NOT NULL")])[0]
        if known.bytes(0, 0) == [1] {
            let text = try run(connection, [PostgreSQLSchema.text(.text("schema"))])[0]
            let version = Int(text.text(0, 0)) ?? 0
            return version == PostgreSQLSchema.version ? nil : version
        }
        let calls = tables.map { call($0) }
        // The calls run one after the other, because a statement can be prepared only when its table exists.
        try run(connection, [PostgreSQLSchema.begin()] + calls + [PostgreSQLSchema.commit()])
        return nil
    }

    /// Returns the first schema in a PostgreSQL search path, apart from `$user`. The schema's name may be in quotation
    /// marks: <https://www.postgresql.org/docs/current/ddl-schemas.html>
    static func firstSchema(_ path: String) -> String? {
        for part in path.split(separator: ",") {
            let name = part.filter { $0 != "\"" && $0 != " " }
            if !name.isEmpty, name != "$user" { return name }
        }
        return nil
    }
}
