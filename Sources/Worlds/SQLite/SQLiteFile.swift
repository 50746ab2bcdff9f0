import Platform
import SQLite

/// The SQLite file in which a daemon keeps all its test worlds. One thread uses the file at a time.
///
/// Committed changes survive a crash of the process. The system writes them to the disk later, so a power failure may
/// lose the changes of the last seconds, but it never leaves half of a change.
/// <https://www.sqlite.org/pragma.html#pragma_synchronous>
final class SQLiteFile {
    let path: String
    let database: SQLiteDatabase
    let statements: SQLiteSchema.Statements
    private let lock: SQLiteFileLock
    /// The milliseconds to wait for another program that has locked the SQLite file.
    static let patience: Int32 = 2_000

    /// Opens the SQLite file of test worlds, or makes it.
    ///
    /// - Throws: The reason why the file can't be used, with the file's path, in a line.
    init(_ path: String) throws(SQLiteStartFailure) {
        self.path = path
        // A FIFO, for example, can't be locked.
        var known = stat()
        let isThere = stat(path, &known) == 0
        guard !isThere || known.st_mode & S_IFMT == S_IFREG else { throw SQLiteStartFailure(path, "it isn't a file") }
        // The lock and SQLite's files beside it are found by the name, so a daemon that used another name would corrupt
        // the file.
        guard !isThere || known.st_nlink == 1 else {
            throw SQLiteStartFailure(
                path, "the file has \(known.st_nlink) names (hard links): remove the other names, or copy the file")
        }
        // Reaching the limit of a file's size must be an error, and not end the process.
        signal(SIGXFSZ, SIG_IGN)
        // Other users must not read the file. SQLite gives the files beside it the same permissions.
        let made = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let failure = errno
        if made >= 0 { Platform.close(made) }
        // The lock is the same under all names of the file. A path begins with a slash, because SQLite has special
        // names such as ":memory:".
        let place = SQLiteFile.place(of: path)
        lock = try SQLiteFileLock(place, calling: path)
        // If this file can't be written, SQLite would leave files beside it that can't be written either, and still be
        // there when this one can.
        if made < 0, isThere, [EACCES, EPERM, EROFS].contains(failure) {
            throw SQLiteStartFailure(path, "the file can't be written")
        }
        do throws(SQLiteError) {
            database = try SQLiteDatabase(place)
            database.wait(milliseconds: SQLiteFile.patience)
            let settings = try SQLiteFile.checked(database)
            guard settings == nil else { throw SQLiteError(code: -1, message: settings ?? "", systemError: 0) }
            try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
            try database.execute("PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 67108864")
            // The number is in pages: the more changes a checkpoint writes, the fewer times each page is written.
            try database.execute("PRAGMA wal_autocheckpoint = 4000")
            if try SQLiteFile.pragma("user_version", database) == 0 { try SQLiteFile.lay(database) }
            statements = try SQLiteSchema.Statements(database)
        } catch {
            throw SQLiteStartFailure(path, error)
        }
    }

    /// Returns the path of the SQLite file with symbolic links resolved. If the file doesn't exist, the path is
    /// returned unchanged.
    private static func place(of path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Returns the reason why the SQLite file can't be used, such as that another program has written it; `nil` if it
    /// can be used.
    private static func checked(_ database: SQLiteDatabase) throws(SQLiteError) -> String? {
        let version = try pragma("user_version", database)
        let application = try pragma("application_id", database)
        let isEmpty = try isEmpty(database)
        guard application == SQLiteSchema.applicationID || (application == 0 && version == 0 && isEmpty) else {
            return "the file is another program's database"
        }
        guard version == 0 || version >= SQLiteSchema.version else {
            return "the file was written by an earlier version of understudy (its schema is \(version), this version's "
                + "\(SQLiteSchema.version)): start with another file"
        }
        guard version <= SQLiteSchema.version else {
            return "the file was written by a newer version of understudy (its schema is \(version), this version's "
                + "\(SQLiteSchema.version)): use the newer version"
        }
        return database.isReadOnly ? "the file can't be written" : nil
    }

    private static func pragma(_ name: String, _ database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try database.prepare("PRAGMA \(name)").first { $0.integer(0) } ?? 0
    }

    private static func isEmpty(_ database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").first { _ in true } == nil
    }

    private static func lay(_ database: SQLiteDatabase) throws(SQLiteError) {
        try database.execute(
            """
            BEGIN IMMEDIATE; PRAGMA application_id = \(SQLiteSchema.applicationID);
            PRAGMA user_version = \(SQLiteSchema.version); \(SQLiteSchema.tables) COMMIT
            """)
    }

    // MARK: - Changes

    /// Throws an error if the SQLite file has been moved or replaced, so that its path doesn't lead to it any more.
    private func expectPlace() throws(SQLiteError) {
        guard database.hasMoved else { return }
        throw SQLiteError(code: -1, message: "the file was moved or removed: put it back", systemError: ENOENT)
    }

    /// Runs `body` in a transaction of the SQLite file: all its changes are committed, or none if `body` throws.
    func change<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        do throws(SQLiteError) {
            try expectPlace()
            try statements.begin.run()
            let value = try body()
            try statements.commit.run()
            return value
        } catch {
            // SQLite has rolled back itself if it couldn't write.
            if database.isInTransaction { try? statements.rollback.run() }
            throw error
        }
    }

