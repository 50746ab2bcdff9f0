import SQLite
import Time

/// One table of a world in a file of SQLite's. Only used while the lock of the stores is held.
///
/// It does what `MemoryTable` does, rows that a seed brings included: they aren't written while they are as in the seed.
final class SQLiteTable {
    /// A row, as it was read or written.
    struct Kept {
        let id: Int64
        let kind: SQLiteSchema.Kind
        /// `nil` where a seeded row was removed.
        let row: StoredRow?
        /// Index entries that don't stand at the row's own number.
        var moved: [Moved] = []

        /// Where the entry of this value stands.
        func place(_ index: Int, _ value: String) -> Int64 {
            moved.first { $0.index == index && $0.value == value }?.place ?? id
        }
    }

    struct Moved: Codable {
        let index: Int
        let value: String
        let place: Int64
    }

    /// Of the table, its indexes in their order, and its sorted texts.
    struct Spaces {
        let rows: Int64
        let indexes: [Int64]
        let texts: Int64
    }

    let rules: StoredRowRules
    let base: MemoryTable?
    let file: SQLiteFile
    let coder: StoredCoder
    let decode: ([UInt8]) throws(StoreFailure) -> StoredRow
    /// `nil` while nothing of the table was ever written.
    var spaces: Spaces?
    /// Seeded rows that were removed (`false`) or replaced (`true`), by their keys.
    var changedSeeded: [String: Bool] = [:]
    /// Rows that are written and have a value.
    var writtenCount = 0
    /// No row ends before; `nil` when none ends.
    var nextEnd: Instant?
    private var cache: [String: Kept?] = [:]
    private var cacheGeneration = 0
    /// What to do to have everything here as it was before the change that is under way.
    var restoring: [() -> Void] = []

    init<R: Row>(_ type: R.Type, seeded base: MemoryTable?, _ file: SQLiteFile, _ coder: StoredCoder) {
        rules = StoredRowRules(type)
        self.base = base
        self.file = file
        self.coder = coder
        decode = { bytes throws(StoreFailure) in Stored(try coder.decode(type, from: bytes)) }
    }

    /// Reads what is kept in memory of a table that was written.
    func load(_ spaces: Spaces) throws(SQLiteError) {
        self.spaces = spaces
        var removed = 0
        try file.statements.seeded.each(.integer(spaces.rows)) { row in
            let kind = SQLiteSchema.Kind(rawValue: row.integer(1))
            changedSeeded[row.text(0)] = kind == .replacing
            if kind == .removed { removed += 1 }
            return true
        }
        let all = try file.statements.count.first(.integer(spaces.rows)) { Int(clamping: $0.integer(0)) } ?? 0
        writtenCount = all - removed
        if rules.droppedAt != nil { try loadNextEnd() }
    }

    func loadNextEnd() throws(SQLiteError) {
        guard let spaces else { return nextEnd = nil }
        let milliseconds = try file.statements.nextEnd.first(.integer(spaces.rows)) { $0.integer(0) }
        nextEnd = milliseconds.flatMap { Instant(milliseconds: $0) }
    }

    // MARK: - Looking

    var count: Int { writtenCount + (base.map { $0.count - changedSeeded.count } ?? 0) }

    /// What is written for the key; `nil` when nothing is.
    func kept(_ key: String) throws(StoreFailure) -> Kept? {
        guard let spaces else { return nil }
        if cacheGeneration != file.cacheGeneration { (cache, cacheGeneration) = ([:], file.cacheGeneration) }
        if let known = cache[key] { return known }
        var found: Result<Kept, StoreFailure>?
        do throws(SQLiteError) {
            try file.statements.row.each(.integer(spaces.rows), .text(key)) { row in
                found = read(row)
                return false
            }
        } catch { throw StoreFailure(error) }
        let kept = try found?.get()
        cache(key, kept)
        return kept
    }

    func cache(_ key: String, _ kept: Kept?) {
        if cacheGeneration != file.cacheGeneration { (cache, cacheGeneration) = ([:], file.cacheGeneration) }
        if cache.updateValue(kept, forKey: key) == nil { file.cachedRows += 1 }
    }

    func forget(_ key: String) { cache[key] = nil }

    /// A row of a statement that begins with number, key, kind, value and what was moved.
    func read(_ row: SQLiteRow) -> Result<Kept, StoreFailure> {
        let kind = SQLiteSchema.Kind(rawValue: row.integer(2)) ?? .own
        do throws(StoreFailure) {
            let value: StoredRow? = row.isNull(3) ? nil : try decode(row.utf8(3))
            var kept = Kept(id: row.integer(0), kind: kind, row: value)
            if !row.isNull(4) { kept.moved = try coder.decode([Moved].self, from: row.utf8(4)) }
            return .success(kept)
        } catch { return .failure(error) }
    }

    /// The rows of such a statement, from memory where they are known.
    func list(
        _ statement: SQLiteStatement, _ values: (SQLiteValue, SQLiteValue, SQLiteValue),
        _ body: (SQLiteRow, StoredRow) -> Bool
    ) throws(StoreFailure) {
        if cacheGeneration != file.cacheGeneration { (cache, cacheGeneration) = ([:], file.cacheGeneration) }
        var failure: StoreFailure?
        do throws(SQLiteError) {
            try statement.each(values.0, values.1, values.2) { row in
                if let known = cache[row.text(1)], let stored = known?.row { return body(row, stored) }
                switch read(row) {
                case .failure(let error):
                    failure = error
                    return false
                case .success(let kept): return kept.row.map { body(row, $0) } ?? true
                }
            }
        } catch { throw StoreFailure(error) }
        if let failure { throw failure }
    }

    func find(_ key: String) throws(StoreFailure) -> StoredRow? {
        if let kept = try kept(key) { return kept.row }
        return base?.find(key)
    }

    func rows(after key: String?, limit: Int) throws(StoreFailure) -> [StoredRow] {
        var found: [StoredRow] = []
        var place = 0
        var last: Int64 = 0
        let end = base?.slots.count ?? 0
        if let key {
            // A seeded row that was removed and put again stands among the world's own.
            if let kept = try kept(key), kept.kind.isListed {
                (place, last) = (end, kept.id)
            } else if let slot = base?.byKey[key] {
                place = Int(slot) + 1
            }
        }
        while place < end, found.count < limit {
            if let seeded = base?.row(Int32(place)) {
                switch changedSeeded[seeded.key] {
                case nil: found.append(seeded)
                case true?:
                    if let row = try kept(seeded.key)?.row { found.append(row) }
                case false?: break
                }
            }
            place += 1
        }
        guard let spaces, found.count < limit else { return found }
        let rest = Int64(clamping: limit - found.count)
        try list(file.statements.rows, (.integer(spaces.rows), .integer(last), .integer(rest))) { _, row in
            found.append(row)
            return true
        }
        return found
    }
}
