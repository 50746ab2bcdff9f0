// Changing a table in memory. The caller holds the world's lock.

import Time

extension MemoryTable {
    func put(_ row: StoredRow, now: Instant) {
        let key = row.key
        if let slot = byKey[key] {
            guard let old = slots[Int(slot)].row else { return }
            if row.place < 0 { row.place = old.place }
            note(key, old, slots[Int(slot)].seeded < 0 ? .nowhere : .replacing(seeded: slots[Int(slot)].seeded))
            replace(old, by: row, in: slot)
            return
        }
        if row.place < 0 { row.place = places.take() }
        if let seeded = base?.byKey[key], hidden[seeded] == nil {
            note(key, nil, .seeded(seeded))
            let slot = occupy(row)
            slots[Int(slot)].seeded = seeded
            hidden[seeded] = slot
            return
        }
        note(key, nil, .nowhere)
        link(occupy(row), after: last)
        purge(now: now)
        while byKey.count > rules.limit, first >= 0, let oldest = self.row(first)?.key { _ = remove(oldest) }
    }

    func remove(_ key: String) -> StoredRow? {
        if let slot = byKey[key] {
            guard let old = slots[Int(slot)].row else { return nil }
            let seeded = slots[Int(slot)].seeded
            if seeded >= 0 {
                note(key, old, .replacing(seeded: seeded))
                hide(seeded)
            } else {
                note(key, old, .after(slots[Int(slot)].previous))
                unlink(slot)
            }
            vacate(slot, old)
            return old
        }
        guard let base, let seeded = base.byKey[key], hidden[seeded] == nil else { return nil }
        note(key, nil, .seeded(seeded))
        hide(seeded)
        return base.row(seeded)
    }

    func hide(_ seeded: Int32) {
        hidden[seeded] = -1
        while hidden[firstSeeded] == -1 { firstSeeded += 1 }
    }

    /// Removes expired rows. The cost grows with their number.
    private func purge(now: Instant) {
        while let due = expiries.first, due.drop <= now {
            expiries.removeFirst()
            let slot = slots[Int(due.slot)]
            if slot.generation == due.generation, let key = slot.row?.key { _ = remove(key) }
        }
        // Arrays and dictionaries never release memory by themselves.
        if slots.count > 4096, byKey.count * 8 < slots.count, changes.isEmpty { shrink() }
    }

    // MARK: - Undoing

    private func note(_ key: String, _ row: StoredRow?, _ place: Place) {
        if keepsChanges { changes.append(Change(key: key, row: row, place: place)) }
    }

    func undo(_ change: Change) {
        if let slot = byKey[change.key], let current = row(slot) {
            if let old = change.row { return replace(current, by: old, in: slot) }
            if slots[Int(slot)].seeded < 0 { unlink(slot) }
            vacate(slot, current)
        }
        switch change.place {
        case .nowhere: return
        case .seeded(let seeded):
            hidden[seeded] = nil
            firstSeeded = min(firstSeeded, seeded)
        case .replacing(let seeded):
            guard let row = change.row else { return }
            let slot = occupy(row)
            slots[Int(slot)].seeded = seeded
            hidden[seeded] = slot
            firstSeeded = min(firstSeeded, seeded)
        case .after(let previous):
            if let row = change.row { link(occupy(row), after: previous) }
        }
    }
}
