/// What was done to a world's tables in memory: taken while the store's lock is held, to be written.
struct SharedChange: @unchecked Sendable {
    private enum Step {
        case put(StoredRow, in: MemoryTable)
        case removed(String, from: MemoryTable)
    }

    /// What becomes of a row in the end.
    private struct Outcome {
        let table: MemoryTable
        let key: String
        /// The place of the row that there was before, as far as it is known.
        let before: Int64?
        /// Whether it was put, and not removed since.
        var isThere = false
        var kind: StoredRowKind?
        /// The last step that put or removed it.
        var step = 0
        /// The step that added it; `nil` where it stays in its place.
        var addedAt: Int?
        var moved: [MovedEntry]

        mutating func settleKind() {
            if table.base != nil {
                kind = table.kind(of: key)
            } else {
                kind = isThere ? .own : nil
            }
        }
    }

    private struct OutcomeKey: Hashable {
        let table: ObjectIdentifier
        let key: String
    }

    let tables: MemoryTables
    private let coder: StoredCoder
    /// Whether the world began afresh before.
    let isReset: Bool
    /// The place of the first operation among all that were ever done to the world.
    let firstPlace: Int64
    /// Its number among those of the journal.
    private let number: Int
    private var steps: [Step] = []
    private var values: [(captured: MemoryTables.CapturedValue, written: [UInt8]?)] = []
    private var outcomes: [Outcome] = []

    /// What is in the journal, which is emptied.
    init(of tables: MemoryTables, _ shared: SharedTables, at firstPlace: Int64, isReset: Bool = false) {
        self.tables = tables
        coder = shared.coder
        self.isReset = isReset
        self.firstPlace = firstPlace
        number = shared.journal.nextChange()
        var known: [OutcomeKey: Int] = [:]
        let count = shared.journal.entries.count
        outcomes.reserveCapacity(count)
        steps.reserveCapacity(count)
        for entry in shared.journal.entries { note(entry, shared, &known) }
        shared.journal.clear()
        for place in outcomes.indices { outcomes[place].settleKind() }
    }

    private mutating func note(
        _ entry: TableJournal.Entry, _ shared: SharedTables, _ known: inout [OutcomeKey: Int]
    ) {
        switch entry {
        case .touched(let box):
            guard box.change != number else { return }
            box.change = number
            guard let captured = box.captured(by: shared.coder) else { return }
            values.append((captured: captured, written: shared.written(captured.name)))
        case .put(let row, let table, let manner):
            note(row, table, manner, &known)
            steps.append(.put(row, in: table))
        case .removed(let key, let kept, let table):
            let place = outcome(of: key, kept, table, &known)
            (outcomes[place].step, outcomes[place].moved, outcomes[place].addedAt) = (steps.count, [], nil)
            outcomes[place].isThere = false
            steps.append(.removed(key, from: table))
        }
    }

    /// The place of what becomes of a row.
    ///
    /// Rows tell by themselves whether they were a part of this change before. Only where there are seeded ones, which worlds share,
    /// it is looked up by the key.
    private mutating func outcome(
        of key: String, _ kept: KeptRow?, _ table: MemoryTable, _ known: inout [OutcomeKey: Int]
    ) -> Int {
        let id = table.base.map { _ in OutcomeKey(table: ObjectIdentifier(table), key: key) }
        if let id, let place = known[id] { return place }
        if id == nil, let kept, kept.change == number { return kept.outcome }
        let before = kept.flatMap { $0.place < 0 ? nil : $0.place }
        let moved = table.moved.isEmpty ? nil : table.moved[key]
        outcomes.append(Outcome(table: table, key: key, before: before, moved: moved ?? []))
        if let id { known[id] = outcomes.count - 1 }
        if let kept { (kept.change, kept.outcome) = (number, outcomes.count - 1) }
        return outcomes.count - 1
    }

