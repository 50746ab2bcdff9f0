// The slots of a table in memory, and the links between them.

extension MemoryTable {
    /// Puts the row into a free slot and into the indexes, but not into the order of rows.
    func occupy(_ row: StoredRow) -> Int32 {
        let slot: Int32
        if let unused = free.popLast() {
            slot = unused
        } else {
            slot = Int32(slots.count)
            slots.append(Slot())
        }
        slots[Int(slot)].row = row
        byKey[row.key] = slot
        if !isUndoing { for index in indexes { index.insert(row, slot) } }
        sort(row) { $0.insert($1, slot) }
        schedule(row, slot)
        return slot
    }

    func vacate(_ slot: Int32, _ row: StoredRow) {
        if !isUndoing { for index in indexes { index.remove(row, slot) } }
        sort(row) { $0.remove($1, slot) }
        byKey[row.key] = nil
        slots[Int(slot)] = Slot(generation: slots[Int(slot)].generation &+ 1)
        free.append(slot)
    }

    func replace(_ old: StoredRow, by row: StoredRow, in slot: Int32) {
        if !isUndoing { for index in indexes { index.replace(old, by: row, slot) } }
        resort(old, by: row, slot)
        slots[Int(slot)].row = row
        schedule(row, slot)
    }

    /// Updates the sorted texts of a row that was changed.
    private func resort(_ old: StoredRow, by row: StoredRow, _ slot: Int32) {
        guard let order = rules.order else { return }
        sorted.withLock { sorted in
            guard let sorted else { return }
            let (before, after) = (order(old), order(row))
            guard before != after else { return }
            for text in before { sorted.remove(text, slot) }
            for text in after { sorted.insert(text, slot) }
        }
    }

    /// Calls `body` with each of the row's texts, if the table has sorted texts already.
    private func sort(_ row: StoredRow, _ body: (SortedTexts, String) -> Void) {
        guard let order = rules.order else { return }
        sorted.withLock { sorted in
            guard let sorted else { return }
            for text in order(row) { body(sorted, text) }
        }
    }

    func schedule(_ row: StoredRow, _ slot: Int32) {
        guard let droppedAt = rules.droppedAt else { return }
        let drop = droppedAt(row)
        guard slots[Int(slot)].drop != drop else { return }
        slots[Int(slot)].drop = drop
        slots[Int(slot)].generation &+= 1
        guard let drop else { return }
        expiries.insert(drop, slot, slots[Int(slot)].generation)
        guard expiries.count > 2 * byKey.count + 1_024 else { return }
        // Most entries belong to rows that have been removed.
        expiries = ExpiryQueue()
        for (slot, entry) in slots.enumerated() {
            if let drop = entry.drop { expiries.insert(drop, Int32(slot), entry.generation) }
        }
    }

    func link(_ slot: Int32, after previous: Int32) {
        let next = previous < 0 ? first : slots[Int(previous)].next
        slots[Int(slot)].previous = previous
        slots[Int(slot)].next = next
        if previous < 0 { first = slot } else { slots[Int(previous)].next = slot }
        if next < 0 { last = slot } else { slots[Int(next)].previous = slot }
    }

    func unlink(_ slot: Int32) {
        let (previous, next) = (slots[Int(slot)].previous, slots[Int(slot)].next)
        if previous < 0 { first = next } else { slots[Int(previous)].next = next }
        if next < 0 { last = previous } else { slots[Int(next)].previous = previous }
    }

    /// Moves the rows to as few slots as they need.
    func shrink() {
        var listed: [StoredRow] = []
        var slot = first
        while slot >= 0 {
            if let row = row(slot) { listed.append(row) }
            slot = slots[Int(slot)].next
        }
        let replacing = hidden.filter { $0.value >= 0 }.compactMap { place in row(place.value).map { (place.key, $0) } }
        (slots, free, byKey, first, last) = ([], [], [:], -1, -1)
        sorted.withLock { $0 = nil }
        expiries = ExpiryQueue()
        for index in indexes { index.removeAll() }
        for (seeded, row) in replacing {
            let slot = occupy(row)
            slots[Int(slot)].seeded = seeded
            hidden[seeded] = slot
        }
        for row in listed { link(occupy(row), after: last) }
    }
}
