// How a table's rows come into an archive, and out of it.

/// Numbers the rows of a world as they come.
final class RowPlaces {
    private var next: Int64 = 0

    func take() -> Int64 {
        // An archive may hold any number.
        defer { next &+= 1 }
        return next
    }

    /// There is a row with this number.
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

    /// What is kept for this key; `nil` for nothing.
    private func kind(of key: String) -> ArchivedRow.Kind? {
        let seeded = base?.byKey[key]
        guard let slot = byKey[key] else { return seeded.flatMap { hidden[$0] == nil ? nil : .removed } }
        return slots[Int(slot)].seeded >= 0 ? .replacing : .own
    }

    /// Takes over a row that an archive has. Rows come in the order of their places.
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

    /// Whether the row that has this one's key stands at another place than this one.
    private func standsElsewhere(_ row: StoredRow) -> Bool {
        guard let slot = byKey[row.key] else { return base?.byKey[row.key] != nil }
        return slots[Int(slot)].seeded >= 0 || self.row(slot)?.place != row.place
    }
}
