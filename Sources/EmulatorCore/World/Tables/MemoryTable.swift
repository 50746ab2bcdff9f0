import Synchronization
import Time

/// A table in memory: rows in slots that are linked in the order in which the rows came, found by key and by indexes. Nothing
/// that it does takes longer with more rows, but for what lists them.
///
/// Rows that a seed brings lie in a table of their own, which all worlds share and which never changes: a world's table keeps
/// what differs from it.
final class MemoryTable {
    struct Slot {
        var row: StoredRow?
        /// The slots of the rows that came before and after; -1 at the ends.
        var previous: Int32 = -1
        var next: Int32 = -1
        /// The seeded row in whose place this one stands, or -1.
        var seeded: Int32 = -1
        /// When the row may go; entries of `expiries` for earlier rows or times of this slot have another generation.
        var drop: Instant?
        var generation: UInt32 = 0
    }

    /// Where a row stood before a change, to put it back.
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
    /// Seeded rows that are removed (-1), or replaced by a row in the slot.
    var hidden: [Int32: Int32] = [:]
    /// No seeded row before this one is left.
    var firstSeeded: Int32 = 0
    var slots: ContiguousArray<Slot> = []
    var free: [Int32] = []
    var byKey: [String: Int32] = [:]
    var first: Int32 = -1
    var last: Int32 = -1
    /// Kept up with every change; a table of seeded rows has none of these.
    let indexes: [MemoryIndex]
    /// Those of a table of seeded rows, by their places. Each is made when somebody first asks: most are never asked, and
    /// many people would take twice as long to load. Several worlds ask at once.
    private let seededIndexes = Mutex<[Int: MemoryIndex]>([:])
    /// Made when somebody first asks, also of seeded rows.
    let sorted = Mutex<SortedTexts?>(nil)
    var expiries = ExpiryQueue()
    var changes: [Change] = []
    var keepsChanges = false
    /// Whether indexes are left alone: they undo their own changes.
    var isUndoing = false
    let places: RowPlaces

    /// A world's own table.
    init(_ rules: StoredRowRules, seeded base: MemoryTable?, places: RowPlaces) {
        self.rules = rules
        self.base = base
        self.places = places
        indexes = rules.indexes.map { MemoryIndex($0.values) }
    }

    /// A table of rows that a seed brings.
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

    /// The seeded row in this slot, as this world has it.
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
            // A seeded row that was removed and put again stands among the world's own.
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
        // Only where a world has changed seeded rows must they be counted one by one.
        guard !hidden.isEmpty else { return own + base.count(index, value) }
        var seeded = 0
        base.each(place, value) { slot in
            if hidden[slot] == nil { seeded += 1 }
            return true
        }
        return own + seeded
    }

    /// The rows with this value, the one that got it last first.
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

    /// The sorted texts, made when they are first asked for.
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

    /// From now on, every change is noted, and can be undone. `false` when that was so already.
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

    /// Back to what was there at `begin`.
    func undo() {
        isUndoing = true
        // A row that was removed gets the slot back that it had: slots are given out in the reverse of the order in which they
        // became free.
        while let change = changes.popLast() { undo(change) }
        isUndoing = false
        for index in indexes { index.undo() }
        keepsChanges = false
    }
}
