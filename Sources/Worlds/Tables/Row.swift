import Time

/// A value in a table, encoded as JSON by archives and found by its key.
///
/// The names of a row's fields, and those of everything in it, are a stored format. A field that is added must be
/// optional or have a default in the row's own decoder, and an existing one must not be renamed.
package protocol Row: Codable, Sendable {
    associatedtype Key: TableKey

    /// The table that keeps rows of this type.
    static var table: Table<Self> { get }
    /// The key, unique in the table.
    var key: Key { get }
}

/// The declaration of a table: its name, its indexes, and when its rows expire.
package struct Table<R: Row>: Sendable {
    /// The table's unique name: the provider and the kind of row, such as `github.token`. Archives keep the table's
    /// rows under this name.
    package let name: String
    /// The number of rows above which the oldest are removed. The default is enough for a million sign-ins.
    package let limit: Int
    let indexes: [AnyIndex<R>]
    let order: SortedIndex<R>?
    let droppedAt: (@Sendable (R) -> Instant?)?
    let size: (@Sendable (R) -> Int)?

    /// `droppedAt` returns the time from which the table may remove a row by itself; `nil` for never. `size` returns
    /// the bytes of a row, for tables with a limit to the size of all rows.
    package init(
        _ name: String, limit: Int = 1 << 20, indexes: [AnyIndex<R>] = [], sortedBy order: SortedIndex<R>? = nil,
        droppedAt: (@Sendable (R) -> Instant?)? = nil, size: (@Sendable (R) -> Int)? = nil
    ) {
        self.name = name
        self.limit = limit
        self.indexes = indexes
        self.order = order
        self.droppedAt = droppedAt
        self.size = size
    }
}

/// An index of rows of one type, whatever the type of its values.
package class AnyIndex<R: Row>: @unchecked Sendable {
    /// A word for what rows are found by. Archives don't keep it.
    package let name: String
    let storedValues: StoredRowRules.Values

    fileprivate init(_ name: String, _ storedValues: StoredRowRules.Values) {
        self.name = name
        self.storedValues = storedValues
    }
}

/// A way to find rows by something that isn't their key. Several rows may have the same value, and a row several
/// values.
package final class Index<R: Row, Value: TableKey>: AnyIndex<R>, @unchecked Sendable {
    /// Makes an index by `value`. Rows for which it is `nil` aren't found by it.
    package init(_ name: String, _ value: @escaping @Sendable (R) -> Value?) {
        super.init(name, .one { value($0.row(R.self))?.keyText })
    }

    /// Makes an index for rows that are found by any of several values.
    package init(_ name: String, each values: @escaping @Sendable (R) -> [Value]) {
        super.init(name, .many { values($0.row(R.self)).map(\.keyText) })
    }
}

/// An index of rows in the order of a text, to be read page by page, or by a prefix of the text.
package final class SortedIndex<R: Row>: Sendable {
    /// The index's name in messages, such as `email` for rows sorted by their addresses. It isn't stored.
    package let name: String
    package let texts: @Sendable (R) -> [String]

    /// Makes an index by `texts`. A row appears once for each of its texts.
    package init(_ name: String, _ texts: @escaping @Sendable (R) -> [String]) {
        self.name = name
        self.texts = texts
    }
}

/// A value of which a world has one, such as its clock. Like a row, it is encoded as JSON by archives.
package protocol WorldValue: Codable, Sendable {
    /// A unique name, made of its owner and what it is, such as `mail.inbox`. Archives keep the value under this name,
    /// and the names of its fields are a stored format, as a row's are.
    static var name: String { get }
    /// Makes the value that a new world has, if its origin says nothing else.
    init()

    /// Returns whether the value is known to be encoded like `other`. With `false`, it is encoded to find out.
    func isWritten(as other: Self) -> Bool
}

extension WorldValue {
    package func isWritten(as other: Self) -> Bool { false }
}

/// What worlds begin with: the rows and values that their tables have before anything is changed. A seed is one.
package protocol WorldOrigin: Sendable {
    /// The types of rows and values that the world can hold.
    var storedTypes: StoredTypes { get }
    var coder: StoredCoder { get }

    /// Returns the rows of this type with which every world begins; `nil` when there are none.
    func rows<R: Row>(of type: R.Type) -> SeededTable<R>?
    /// Returns the value of this type that a new world has.
    func value<V: WorldValue>(_ type: V.Type) -> V
}

/// A row of any type, as a table in memory keeps it. Its content never changes: a changed row is stored anew.
class StoredRow {
    let key: String
    /// A number that orders the rows of a world as they were added; negative until the row is put. A row that replaces
    /// another gets its number.
    var place: Int64 = -1

    init(key: String) { self.key = key }
}

/// A row of one type, as a table in memory keeps it.
final class Stored<R: Row>: StoredRow {
    let row: R

    init(_ row: R) {
        self.row = row
        super.init(key: row.key.keyText)
    }
}

extension StoredRow {
    /// Returns the row, which must be of this type: a table holds rows of one type.
    func row<R: Row>(_ type: R.Type) -> R { unsafeDowncast(self, to: Stored<R>.self).row }
}

/// A table's declaration, without the type of its rows.
struct StoredRowRules {
    /// The values of a row in an index.
    enum Values {
        case one((StoredRow) -> String?)
        case many((StoredRow) -> [String])
    }

    let name: String
    let limit: Int
    /// The declared indexes, in their order.
    let indexes: [(id: ObjectIdentifier, values: Values)]
    let order: ((StoredRow) -> [String])?
    let droppedAt: ((StoredRow) -> Instant?)?
    let size: ((StoredRow) -> Int)?
    /// Encodes a row as JSON.
    let encode: (StoredRow, StoredCoder) throws(StoreFailure) -> String
    let decode: (String, StoredCoder) throws(StoreFailure) -> StoredRow

    init<R: Row>(_ type: R.Type) {
        let table = R.table
        name = table.name
        limit = table.limit
        indexes = table.indexes.map { (id: ObjectIdentifier($0), values: $0.storedValues) }
        order = table.order.map { index in { index.texts($0.row(R.self)) } }
        droppedAt = table.droppedAt.map { droppedAt in { droppedAt($0.row(R.self)) } }
        size = table.size.map { size in { size($0.row(R.self)) } }
        encode = { row, coder throws(StoreFailure) in try coder.encode(row.row(R.self)) }
        decode = { text, coder throws(StoreFailure) in Stored(try coder.decode(R.self, from: text)) }
    }
}

/// A value by which rows are found. It has a text form, which differs for every value.
package protocol TableKey: Hashable, Codable, Sendable {
    var keyText: String { get }
}

extension String: TableKey {
    package var keyText: String { self }

    /// Makes a key of several parts. Each part has its length before it, so that no two lists of parts give the same
    /// text.
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

/// The rows that a seed brings to every world: one table that all worlds share, and that never changes.
package final class SeededTable<R: Row>: @unchecked Sendable {
    let table: MemoryTable

    package init(_ rows: [R]) {
        table = MemoryTable(StoredRowRules(R.self), of: rows.map { Stored($0) })
    }

    package var count: Int { table.count }
    /// All rows, in the seed's order.
    package var rows: [R] { table.rows(after: nil, limit: .max).map { $0.row(R.self) } }

    /// Sorts the rows for searches. Otherwise a world's first search would do it, under the world's lock.
    package func prepareOrder() { table.prepareOrder() }

    package func find(_ key: R.Key) -> R? { table.find(key.keyText)?.row(R.self) }
}
