import SQLite

/// How worlds lie in a file of SQLite's.
///
/// Rows have numbers, by which they are found: those of a world follow one another, in the order in which its rows came, so that
/// new ones are written side by side. What a daemon looks for, it finds in memory: there are no indexes.
enum SQLiteSchema {
    /// Changes with the layout. What declarations of tables say of their rows isn't part of it.
    static let version: Int64 = 1
    /// Tells our files from other programs', in SQLite's header: "UNDS".
    static let applicationID: Int64 = 0x554E_4453

    /// `moved` is JSON: see ``MovedEntry``. It is empty for most rows, as `value` is where a seeded row was removed.
    static let tables = """
        CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE worlds(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE tables(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE rows(number INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, kind INTEGER NOT NULL, key TEXT NOT NULL,
            value TEXT NOT NULL, moved TEXT NOT NULL);
        CREATE TABLE world_values(world INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY(world, name)) WITHOUT ROWID;
        """

    /// A row's number is its world's times this, and its place in the world.
    static let placesOfWorld: Int64 = 1 << 40
    static let worldLimit: Int64 = 1 << 22

    /// The numbers that a world's rows have.
    static func numbers(of world: Int64) -> Range<Int64> { world * placesOfWorld..<(world + 1) * placesOfWorld }

    /// The statements, prepared once.
    struct Statements {
        let begin, commit, rollback: SQLiteStatement
        let texts, setText: SQLiteStatement
        let worlds, addWorld, removeWorld: SQLiteStatement
        let tables, addTable: SQLiteStatement
        let rows, putRow, changeRow, removeRow, removeRows: SQLiteStatement
        let values, setValue, removeValues: SQLiteStatement

        init(_ database: SQLiteDatabase) throws(SQLiteError) {
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            rollback = try database.prepare("ROLLBACK")
            texts = try database.prepare("SELECT name, value FROM meta")
            setText = try database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")
            worlds = try database.prepare("SELECT name, id FROM worlds ORDER BY id")
            addWorld = try database.prepare("INSERT INTO worlds VALUES (?, ?)")
            removeWorld = try database.prepare("DELETE FROM worlds WHERE id = ?")
            tables = try database.prepare("SELECT name, id FROM tables")
            addTable = try database.prepare("INSERT INTO tables VALUES (?, ?)")
            rows = try database.prepare(
                #"SELECT number, "table", kind, key, value, moved FROM rows WHERE number >= ? AND number < ? ORDER BY number"#
            )
            putRow = try database.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?)")
            changeRow = try database.prepare("UPDATE rows SET kind = ?, value = ?, moved = ? WHERE number = ?")
            removeRow = try database.prepare("DELETE FROM rows WHERE number = ?")
            removeRows = try database.prepare("DELETE FROM rows WHERE number >= ? AND number < ?")
            values = try database.prepare("SELECT name, value FROM world_values WHERE world = ?")
            setValue = try database.prepare("INSERT OR REPLACE INTO world_values VALUES (?, ?, ?)")
            removeValues = try database.prepare("DELETE FROM world_values WHERE world = ?")
        }
    }
}
