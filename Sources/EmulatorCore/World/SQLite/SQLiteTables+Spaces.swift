import SQLite

// The spaces of a table: of its rows, its indexes and its sorted texts.

extension SQLiteTables {
    private func names(of rules: StoredRowRules) -> [String] {
        ["rows \(rules.name)"] + rules.indexes.map { "index \(rules.name) \($0.name)" } + ["texts \(rules.name)"]
    }

    private func knownSpaces(of rules: StoredRowRules) -> SQLiteTable.Spaces? {
        let numbers = names(of: rules).compactMap { spaces[$0] }
        guard numbers.count == rules.indexes.count + 2, let first = numbers.first, let last = numbers.last else {
            return nil
        }
        return SQLiteTable.Spaces(rows: first, indexes: Array(numbers.dropFirst().dropLast()), texts: last)
    }

    /// Reads what is written of a table.
    func loadSpaces(of table: SQLiteTable) throws(StoreFailure) {
        let isWritten = spaces["rows \(table.rules.name)"] != nil
        if isWritten, knownSpaces(of: table.rules) == nil { try addIndexes(to: table) }
        guard let spaces = knownSpaces(of: table.rules) else { return }
        try sql { () throws(SQLiteError) in try table.load(spaces) }
    }

    /// Makes those of a table that aren't there.
    func addSpaces(to table: SQLiteTable) throws(StoreFailure) {
        let world = try change()
        for name in names(of: table.rules) where spaces[name] == nil {
            let number = try sql { () throws(SQLiteError) in
                try file.statements.addSpace.first(.integer(world), .text(name)) { $0.integer(0) } ?? 0
            }
            spaces[name] = number
            restoring.append { [self] in spaces[name] = nil }
        }
        table.spaces = knownSpaces(of: table.rules)
        restoring.append { table.spaces = nil }
    }

    /// An earlier version wrote the table, which didn't declare all of its indexes: fills those that are new. Where nothing else is
    /// changed, it is a change of its own.
    private func addIndexes(to table: SQLiteTable) throws(StoreFailure) {
        let isAlone = !isChanging
        let missing = table.rules.indexes.indices.filter { place in
            spaces["index \(table.rules.name) \(table.rules.indexes[place].name)"] == nil
        }
        try addSpaces(to: table)
        try table.fill(missing)
        guard isAlone else {
            // Where that change is undone, the table is read again.
            restoring.append { [self] in forgetTables() }
            return
        }
        try sql { () throws(SQLiteError) in try file.statements.commit.run() }
        isChanging = false
        restoring = []
    }
}
