import CSQLite

/// A prepared SQL statement, which runs many times with different values.
package final class SQLiteStatement {
    private let pointer: OpaquePointer
    private let sql: String
    // The reference keeps the database open.
    private let database: SQLiteDatabase

    init(_ sql: String, _ database: SQLiteDatabase) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            database.pointer, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard let pointer = prepared, code == SQLITE_OK else { throw database.failure(code, sql) }
        self.pointer = pointer
        self.sql = sql
        self.database = database
    }

    deinit { sqlite3_finalize(pointer) }

    /// Runs the SQL statement to its end.
    package func run(_ values: SQLiteValue...) throws(SQLiteError) { try each(values) { _ in true } }

    /// Returns the first row of the SQL statement's result, read by `read`; `nil` if there is none.
    package func first<Value>(_ values: SQLiteValue..., read: (SQLiteRow) -> Value) throws(SQLiteError) -> Value? {
        var found: Value?
        try each(values) { row in
            found = read(row)
            return false
        }
        return found
    }

    /// Calls `body` for each row of the SQL statement's result until it returns `false`. `body` must not run the same
    /// statement.
    package func each(_ values: SQLiteValue..., body: (SQLiteRow) -> Bool) throws(SQLiteError) {
        try each(values, body)
    }

    private func each(_ values: [SQLiteValue], _ body: (SQLiteRow) -> Bool) throws(SQLiteError) {
        defer { sqlite3_reset(pointer) }
        for (place, value) in values.enumerated() {
            let code = bind(value, Int32(place + 1))
            guard code == SQLITE_OK else { throw database.failure(code, sql) }
        }
        while true {
            let code = sqlite3_step(pointer)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw database.failure(code, sql) }
            guard body(SQLiteRow(pointer: pointer)) else { return }
        }
    }

    private func bind(_ value: SQLiteValue, _ place: Int32) -> Int32 {
        switch value {
        case .integer(let number): return sqlite3_bind_int64(pointer, place, number)
        case .text(var text):
            return text.withUTF8 { bind($0, place) }
        }
    }

    private func bind(_ bytes: UnsafeBufferPointer<UInt8>, _ place: Int32) -> Int32 {
        guard let length = Int32(exactly: bytes.count) else { return SQLITE_TOOBIG }
        return bytes.withMemoryRebound(to: CChar.self) { characters in
            // Without an address, SQLite would store NULL.
            guard let start = characters.baseAddress else {
                return understudy_sqlite_bind_text(pointer, place, "", 0)
            }
            return understudy_sqlite_bind_text(pointer, place, start, length)
        }
    }
}

/// The present row of an SQL statement's result. It is valid only within the closure that gets it. Columns count from
/// 0.
package struct SQLiteRow {
    fileprivate let pointer: OpaquePointer

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    private func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        // The text must be first: the conversion to text determines the number of bytes.
        let start = sqlite3_column_text(pointer, column)
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
    }
}
