import Time

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
        encode = { row, coder throws(StoreFailure) in try coder.encode(row.row(R.self)) }
        decode = { text, coder throws(StoreFailure) in Stored(try coder.decode(R.self, from: text)) }
    }
}
