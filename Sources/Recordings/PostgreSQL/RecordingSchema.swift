import PostgreSQL

/// The tables and SQL statements with which recorded requests and their answers (exchanges) are kept in a PostgreSQL
/// database.
///
/// Each change, except `forgetGone`, first locks the only row of `understudy_recording`. Therefore the exchanges'
/// numbers are in the sequence of the commits, a reader who sees an exchange sees all with lower numbers, and there are
/// no deadlocks.
enum RecordingSchema {
    static let tables = [
        // Totals of all exchanges: the last number, the number of bytes, and the number of exchanges dropped because of
        // others.
        "CREATE TABLE understudy_recording(last bigint NOT NULL, size bigint NOT NULL, dropped bigint NOT NULL)",
        "INSERT INTO understudy_recording VALUES (0, 0, 0)",
        // The exchanges kept of each world, from the number `first` on.
        """
        CREATE TABLE understudy_recorded(world text PRIMARY KEY, first bigint NOT NULL, count bigint NOT NULL,
            size bigint NOT NULL, dropped bigint NOT NULL)
        """,
        // `gone` marks refusals by a world that has been deleted or reset since.
        """
        CREATE TABLE understudy_exchanges(number bigint PRIMARY KEY, id text NOT NULL UNIQUE, world text NOT NULL, size bigint NOT NULL,
            refused boolean NOT NULL, gone boolean NOT NULL, body bytea NOT NULL)
        """,
        "CREATE INDEX understudy_exchanges_by_world ON understudy_exchanges(world, number) WHERE NOT gone",
        "CREATE INDEX understudy_exchanges_gone ON understudy_exchanges(number) WHERE gone",
    ]

    private static func statement(_ name: String, _ sql: String) -> PostgreSQLStatement {
        PostgreSQLStatement("understudy_recording_\(name)", sql)
    }

    // MARK: - Transactions

