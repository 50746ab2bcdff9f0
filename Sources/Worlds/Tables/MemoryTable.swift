import Synchronization
import Time

/// A table of a test world in memory: rows in slots of an array, linked in the sequence in which they were added, and
/// found by key and by indexes. Only operations that list rows take longer when there are more rows.
///
/// The rows of a seed are in a table of their own, which all worlds share and which never changes: a world's table has
/// only the differences.
final class MemoryTable {
    struct Slot {
        var row: StoredRow?
        /// The indexes, in the array of slots, of the rows before and after this row; -1 if there is no such row.
        var previous: Int32 = -1
        var next: Int32 = -1
        /// If this row replaces a row of the seed, the position of that row in the seed's table; otherwise -1.
        var seeded: Int32 = -1
        /// The time from which the row may be removed; `nil` for never.
        var drop: Instant?
        var generation: UInt32 = 0
    }

    /// The position that a row had before a change. It is needed to undo the change.
    enum Place {
        case nowhere
        case seeded(Int32)
        case replacing(seeded: Int32)
        case after(Int32)
    }

    struct Change {
        let key: String
        /// The row as it was before the change; `nil` if the change added the row, or replaced or removed an unchanged
        /// row of the seed.
        let row: StoredRow?
        let place: Place
    }

    let rules: StoredRowRules
    let base: MemoryTable?
    /// The seed's rows that the test world has replaced or removed. The key is the row's position in the seed's table.
    /// The value is the replacing row's position in this table, or -1 for a removed row.
    var hidden: [Int32: Int32] = [:]
    /// A position in the table of the seed's rows. The test world has removed all rows before this position.
    var firstSeeded: Int32 = 0
    var slots: ContiguousArray<Slot> = []
    var free: [Int32] = []
    var byKey: [String: Int32] = [:]
    /// The number of bytes of the table's rows, not counting unchanged rows of the seed; 0 if the table's declaration
    /// doesn't say how to count the bytes.
    private(set) var size = 0
    var first: Int32 = -1
    var last: Int32 = -1
    /// The indexes of the table, updated with every change. Empty for a table of the seed's rows.
    let indexes: [MemoryIndex]
    /// The indexes of a table of the seed's rows. An index is made at its first use, because most of them are never
    /// used. The lock is needed because several test worlds use the indexes at the same time.
    private let seededIndexes = Mutex<[Int: MemoryIndex]>([:])
    /// The texts by which the table's rows are sorted, made on first use.
    let sorted = Mutex<SortedTexts?>(nil)
    var expiries = ExpiryQueue()
    var changes: [Change] = []
    var keepsChanges = false
    /// Whether the table is undoing changes. Its indexes undo their changes by themselves, so the table mustn't change
    /// the indexes meanwhile.
    var isUndoing = false
    let places: RowPlaces

    /// Makes the table of a single test world, which begins with the rows of `base`, the seed's table.
    init(_ rules: StoredRowRules, seeded base: MemoryTable?, places: RowPlaces) {
        self.rules = rules
        self.base = base
        self.places = places
        indexes = rules.indexes.map { MemoryIndex($0.values) }
    }

    /// Makes the table of a seed's rows. All test worlds share this table.
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

    /// Returns the test world's row for this position in the seed's table: the seed's row, or the row that replaces it;
    /// `nil` if the test world has removed the row.
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

    /// Returns the rows that have this value in an index. The row that got the value last comes first.
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

    /// Starts recording the changes of the table, so that they can be undone. Returns `false` when the recording had
    /// already been started.
    func begin() -> Bool {
        guard !keepsChanges else { return false }
        for index in indexes { index.begin() }
        keepsChanges = true
        return true
    }

    /// Ends the recording of the table's changes. After this call, the changes can't be undone.
    func keepChanges() {
        changes.removeAll(keepingCapacity: changes.count < 64)
        for index in indexes { index.keepChanges() }
        keepsChanges = false
        shrinkIfSparse()
    }

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

// Changing a table in memory. The caller holds the world's lock.

extension MemoryTable {
    func put(_ row: StoredRow, now: Instant) {
        let key = row.key
        if let slot = byKey[key] {
            guard let old = slots[Int(slot)].row else { return }
            if row.place < 0 { row.place = old.place }
            recordChange(
                of: key, from: old,
                at: slots[Int(slot)].seeded < 0 ? .nowhere : .replacing(seeded: slots[Int(slot)].seeded))
            replace(old, by: row, in: slot)
            return
        }
        if row.place < 0 { row.place = places.issueNumber() }
        if let seeded = base?.byKey[key], hidden[seeded] == nil {
            recordChange(of: key, from: nil, at: .seeded(seeded))
            let slot = occupy(row)
            slots[Int(slot)].seeded = seeded
            hidden[seeded] = slot
            return
        }
        recordChange(of: key, from: nil, at: .nowhere)
        link(occupy(row), after: last)
        purge(now: now)
        while byKey.count > rules.limit || size > rules.byteLimit, first >= 0, let oldest = self.row(first)?.key {
            _ = remove(oldest)
        }
    }