    private mutating func note(
        _ row: StoredRow, _ table: MemoryTable, _ manner: TableJournal.Manner, _ known: inout [OutcomeKey: Int]
    ) {
        let place = outcome(of: row.key, row.kept, table, &known)
        (outcomes[place].step, outcomes[place].isThere) = (steps.count, true)
        switch manner {
        case .added:
            (outcomes[place].addedAt, outcomes[place].moved) = (steps.count, [])
            row.kept?.place = firstPlace + Int64(steps.count)
        case .replaced(let gained):
            outcomes[place].moved = table.entries(
                of: row, moved: outcomes[place].moved, gaining: gained, at: firstPlace + Int64(steps.count))
        }
    }

    /// How many places it takes.
    var count: Int { steps.count }

    // MARK: - Writing

    struct Row {
        let table: String
        let key: String
        /// `nil` where there is to be none.
        let kind: StoredRowKind?
        /// `nil` where it stays.
        let place: Int64?
        /// Where it was before; `nil` where there was none, or where that isn't known.
        let before: Int64?
        /// Whether there may be a seeded row of its key: then the row that is kept is found by the key.
        let mayBeSeeded: Bool
        /// The key, where a seeded row was removed.
        let value: [UInt8]
        let moved: [UInt8]
    }

    /// As it is kept.
    struct Written {
        var change = WorldChange()
        var rows: [Row] = []
        var values: [(name: String, value: [UInt8])] = []
        /// Whether nothing is to be written.
        var isEmpty = true
    }

    func written() throws(StoreFailure) -> Written {
        var written = Written()
        if isReset { written.change.append(.reset) }
        var encoded: [[UInt8]] = []
        for step in steps {
            switch step {
            case .put(let row, let table):
                let value = try table.encoded(row)
                written.change.append(.put(table: table.rules.name, value: value))
                encoded.append(value)
            case .removed(let key, let table):
                written.change.append(.remove(table: table.rules.name, key: key))
                encoded.append([])
            }
        }
        for outcome in outcomes { written.rows.append(try row(outcome, encoded[outcome.step])) }
        for (captured, before) in values where !captured.isAsWritten {
            let value = try captured.encode()
            guard value != before else { continue }
            written.change.append(.value(name: captured.name, value: value))
            written.values.append((name: captured.name, value: value))
        }
        written.isEmpty = !isReset && steps.isEmpty && written.values.isEmpty
        return written
    }

    /// What rows and values come to, for those who needn't know how.
    struct Summary {
        var rows: [Row] = []
        var values: [(name: String, value: [UInt8])] = []
    }

    func summary() throws(StoreFailure) -> Summary {
        var summary = Summary()
        for outcome in outcomes {
            var value: [UInt8] = []
            if outcome.kind != nil, case .put(let row, let table) = steps[outcome.step] {
                value = try table.encoded(row)
            }
            summary.rows.append(try row(outcome, value))
        }
        for (captured, _) in values where !captured.isAsWritten {
            summary.values.append((name: captured.name, value: try captured.encode()))
        }
        return summary
    }

    private func row(_ outcome: Outcome, _ value: [UInt8]) throws(StoreFailure) -> Row {
        Row(
            table: outcome.table.rules.name, key: outcome.key, kind: outcome.kind, place: place(of: outcome),
            before: outcome.before, mayBeSeeded: outcome.table.base != nil,
            value: outcome.kind == .removed ? Array(outcome.key.utf8) : value,
            moved: outcome.moved.isEmpty ? [] : try coder.encode(outcome.moved))
    }

    private func place(of outcome: Outcome) -> Int64? {
        if outcome.kind == .removed { return firstPlace + Int64(outcome.step) }
        return outcome.addedAt.map { firstPlace + Int64($0) }
    }

    /// Takes note of what is written.
    func settle() {
        for (captured, _) in values { captured.noteWritten() }
        for outcome in outcomes where !outcome.moved.isEmpty || !outcome.table.moved.isEmpty {
            outcome.table.moved[outcome.key] = outcome.moved.isEmpty ? nil : outcome.moved
        }
    }
}

extension MemoryTable {
    /// A row as JSON.
    fileprivate func encoded(_ row: StoredRow) throws(StoreFailure) -> [UInt8] {
        guard let encode else { throw StoreFailure(.undeclared, rules.name) }
        return try encode(row)
    }
}
