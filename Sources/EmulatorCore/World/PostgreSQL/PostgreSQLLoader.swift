import PostgreSQL

/// Reads a world from PostgreSQL, or makes it.
struct PostgreSQLLoader {
    /// What is written of a world.
    struct Written {
        let id: Int64
        let version: Int64
        let beginning: Int64
        var rows: [String: [SharedTables.WrittenRow]] = [:]
        var values: [String: [UInt8]] = [:]
    }

    private let stores: PostgreSQLStores
    private let name: String

    init(_ stores: PostgreSQLStores, _ name: String) {
        self.stores = stores
        self.name = name
    }

    /// `seed` says how a new world's clock and generator begin, which are written so that all daemons have the same.
    func load(_ seed: Seed) throws(StoreFailure) -> (written: Written, wasThere: Bool) {
        let coder = StoredCoder(profiles: seed.format.profiles)
        for attempt in 0..<10 {
            if let written = try stores.pool.use(read) {
                _ = try PostgreSQLSchema.checked(written.version)
                return (written: written, wasThere: attempt == 0)
            }
            let values = [
                (WorldClock.name, try coder.encode(WorldClock(seed))),
                (RandomSource.name, try coder.encode(RandomSource(seed))),
            ]
            try stores.pool.use { connection throws(PostgreSQLError) in try make(values, connection) }
        }
        throw StoreFailure(.gone, "PostgreSQL: the world is removed again and again")
    }

    private func run(
        _ connection: PostgreSQLConnection, _ calls: PostgreSQLCall...
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
    }

    /// All of it as of one moment; `nil` when there is no world of this name.
    private func read(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Written? {
        let results = try run(
            connection, PostgreSQLSchema.beginReading(), PostgreSQLSchema.find(.text(name)),
            PostgreSQLSchema.openRows(.text(name)), PostgreSQLSchema.nextRows())
        let found = results[1]
        guard found.count > 0 else {
            _ = try run(connection, PostgreSQLSchema.rollback())
            return nil
        }
        var written = Written(
            id: found.integer(0, 0), version: found.integer(0, 1), beginning: found.integer(0, 2))
        var rows = results[3]
        while true {
            for row in 0..<rows.count { PostgreSQLLoader.add(rows, row, to: &written) }
            guard rows.count == PostgreSQLSchema.rowCount else { break }
            rows = try run(connection, PostgreSQLSchema.nextRows())[0]
        }
        _ = try run(connection, PostgreSQLSchema.commit())
        return written
    }

    private static func add(_ rows: PostgreSQLResult, _ row: Int, to written: inout Written) {
        let kind = rows.integer(row, 2)
        guard let rowKind = StoredRowKind(rawValue: kind) else {
            if kind == PostgreSQLSchema.valueKind { written.values[rows.text(row, 1)] = rows.bytes(row, 4) }
            return
        }
        written.rows[rows.text(row, 0), default: []].append(
            SharedTables.WrittenRow(
                key: rows.text(row, 1), kind: rowKind, place: rows.integer(row, 3), value: rows.bytes(row, 4),
                moved: rows.bytes(row, 5)))
    }

    /// Makes the world, unless another daemon is first.
    private func make(
        _ values: [(name: String, value: [UInt8])], _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) {
        let made = try run(connection, PostgreSQLSchema.begin(), PostgreSQLSchema.make(.text(name)))[1]
        guard made.count > 0 else {
            _ = try run(connection, PostgreSQLSchema.rollback())
            return
        }
        let id = made.integer(0, 0)
        let calls = values.map { name, value in PostgreSQLSchema.put(name, value, of: id) }
        try connection.run(calls + [PostgreSQLSchema.commit()], until: .now + PostgreSQLPool.answerLimit)
    }
}

extension PostgreSQLSchema {
    /// Writes a value that the world has one of.
    static func put(_ name: String, _ value: [UInt8], of world: Int64) -> PostgreSQLCall {
        putRow(
            .integer(world), .text(""), .bytes(Array(name.utf8)), .integer(0), .integer(valueKind), .bytes(value),
            .bytes([]))
    }

    /// Writes what has become of a row.
    static func put(_ row: SharedChange.Row, of world: Int64) -> PostgreSQLCall {
        let key = PostgreSQLValue.bytes(writtenKey(row.key))
        guard let kind = row.kind else { return removeRow(.integer(world), .text(row.table), key) }
        let kindValue = PostgreSQLValue.integer(kind.rawValue)
        guard let place = row.place else {
            return changeRow(
                .integer(world), .text(row.table), key, kindValue, .bytes(row.value), .bytes(row.moved))
        }
        return putRow(
            .integer(world), .text(row.table), key, .integer(place), kindValue, .bytes(row.value), .bytes(row.moved))
    }
}
