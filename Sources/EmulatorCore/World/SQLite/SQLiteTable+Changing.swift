import SQLite
import Time

// Changes of a table in a file. The world's lock is held, and a change of the file is under way.

extension SQLiteTable {
    func put(_ row: StoredRow, _ value: [UInt8], now: Instant) throws(StoreFailure) {
        let known = try kept(row.key)
        do throws(SQLiteError) {
            if let known, let old = known.row { return try replace(known, old, by: row, value) }
            if known == nil, base?.byKey[row.key] != nil {
                try insert(row, value, as: .replacing)
                return change(seeded: row.key, to: true)
            }
            if let known { try file.statements.removeRow.run(.integer(known.id)) }
            try insert(row, value, as: known == nil ? .own : .ownAfterSeeded)
        } catch { throw StoreFailure(error) }
        try purge(now: now)
        while writtenCount > rules.limit, let oldest = try oldest() { _ = try remove(oldest) }
    }

    private func oldest() throws(StoreFailure) -> String? {
        guard let spaces else { return nil }
        do throws(SQLiteError) { return try file.statements.oldest.first(.integer(spaces.rows)) { $0.text(0) } } catch {
            throw StoreFailure(error)
        }
    }

    func remove(_ key: String) throws(StoreFailure) -> StoredRow? {
        let known = try kept(key)
        do throws(SQLiteError) {
            if let known {
                guard let old = known.row else { return nil }
                try delete(known, old)
                guard known.kind != .own else { return old }
                try hide(key)
                return old
            }
            guard let seeded = base?.find(key) else { return nil }
            try hide(key)
            return seeded
        } catch { throw StoreFailure(error) }
    }

    private func change(seeded key: String, to isReplaced: Bool) {
        let before = changedSeeded.updateValue(isReplaced, forKey: key)
        restoring.append { [self] in changedSeeded[key] = before }
    }

    /// Notes that a seeded row was removed.
    private func hide(_ key: String) throws(SQLiteError) {
        guard let spaces else { return }
        let id = try file.number()
        try file.statements.addRow.run(
            .integer(id), .integer(spaces.rows), .text(key), .integer(SQLiteSchema.Kind.removed.rawValue), .null, .null)
        change(seeded: key, to: false)
        keep(key, Kept(id: id, kind: .removed, row: nil))
    }

    private func keep(_ key: String, _ kept: Kept?) {
        restoring.append { [self] in forget(key) }
        cache(key, kept)
    }

    private func count(_ difference: Int) {
        writtenCount += difference
        restoring.append { [self] in writtenCount -= difference }
    }

    private func insert(_ row: StoredRow, _ value: [UInt8], as kind: SQLiteSchema.Kind) throws(SQLiteError) {
        guard let spaces else { return }
        let id = try file.number()
        try file.statements.addRow.run(
            .integer(id), .integer(spaces.rows), .text(row.key), .integer(kind.rawValue), .utf8(value), end(row))
        for (place, index) in rules.indexes.enumerated() {
            for value in index.values.distinct(row) { try add(place, value, id, of: id, spaces) }
        }
        for text in texts(row) { try file.statements.addText.run(.integer(spaces.texts), .text(text), .integer(id)) }
        count(1)
        keep(row.key, Kept(id: id, kind: kind, row: row))
    }

    private func add(
        _ index: Int, _ value: String, _ place: Int64, of row: Int64, _ spaces: Spaces
    ) throws(SQLiteError) {
        try file.statements.addEntry.run(
            .integer(spaces.indexes[index]), .text(value), .integer(place), .integer(row))
    }

    private func replace(_ known: Kept, _ old: StoredRow, by row: StoredRow, _ value: [UInt8]) throws(SQLiteError) {
        guard let spaces else { return }
        var kept = Kept(id: known.id, kind: known.kind, row: row, moved: known.moved)
        for (place, index) in rules.indexes.enumerated() {
            let (before, after) = (index.values.distinct(old), index.values.distinct(row))
            guard before != after else { continue }
            for value in before.subtracting(after) {
                try file.statements.removeEntry.run(
                    .integer(spaces.indexes[place]), .text(value), .integer(kept.place(place, value)))
                kept.moved.removeAll { $0.index == place && $0.value == value }
            }
            for value in after.subtracting(before) {
                let number = try file.number()
                try add(place, value, number, of: kept.id, spaces)
                kept.moved.append(Moved(index: place, value: value, place: number))
            }
        }
        try resort(old, by: row, kept.id, spaces)
        try file.statements.changeRow.run(.utf8(value), end(row), moved(kept), .integer(kept.id))
        keep(row.key, kept)
    }

