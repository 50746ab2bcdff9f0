import SQLite

/// How worlds lie in a file of SQLite's.
///
/// A world's tables, indexes and sorted texts are spaces, each with a number, so that rows and entries are found by one short key.
/// Rows have numbers in the order in which they came. An index's entry stands at the number of its row, or, where the row got the
/// value later, at a number of its own.
enum SQLiteSchema {
    /// Changes with the layout. What declarations of tables say of their rows isn't part of it.
    static let version: Int64 = 1
    /// Tells our files from other programs', in SQLite's header: "UNDS".
    static let applicationID: Int64 = 0x554E_4453

    static let tables = """
        CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE worlds(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE spaces(id INTEGER PRIMARY KEY, world INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(world, name));
        CREATE TABLE rows(id INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT NOT NULL, kind INTEGER NOT NULL,
            value TEXT, expires INTEGER, moved TEXT);
        CREATE UNIQUE INDEX rows_by_key ON rows(space, key);
        CREATE INDEX rows_by_number ON rows(space);
        CREATE INDEX rows_seeded ON rows(space) WHERE kind > 0;
        CREATE INDEX rows_by_end ON rows(space, expires) WHERE expires IS NOT NULL;
        CREATE TABLE entries(space INTEGER NOT NULL, value TEXT NOT NULL, place INTEGER NOT NULL, row INTEGER NOT NULL,
            PRIMARY KEY(space, value, place)) WITHOUT ROWID;
        CREATE TABLE texts(space INTEGER NOT NULL, text TEXT NOT NULL, row INTEGER NOT NULL,
            PRIMARY KEY(space, text, row)) WITHOUT ROWID;
        CREATE TABLE world_values(world INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY(world, name)) WITHOUT ROWID;
        """

    /// What a row is beside a world's seeded rows, which aren't kept while they are as in the seed.
    enum Kind: Int64 {
        /// There is no seeded row of its key.
        case own = 0
        /// The seeded row of its key was removed before it came.
        case ownAfterSeeded = 1
        /// It stands in the seeded row's place.
        case replacing = 2
        /// The seeded row was removed. It has no value.
        case removed = 3

        /// Whether it stands among the rows in the order in which they came.
        var isListed: Bool { self == .own || self == .ownAfterSeeded }
    }

    /// The statements, prepared once.
    struct Statements {
        let begin, commit, rollback: SQLiteStatement
        let meta, setMeta: SQLiteStatement
        let worlds, world, addWorld, removeWorld: SQLiteStatement
        let spaces, addSpace, removeSpaces: SQLiteStatement
        let row, addRow, changeRow, removeRow, removeRows: SQLiteStatement
        let rows, all, oldest, seeded, count, due, nextEnd: SQLiteStatement
        let addEntry, removeEntry, entries, newest, countEntries, removeEntries: SQLiteStatement
        let addText, removeText, texts, textsAfter, removeTexts: SQLiteStatement
        let value, setValue, removeValues: SQLiteStatement

        init(_ database: SQLiteDatabase) throws(SQLiteError) {
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            rollback = try database.prepare("ROLLBACK")
            meta = try database.prepare("SELECT value FROM meta WHERE name = ?")
            setMeta = try database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")
            worlds = try database.prepare("SELECT name FROM worlds ORDER BY id")
            world = try database.prepare("SELECT id FROM worlds WHERE name = ?")
            addWorld = try database.prepare("INSERT INTO worlds(name) VALUES (?) RETURNING id")
            removeWorld = try database.prepare("DELETE FROM worlds WHERE id = ?")
            spaces = try database.prepare("SELECT name, id FROM spaces WHERE world = ?")
            addSpace = try database.prepare("INSERT INTO spaces(world, name) VALUES (?, ?) RETURNING id")
            removeSpaces = try database.prepare("DELETE FROM spaces WHERE world = ?")
            let row = "SELECT r.id, r.key, r.kind, r.value, r.moved FROM"
            self.row = try database.prepare("\(row) rows r WHERE space = ? AND key = ?")
            addRow = try database.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, NULL)")
            changeRow = try database.prepare("UPDATE rows SET value = ?, expires = ?, moved = ? WHERE id = ?")
            removeRow = try database.prepare("DELETE FROM rows WHERE id = ?")
            removeRows = try database.prepare("DELETE FROM rows WHERE space = ?")
            rows = try database.prepare("\(row) rows r WHERE space = ? AND id > ? AND kind < 2 ORDER BY id LIMIT ?")
            all = try database.prepare("\(row) rows r WHERE space = ? AND kind < 3 ORDER BY id")
            oldest = try database.prepare("SELECT key FROM rows WHERE space = ? AND kind < 2 ORDER BY id LIMIT 1")
            seeded = try database.prepare("SELECT key, kind FROM rows WHERE space = ? AND kind > 0")
            count = try database.prepare("SELECT count(*) FROM rows WHERE space = ?")
            due = try database.prepare(
                "SELECT key FROM rows WHERE space = ? AND expires <= ? ORDER BY expires LIMIT 100")
            nextEnd = try database.prepare(
                "SELECT expires FROM rows WHERE space = ? AND expires IS NOT NULL ORDER BY expires LIMIT 1")
            addEntry = try database.prepare("INSERT INTO entries VALUES (?, ?, ?, ?)")
            removeEntry = try database.prepare("DELETE FROM entries WHERE space = ? AND value = ? AND place = ?")
            let found = "entries e JOIN rows r ON r.id = e.row WHERE e.space = ? AND e.value = ? ORDER BY e.place"
            entries = try database.prepare("\(row) \(found) LIMIT ?")
            newest = try database.prepare("\(row) \(found) DESC LIMIT ?")
            countEntries = try database.prepare("SELECT count(*) FROM entries WHERE space = ? AND value = ?")
            removeEntries = try database.prepare("DELETE FROM entries WHERE space = ?")
            addText = try database.prepare("INSERT OR IGNORE INTO texts VALUES (?, ?, ?)")
            removeText = try database.prepare("DELETE FROM texts WHERE space = ? AND text = ? AND row = ?")
            let text = "SELECT r.id, r.key, r.kind, r.value, r.moved, t.text FROM texts t JOIN rows r ON r.id = t.row"
            let order = "ORDER BY t.text, t.row LIMIT ?3"
            texts = try database.prepare("\(text) WHERE t.space = ?1 AND t.text >= ?2 \(order)")
            textsAfter = try database.prepare("\(text) WHERE t.space = ?1 AND t.text > ?2 \(order)")
            removeTexts = try database.prepare("DELETE FROM texts WHERE space = ?")
            value = try database.prepare("SELECT value FROM world_values WHERE world = ? AND name = ?")
            setValue = try database.prepare("INSERT OR REPLACE INTO world_values VALUES (?, ?, ?)")
            removeValues = try database.prepare("DELETE FROM world_values WHERE world = ?")
        }
    }
}
