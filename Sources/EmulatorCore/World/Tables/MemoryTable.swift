import Synchronization
import Time

/// A table in memory: rows in slots, linked in the order in which the rows were added, and found by key and by indexes.
/// No operation takes longer with more rows, except those that list them.
///
/// The rows of a seed are in a table of their own, which all worlds share and which never changes: a world's table has
/// only the differences.
final class MemoryTable {
    struct Slot {
        var row: StoredRow?
        /// The slots of the rows before and after this one; -1 at the ends.
        var previous: Int32 = -1
        var next: Int32 = -1
        /// The slot of the seeded row that this one replaces, or -1.
        var seeded: Int32 = -1
        /// The time when the row may be removed. Entries of `expiries` with another generation belong to earlier rows
        /// or times of this slot.
        var drop: Instant?
        var generation: UInt32 = 0
    }

    /// The position of a row before a change, for undoing it.
    enum Place {
        case nowhere
        case seeded(Int32)
        case replacing(seeded: Int32)
        case after(Int32)
    }

    struct Change {
        let key: String
        /// The row before the change.
        let row: StoredRow?
        let place: Place
    }

    let rules: StoredRowRules
    let base: MemoryTable?
    /// The removed seeded rows (-1), and those replaced by a row in the slot.
    var hidden: [Int32: Int32] = [:]
    /// The slot before which no seeded row is left.
    var firstSeeded: Int32 = 0
    var slots: ContiguousArray<Slot> = []
    var free: [Int32] = []
    var byKey: [String: Int32] = [:]
    var first: Int32 = -1
    var last: Int32 = -1
    /// The indexes, updated with every change; a table of seeded rows has none of these.
    let indexes: [MemoryIndex]
    /// The indexes of a table of seeded rows, each made on first use: most are never used, and loading many people
    /// would take twice as long. The lock is there because several worlds use them at once.
    private let seededIndexes = Mutex<[Int: MemoryIndex]>([:])
    /// The sorted texts, made on first use, also of seeded rows.
    let sorted = Mutex<SortedTexts?>(nil)
    var expiries = ExpiryQueue()
    var changes: [Change] = []
    var keepsChanges = false
    /// Whether indexes must not be changed, because they undo their own changes.
    var isUndoing = false
    let places: RowPlaces

    /// Makes a world's own table.
    init(_ rules: StoredRowRules, seeded base: MemoryTable?, places: RowPlaces) {
        self.rules = rules
        self.base = base
        self.places = places
        indexes = rules.indexes.map { MemoryIndex($0.values) }
    }

    /// Makes a table of the rows of a seed.
    init(_ rules: StoredRowRules, of rows: some Collection<StoredRow>) {
        self.rules = rules
        base = nil
        places = RowPlaces()
        indexes = []
        slots.reserveCapacity(rows.count)
        byKey.reserveCapacity(rows.count)
        for row in rows { put(row, now: .first) }
    }

    // MARK: - Looking

    var count: Int { byKey.count + (base.map { $0.count - hidden.count } ?? 0) }

    func row(_ slot: Int32) -> StoredRow? { slots[Int(slot)].row }

    /// Returns the seeded row in this slot, as changed in this world.
    private func seededRow(_ slot: Int32) -> StoredRow? {
        guard let place = hidden[slot] else { return base?.row(slot) }
        return place < 0 ? nil : row(place)
    }

    func find(_ key: String) -> StoredRow? {
        if let slot = byKey[key] { return row(slot) }
        guard let base, let slot = base.byKey[key], hidden[slot] == nil else { return nil }
        return base.row(slot)
    }

    func rows(after key: String?, limit: Int) -> [StoredRow] {
        var found: [StoredRow] = []
        var seeded: Int32 = firstSeeded
        var own = first
        if let key {
            // A seeded row that was removed and put again is among the world's own.
            if let slot = byKey[key], slots[Int(slot)].seeded < 0 {
                seeded = Int32(base?.slots.count ?? 0)
                own = slots[Int(slot)].next
            } else if let slot = base?.byKey[key] {
                seeded = slot + 1
            }
        }
        let end = Int32(base?.slots.count ?? 0)
        while seeded < end, found.count < limit {
            if let row = seededRow(seeded) { found.append(row) }
            seeded += 1
        }
        while own >= 0, found.count < limit {
            if let row = row(own) { found.append(row) }
            own = slots[Int(own)].next
        }
        return found
    }

