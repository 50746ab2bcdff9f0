import JOSE
import Time

/// The tables by the type of their rows, made empty on first use. Only reached while the store's lock is held, which is what
/// makes this sendable.
final class MemoryTables: Tables, @unchecked Sendable {
    /// What values are made from that nobody has asked for.
    private var seed: Seed
    /// Whose rows the tables begin with; `nil` for those of `seed`.
    private let rowSeed: Seed?
    private var tables: [ObjectIdentifier: MemoryTable] = [:]
    private var values: [ObjectIdentifier: AnyBox] = [:]
    /// Two of them, which nearly every change asks for.
    private var clock: Box<WorldClock>?
    private var randomSource: Box<RandomSource>?
    /// Values as they were when the transaction began, each once.
    private var restoring: [Restoring] = []
    private var changed: [MemoryTable] = []
    private var canFail = false
    /// Counts transactions that can't fail.
    private var transaction = 0
    private let check: StoredCheck?
    /// Where others have the same tables; `nil` in a store of this process's own.
    let shared: SharedTables?
    /// The position at which the world began as it is, where answers wait for changes (`WriteQueue`).
    var beganAt = 0
    /// The position of the last change of which something was seen since `look`.
    private(set) var seen = 0

    init(_ seed: Seed, isChecked: Bool = false, rows: Seed? = nil, shared: SharedTables? = nil) {
        self.seed = seed
        rowSeed = rows
        self.shared = shared
        check = isChecked ? StoredCheck(seed.format) : nil
    }

    /// What the earlier seed says is made first: what a world has doesn't depend on whether it was asked for.
    func adopt(_ seed: Seed) {
        _ = table(Account.self)
        _ = (box(OutcomeQueue.self), box(FaultQueue.self), box(WorldClock.self), box(RandomSource.self))
        self.seed = seed
    }

    func table<R: Row>(_ type: R.Type) -> MemoryTable {
        if let table = tables[ObjectIdentifier(type)] { return table }
        let table = MemoryTable(StoredRowRules(type), seeded: (rowSeed ?? seed).rows(of: type)?.table)
        tables[ObjectIdentifier(type)] = table
        shared?.add(table, of: type)
        return table
    }

    func box<V: WorldValue>(_ type: V.Type) -> Box<V> {
        if let box = values[ObjectIdentifier(type)] { return unsafeDowncast(box, to: Box<V>.self) }
        let written = shared?.value(type)
        let box = Box(written ?? V(seed), written: written)
        values[ObjectIdentifier(type)] = box
        shared?.add(type)
        return box
    }

    /// Has what was written of declared tables in memory.
    func readAll(_ types: StoredTypes) {
        for name in shared?.unread ?? [] {
            if let type = types.rows[name] { _ = table(type) }
        }
    }

    /// The names of tables that begin with rows of the seed.
    var seededTables: Set<String> { Set(tables.values.filter { $0.base != nil }.map(\.rules.name)) }

    /// The value is read anew when it is next asked for.
    func forgetValue(_ type: ObjectIdentifier) {
        values[type] = nil
        clock = nil
        randomSource = nil
    }

    /// From now on, what hasn't been asked for is made from this seed.
    func goOn(with seed: Seed) { self.seed = seed }

    // MARK: - Transactions that can fail

    func begin() { canFail = true }

    /// A transaction that needs no way back.
    func beginSurely() { transaction &+= 1 }

    func commit() {
        for table in changed { table.commit() }
        end()
    }

    func undo() {
        for table in changed { table.undo() }
        for value in restoring { value.restore() }
        end()
    }

    private func end() {
        changed.removeAll(keepingCapacity: true)
        restoring.removeAll(keepingCapacity: true)
        canFail = false
    }

    private func tableToChange<R: Row>(_ type: R.Type) -> MemoryTable {
        let table = table(type)
        if canFail, table.begin() { changed.append(table) }
        return table
    }

    // MARK: - What is seen

    /// From now on, `seen` says what is seen.
    func look() { seen = beganAt }

    private func see(_ position: Int) { seen = max(seen, position) }

    /// A table of which all may be seen.
    private func wholeTable<R: Row>(_ type: R.Type) -> MemoryTable {
        let table = table(type)
        see(table.changedAt)
        return table
    }

    // MARK: - Tables

    func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        let table = table(type)
        let found = table.find(key.keyText)
        see(found?.position ?? table.removedAt)
        return found?.row(type)
    }

    func count<R: Row>(_ type: R.Type) -> Int { wholeTable(type).count }

    func rows<R: Row>(_ type: R.Type, after: R.Key?, limit: Int) -> [R] {
        wholeTable(type).rows(after: after?.keyText, limit: limit).map { $0.row(type) }
    }

    func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        wholeTable(R.self).rows(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int {
        wholeTable(R.self).count(ObjectIdentifier(index), value.keyText)
    }

    func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        wholeTable(R.self).newest(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String, after: String?, limit: Int
    ) -> [(text: String, row: R)] {
        wholeTable(R.self).rows(prefix: prefix, after: after, limit: limit).map {
            (text: $0.text, row: $0.row.row(R.self))
        }
    }

    func put<R: Row>(_ row: R) {
        let table = tableToChange(R.self)
        // Without an optional row, whose type would have to be looked up for each.
        let stored = if let check { Stored(check.copy(row)) } else { Stored(row) }
        table.put(stored, now: table.rules.droppedAt == nil ? .first : now)
    }

    func remove<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        tableToChange(type).remove(key.keyText)?.row(type)
    }

    var now: Instant {
        let clock = self.clock ?? box(WorldClock.self)
        self.clock = clock
        see(clock.position)
        return clock.value.now
    }

    /// Notes the clock in its copy, if anybody has asked for the time yet.
    func noteClock(in copy: LastClock?) { if let clock { copy?.note(clock.value) } }

    subscript<V: WorldValue>(type: V.Type) -> V {
        get {
            let box = box(type)
            see(box.position)
            return box.value
        }
        _modify {
            let box = box(type)
            touch(box)
            defer { if let check { box.value = check.copy(box.value) } }
            yield &box.value
        }
    }

    func change<V: WorldValue, Result>(_ type: V.Type, _ body: (inout V) -> Result) -> Result {
        let box = box(type)
        touch(box)
        defer { if let check { box.value = check.copy(box.value) } }
        return body(&box.value)
    }

    var random: Randomness {
        get {
            let box = randomSource ?? box(RandomSource.self)
            randomSource = box
            see(box.position)
            return box.value.generator
        }
        set { change(RandomSource.self) { $0.generator = newValue } }
    }

    /// Before a value is changed.
    private func touch<V: WorldValue>(_ box: Box<V>) {
        if canFail {
            guard !restoring.contains(where: { $0.box === box }) else { return }
            restoring.append(Restoring(box: box, kept: KeptValue(box.value)))
        } else {
            guard box.notedIn != transaction else { return }
            box.notedIn = transaction
        }
        shared?.note(box)
    }
}
