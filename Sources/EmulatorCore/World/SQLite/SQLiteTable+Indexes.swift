import SQLite

// Rows by their indexes and in the order of their texts.

extension SQLiteTable {
    func rows(_ index: ObjectIdentifier, _ value: String, limit: Int) throws(StoreFailure) -> [StoredRow] {
        guard let place = place(of: index) else { return [] }
        var found: [StoredRow] = []
        base?.eachSeeded(place, value) { row in
            if found.count < limit, changedSeeded[row.key] == nil { found.append(row) }
            return found.count < limit
        }
        guard let spaces, found.count < limit else { return found }
        let rest = Int64(clamping: limit - found.count)
        try list(file.statements.entries, (.integer(spaces.indexes[place]), .text(value), .integer(rest))) { _, row in
            found.append(row)
            return true
        }
        return found
    }

    /// The rows with this value, the one that got it last first.
    func newest(_ index: ObjectIdentifier, _ value: String, limit: Int) throws(StoreFailure) -> [StoredRow] {
        guard let place = place(of: index), limit > 0 else { return [] }
        var found: [StoredRow] = []
        if let spaces {
            let values = (SQLiteValue.integer(spaces.indexes[place]), SQLiteValue.text(value))
            try list(file.statements.newest, (values.0, values.1, .integer(Int64(limit)))) { _, row in
                found.append(row)
                return true
            }
        }
        guard found.count < limit else { return found }
        base?.eachSeeded(place, value, isReversed: true) { row in
            if changedSeeded[row.key] == nil { found.append(row) }
            return found.count < limit
        }
        return found
    }

    func count(_ index: ObjectIdentifier, _ value: String) throws(StoreFailure) -> Int {
        guard let place = place(of: index) else { return 0 }
        var count = 0
        if let spaces {
            do throws(SQLiteError) {
                count =
                    try file.statements.countEntries.first(.integer(spaces.indexes[place]), .text(value)) {
                        Int(clamping: $0.integer(0))
                    } ?? 0
            } catch { throw StoreFailure(error) }
        }
        guard let base else { return count }
        // Only where a world has changed seeded rows must they be counted one by one.
        guard !changedSeeded.isEmpty else { return count + base.count(index, value) }
        base.eachSeeded(place, value) { row in
            if changedSeeded[row.key] == nil { count += 1 }
            return true
        }
        return count
    }

    private func place(of index: ObjectIdentifier) -> Int? { rules.indexes.firstIndex { $0.id == index } }

    func rows(
        prefix: String, after: String?, limit: Int
    ) throws(StoreFailure) -> [(text: String, row: StoredRow)] {
        guard rules.order != nil, limit > 0 else { return [] }
        let own = try writtenRows(prefix: prefix, after: after, limit: limit)
        var found: [(text: String, row: StoredRow)] = []
        var seeded = base?.seededTexts(prefix: prefix, after: after)
        var (a, b) = (seeded?.next(), 0)
        while found.count < limit {
            if let entry = a, b == own.count || entry.text <= own[b].text {
                if changedSeeded[entry.row.key] == nil { found.append(entry) }
                a = seeded?.next()
            } else if b < own.count {
                found.append(own[b])
                b += 1
            } else {
                break
            }
        }
        return found
    }

    private func writtenRows(
        prefix: String, after: String?, limit: Int
    ) throws(StoreFailure) -> [(text: String, row: StoredRow)] {
        guard let spaces else { return [] }
        var found: [(text: String, row: StoredRow)] = []
        let isAfter = after.map { $0 >= prefix } ?? false
        let start = isAfter ? after ?? prefix : prefix
        let statement = isAfter ? file.statements.textsAfter : file.statements.texts
        try list(statement, (.integer(spaces.texts), .text(start), .integer(Int64(limit)))) { entry, row in
            let text = entry.text(5)
            guard text.hasPrefix(prefix) else { return false }
            found.append((text: text, row: row))
            return true
        }
        return found
    }
}

extension MemoryTable {
    /// Calls `body` with the seeded rows of this value, in their order or from its end, until it says `false`.
    func eachSeeded(_ index: Int, _ value: String, isReversed: Bool = false, _ body: (StoredRow) -> Bool) {
        let visit = { (slot: Int32) in self.row(slot).map(body) ?? true }
        if isReversed {
            self.index(index).eachReversed(value, visit)
        } else {
            self.index(index).each(value, visit)
        }
    }

    /// Seeded rows in the order of their texts.
    func seededTexts(prefix: String, after: String?) -> SeededTexts? {
        rules.order.map { SeededTexts(table: self, entries: texts($0).entries(prefix: prefix, after: after)) }
    }

    struct SeededTexts: IteratorProtocol {
        fileprivate let table: MemoryTable
        fileprivate var entries: SortedTexts.Entries

        mutating func next() -> (text: String, row: StoredRow)? {
            while let entry = entries.next() {
                if let row = table.row(entry.slot) { return (text: entry.text, row: row) }
            }
            return nil
        }
    }
}
