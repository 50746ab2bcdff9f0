// What is written of a table that others have, too: where rows stand, and how they are taken up again.

/// What a row is beside a world's seeded rows, which aren't written while they are as in the seed.
enum StoredRowKind: Int64 {
    /// There is no seeded row of its key.
    case own = 0
    /// The seeded row of its key was removed before it came.
    case ownAfterSeeded = 1
    /// It stands in the seeded row's place.
    case replacing = 2
    /// The seeded row was removed. It has no value.
    case removed = 3
}

/// An entry of an index that doesn't stand at the place of its row: the row got the value later.
struct MovedEntry: Codable {
    /// The index's name.
    let index: String
    let value: String
    let place: Int64
}

extension MemoryTable {
    /// A row, as it is read from where it was kept.
    struct LoadedRow {
        let key: String
        let kind: StoredRowKind
        /// `nil` where a seeded row was removed.
        let row: StoredRow?
        let place: Int64
        let moved: [MovedEntry]
    }

    /// What is to be written for this key; `nil` for nothing.
    func kind(of key: String) -> StoredRowKind? {
        let seeded = base?.byKey[key]
        guard let slot = byKey[key] else { return seeded.flatMap { hidden[$0] == nil ? nil : .removed } }
        if slots[Int(slot)].seeded >= 0 { return .replacing }
        return seeded == nil ? .own : .ownAfterSeeded
    }

    /// The entries of a row that stand elsewhere than the row, after it was replaced at `place` and got these values.
    func entries(
        of row: StoredRow, moved: [MovedEntry], gaining gained: [(index: Int, value: String)], at place: Int64
    ) -> [MovedEntry] {
        guard !moved.isEmpty || !gained.isEmpty else { return [] }
        var entries = moved
        for (index, value) in gained {
            let name = rules.indexes[index].name
            entries.removeAll { $0.index == name && $0.value == value }
            entries.append(MovedEntry(index: name, value: value, place: place))
        }
        // Those of values that it has no more.
        for index in rules.indexes where entries.contains(where: { $0.index == index.name }) {
            let values = index.values.distinct(row)
            entries.removeAll { $0.index == index.name && !values.contains($0.value) }
        }
        return entries
    }

    /// Fills a table that is empty. `rows` are in the order of their places.
    func load(_ rows: [LoadedRow]) {
        byKey.reserveCapacity(rows.count)
        slots.reserveCapacity(rows.count)
        let hasMoved = rows.contains { !$0.moved.isEmpty }
        isUndoing = hasMoved
        for row in rows { load(row) }
        isUndoing = false
        if hasMoved { fillIndexes(rows) }
    }

    private func load(_ loaded: LoadedRow) {
        let seeded = base?.byKey[loaded.key]
        guard let row = loaded.row else {
            if let seeded { hide(seeded) }
            return
        }
        row.kept = KeptRow(place: loaded.place)
        let slot = occupy(row)
        if !loaded.moved.isEmpty { moved[loaded.key] = loaded.moved }
        guard let seeded else { return link(slot, after: last) }
        if loaded.kind == .replacing {
            slots[Int(slot)].seeded = seeded
            hidden[seeded] = slot
        } else {
            hide(seeded)
            link(slot, after: last)
        }
    }

    /// The entries in the order of their places.
    private func fillIndexes(_ rows: [LoadedRow]) {
        for (number, index) in rules.indexes.enumerated() {
            var entries: [(place: Int64, value: String, slot: Int32)] = []
            for loaded in rows {
                guard let row = loaded.row, let slot = byKey[loaded.key] else { continue }
                for value in index.values.distinct(row) {
                    let moved = loaded.moved.first { $0.index == index.name && $0.value == value }
                    entries.append((place: moved?.place ?? loaded.place, value: value, slot: slot))
                }
            }
            entries.sort { $0.place < $1.place }
            for entry in entries { indexes[number].add(entry.value, entry.slot) }
        }
    }
}
