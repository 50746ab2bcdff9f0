import JOSE
import Time

/// The tables of one test world, and its single values, such as the clock. Each is made on first use. The type is
/// sendable because it is only used while the world's lock is held.
package final class MemoryTables: @unchecked Sendable {
    /// The initial data of a test world, usually the seed. The world's clock and its other single values begin as these
    /// data say.
    private var origin: any WorldOrigin
    /// The source of the rows that the test world's tables contain at the beginning, usually a seed. `nil` if the rows
    /// come from `origin`, as the world's single values do.
    private let rowOrigin: (any WorldOrigin)?
    private var tables: [ObjectIdentifier: MemoryTable] = [:]
    private var values: [ObjectIdentifier: AnyBox] = [:]
    private let places = RowPlaces()
    /// The test world's clock and random generator. Nearly every change uses them, so they have variables of their own.
    private var clock: Box<WorldClock>?
    private var randomSource: Box<RandomSource>?
    /// Copies of the values that the transaction has changed, made before the transaction changed them.
    private var restoring: [Restoring] = []
    /// The tables that the transaction has changed so far.
    private var changed: [MemoryTable] = []
    private var keepsChanges = false

    init(_ origin: any WorldOrigin, rows: (any WorldOrigin)? = nil) {
        self.origin = origin
        rowOrigin = rows
    }

    /// Replaces the source of a test world's initial data. Before that, makes all tables and values that haven't been
    /// used yet from the earlier source, so that the replacement doesn't change their content.
    func adopt(_ origin: any WorldOrigin) {
        for type in self.origin.storedTypes.rows.values { _ = table(type) }
        for type in self.origin.storedTypes.values.values { use(type) }
        self.origin = origin
    }

    private func use<V: WorldValue>(_ type: V.Type) { _ = box(type) }

    func table<R: Row>(_ type: R.Type) -> MemoryTable {
        if let table = tables[ObjectIdentifier(type)] { return table }
        let table = MemoryTable(
            StoredRowRules(type), seeded: (rowOrigin ?? origin).rows(of: type)?.table, places: places)
        tables[ObjectIdentifier(type)] = table
        return table
    }

    private func box<V: WorldValue>(_ type: V.Type) -> Box<V> {
        if let box = values[ObjectIdentifier(type)] { return unsafeDowncast(box, to: Box<V>.self) }
        let box = Box(origin.value(type))
        values[ObjectIdentifier(type)] = box
        return box
    }

    // MARK: - Transactions

    /// Starts recording the changes of a test world, so that they can be undone, and so that `archivedChange` can
    /// return them.
    func begin() { keepsChanges = true }

    /// Ends the recording of a test world's changes. After this call, the changes can't be undone.
    func keepChanges() {
        for table in changed { table.keepChanges() }
        for value in restoring { value.box.isArchived = true }
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
        keepsChanges = false
    }

    private func tableToChange<R: Row>(_ type: R.Type) -> MemoryTable {
        let table = table(type)
        if keepsChanges, table.begin() { changed.append(table) }
        return table
    }

    // MARK: - Archives

    /// Returns the changes of the test world since `begin` was called, in the form that is stored in a file or
    /// database.
    func archivedChange() throws(StoreFailure) -> WorldChange {
        let (coder, types) = (origin.coder, origin.storedTypes)
        var change = WorldChange()
        for table in changed {
            guard types.rows[table.rules.name] != nil else { throw StoreFailure(.undeclared, table.rules.name) }
            try table.addChanges(to: &change.rows, coder)
        }
        change.rows.sort { $0.place < $1.place }
        for value in restoring {
            guard let archived = try value.box.archived(unlike: value.kept, coder) else { continue }
            guard types.values[archived.name] != nil else { throw StoreFailure(.undeclared, archived.name) }
            change.values.append(archived)
        }
        return change
    }

    /// Puts rows and values from a file or database into the test world. Rows and values whose type this program
    /// doesn't know are ignored.
    func apply(_ rows: [ArchivedRow], _ values: [ArchivedValue]) throws(StoreFailure) {
        let (coder, types) = (origin.coder, origin.storedTypes)
        for row in rows {
            guard let type = types.rows[row.table] else { continue }
            do throws(StoreFailure) { try table(type).apply(row, coder) } catch {
                // The message has the place, because the key may be a secret.
                throw StoreFailure(
                    error.kind, "row \(row.place) of the table \(row.table) can't be loaded: \(error.detail)")
            }
        }
        for value in values {
            if let type = types.values[value.name] { try set(type, value, coder) }
        }
    }

    private func set<V: WorldValue>(
        _ type: V.Type, _ archived: ArchivedValue, _ coder: StoredCoder
    ) throws(StoreFailure) {
        let box = box(type)
        box.value = try coder.decode(type, from: archived.value)
        box.isArchived = true
    }

    // MARK: - Tables

    package func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? { table(type).find(key.keyText)?.row(type) }

    package func count<R: Row>(_ type: R.Type) -> Int { table(type).count }

    package func size<R: Row>(_ type: R.Type) -> Int { table(type).size }

    package func rows<R: Row>(_ type: R.Type, after: R.Key?, limit: Int) -> [R] {
        table(type).rows(after: after?.keyText, limit: limit).map { $0.row(type) }
    }

    package func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        table(R.self).rows(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    package func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int {
        table(R.self).count(ObjectIdentifier(index), value.keyText)
    }

    package func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        table(R.self).newest(ObjectIdentifier(index), value.keyText, limit: limit).map { $0.row(R.self) }
    }

    package func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String, after: String?, limit: Int
    ) -> [(text: String, row: R)] {
        table(R.self).rows(prefix: prefix, after: after, limit: limit).map {
            (text: $0.text, row: $0.row.row(R.self))
        }
    }

    package func put<R: Row>(_ row: R) {
        let table = tableToChange(R.self)
        table.put(Stored(row), now: table.rules.droppedAt == nil ? .first : now)
    }

    package func remove<R: Row>(_ type: R.Type, _ key: R.Key) -> R? {
        tableToChange(type).remove(key.keyText)?.row(type)
    }

    package var now: Instant {
        let clock = self.clock ?? box(WorldClock.self)
        self.clock = clock
        return clock.value.now
    }

    package subscript<V: WorldValue>(type: V.Type) -> V {
        get { box(type).value }
        _modify {
            let box = box(type)
            keep(box)
            yield &box.value
        }
    }

    package func change<V: WorldValue, Result>(_ type: V.Type, _ body: (inout V) -> Result) -> Result {
        let box = box(type)
        keep(box)
        return body(&box.value)
    }

    package var random: Randomness {
        get {
            let box = randomSource ?? box(RandomSource.self)
            randomSource = box
            return box.value.generator
        }
        set { change(RandomSource.self) { $0.generator = newValue } }
    }

    private func keep<V: WorldValue>(_ box: Box<V>) {
        guard keepsChanges, !restoring.contains(where: { $0.box === box }) else { return }
        restoring.append(Restoring(box: box, kept: KeptValue(box.value)))
    }
}

