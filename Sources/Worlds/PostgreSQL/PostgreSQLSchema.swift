import JOSE
import PostgreSQL

/// The tables and SQL statements with which test worlds are kept in a PostgreSQL database.
///
/// Each world has a version, which rises with each change. The changes of the last two minutes are kept, so that other
/// daemons can apply them to their copies of the world. A daemon whose copy is older loads all rows of the world.
/// Single values of a world, such as its clock, are kept as rows whose table name is empty. Keys and values are bytes,
/// because a PostgreSQL text can't hold U+0000.
enum PostgreSQLSchema {
    /// The version of the database tables in which test worlds are kept. New fields in the JSON of a row don't raise
    /// it.
    static let version = 3

    static let tables = [
        "CREATE TABLE understudy_meta(name text PRIMARY KEY, value text NOT NULL)",
        """
        CREATE TABLE understudy_replicas(number bigint PRIMARY KEY, name text NOT NULL, token bigint NOT NULL,
            started timestamptz NOT NULL DEFAULT now(), seen timestamptz NOT NULL DEFAULT now())
        """,
        """
        CREATE TABLE understudy_worlds(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
            version bigint NOT NULL, beginning bigint NOT NULL, used timestamptz NOT NULL DEFAULT now())
        """,
        """
        CREATE TABLE understudy_rows(world bigint NOT NULL, "table" text NOT NULL, key bytea NOT NULL,
            place bigint NOT NULL, kind bigint NOT NULL, value bytea NOT NULL, PRIMARY KEY(world, "table", key))
        """,
        """
        CREATE TABLE understudy_changes(world bigint NOT NULL, version bigint NOT NULL, before bigint NOT NULL,
            writer bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(), body bytea NOT NULL, PRIMARY KEY(world, version))
        """,
        "CREATE INDEX understudy_changes_by_time ON understudy_changes(at)",
        "INSERT INTO understudy_meta VALUES ('schema', '\(version)')",
        "INSERT INTO understudy_meta VALUES ('replicas', '')",
    ]

    /// The number that marks a database row as a single value of a test world, such as its clock.
    static let valueKind: Int64 = 3
    /// The time for which the database keeps the changes of test worlds.
    static let changeLife = "2 minutes"
    /// The range of a test world's possible versions: enough for a hundred thousand changes a second for a year.
    private static let versions: ClosedRange<Int64> = 0...(1 << 42)

    /// Returns a test world's version that was read from the database. Throws an error if the version is outside the
    /// possible range.
    static func checked(_ version: Int64) throws(StoreFailure) -> Int64 {
        guard versions.contains(version) else {
            throw StoreFailure(.unreadable, "PostgreSQL: a test world has the invalid version number \(version)")
        }
        return version
    }

    static func statement(_ name: String, _ sql: String) -> PostgreSQLStatement {
        PostgreSQLStatement("understudy_\(name)", sql)
    }

    // MARK: - Transactions

