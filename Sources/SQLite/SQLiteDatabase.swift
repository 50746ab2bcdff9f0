import CSQLite
import Platform

/// An SQLite database in a file: <https://www.sqlite.org/cintro.html>. Only one thread may use it at a time.
package final class SQLiteDatabase {
    let pointer: OpaquePointer

    /// Opens the database file, or creates it.
    package init(_ path: String) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard let pointer = opened, code == SQLITE_OK else {
            let failure = SQLiteError(
                code: code, message: String(cString: sqlite3_errstr(code)),
                systemError: opened.map { sqlite3_system_errno($0) } ?? 0)
            sqlite3_close_v2(opened)
            throw failure
        }
        self.pointer = pointer
    }

    deinit { sqlite3_close_v2(pointer) }

    /// Whether the database file can't be written.
    package var isReadOnly: Bool { sqlite3_db_readonly(pointer, "main") == 1 }

    /// Whether the database file was moved, removed or replaced, so that it isn't at its path any more.
    /// <https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlhasmoved>
    package var hasMoved: Bool {
        var hasMoved: Int32 = 0
        guard sqlite3_file_control(pointer, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK else {
            return false
        }
        return hasMoved != 0
    }

    /// Frees the memory in which SQLite caches pages of the database file.
    package func releaseMemory() { sqlite3_db_release_memory(pointer) }

    /// The `rowid` of the row that was added last. <https://www.sqlite.org/c3ref/last_insert_rowid.html>
    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(pointer) }

    /// The number of rows changed by the last SQL statement. <https://www.sqlite.org/c3ref/changes.html>
    package var changedRows: Int { Int(sqlite3_changes(pointer)) }

    package var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    /// Sets the milliseconds to wait for another process that has locked the database file.
    package func wait(milliseconds: Int32) { sqlite3_busy_timeout(pointer, milliseconds) }

    /// Runs SQL statements without values and without results.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }

    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement { try SQLiteStatement(sql, self) }

    /// Makes the error of a failed call of SQLite. This must be called right after the failed call.
    func failure(_ code: Int32, _ sql: String) -> SQLiteError {
        // SQLite doesn't record `errno` if a commit fails.
        let lastError = errno
        let noted = sqlite3_system_errno(pointer)
        return SQLiteError(
            code: code, message: String(cString: sqlite3_errmsg(pointer)),
            systemError: noted == 0 && code & 0xFF == SQLITE_IOERR ? lastError : noted, sql: sql)
    }
}

/// An error of SQLite: <https://www.sqlite.org/rescode.html>.
package struct SQLiteError: Error, CustomStringConvertible, Sendable {
    /// The extended result code of an SQLite error.
    package let code: Int32
    package let message: String
    /// The `errno` of the system call that made SQLite fail; 0 if no system call did.
    package let systemError: Int32
    /// The SQL statement that failed, without values; empty if there was none.
    package let sql: String

    package init(code: Int32, message: String, systemError: Int32, sql: String = "") {
        self.code = code
        self.message = message
        self.systemError = systemError
        self.sql = sql
    }

    /// The primary result code of an SQLite error: the extended result code without its additional bits.
    package var primaryCode: Int32 { code & 0xFF }

    package var description: String { sql.isEmpty ? message : "\(message) at \(sql)" }
}

/// A value of an SQL statement's parameter, or of a row's column.
package enum SQLiteValue {
    case integer(Int64)
    case text(String)
}
