import SQLite

/// The layout of worlds in an SQLite file. It has no indexes, because a daemon queries its tables in memory.
enum SQLiteSchema {
    /// The version of the layout. The tables' declarations of rows aren't part of it.
    static let version: Int64 = 2
    /// The number in SQLite's header that marks our files: "UNDS".
    static let applicationID: Int64 = 0x554E_4453

    /// The tables. Rows are ordered by their places. `value` is JSON, and empty where a seeded row was removed.
    static let tables = """
        CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE worlds(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE rows(world INTEGER NOT NULL, "table" TEXT NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL,
            kind INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY(world, "table", key)) WITHOUT ROWID;
        CREATE TABLE world_values(world INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY(world, name)) WITHOUT ROWID;
        """

    /// The SQL statements, prepared once.
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