    /// Begins a transaction that changes a test world. After the transaction has locked the world's row, everything
    /// that it reads of the world belongs to one version, and no other daemon changes the world before the transaction
    /// ends.
    static let begin = statement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED")
    static let beginReading = statement("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    static let commit = statement("commit", "COMMIT")
    static let rollback = statement("rollback", "ROLLBACK")

    // MARK: - Worlds

    static let names = statement("names", "SELECT name FROM understudy_worlds ORDER BY id")
    static let find = statement("find", "SELECT id, version, beginning FROM understudy_worlds WHERE name = $1")
    static let make = statement(
        "make",
        """
        INSERT INTO understudy_worlds(name, version, beginning) VALUES ($1, 1, 1)
        ON CONFLICT (name) DO NOTHING RETURNING id
        """)
    static let lock = statement("lock", "SELECT version FROM understudy_worlds WHERE id = $1 FOR UPDATE")
    static let remove = statement("remove", "DELETE FROM understudy_worlds WHERE id = $1")
    static let removeRows = statement("remove_rows", "DELETE FROM understudy_rows WHERE world = $1")
    static let removeChanges = statement("remove_changes", "DELETE FROM understudy_changes WHERE world = $1")

    static let list = statement(
        "list",
        "SELECT name, extract(epoch FROM greatest(now() - used, interval '0'))::bigint FROM understudy_worlds ORDER BY name"
    )
    static let has = statement("has", "SELECT 1 FROM understudy_worlds WHERE name = $1")
    static let count = statement("count", "SELECT count(*) FROM understudy_worlds")
    /// Records that a test world is in use now. A world that is being changed is skipped, because a change records the
    /// use as well.
    static let use = statement(
        "use",
        """
        UPDATE understudy_worlds SET used = now()
        WHERE id IN (SELECT id FROM understudy_worlds WHERE name = $1 FOR UPDATE SKIP LOCKED)
        """)
    static let idle = statement(
        "idle",
        """
        SELECT id, name FROM understudy_worlds WHERE used < now() - $1::bigint * interval '1 second' AND name <> $2
        ORDER BY used LIMIT $3 FOR UPDATE SKIP LOCKED
        """)

    // MARK: - Changes

    /// The most changes of a test world that are read from the database at once.
    static let changeCount = 500
    static let news = statement(
        "news",
        """
        SELECT w.version, w.beginning, c.version, c.before, c.body FROM understudy_worlds w
        LEFT JOIN understudy_changes c ON c.world = w.id AND c.version > $2
        WHERE w.id = $1 ORDER BY c.version LIMIT \(changeCount)
        """)
    static let changes = statement(
        "changes",
        """
        SELECT version, before, body FROM understudy_changes WHERE world = $1 AND version > $2 ORDER BY version
        """)
    static let addChange = statement("add_change", "INSERT INTO understudy_changes VALUES ($1, $2, $3, $4, now(), $5)")
    static let change = statement(
        "change", "SELECT 1 FROM understudy_changes WHERE world = $1 AND version = $2 AND writer = $3")
    /// Raises a test world's version from $2 to $3. If the world doesn't have the version $2, this fails with a
    /// division by zero, and all statements sent together with it fail, too.
    static let compareAndSetVersion = statement(
        "compare_and_set_version",
        """
        WITH done AS (
            UPDATE understudy_worlds SET version = $3, used = now() WHERE id = $1 AND version = $2 RETURNING 1)
        SELECT 1 / count(*) FROM done
        """)
    /// Sets a test world's version to $3 when the world is reset to its seed (the initial data). If the world doesn't
    /// have the version $2, this fails with a division by zero.
    static let compareAndSetBeginning = statement(
        "compare_and_set_beginning",
        """
        WITH done AS (
            UPDATE understudy_worlds SET version = $3, beginning = $3, used = now()
            WHERE id = $1 AND version = $2 RETURNING 1)
        SELECT 1 / count(*) FROM done
        """)
    /// The SQLSTATE of PostgreSQL for a division by zero. Statements provoke this error when a test world doesn't have
    /// the expected version.
    static let otherVersionState = "22012"
    /// The SQLSTATE of PostgreSQL for a change in a read-only transaction.
    static let readOnlyState = "25006"
    /// The SQLSTATE of PostgreSQL for a full disk.
    static let fullState = "53100"
    /// Raises a test world's version, so that a commit that expects the earlier version fails.
    static let skipVersion = statement(
        "skip_version", "UPDATE understudy_worlds SET version = version + 1 WHERE id = $1")
    /// Removes old changes of test worlds from the database. A daemon that hasn't read these changes yet must load the
    /// whole world.
    static let trim = statement(
        "trim", "DELETE FROM understudy_changes WHERE at < now() - interval '\(changeLife)'")

    // MARK: - Rows

    static let putRow = statement(
        "put_row",
        """
        INSERT INTO understudy_rows(world, "table", key, place, kind, value) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (world, "table", key) DO UPDATE
        SET place = excluded.place, kind = excluded.kind, value = excluded.value
        """)
    static let removeRow = statement(
        "remove_row", #"DELETE FROM understudy_rows WHERE world = $1 AND "table" = $2 AND key = $3"#)
    static let openRows = statement(
        "open_rows",
        """
        DECLARE understudy_loading NO SCROLL CURSOR FOR SELECT "table", key, kind, place, value
        FROM understudy_rows WHERE world = (SELECT id FROM understudy_worlds WHERE name = $1) ORDER BY place
        """)
    static let rowCount = 2_000
    static let nextRows = statement("next_rows", "FETCH \(rowCount) FROM understudy_loading")

    // MARK: - Texts and replicas

    static let text = statement("text", "SELECT value FROM understudy_meta WHERE name = $1")
    static let keepText = statement(
        "keep_text", "INSERT INTO understudy_meta VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
    static let putText = statement(
        "put_text",
        "INSERT INTO understudy_meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
    static let readOnly = statement("read_only", "SELECT current_setting('transaction_read_only')")
    /// Locks the list of the daemons that share the database while a daemon chooses its number.
    static let lockReplicas = statement(
        "lock_replicas", "SELECT 1 FROM understudy_meta WHERE name = 'replicas' FOR UPDATE")
    static let forgetReplicas = statement(
        "forget_replicas", "DELETE FROM understudy_replicas WHERE seen < now() - interval '60 seconds'")
    static let numbers = statement("numbers", "SELECT number FROM understudy_replicas ORDER BY number")
    static let addReplica = statement(
        "add_replica", "INSERT INTO understudy_replicas(number, name, token) VALUES ($1, $2, $3)")
    static let seen = statement(
        "seen", "UPDATE understudy_replicas SET seen = now() WHERE number = $1 AND token = $2")
    static let replicas = statement(
        "replicas",
        """
        SELECT number, name FROM understudy_replicas WHERE seen > now() - interval '30 seconds' ORDER BY number
        """)
    static let removeReplica = statement(
        "remove_replica", "DELETE FROM understudy_replicas WHERE number = $1 AND token = $2")

    /// Returns the key of a row as it is stored in the database. PostgreSQL's indexes take some 2,700 bytes at most, so
    /// a key of more than 512 bytes is replaced by the byte 0xFF and the key's digest. UTF-8 never contains 0xFF, so
    /// this never equals the key of another row.
    static func writtenKey(_ key: String) -> [UInt8] {
        key.utf8.count <= 512 ? Array(key.utf8) : [0xFF] + Digest.sha256(key)
    }
}
