/// What is done to the tables of a world that others have, too, in its order.
final class TableJournal {
    enum Entry {
        case put(StoredRow, in: MemoryTable, Manner)
        /// Where the row is kept is `nil` for a seeded one.
        case removed(String, KeptRow?, from: MemoryTable)
        /// A value may have changed.
        case touched(MemoryTables.AnyBox)
    }

    /// What a row that is put becomes.
    enum Manner {
        /// Where there was none, or none but the seeded one.
        case added
        /// In the place of an earlier one. It was given these values of indexes.
        case replaced(gained: [(index: Int, value: String)])
    }

    private(set) var entries: [Entry] = []
    /// Whether anything is noted.
    var isOpen = false
    /// Counts what was made of the entries.
    private(set) var changes = 0

    func noteAdded(_ row: StoredRow, to table: MemoryTable) {
        guard isOpen else { return }
        row.kept = KeptRow()
        entries.append(.put(row, in: table, .added))
    }

    func noteReplaced(_ old: StoredRow, by row: StoredRow, in table: MemoryTable) {
        guard isOpen else { return }
        row.kept = old.kept ?? KeptRow()
        var gained: [(index: Int, value: String)] = []
        for (place, index) in table.rules.indexes.enumerated() {
            switch index.values {
            case .one(let value):
                if let after = value(row), after != value(old) { gained.append((index: place, value: after)) }
            case .many(let values):
                let (earlier, later) = (values(old), values(row))
                guard earlier != later else { continue }
                let before = Set(earlier)
                for value in Set(later) where !before.contains(value) {
                    gained.append((index: place, value: value))
                }
            }
        }
        entries.append(.put(row, in: table, .replaced(gained: gained)))
    }

    /// The row is `nil` where it was a seeded one.
    func noteRemoved(_ key: String, _ row: StoredRow?, from table: MemoryTable) {
        if isOpen { entries.append(.removed(key, row?.kept, from: table)) }
    }

    func note(_ box: MemoryTables.AnyBox) {
        if isOpen { entries.append(.touched(box)) }
    }

    /// What was noted after the first `count` has happened at this position of a queue of changes.
    func place(from count: Int, at position: Int) {
        for entry in entries[count...] {
            switch entry {
            case .put(let row, let table, _):
                row.kept?.position = position
                table.changedAt = position
            case .removed(_, _, let table): (table.changedAt, table.removedAt) = (position, position)
            case .touched(let box): box.position = position
            }
        }
    }

    /// Forgets all but the first ones.
    func cut(to count: Int) { entries.removeLast(entries.count - count) }

    /// The number of the next change that is made of the entries.
    func nextChange() -> Int {
        changes += 1
        return changes
    }

    /// Forgets all. The room for some entries is kept, in each world: the next change needs as much.
    func clear() {
        if entries.capacity > TableJournal.keptCapacity {
            entries = []
        } else {
            entries.removeAll(keepingCapacity: true)
        }
    }

    private static let keptCapacity = 128
}
