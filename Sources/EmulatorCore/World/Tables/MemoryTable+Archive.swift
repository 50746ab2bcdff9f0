// Reading a table's rows from an archive, and writing them to it.

/// Numbers the rows of a world in the order in which they are added.
final class RowPlaces {
    private var next: Int64 = 0

    func take() -> Int64 {
        // An archive may hold any number, so this may overflow.
        defer { next &+= 1 }
        return next
    }

    /// Notes that a row has this number.
    func note(_ place: Int64) { next = max(next, place &+ 1) }
}

extension MemoryTable {
    /// Adds the present form of each row that was changed since `begin`.
    func addChanges(to rows: inout [ArchivedRow], _ coder: StoredCoder) throws(StoreFailure) {
        var known: Set<String> = []
        for change in changes where changes.count == 1 || known.insert(change.key).inserted {
            let kind = kind(of: change.key)
            let row = kind == .removed ? nil : byKey[change.key].flatMap { self.row($0) }
            rows.append(
                ArchivedRow(
                    table: rules.name, key: change.key, kind: kind, place: row?.place ?? 0,
                    value: try row.map { row throws(StoreFailure) in try rules.encode(row, coder) } ?? ""))
        }
    }

    /// Returns the kind of the row that is archived for this key; `nil` for none.
    private func kind(of key: String) -> ArchivedRow.Kind? {
        let seeded = base?.byKey[key]
        guard let slot = byKey[key] else { return seeded.flatMap { hidden[$0] == nil ? nil : .removed } }
        return slots[Int(slot)].seeded >= 0 ? .replacing : .own
    }

    /// Applies an archived row. Rows come in the order of their places.
    func apply(_ archived: ArchivedRow, _ coder: StoredCoder) throws(StoreFailure) {
        guard let kind = archived.kind, kind != .removed else {
            _ = remove(archived.key)
            return
        }
        let row = try rules.decode(archived.value, coder)
        row.place = archived.place
        places.note(archived.place)
        if kind == .own, standsElsewhere(row) { _ = remove(row.key) }
        put(row, now: .first)
    }

    /// Returns whether the row with the same key has another place.
    private func standsElsewhere(_ row: StoredRow) -> Bool {
        guard let slot = byKey[row.key] else { return base?.byKey[row.key] != nil }
        return slots[Int(slot)].seeded >= 0 || self.row(slot)?.place != row.place
    }
}
