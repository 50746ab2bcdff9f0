import Synchronization
import Time

/// Keeps a world's tables in this process's memory, behind one lock.
final class MemoryStore: Store {
    private let tables: Mutex<MemoryTables>

    init(_ seed: Seed) { tables = Mutex(MemoryTables(seed)) }

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try tables.withLock { (tables) throws(Failure) -> Result in try body(Snapshot(tables: tables)) }
    }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try tables.withLock { (tables) throws(Failure) -> Result in
            var transaction = Transaction(tables: tables)
            // What can't fail needs no way back.
            if Failure.self == Never.self { return try body(&transaction) }
            tables.begin()
            do throws(Failure) {
                let result = try body(&transaction)
                tables.commit()
                return result
            } catch {
                tables.undo()
                throw error
            }
        }
    }

    func adopt(_ seed: Seed) { tables.withLock { $0.adopt(seed) } }

    func reset(to seed: Seed, also: () -> Void) {
        let afresh = MemoryTables(seed)
        // What there was is freed outside the lock.
        let old = tables.withLock { tables in
            let old = tables
            tables = afresh
            also()
            return old
        }
        _ = consume old
    }
}

/// The tables by the type of their rows, made empty on first use. Only reached while the store's lock is held, which is what
/// makes this sendable.
private final class MemoryTables: Tables, @unchecked Sendable {
    private final class Box<V> {
        var value: V

        init(_ value: V) { self.value = value }
    }

    private var seed: Seed
    private var tables: [ObjectIdentifier: MemoryTable] = [:]
    private var values: [ObjectIdentifier: AnyObject] = [:]
    /// What to do to have every value as it was when the transaction began.
    private var restoring: [ObjectIdentifier: () -> Void] = [:]
    private var changed: [MemoryTable] = []
    private var canFail = false

    init(_ seed: Seed) { self.seed = seed }

    /// What the earlier seed says is made first: what a world has doesn't depend on whether it was asked for.
    func adopt(_ seed: Seed) {
        _ = table(Account.self)
        _ = (box(OutcomeQueue.self), box(FaultQueue.self), box(WorldClock.self), box(RandomSource.self))
        self.seed = seed
    }

    private func table<R: Row>(_ type: R.Type) -> MemoryTable {
        if let table = tables[ObjectIdentifier(type)] { return table }
        let table = MemoryTable(StoredRowRules(type), seeded: seed.rows(of: type)?.table)
        tables[ObjectIdentifier(type)] = table
        return table
    }

    private func box<V: WorldValue>(_ type: V.Type) -> Box<V> {
        if let box = values[ObjectIdentifier(type)] { return unsafeDowncast(box, to: Box<V>.self) }
        let box = Box(V(seed))
        values[ObjectIdentifier(type)] = box
        return box
    }

    // MARK: - Transactions that can fail

    func begin() { canFail = true }

    func commit() {
        for table in changed { table.commit() }
        end()
    }

    func undo() {
        for table in changed { table.undo() }
        for restore in restoring.values { restore() }
        end()
    }

    private func end() {
        changed = []
        restoring = [:]
        canFail = false
    }

    private func tableToChange<R: Row>(_ type: R.Type) -> MemoryTable {
        let table = table(type)
        if canFail, table.begin() { changed.append(table) }
        return table
    }

    // MARK: - Tables

    func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? { table(type).find(key.keyText)?.row(type) }

    func count<R: Row>(_ type: R.Type) -> Int { table(type).count }

    func rows<R: Row>(_ type: R.Type, after: R.Key?, limit: Int) -> [R] {
        table(type).rows(after: after?.keyText, limit: limit).map { $0.row(type) }
    }

    func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        table(R.self).rows(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int {
        table(R.self).count(ObjectIdentifier(index), value.keyText)
    }

    func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        table(R.self).newest(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String, after: String?, limit: Int
    ) -> [(text: String, row: R)] {
        table(R.self).rows(prefix: prefix, after: after, limit: limit).map { (text: $0.text, row: $0.row.row(R.self)) }
    }

    func put<R: Row>(_ row: R) {
        let table = tableToChange(R.self)
        table.put(Stored(row), now: table.rules.droppedAt == nil ? .first : now)
    }

    func remove<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        tableToChange(type).remove(key.keyText)?.row(type)
    }

    var now: Instant { clock.value.now }

    private var clock: Box<WorldClock> { box(WorldClock.self) }

    subscript<V: WorldValue>(type: V.Type) -> V {
        get { box(type).value }
        _modify {
            let box = box(type)
            if canFail, restoring[ObjectIdentifier(type)] == nil {
                let old = box.value
                restoring[ObjectIdentifier(type)] = { box.value = old }
            }
            yield &box.value
        }
    }
}