    /// Releases the lock of the SQLite file, so that another daemon can use the file. First, the write-ahead log beside
    /// the file is written into the file, so that a copy of the file alone is complete.
    func close() {
        // If another program reads the file now, SQLite writes the log into it later.
        database.wait(milliseconds: 500)
        try? database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        lock.release()
    }
}

/// The reason why an SQLite file can't be used, as one line of text.
package struct SQLiteStartFailure: Error, CustomStringConvertible, Sendable {
    package let description: String

    init(_ path: String, _ reason: String) { description = "\(path): \(reason)" }

    init(_ path: String, _ error: SQLiteError) {
        let reason =
            switch error.primaryCode {
            case 26: "the file isn't a SQLite database"
            case 1, 11: "the database is damaged (\(error.message))"
            case 13: "there is no room on the disk"
            case 5, 6: "another program has locked the file"
            case 8: "the file can't be written"
            case 14 where error.systemError != 0:
                "the file can't be opened: \(String(cString: strerror(error.systemError)))"
            case 10: error.line
            default: error.description
            }
        self.init(path, reason)
    }
}

/// A lock that keeps a second daemon from using the SQLite file. The lock belongs to the process, and ends with it,
/// even after a crash.
private final class SQLiteFileLock {
    private let descriptor: Int32

    /// Locks the SQLite file for this process. `name` is the file's name in the error message.
    init(_ path: String, calling name: String) throws(SQLiteStartFailure) {
        descriptor = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SQLiteStartFailure(name, "the file can't be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw SQLiteStartFailure(
                name, "another understudy process uses the file: end that process, or use another file")
        }
    }

    deinit { close(descriptor) }

    func release() { flock(descriptor, LOCK_UN) }
}

extension SQLiteError {
    /// The SQLite error as one line of text. If the file couldn't be read or written, the operating system's message is
    /// included.
    fileprivate var line: String {
        guard primaryCode == 10, systemError != 0 else { return message }
        return "\(message): \(String(cString: strerror(systemError)))"
    }
}

extension StoreFailure {
    /// Maps an SQLite error to the reason why test worlds can't be read or changed:
    /// <https://www.sqlite.org/rescode.html>
    init(_ error: SQLiteError) {
        let kind: Kind =
            switch error.primaryCode {
            case 5, 6: .slow
            case 13: .full
            case 8: .readOnly
            case 1, 11, 26: .unreadable
            default: [ENOSPC, EDQUOT, EFBIG].contains(error.systemError) ? .full : .unreachable
            }
        self.init(kind, "SQLite: \(error.line)")
    }
}

/// The tables and SQL statements with which test worlds are kept in an SQLite file. The file has no indexes, because a
/// daemon queries its tables in memory.
enum SQLiteSchema {
    /// The version of the SQLite tables in which test worlds are kept. New fields in the JSON of a row don't raise it.
    static let version: Int64 = 2
    /// The application ID in SQLite's header that marks the files of this program: "UNDS".
    static let applicationID: Int64 = 0x554E_4453

    /// The SQL that makes the tables for test worlds. `place` is a row's number in the sequence in which rows were
    /// added. `value` is JSON; it is empty where a row of the seed (the initial data) was removed.
    static let tables = """
        CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE worlds(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE rows(world INTEGER NOT NULL, "table" TEXT NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL,
            kind INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY(world, "table", key)) WITHOUT ROWID;
        CREATE TABLE world_values(world INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY(world, name)) WITHOUT ROWID;
        """

    /// The SQL statements on the file of test worlds, prepared once.
    struct Statements {
        let begin, commit, rollback: SQLiteStatement
        let text, keepText, setText: SQLiteStatement
        let worlds, world, addWorld, removeWorld: SQLiteStatement
        let rows, putRow, removeRow, removeRows: SQLiteStatement
        let values, setValue, removeValues: SQLiteStatement

        init(_ database: SQLiteDatabase) throws(SQLiteError) {
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            rollback = try database.prepare("ROLLBACK")
            text = try database.prepare("SELECT value FROM meta WHERE name = ?")
            keepText = try database.prepare("INSERT OR IGNORE INTO meta VALUES (?, ?)")
            setText = try database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")
            worlds = try database.prepare("SELECT name FROM worlds ORDER BY id")
            world = try database.prepare("SELECT id FROM worlds WHERE name = ?")
            addWorld = try database.prepare("INSERT INTO worlds(name) VALUES (?)")
            removeWorld = try database.prepare("DELETE FROM worlds WHERE id = ?")
            rows = try database.prepare(
                #"SELECT "table", key, kind, place, value FROM rows WHERE world = ? ORDER BY place"#)
            putRow = try database.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?)")
            removeRow = try database.prepare(#"DELETE FROM rows WHERE world = ? AND "table" = ? AND key = ?"#)
            removeRows = try database.prepare("DELETE FROM rows WHERE world = ?")
            values = try database.prepare("SELECT name, value FROM world_values WHERE world = ?")
            setValue = try database.prepare("INSERT OR REPLACE INTO world_values VALUES (?, ?, ?)")
            removeValues = try database.prepare("DELETE FROM world_values WHERE world = ?")
        }
    }
}
