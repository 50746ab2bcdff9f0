/// What a world's tables in memory must know where other daemons have the same tables: how rows are written, what was read and
/// isn't needed yet, and what is being changed. Only reached while the store's lock is held.
final class SharedTables {
    /// A table whose type is known.
    struct Known {
        let table: MemoryTable
        let decode: ([UInt8]) throws(StoreFailure) -> StoredRow
    }

    /// A row, as it is kept.
    struct WrittenRow {
        let key: String
        let kind: StoredRowKind
        let place: Int64
        let value: [UInt8]
        let moved: [UInt8]
    }

    let coder: StoredCoder
    let journal = TableJournal()
    private var known: [String: Known] = [:]
    /// Rows of tables that nobody has asked for.
    private var rows: [String: [WrittenRow]]
    /// What others have done since to such tables, with the place of each.
    private var waiting: [String: [(operation: WorldChange.Operation, place: Int64)]] = [:]
    private var waitingCount = 0
    private static let waitingLimit = 100_000
    /// The values that are written, by their names.
    private var values: [String: [UInt8]]
    private var valueTypes: [String: ObjectIdentifier] = [:]
    /// What can't be read.
    private(set) var failure: StoreFailure?

    init(_ coder: StoredCoder, rows: [String: [WrittenRow]] = [:], values: [String: [UInt8]] = [:]) {
        self.coder = coder
        self.rows = rows
        self.values = values
    }

    // MARK: - Tables and values that are asked for

    /// The names of tables that are written and that nobody has asked for.
    var unread: [String] { Array(rows.keys) }

    func add<R: Row>(_ table: MemoryTable, of type: R.Type) {
        let coder = coder
        let known = Known(
            table: table, decode: { bytes throws(StoreFailure) in Stored(try coder.decode(type, from: bytes)) })
        table.encode = { row throws(StoreFailure) in try coder.encode(row.row(type)) }
        self.known[table.rules.name] = known
        do throws(StoreFailure) {
            if let rows = rows.removeValue(forKey: table.rules.name) { try load(rows, into: known) }
            for (operation, place) in waiting.removeValue(forKey: table.rules.name) ?? [] {
                try apply(operation, to: known, at: place)
            }
        } catch { failure = error }
        table.journal = journal
    }

    private func load(_ rows: [WrittenRow], into known: Known) throws(StoreFailure) {
        var loaded: [MemoryTable.LoadedRow] = []
        loaded.reserveCapacity(rows.count)
        for row in rows {
            do throws(StoreFailure) { loaded.append(try read(row, of: known)) } catch {
                // Its key may be a secret.
                throw StoreFailure(
                    error.kind, "in the table \(known.table.rules.name), the row at place \(row.place): \(error.detail)"
                )
            }
        }
        known.table.load(loaded)
    }

    private func read(_ row: WrittenRow, of known: Known) throws(StoreFailure) -> MemoryTable.LoadedRow {
        let moved = row.moved.isEmpty ? [] : try coder.decode([MovedEntry].self, from: row.moved)
        let value = row.kind == .removed ? nil : try known.decode(row.value)
        return MemoryTable.LoadedRow(
            key: value?.key ?? String(decoding: row.value, as: UTF8.self), kind: row.kind, row: value,
            place: row.place, moved: moved)
    }

    func add<V: WorldValue>(_ type: V.Type) { valueTypes[V.name] = ObjectIdentifier(type) }

    /// What is written; `nil` when nothing is.
    func value<V: WorldValue>(_ type: V.Type) -> V? {
        guard let bytes = values[V.name] else { return nil }
        do throws(StoreFailure) { return try coder.decode(type, from: bytes) } catch {
            failure = error
            return nil
        }
    }

    func written(_ name: String) -> [UInt8]? { values[name] }

    func noteWritten(_ name: String, _ bytes: [UInt8]) { values[name] = bytes }

    func note(_ box: MemoryTables.AnyBox) { journal.note(box) }

    // MARK: - What is done here

    /// What became of an attempt to change tables.
    enum Effect {
        case none
        case changed
        /// It would have changed something, which mustn't be.
        case refused
    }

    /// Changes tables whose journal is open: all that `body` does, or nothing when it throws, or when it would change something and
    /// `isRefused`. `effect` says what became of it.
    func attempt<Result, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result, on tables: MemoryTables, isRefused: Bool = false,
        _ effect: inout Effect
    ) throws(Failure) -> Result {
        let count = journal.entries.count
        effect = .none
        tables.look()
        var transaction = Transaction(tables: tables)
        // What can't fail needs no way back.
        if Failure.self == Never.self, !isRefused {
            tables.beginSurely()
            let result = try body(&transaction)
            if journal.entries.count > count { effect = .changed }
            return result
        }
        tables.begin()
        do throws(Failure) {
            let result = try body(&transaction)
            if journal.entries.count > count { effect = .changed }
            if effect == .none || !isRefused {
                tables.commit()
            } else {
                effect = .refused
                undo(tables, to: count)
            }
            return result
        } catch {
            undo(tables, to: count)
            throw error
        }
    }

    private func undo(_ tables: MemoryTables, to count: Int) {
        tables.undo()
        journal.cut(to: count)
    }

    // MARK: - What others have done

    /// Takes over an operation of somebody else, at this place among all of the world's.
    func apply(
        _ operation: WorldChange.Operation, at place: Int64, in tables: MemoryTables, _ types: StoredTypes
    ) throws(StoreFailure) {
        switch operation {
        case .reset: break
        case .put(let name, _), .remove(let name, _):
            // What is declared is read at once: what waits takes room.
            if known[name] == nil, let type = types.rows[name] { _ = tables.table(type) }
            if let known = known[name] { return try apply(operation, to: known, at: place) }
            waiting[name, default: []].append((operation: operation, place: place))
            waitingCount += 1
            guard waitingCount < SharedTables.waitingLimit else {
                throw StoreFailure(.unreadable, "\(name) is no table of this version of the program")
            }
        case .value(let name, let value):
            values[name] = value
            if let type = valueTypes[name] { tables.forgetValue(type) }
        }
    }

    private func apply(
        _ operation: WorldChange.Operation, to known: Known, at place: Int64
    ) throws(StoreFailure) {
        let table = known.table
        let journal = TableJournal()
        journal.isOpen = true
        table.journal = journal
        defer { table.journal = self.journal }
        switch operation {
        case .put(_, let value): table.put(try known.decode(value), now: .first)
        case .remove(_, let key): _ = table.remove(key)
        case .reset, .value: break
        }
        for entry in journal.entries { SharedTables.follow(entry, at: place) }
    }

    /// Notes which entries of indexes stand elsewhere than their rows.
    static func follow(_ entry: TableJournal.Entry, at place: Int64) {
        switch entry {
        case .put(let row, let table, .added): table.moved[row.key] = nil
        case .put(let row, let table, .replaced(let gained)):
            guard !gained.isEmpty || table.moved[row.key] != nil else { return }
            let entries = table.entries(of: row, moved: table.moved[row.key] ?? [], gaining: gained, at: place)
            table.moved[row.key] = entries.isEmpty ? nil : entries
        case .removed(let key, _, let table): table.moved[key] = nil
        case .touched: break
        }
    }
}
