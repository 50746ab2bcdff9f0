import SQLite

/// What of a world lies in the file: where its rows are, and what was last written of its values. Only used while the file's lock is
/// held.
final class SQLiteWorld: @unchecked Sendable {
    let name: String
    /// `nil` while nothing of it is written.
    private(set) var id: Int64?
    /// The place of the next operation among all that are ever done to the world.
    private(set) var nextPlace: Int64 = 0
    /// The rows' places, by tables and keys, of tables that begin with seeded rows. Rows of others know their places.
    private var places: [String: [String: Int64]] = [:]
    private var values: [String: [UInt8]] = [:]

    init(_ name: String, id: Int64?) {
        self.name = name
        self.id = id
    }

    // MARK: - Reading

    /// Reads all that is written of the world.
    func load(_ file: SQLiteFile) throws(SQLiteError) -> (
        rows: [String: [SharedTables.WrittenRow]], values: [String: [UInt8]]
    ) {
        (nextPlace, places, values) = (0, [:], [:])
        guard let id else { return ([:], [:]) }
        var rows: [String: [SharedTables.WrittenRow]] = [:]
        let (names, numbers) = (file.tableNames, SQLiteSchema.numbers(of: id))
        var isUnreadable = false
        try file.statements.rows.each(.integer(numbers.lowerBound), .integer(numbers.upperBound)) { row in
            let place = row.integer(0) - numbers.lowerBound
            guard let table = names[row.integer(1)], let kind = StoredRowKind(rawValue: row.integer(2)) else {
                isUnreadable = true
                return false
            }
            let (key, moved) = (row.text(3), row.utf8(5))
            nextPlace = place + 1
            // Where a seeded row was removed, its key is its value.
            let value = kind == .removed ? Array(key.utf8) : row.utf8(4)
            rows[table, default: []].append(
                SharedTables.WrittenRow(key: key, kind: kind, place: place, value: value, moved: moved))
            return true
        }
        guard !isUnreadable else {
            throw SQLiteError(code: 11, message: "a row is of no known table or kind", systemError: 0)
        }
        try file.statements.values.each(.integer(id)) { row in
            values[row.text(0)] = row.utf8(1)
            return true
        }
        if let place = values[SQLiteWorld.placeName].flatMap({ Int64(String(decoding: $0, as: UTF8.self)) }) {
            nextPlace = max(nextPlace, place)
        }
        return (rows, values)
    }

    /// Takes note of the places of rows that were read. `tables` are those that begin with seeded rows.
    func notePlaces(of rows: [String: [SharedTables.WrittenRow]], in tables: Set<String>) {
        for (table, rows) in rows where tables.contains(table) {
            places[table] = Dictionary(rows.map { ($0.key, $0.place) }, uniquingKeysWith: { _, last in last })
        }
    }

    /// Entries of indexes may stand after the last of the rows: this is where the next ones stand.
    private static let placeName = "understudy.place"

    // MARK: - Writing

    /// What a change of the world comes to in the end.
    struct Writing {
        let world: SQLiteWorld
        let outcome: SharedChange.Summary
        /// Where the next operation stands.
        let nextPlace: Int64
        let isReset: Bool
    }

    /// Whether anything of it isn't in the file already.
    func isNews(_ outcome: SharedChange.Summary) -> Bool {
        !outcome.rows.isEmpty || outcome.values.contains { values[$0.name] != $0.value }
    }

    /// A new world gets this number.
    func add(as id: Int64, _ file: SQLiteFile) throws(SQLiteError) {
        guard id < SQLiteSchema.worldLimit else {
            throw SQLiteError(code: 13, message: "there are too many worlds", systemError: 0)
        }
        try file.statements.addWorld.run(.integer(id), .text(name))
        self.id = id
    }

    /// Writes a change of a world that has a number. What this says of the world is right only if all of it comes to be in the file.
    func write(_ writing: Writing, _ file: SQLiteFile) throws(SQLiteError) {
        guard let id else { return }
        if writing.isReset { try clear(id, file) }
        for row in writing.outcome.rows { try write(row, id, file) }
        for (name, value) in writing.outcome.values where values[name] != value {
            try file.statements.setValue.run(.integer(id), .text(name), .utf8(value))
            values[name] = value
        }
        guard writing.nextPlace < SQLiteSchema.placesOfWorld else {
            throw SQLiteError(code: 13, message: "the world has had more changes than can be numbered", systemError: 0)
        }
        let movesEntries = writing.outcome.rows.contains { !$0.moved.isEmpty }
        nextPlace = writing.nextPlace
        guard movesEntries else { return }
        let place = Array(String(nextPlace).utf8)
        try file.statements.setValue.run(.integer(id), .text(SQLiteWorld.placeName), .utf8(place))
    }

    private func write(_ row: SharedChange.Row, _ id: Int64, _ file: SQLiteFile) throws(SQLiteError) {
        let first = SQLiteSchema.numbers(of: id).lowerBound
        let known = row.mayBeSeeded ? places[row.table]?[row.key] : row.before
        guard let kind = row.kind else {
            guard let known else { return }
            try file.statements.removeRow.run(.integer(first + known))
            if row.mayBeSeeded { places[row.table]?[row.key] = nil }
            return
        }
        let value: [UInt8] = kind == .removed ? [] : row.value
        if let known, row.place == nil || row.place == known {
            return try file.statements.changeRow.run(
                .integer(kind.rawValue), .utf8(value), .utf8(row.moved), .integer(first + known))
        }
        if let known { try file.statements.removeRow.run(.integer(first + known)) }
        guard let place = row.place else {
            throw SQLiteError(code: 11, message: "where a row stands isn't known", systemError: 0)
        }
        let table = try file.number(ofTable: row.table)
        try file.statements.putRow.run(
            .integer(first + place), .integer(table), .integer(kind.rawValue), .text(row.key), .utf8(value),
            .utf8(row.moved))
        if row.mayBeSeeded { places[row.table, default: [:]][row.key] = place }
    }

    private func clear(_ id: Int64, _ file: SQLiteFile) throws(SQLiteError) {
        let numbers = SQLiteSchema.numbers(of: id)
        try file.statements.removeRows.run(.integer(numbers.lowerBound), .integer(numbers.upperBound))
        try file.statements.removeValues.run(.integer(id))
        (places, values) = ([:], [:])
    }

    /// Removes all of it from the file.
    func remove(_ file: SQLiteFile) throws(SQLiteError) {
        guard let id else { return }
        try clear(id, file)
        try file.statements.removeWorld.run(.integer(id))
    }
}
