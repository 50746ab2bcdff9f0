import Time

/// What a table holds: a value that can be written down, found by its key.
///
/// A store that lasts keeps rows as JSON: the names of a row's fields, and those of everything in it, are a stored format. A field
/// that is added must be optional or have a default in the row's own decoder, and one that was there isn't renamed.
package protocol Row: Codable, Sendable {
    associatedtype Key: TableKey

    /// The table that keeps rows of this type.
    static var table: Table<Self> { get }
    /// No two rows of a table have the same.
    var key: Key { get }
}

/// The declaration of a table: its name, the ways in which rows are found beside their key, and when they are let go.
package struct Table<R: Row>: Sendable {
    /// Unlike all others': the row's provider and what it is, such as `github.token`. Stores keep its rows under this name.
    package let name: String
    /// There are never more rows: then the oldest go. A million sign-ins fit, unless another limit is given.
    package let limit: Int
    let indexes: [AnyIndex<R>]
    let order: SortedIndex<R>?
    let droppedAt: (@Sendable (R) -> Instant?)?

    /// `droppedAt` says from when on the table may let a row go without being asked; `nil` is never.
    package init(
        _ name: String, limit: Int = 1 << 20, indexes: [AnyIndex<R>] = [], sortedBy order: SortedIndex<R>? = nil,
        droppedAt: (@Sendable (R) -> Instant?)? = nil
    ) {
        self.name = name
        self.limit = limit
        self.indexes = indexes
        self.order = order
        self.droppedAt = droppedAt
    }
}

/// An index of rows of one type, whatever its values are.
package class AnyIndex<R: Row>: @unchecked Sendable {
    /// A word for what rows are found by. No store keeps it.
    package let name: String
    let storedValues: StoredRowRules.Values

    fileprivate init(_ name: String, _ storedValues: StoredRowRules.Values) {
        self.name = name
        self.storedValues = storedValues
    }
}

/// A way to find rows by something that isn't their key. Several rows may have the same value, and a row several values.
package final class Index<R: Row, Value: TableKey>: AnyIndex<R>, @unchecked Sendable {
    /// Rows for which `value` is `nil` aren't found by this index.
    package init(_ name: String, _ value: @escaping @Sendable (R) -> Value?) {
        super.init(name, .one { value($0.row(R.self))?.keyText })
    }

    /// For rows that are found by any of several values.
    package init(_ name: String, each values: @escaping @Sendable (R) -> [Value]) {
        super.init(name, .many { values($0.row(R.self)).map(\.keyText) })
    }
}

/// Rows in the order of a text, to be read page by page, or as far as the text begins with something.
package final class SortedIndex<R: Row>: Sendable {
    /// A word for what rows are sorted by. No store keeps it.
    package let name: String
    package let texts: @Sendable (R) -> [String]

    /// A row stands at each of its texts.
    package init(_ name: String, _ texts: @escaping @Sendable (R) -> [String]) {
        self.name = name
        self.texts = texts
    }
}

/// Something that a world has one of, such as its clock: like a row, a value that can be written down.
package protocol WorldValue: Codable, Sendable {
    /// Unlike all others': whose it is and what it is, such as `mail.inbox`. Stores keep the value under this name, and the names of
    /// its fields are a stored format, as a row's are.
    static var name: String { get }
    /// As it is in a new world.
    init(_ seed: Seed)

    /// Whether it is known to be written as `other` is. `false` costs that it is written down to see.
    func isWritten(as other: Self) -> Bool
}

extension WorldValue {
    package func isWritten(as other: Self) -> Bool { false }
}