    func rows(_ index: ObjectIdentifier, _ value: String, limit: Int) -> [StoredRow] {
        guard let place = place(of: index) else { return [] }
        var found: [StoredRow] = []
        base?.each(place, value) { slot in
            if found.count < limit, hidden[slot] == nil, let row = base?.row(slot) { found.append(row) }
            return found.count < limit
        }
        guard found.count < limit else { return found }
        each(place, value) { slot in
            if let row = row(slot) { found.append(row) }
            return found.count < limit
        }
        return found
    }

    func count(_ index: ObjectIdentifier, _ value: String) -> Int {
        guard let place = place(of: index) else { return 0 }
        let own = self.index(place).count(value)
        guard let base else { return own }
        // Seeded rows must be counted one by one if the world has changed some.
        guard !hidden.isEmpty else { return own + base.count(index, value) }
        var seeded = 0
        base.each(place, value) { slot in
            if hidden[slot] == nil { seeded += 1 }
            return true
        }
        return own + seeded
    }

    /// Returns the rows with this value, the one that got it last first.
    func newest(_ index: ObjectIdentifier, _ value: String, limit: Int) -> [StoredRow] {
        guard let place = place(of: index) else { return [] }
        var found: [StoredRow] = []
        self.index(place).eachReversed(value) { slot in
            if found.count < limit, let row = row(slot) { found.append(row) }
            return found.count < limit
        }
        guard found.count < limit, let base else { return found }
        base.index(place).eachReversed(value) { slot in
            if found.count < limit, hidden[slot] == nil, let row = base.row(slot) { found.append(row) }
            return found.count < limit
        }
        return found
    }

    private func each(_ place: Int, _ value: String, _ body: (Int32) -> Bool) { index(place).each(value, body) }

    func index(_ place: Int) -> MemoryIndex {
        guard indexes.isEmpty else { return indexes[place] }
        return seededIndexes.withLock { made in
            if let index = made[place] { return index }
            let index = MemoryIndex(rules.indexes[place].values)
            index.reserve(slots.count)
            for (slot, entry) in slots.enumerated() {
                if let row = entry.row { index.insert(row, Int32(slot)) }
            }
            made[place] = index
            return index
        }
    }

    private func place(of index: ObjectIdentifier) -> Int? { rules.indexes.firstIndex { $0.id == index } }

    func rows(prefix: String, after: String?, limit: Int) -> [(text: String, row: StoredRow)] {
        guard let order = rules.order else { return [] }
        let shared = base?.texts(order)
        let own = texts(order)
        var found: [(text: String, row: StoredRow)] = []
        var left = shared?.entries(prefix: prefix, after: after)
        var right = own.entries(prefix: prefix, after: after)
        var (a, b) = (left?.next(), right.next())
        while found.count < limit {
            if let entry = a, b.map({ entry.text <= $0.text }) ?? true {
                if hidden[entry.slot] == nil, let row = base?.row(entry.slot) {
                    found.append((text: entry.text, row: row))
                }
                a = left?.next()
            } else if let entry = b {
                if let row = row(entry.slot) { found.append((text: entry.text, row: row)) }
                b = right.next()
            } else {
                break
            }
        }
        return found
    }

    func prepareOrder() {
        if let order = rules.order { _ = texts(order) }
    }

    /// Returns the sorted texts, made on first use.
    func texts(_ order: (StoredRow) -> [String]) -> SortedTexts {
        sorted.withLock { sorted in
            if let sorted { return sorted }
            var entries: [SortedTexts.Entry] = []
            for (slot, entry) in slots.enumerated() {
                guard let row = entry.row else { continue }
                entries += order(row).map { SortedTexts.Entry(text: $0, slot: Int32(slot)) }
            }
            let made = SortedTexts(entries)
            sorted = made
            return made
        }
    }

    // MARK: - Transactions

    /// Starts recording changes, so that they can be undone. Returns `false` when that was on already.
    func begin() -> Bool {
        guard !keepsChanges else { return false }
        for index in indexes { index.begin() }
        keepsChanges = true
        return true
    }

    func commit() {
        changes.removeAll(keepingCapacity: changes.count < 64)
        for index in indexes { index.commit() }
        keepsChanges = false
    }

    /// Undoes all changes since `begin`.
    func undo() {
        isUndoing = true
        // A removed row gets its slot back, because slots are reused in the reverse of the order in which they became
        // free.
        while let change = changes.popLast() { undo(change) }
        isUndoing = false
        for index in indexes { index.undo() }
        keepsChanges = false
    }
}
