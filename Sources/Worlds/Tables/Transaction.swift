import JOSE
import Time

/// The table queries that work both in a snapshot (read-only access to a test world) and in a transaction.
package protocol TableReading: ~Copyable {
    var tables: MemoryTables { get }
}

/// Read access to a test world's tables. It is valid only within the closure that gets it as a parameter.
package struct Snapshot: ~Copyable, TableReading {
    package let tables: MemoryTables
}

/// A change of a test world's tables: all of it is committed, or nothing when an error is thrown. Where daemons share
/// the store, the closure that gets the transaction may run several times, as `WorldStore` describes. So it must do
/// nothing but read and write tables.
package struct Transaction: ~Copyable, TableReading {
    package let tables: MemoryTables
}

extension TableReading where Self: ~Copyable {
    package func find<R: Row>(_ type: R.Type, _ key: R.Key) -> R? { tables.find(type, key) }

    package func count<R: Row>(_ type: R.Type) -> Int { tables.count(type) }

    /// Returns the number of bytes of a table's rows, as `Table.size` counts them. Unchanged rows of the seed aren't
    /// counted.
    package func size<R: Row>(_ type: R.Type) -> Int { tables.size(type) }

    /// Returns the oldest row of a table: the one that was added first.
    package func first<R: Row>(_ type: R.Type) -> R? { tables.rows(type, after: nil, limit: 1).first }

    /// Returns at most `limit` rows of a table, in the sequence in which they were added.
    package func rows<R: Row>(_ type: R.Type, after key: R.Key? = nil, limit: Int) -> [R] {
        tables.rows(type, after: key, limit: limit)
    }

    /// Returns every row of a table. The cost grows with the table, so this is for calls that list all of it.
    package func all<R: Row>(_ type: R.Type) -> [R] { tables.rows(type, after: nil, limit: .max) }

    /// Returns the row that was the first to get this value in the index.
    package func first<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> R? {
        tables.rows(index, value, limit: 1).first
    }

    /// Returns the rows that have this value in the index. The row that has had the value longest comes first.
    package func rows<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int = .max) -> [R] {
        tables.rows(index, value, limit: limit)
    }

    /// Returns at most `limit` rows that have this value in the index. The row that got the value last comes first.
    package func newest<R: Row, Value>(_ index: Index<R, Value>, _ value: Value, limit: Int) -> [R] {
        tables.newest(index, value, limit: limit)
    }

    /// Returns the number of rows that have this value in the index.
    package func count<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> Int { tables.count(index, value) }

    /// Returns the row that was the last to get this value in the index.
    package func last<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> R? {
        tables.newest(index, value, limit: 1).first
    }

    /// Returns at most `limit` rows whose texts in the index begin with `prefix` and come after the text `after`,
    /// sorted by these texts.
    package func rows<R: Row>(
        _ index: SortedIndex<R>, prefix: String = "", after: String? = nil, limit: Int
    ) -> [(text: String, row: R)] {
        tables.rows(index, prefix: prefix, after: after, limit: limit)
    }

    package func value<V: WorldValue>(_ type: V.Type) -> V { tables[type] }

    /// The time of the test world's clock.
    package var now: Instant { tables.now }
}

extension Transaction {
    /// Adds a row to its table, or replaces the row that has the same key.
    package mutating func put<R: Row>(_ row: R) { tables.put(row) }

    package mutating func remove<R: Row>(_ type: R.Type, _ key: R.Key) { _ = tables.remove(type, key) }

    /// Removes a row from its table and returns it. If there is no such row, or `isWanted` returns `false` for it,
    /// nothing is removed and the result is `nil`. Use this for values that work once, such as authorization codes: of
    /// several requests with the same key, only one gets the row.
    package mutating func pop<R: Row>(
        _ type: R.Type, _ key: R.Key, where isWanted: (R) -> Bool = { _ in true }
    ) -> R? {
        guard let row = tables.find(type, key), isWanted(row) else { return nil }
        return tables.remove(type, key)
    }

    /// Removes every row that has this value in the index, and returns the removed rows.
    @discardableResult
    package mutating func remove<R: Row, Value>(_ index: Index<R, Value>, _ value: Value) -> [R] {
        let rows = tables.rows(index, value, limit: .max)
        for row in rows { _ = tables.remove(R.self, row.key) }
        return rows
    }

    /// Changes the table row with this key. Returns `false` when there is no such row. For a value that works only once
    /// but stays in the table, check that it is unused and mark it as used in the same transaction.
    @discardableResult
    package mutating func change<R: Row>(_ type: R.Type, _ key: R.Key, _ body: (inout R) -> Void) -> Bool {
        guard var row = tables.find(type, key) else { return false }
        body(&row)
        tables.put(row)
        return true
    }

    /// Changes a single value of the test world, such as its clock, and returns the result of `body`.
    package mutating func change<V: WorldValue, Result>(_ type: V.Type, _ body: (inout V) -> Result) -> Result {
        tables.change(type, body)
    }

    /// Makes sure that the test world's value of this type is stored in the file or database, even if no request has
    /// used it yet.
    mutating func touch<V: WorldValue>(_ type: V.Type) { self[type] = value(type) }

    package subscript<V: WorldValue>(type: V.Type) -> V {
        get { tables[type] }
        _modify { yield &tables[type] }
    }

    /// The random generator of the test world. All random values come from it, so that they can be repeated.
    package var random: Randomness {
        get { tables.random }
        set { tables.random = newValue }
    }

    package var clock: WorldClock {
        get { tables[WorldClock.self] }
        _modify { yield &tables[WorldClock.self] }
    }
}

/// The random generator of a test world, in the form in which it is stored.
package struct RandomSource: WorldValue {
    package static let name = "random"

    package var generator: Randomness

    package init() { self.init(seed: nil) }

    package init(seed: String?) { generator = Randomness(seed: seed) }

    /// Returns whether this generator and `other` are known to have the same stored form. Of the system's random
    /// generator, nothing is stored but whether it has been used.
    package func isWritten(as other: RandomSource) -> Bool {
        generator.isSystem && other.generator.isSystem && generator.isUsed == other.generator.isUsed
    }
}