    private func moved(_ kept: Kept) -> SQLiteValue {
        guard !kept.moved.isEmpty, let text = try? coder.encode(kept.moved) else { return .null }
        return .utf8(text)
    }

    private func resort(
        _ old: StoredRow, by row: StoredRow, _ id: Int64, _ spaces: Spaces
    ) throws(SQLiteError) {
        let (before, after) = (texts(old), texts(row))
        guard before != after else { return }
        for text in before { try file.statements.removeText.run(.integer(spaces.texts), .text(text), .integer(id)) }
        for text in after { try file.statements.addText.run(.integer(spaces.texts), .text(text), .integer(id)) }
    }

    private func texts(_ row: StoredRow) -> [String] { rules.order.map { $0(row) } ?? [] }

    private func delete(_ known: Kept, _ old: StoredRow) throws(SQLiteError) {
        guard let spaces else { return }
        for (place, index) in rules.indexes.enumerated() {
            for value in index.values.distinct(old) {
                try file.statements.removeEntry.run(
                    .integer(spaces.indexes[place]), .text(value), .integer(known.place(place, value)))
            }
        }
        for text in texts(old) {
            try file.statements.removeText.run(.integer(spaces.texts), .text(text), .integer(known.id))
        }
        try file.statements.removeRow.run(.integer(known.id))
        count(-1)
        keep(old.key, nil)
    }

    /// Writes the entries of indexes that weren't there, and all texts.
    func fill(_ missing: [Int]) throws(StoreFailure) {
        guard let spaces else { return }
        var failure: StoreFailure?
        do throws(SQLiteError) {
            try file.statements.all.each(.integer(spaces.rows)) { row in
                do throws(StoreFailure) {
                    let kept = try read(row).get()
                    try fill(missing, kept, spaces)
                } catch { failure = error }
                return failure == nil
            }
        } catch { throw StoreFailure(error) }
        if let failure { throw failure }
    }

    private func fill(_ missing: [Int], _ kept: Kept, _ spaces: Spaces) throws(StoreFailure) {
        guard let row = kept.row else { return }
        do throws(SQLiteError) {
            for place in missing {
                for value in rules.indexes[place].values.distinct(row) {
                    try add(place, value, kept.id, of: kept.id, spaces)
                }
            }
            for text in texts(row) {
                try file.statements.addText.run(.integer(spaces.texts), .text(text), .integer(kept.id))
            }
        } catch { throw StoreFailure(error) }
    }

    // MARK: - Ends

    /// When the row may go, as it is written.
    private func end(_ row: StoredRow) -> SQLiteValue {
        guard let end = rules.droppedAt?(row) else { return .null }
        // Too early is only too careful, so that this needn't be undone.
        nextEnd = nextEnd.map { min($0, end) } ?? end
        return .integer(end.milliseconds)
    }

    /// Lets rows go whose time is over. Costs as much as there is to let go of.
    private func purge(now: Instant) throws(StoreFailure) {
        guard let spaces, rules.droppedAt != nil, let due = nextEnd, due <= now else { return }
        while true {
            var keys: [String] = []
            do throws(SQLiteError) {
                try file.statements.due.each(.integer(spaces.rows), .integer(now.milliseconds)) { row in
                    keys.append(row.text(0))
                    return true
                }
            } catch { throw StoreFailure(error) }
            if keys.isEmpty { break }
            for key in keys { _ = try remove(key) }
        }
        let before = nextEnd
        restoring.append { [self] in nextEnd = before }
        do throws(SQLiteError) { try loadNextEnd() } catch { throw StoreFailure(error) }
    }
}
