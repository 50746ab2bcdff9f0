import Time

/// A row of a test world's table, such as an issued token. It is found by its key, and stored as JSON.
///
/// The names of a row's fields, and of all fields inside them, are part of the stored format. A new field must be
/// optional or have a default in the row's own decoder. An existing field must not be renamed.
package protocol Row: Codable, Sendable {
    associatedtype Key: TableKey

    static var table: Table<Self> { get }
    /// The key of the row. No other row of the table has the same key.
    var key: Key { get }
}

/// The declaration of a table: its name, its indexes, and the time when its rows expire.
package struct Table<R: Row>: Sendable {
    /// The table's unique name: the provider and the kind of row, such as `github.token`. A file or database stores the
    /// rows under this name.
    package let name: String
    /// The greatest number of rows in the table, not counting unchanged rows of the seed. When there are more, the
    /// oldest are removed. The default is enough for a million sign-ins.
    package let limit: Int
    /// The greatest number of bytes of all rows together, as `size` counts them, without unchanged rows of the seed.
    /// When there are more, the oldest rows are removed.
    let byteLimit: Int
    let indexes: [AnyIndex<R>]
    let order: SortedIndex<R>?
    let droppedAt: (@Sendable (R) -> Instant?)?
    let size: (@Sendable (R) -> Int)?

    /// Declares a table. `droppedAt` returns the time from which the table may remove a row by itself; `nil` for never.
    /// `size` returns a row's number of bytes; only tables with a limited size need it.
    package init(
        _ name: String, limit: Int = 1 << 20, byteLimit: Int = .max, indexes: [AnyIndex<R>] = [],
        sortedBy order: SortedIndex<R>? = nil, droppedAt: (@Sendable (R) -> Instant?)? = nil,
        size: (@Sendable (R) -> Int)? = nil
    ) {
        self.name = name
        self.limit = limit
        self.byteLimit = byteLimit
        self.indexes = indexes
        self.order = order
        self.droppedAt = droppedAt
        self.size = size
    }
}

package class AnyIndex<R: Row>: @unchecked Sendable {
    /// The name of the index: a word for the value by which rows are found. The name isn't stored.
    package let name: String
    let storedValues: StoredRowRules.Values

    fileprivate init(_ name: String, _ storedValues: StoredRowRules.Values) {
        self.name = name
        self.storedValues = storedValues
    }
}

/// An index of a table, by which rows are found other than by their key. Several rows may have the same value, and one
/// row may have several values.
package final class Index<R: Row, Value: TableKey>: AnyIndex<R>, @unchecked Sendable {
    /// Makes an index of rows by `value`. Rows for which `value` returns `nil` aren't found by the index.
    package init(_ name: String, _ value: @escaping @Sendable (R) -> Value?) {
        super.init(name, .one { value($0.row(R.self))?.keyText })
    }

    /// Makes an index by which a row is found under any of several values.
    package init(_ name: String, each values: @escaping @Sendable (R) -> [Value]) {
        super.init(name, .many { values($0.row(R.self)).map(\.keyText) })
    }
}

/// An index of rows sorted by a text. The rows can be read page by page, or searched by the beginning of the text.
package final class SortedIndex<R: Row>: Sendable {
    /// The name of the sorted index, such as `order`. The name isn't stored.
    package let name: String
    package let texts: @Sendable (R) -> [String]

    /// Makes an index of rows sorted by `texts`. A row appears once for each of its texts.
    package init(_ name: String, _ texts: @escaping @Sendable (R) -> [String]) {
        self.name = name
        self.texts = texts
    }
}

/// A value that a test world has only once, such as its clock. It is stored as JSON, like the rows of tables.
package protocol WorldValue: Codable, Sendable {
    /// The unique name of the value, made of its owner and its kind, such as `mail.inbox`. A file or database stores
    /// the value under this name. The names of the value's fields are stored, too, so they must not change.
    static var name: String { get }
    /// Makes the default value, for test worlds whose seed (the initial data) gives none.
    init()

    /// Returns whether this value is known to have the same JSON as `other`. If the result is `false`, the JSON of both
    /// values is compared.
    func isWritten(as other: Self) -> Bool
}