    func remove(_ key: String) -> StoredRow? {
        if let slot = byKey[key] {
            guard let old = slots[Int(slot)].row else { return nil }
            let seeded = slots[Int(slot)].seeded
            if seeded >= 0 {
                recordChange(of: key, from: old, at: .replacing(seeded: seeded))
                hide(seeded)
            } else {
                recordChange(of: key, from: old, at: .after(slots[Int(slot)].previous))
                unlink(slot)
            }
            vacate(slot, old)
            return old
        }
        guard let base, let seeded = base.byKey[key], hidden[seeded] == nil else { return nil }
        recordChange(of: key, from: nil, at: .seeded(seeded))
        hide(seeded)
        return base.row(seeded)
    }

    func hide(_ seeded: Int32) {
        hidden[seeded] = -1
        while hidden[firstSeeded] == -1 { firstSeeded += 1 }
    }

    /// Removes expired rows from the table.
    private func purge(now: Instant) {
        while let due = expiries.first, due.drop <= now {
            expiries.removeFirst()
            let slot = slots[Int(due.slot)]
            if slot.generation == due.generation, let key = slot.row?.key { _ = remove(key) }
        }
        if !keepsChanges { shrinkIfSparse() }
    }

    /// Moves the table's rows together when most slots are free, because arrays and dictionaries never release memory
    /// by themselves.
    private func shrinkIfSparse() {
        if slots.count > 4096, byKey.count * 8 < slots.count { shrink() }
    }

    // MARK: - Undoing

    private func recordChange(of key: String, from row: StoredRow?, at place: Place) {
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

// The slots of a table in memory, and the links between them.

extension MemoryTable {
    /// Puts a row into a free slot of the table and into the indexes, but not into the sequence of rows.
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
        resize(by: row)
        if !isUndoing { for index in indexes { index.insert(row, slot) } }
        sort(row) { $0.insert($1, slot) }
        schedule(row, slot)
        return slot
    }

    func vacate(_ slot: Int32, _ row: StoredRow) {
        resize(from: row)
        if !isUndoing { for index in indexes { index.remove(slot) } }
        sort(row) { $0.remove($1, slot) }
        byKey[row.key] = nil
        slots[Int(slot)] = Slot(generation: slots[Int(slot)].generation &+ 1)
        free.append(slot)
    }

    func replace(_ old: StoredRow, by row: StoredRow, in slot: Int32) {
        resize(from: old, by: row)
        if !isUndoing { for index in indexes { index.replace(old, by: row, slot) } }
        resort(old, by: row, slot)
        slots[Int(slot)].row = row
        schedule(row, slot)
    }

    private func resize(from old: StoredRow? = nil, by row: StoredRow? = nil) {
        guard let bytes = rules.size else { return }
        size += (row.map(bytes) ?? 0) - (old.map(bytes) ?? 0)
    }

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

    /// Moves the table's rows to as few slots as they need.
    func shrink() {
        var listed: [StoredRow] = []
        var slot = first
        while slot >= 0 {
            if let row = row(slot) { listed.append(row) }
            slot = slots[Int(slot)].next
        }
        let replacing = hidden.filter { $0.value >= 0 }.compactMap { place in row(place.value).map { (place.key, $0) } }
        (slots, free, byKey, first, last, size) = ([], [], [:], -1, -1, 0)
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

// Reading a table's rows from an archive, and writing them to it.

/// Gives numbers to the rows of a test world in the sequence in which they are added.
final class RowPlaces {
    private var next: Int64 = 0

    func issueNumber() -> Int64 {
        // An archive may hold any number, so this may overflow.
        defer { next &+= 1 }
        return next
    }

    /// Records that a row has this number, so that later rows get greater ones.
    func markUsed(_ place: Int64) { next = max(next, place &+ 1) }
}

extension MemoryTable {
    /// Appends to `rows` each row that was changed since `begin` was called, in the form that is stored in a file or
    /// database.
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

    /// Returns whether the stored row with this key was added to the test world, or replaces or removes a row of the
    /// seed (the initial data); `nil` if no row with this key is stored.
    private func kind(of key: String) -> ArchivedRow.Kind? {
        let seeded = base?.byKey[key]
        guard let slot = byKey[key] else { return seeded.flatMap { hidden[$0] == nil ? nil : .removed } }
        return slots[Int(slot)].seeded >= 0 ? .replacing : .own
    }

    /// Puts a row from a file or database into the table, or removes the row that the file or database marks as
    /// removed. Rows must be put in the sequence in which they were added to the test world.
    func apply(_ archived: ArchivedRow, _ coder: StoredCoder) throws(StoreFailure) {
        guard let kind = archived.kind, kind != .removed else {
            _ = remove(archived.key)
            return
        }
        let row = try rules.decode(archived.value, coder)
        row.place = archived.place
        places.markUsed(archived.place)
        if kind == .own, standsElsewhere(row) { _ = remove(row.key) }
        put(row, now: .first)
    }

    /// Returns whether the table has a row with the key of `row`, but at another position in the sequence of rows.
    private func standsElsewhere(_ row: StoredRow) -> Bool {
        guard let slot = byKey[row.key] else { return base?.byKey[row.key] != nil }
        return slots[Int(slot)].seeded >= 0 || self.row(slot)?.place != row.place
    }
}