// The values of a world in memory, and their undo log.

extension MemoryTables {
    class AnyBox {
        /// Whether a file or database contains this value of the test world. The stored value may be older than the one
        /// in memory, namely from before the present transaction.
        var isArchived = false

        func putBack(_ kept: Kept) {}

        /// Returns the test world's value in the form that is stored in a file or database. Returns `nil` if the value
        /// is stored already and hasn't changed since the copy `kept` was made.
        func archived(unlike kept: Kept, _ coder: StoredCoder) throws(StoreFailure) -> ArchivedValue? { nil }
    }

    class Kept {}

    final class KeptValue<V: WorldValue>: Kept {
        let value: V
        init(_ value: V) { self.value = value }
    }

    /// A copy of a value of a test world, taken before the transaction changed the value for the first time.
    struct Restoring {
        let box: AnyBox
        let kept: Kept

        func restore() { box.putBack(kept) }
    }

    final class Box<V: WorldValue>: AnyBox {
        var value: V

        init(_ value: V) { self.value = value }

        override func putBack(_ kept: Kept) { value = unsafeDowncast(kept, to: KeptValue<V>.self).value }

        override func archived(unlike kept: Kept, _ coder: StoredCoder) throws(StoreFailure) -> ArchivedValue? {
            let before = unsafeDowncast(kept, to: KeptValue<V>.self).value
            if isArchived, value.isWritten(as: before) { return nil }
            let archived = try coder.archived(value)
            if isArchived, try coder.encode(before) == archived.value { return nil }
            return archived
        }
    }
}