extension WorldValue {
    package func isWritten(as other: Self) -> Bool { false }
}

/// The initial content of test worlds, such as a seed: the rows and values that the worlds have before any change.
package protocol WorldOrigin: Sendable {
    /// The types of rows and values that a test world can hold.
    var storedTypes: StoredTypes { get }
    var coder: StoredCoder { get }

    /// Returns the rows of this type with which every test world begins; `nil` when there are none.
    func rows<R: Row>(of type: R.Type) -> SeededTable<R>?
    /// Returns the initial value of the type `V`, such as the clock, for a new test world.
    func value<V: WorldValue>(_ type: V.Type) -> V
}

/// A row of any type in a table in memory. Its content never changes: a changed row is stored as a new object.
class StoredRow {
    let key: String
    /// The row's number in the sequence in which the rows of a test world were added; negative until the row is in a
    /// table. A row that replaces an earlier row gets the earlier row's number, unless the earlier row is a row of the
    /// seed.
    var place: Int64 = -1

    init(key: String) { self.key = key }
}

final class Stored<R: Row>: StoredRow {
    let row: R

    init(_ row: R) {
        self.row = row
        super.init(key: row.key.keyText)
    }
}

extension StoredRow {
    /// Returns the row as a value of its type. The caller must know that the row is of this type.
    func row<R: Row>(_ type: R.Type) -> R { unsafeDowncast(self, to: Stored<R>.self).row }
}

/// The declaration of a table, without the static type of its rows.
struct StoredRowRules {
    enum Values {
        case one((StoredRow) -> String?)
        case many((StoredRow) -> [String])
    }

    let name: String
    let limit, byteLimit: Int
    let indexes: [(id: ObjectIdentifier, values: Values)]
    let order: ((StoredRow) -> [String])?
    let droppedAt: ((StoredRow) -> Instant?)?
    let size: ((StoredRow) -> Int)?
    let encode: (StoredRow, StoredCoder) throws(StoreFailure) -> String
    let decode: (String, StoredCoder) throws(StoreFailure) -> StoredRow

    init<R: Row>(_ type: R.Type) {
        let table = R.table
        name = table.name
        (limit, byteLimit) = (table.limit, table.byteLimit)
        indexes = table.indexes.map { (id: ObjectIdentifier($0), values: $0.storedValues) }
        order = table.order.map { index in { index.texts($0.row(R.self)) } }
        droppedAt = table.droppedAt.map { droppedAt in { droppedAt($0.row(R.self)) } }
        size = table.size.map { size in { size($0.row(R.self)) } }
        encode = { row, coder throws(StoreFailure) in try coder.encode(row.row(R.self)) }
        decode = { text, coder throws(StoreFailure) in Stored(try coder.decode(R.self, from: text)) }
    }
}

/// A value by which table rows are found. No two different values have the same text form.
package protocol TableKey: Hashable, Codable, Sendable {
    var keyText: String { get }
}

extension String: TableKey {
    package var keyText: String { self }

    /// Makes a table key of several parts. Each part has its length before it, so that no two lists of parts give the
    /// same text.
    package init(keyParts parts: String?...) {
        self = ""
        for part in parts {
            guard let part else {
                append("-")
                continue
            }
            append("\(part.utf8.count):")
            append(part)
        }
    }
}

extension Bool: TableKey {
    package var keyText: String { self ? "true" : "false" }
}

/// The rows that a seed (the initial data) brings to every test world: a table that all worlds share, and that never
/// changes.
package final class SeededTable<R: Row>: @unchecked Sendable {
    let table: MemoryTable

    package init(_ rows: [R]) {
        table = MemoryTable(StoredRowRules(R.self), of: rows.map { Stored($0) })
    }

    package var count: Int { table.count }
    /// All rows of the seed's table, in the sequence in which the seed lists them.
    package var rows: [R] { table.rows(after: nil, limit: .max).map { $0.row(R.self) } }

    /// Sorts the seed's rows for searches, so that the first search in a test world needn't do so while it holds the
    /// world's lock.
    package func prepareOrder() { table.prepareOrder() }

    package func find(_ key: R.Key) -> R? { table.find(key.keyText)?.row(R.self) }
}
