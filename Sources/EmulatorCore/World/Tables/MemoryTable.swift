import Synchronization
import Time

/// A table in memory, whatever its rows are.
class AnyMemoryTable {
    /// From now on every change can be undone. `false` when that was so already.
    func begin() -> Bool { false }
    func commit() {}
    /// Back to what was there at `begin`.
    func undo() {}
}

/// A table in memory: rows in slots that are linked in the order in which the rows came, found by key and by indexes. Nothing
/// that it does takes longer with more rows, but for what lists them.
///
/// Rows that a seed brings lie in a table of their own, which all worlds share and which never changes: a world's table keeps
/// what differs from it.
final class MemoryTable<R: Row>: AnyMemoryTable {
    struct Slot {
        var row: R?
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

    let definition = R.table
    let base: MemoryTable?
    /// Seeded rows that are removed (-1), or replaced by a row in the slot.
    var hidden: [Int32: Int32] = [:]
    /// No seeded row before this one is left.
    var firstSeeded: Int32 = 0
    var slots: ContiguousArray<Slot> = []
    var free: [Int32] = []
    var byKey: [R.Key: Int32] = [:]
    var first: Int32 = -1
    var last: Int32 = -1
    let indexes: [MemoryIndexBase<R>]
    /// Made when somebody first asks. A table of seeded rows is asked by several worlds at once.
    let sorted = Mutex<SortedTexts?>(nil)
    var expiries = ExpiryQueue()
    var changes: [(key: R.Key, row: R?, place: Place)] = []
    var keepsChanges = false

    init(seeded base: MemoryTable? = nil) {
        self.base = base
        indexes = definition.indexes.map { $0.inMemory() }
    }

    // MARK: - Looking

    var count: Int { byKey.count + (base.map { $0.count - hidden.count } ?? 0) }

    func row(_ slot: Int32) -> R? { slots[Int(slot)].row }

    /// The seeded row in this slot, as this world has it.
    private func seededRow(_ slot: Int32) -> R? {
        guard let place = hidden[slot] else { return base?.row(slot) }
        return place < 0 ? nil : row(place)
    }

    func find(_ key: R.Key) -> R? {
        if let slot = byKey[key] { return row(slot) }
        guard let base, let slot = base.byKey[key], hidden[slot] == nil else { return nil }
        return base.row(slot)
    }

    func rows(after key: R.Key?, limit: Int) -> [R] {
        var found: [R] = []
        var seeded: Int32 = firstSeeded
        var own = first
        if let key {
            if let slot = base?.byKey[key] {
                seeded = slot + 1
            } else if let slot = byKey[key] {
                seeded = Int32(base?.slots.count ?? 0)
                own = slots[Int(slot)].next
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

    func rows<Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        guard let place = definition.indexes.firstIndex(where: { $0 === index }) else { return [] }
        var found: [R] = []
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

    func count<Value>(_ index: Index<R, Value>, _ value: Value) -> Int {
        guard let place = definition.indexes.firstIndex(where: { $0 === index }) else { return 0 }
        let own = (indexes[place] as? MemoryIndex<R, Value>)?.count(value) ?? 0
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

    /// The row that got this value last.
    func last<Value>(_ index: Index<R, Value>, _ value: Value) -> R? {
        guard let place = definition.indexes.firstIndex(where: { $0 === index }) else { return nil }
        var found: R?
        (indexes[place] as? MemoryIndex<R, Value>)?.eachReversed(value) { slot in
            found = row(slot)
            return false
        }
        guard found == nil, let base else { return found }
        (base.indexes[place] as? MemoryIndex<R, Value>)?.eachReversed(value) { slot in
            if hidden[slot] == nil { found = base.row(slot) }
            return found == nil
        }
        return found
    }

    private func each<Value: Hashable & Codable & Sendable>(
        _ place: Int, _ value: Value, _ body: (Int32) -> Bool
    ) {
        (indexes[place] as? MemoryIndex<R, Value>)?.each(value, body)
    }

    func rows(_ index: SortedIndex<R>, prefix: String, after: String?, limit: Int) -> [(text: String, row: R)] {
        let shared = base?.texts(index)
        let own = texts(index)
        var found: [(text: String, row: R)] = []
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

    /// The sorted texts, made when they are first asked for.
    private func texts(_ index: SortedIndex<R>) -> SortedTexts {
        sorted.withLock { sorted in
            if let sorted { return sorted }
            var entries: [SortedTexts.Entry] = []
            for (slot, entry) in slots.enumerated() {
                guard let row = entry.row else { continue }
                entries += index.texts(row).map { SortedTexts.Entry(text: $0, slot: Int32(slot)) }
            }
            let made = SortedTexts(entries)
            sorted = made
            return made
        }
    }

    // MARK: - Transactions that can fail

    override func begin() -> Bool {
        defer { keepsChanges = true }
        return !keepsChanges
    }

    override func commit() {
        changes = []
        keepsChanges = false
    }

    override func undo() {
        keepsChanges = false
        // A row that was removed gets the slot back that it had: slots are given out in the reverse of the order in which they
        // became free.
        while let change = changes.popLast() { undo(change) }
    }
}