    static let begin = statement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED")
    static let beginReading = statement("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    static let commit = statement("commit", "COMMIT")
    static let rollback = statement("rollback", "ROLLBACK")
    /// Lets a recorded request be committed without waiting for the database's disk, so that the answer is sent sooner
    /// and the lock is held for a short time.
    static let hurry = statement("hurry", "SET LOCAL synchronous_commit = off")
    static let lock = statement("lock", "SELECT 1 FROM understudy_recording FOR UPDATE")

    // MARK: - Appending

    /// Adds one recorded request and its answer, which have $1 bytes, to the totals of all recordings.
    static let count = statement("count", "UPDATE understudy_recording SET last = last + 1, size = size + $1")
    static let append = statement(
        "append",
        """
        INSERT INTO understudy_exchanges(number, id, world, size, refused, gone, body)
        SELECT last, $1, $2, $3::bigint, $4::bigint = 1, false, $5 FROM understudy_recording
        """)
    /// The SQLSTATE of PostgreSQL for an ID that another recorded request already has.
    static let isThereState = "23505"
    static let appendWorld = statement(
        "append_world",
        """
        INSERT INTO understudy_recorded AS r SELECT $1, last, 1, $2::bigint, 0 FROM understudy_recording
        ON CONFLICT (world) DO UPDATE SET count = r.count + 1, size = r.size + excluded.size RETURNING count, size
        """)
    static let status = statement("status", "SELECT size, dropped FROM understudy_recording")

    // MARK: - Making room

    /// Keeps the newest $2 recorded requests of a test world, and of these the newest $3 bytes. Older requests are
    /// deleted.
    static let trimWorld = statement(
        "trim_world",
        """
        WITH kept AS (
            SELECT number, row_number() OVER latest AS place, sum(size) OVER latest AS total
            FROM understudy_exchanges WHERE world = $1 AND NOT gone WINDOW latest AS (ORDER BY number DESC)),
        bound AS (SELECT min(number) AS first FROM kept WHERE place <= $2 AND (total <= $3::bigint OR place = 1)),
        removed AS (
            DELETE FROM understudy_exchanges e USING bound
            WHERE e.world = $1 AND NOT e.gone AND e.number < bound.first RETURNING e.size),
        lost AS (SELECT count(*) AS count, coalesce(sum(size), 0)::bigint AS size FROM removed),
        recorded AS (
            UPDATE understudy_recorded r SET first = bound.first, count = r.count - lost.count,
                size = r.size - lost.size, dropped = r.dropped + lost.count
            FROM bound, lost WHERE r.world = $1 AND bound.first IS NOT NULL)
        UPDATE understudy_recording r SET size = r.size - lost.size FROM lost
        """)
    /// Removes the oldest recorded requests of all test worlds until the remaining ones have at most $1 bytes.
    static let trimAll = statement(
        "trim_all",
        """
        WITH oldest AS (
            SELECT number, sum(size) OVER (ORDER BY number) - size AS before FROM understudy_exchanges WHERE NOT gone),
        bound AS (
            SELECT max(number) AS last FROM oldest WHERE before < (SELECT size FROM understudy_recording) - $1::bigint),
        removed AS (
            DELETE FROM understudy_exchanges e USING bound
            WHERE NOT e.gone AND e.number <= bound.last RETURNING e.world, e.size),
        lost AS (SELECT world, count(*) AS count, sum(size)::bigint AS size FROM removed GROUP BY world),
        recorded AS (
            UPDATE understudy_recorded r SET first = greatest(r.first, bound.last + 1), count = r.count - lost.count,
                size = r.size - lost.size, dropped = r.dropped + lost.count
            FROM bound, lost WHERE r.world = lost.world)
        UPDATE understudy_recording r
        SET size = r.size - lost.size, dropped = r.dropped + lost.count
        FROM (SELECT coalesce(sum(size), 0)::bigint AS size, coalesce(sum(count), 0)::bigint AS count FROM lost) AS lost
        """)

    // MARK: - Reading

    private static let summary = "SELECT world, first, count, dropped FROM understudy_recorded"
    static let summaries = statement("summaries", summary)
    static let summariesOf = statement("summaries_of", "\(summary) WHERE world = ANY($1::text[])")
    /// The greatest number of recorded requests of one test world that are read from the database at once.
    static let worldCount = 200
    static let pageCount = 400
    /// Reads recorded requests of some test worlds, world by world, sorted by number. $2 has a number for each world;
    /// only requests with higher numbers are read.
    static let news = statement(
        "news",
        """
        SELECT e.number, e.world, e.body FROM unnest($1::text[], $2::bigint[]) AS w(world, after)
        CROSS JOIN LATERAL (
            SELECT number, world, body FROM understudy_exchanges WHERE world = w.world AND number > w.after AND NOT gone
            ORDER BY number LIMIT \(worldCount)) AS e
        LIMIT \(pageCount)
        """)

    // MARK: - Clearing

    static let keepRefusals = statement(
        "keep_refusals",
        "UPDATE understudy_exchanges SET gone = true WHERE world = ANY($1::text[]) AND refused AND NOT gone")
    static let clear = statement(
        "clear", "DELETE FROM understudy_exchanges WHERE world = ANY($1::text[]) AND NOT gone")
    static let clearWorlds = statement(
        "clear_worlds",
        """
        WITH removed AS (DELETE FROM understudy_recorded WHERE world = ANY($1::text[]) RETURNING size)
        UPDATE understudy_recording r SET size = r.size - lost.size
        FROM (SELECT coalesce(sum(size), 0)::bigint AS size FROM removed) AS lost
        """)

    // MARK: - Worlds that are gone

    static let gone = statement("gone", "SELECT number FROM understudy_exchanges WHERE gone ORDER BY number")
    static let goneBodies = statement(
        "gone_bodies",
        """
        SELECT number, world, body FROM understudy_exchanges WHERE gone AND number <> ALL($1::bigint[]) ORDER BY number
        """)
    static let forgetGone = statement("forget_gone", "DELETE FROM understudy_exchanges WHERE gone")
    /// Limits the kept refused requests of test worlds that were deleted or reset: the newest stay, at most $1 requests
    /// with $2 bytes in all. The statement has `number <= (subquery)` instead of `number IN (subquery)`, because
    /// PostgreSQL may run a subquery after `IN` once for each row.
    static let trimGone = statement(
        "trim_gone",
        """
        DELETE FROM understudy_exchanges WHERE gone AND number <= (
            SELECT max(number) FROM (
                SELECT number, row_number() OVER latest AS place, sum(size) OVER latest AS total
                FROM understudy_exchanges WHERE gone WINDOW latest AS (ORDER BY number DESC)) AS kept
            WHERE place > $1 OR total > $2::bigint)
        """)
}

extension PostgreSQLValue {
    /// Returns an SQL array in PostgreSQL's binary form: the number of dimensions, whether there are NULLs, the type of
    /// the elements by its number in PostgreSQL's catalogue, the length, the first index, then each element after its
    /// length. <https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/utils/adt/arrayfuncs.c>
    /// (`array_recv`)
    private static func array<Elements: Collection>(
        of type: Int32, _ elements: Elements, size: Int, _ append: (Elements.Element, inout [UInt8]) -> Void
    ) -> PostgreSQLValue {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + size)
        let header = elements.isEmpty ? [0, 0, type] : [1, 0, type, Int32(clamping: elements.count), 1]
        for number in header { bytes.append(bigEndian: number) }
        for element in elements { append(element, &bytes) }
        return .bytes(bytes)
    }

    static func texts(_ texts: [String]) -> PostgreSQLValue {
        array(of: 25, texts, size: texts.reduce(0) { $0 + 4 + $1.utf8.count }) { text, bytes in
            bytes.append(bigEndian: Int32(clamping: text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }
    }

    static func integers(_ numbers: [Int]) -> PostgreSQLValue {
        array(of: 20, numbers, size: numbers.count * 12) { number, bytes in
            bytes.append(bigEndian: Int32(8))
            bytes.append(bigEndian: Int64(number))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
