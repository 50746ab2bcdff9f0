import Time

/// A row of any type, as a table in memory keeps it. It never changes: a changed row is stored anew.
class StoredRow {
    let key: String
    /// Where it is kept; `nil` in a store of this process's own.
    var kept: KeptRow?

    init(key: String) { self.key = key }

    /// The position of the change that has put it, where answers wait for that (`WriteQueue`); otherwise 0.
    var position: Int { kept?.position ?? 0 }
}

/// What is known of a row that is kept outside of memory. A row has it from the one in whose place it was put.
final class KeptRow {
    /// The position of the last change of the row, where answers wait for that (`WriteQueue`); otherwise 0.
    var position = 0
    /// Where it stands among all rows of its world that are kept, as far as that is known; otherwise -1.
    var place: Int64
    /// The number of the last `SharedChange` of the row, and the place of what becomes of it there.
    var change = 0
    var outcome = 0

    init(place: Int64 = -1) { self.place = place }
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
    /// The row, which is known to be of this type: a table holds rows of one type.
    func row<R: Row>(_ type: R.Type) -> R { unsafeDowncast(self, to: Stored<R>.self).row }
}

/// What a store needs to know of a table's declaration, whatever its rows are.
struct StoredRowRules {
    /// The values of a row in an index.
    enum Values {
        case one((StoredRow) -> String?)
        case many((StoredRow) -> [String])

        /// Each once.
        func distinct(_ row: StoredRow) -> Set<String> {
            switch self {
            case .one(let value): Set([value(row)].compactMap(\.self))
            case .many(let values): Set(values(row))
            }
        }
    }

    let name: String
    let limit: Int
    /// The declared indexes, in their order.
    let indexes: [(id: ObjectIdentifier, name: String, values: Values)]
    let order: ((StoredRow) -> [String])?
    let droppedAt: ((StoredRow) -> Instant?)?

    init<R: Row>(_ type: R.Type) {
        let table = R.table
        name = table.name
        limit = table.limit
        indexes = table.indexes.map { (id: ObjectIdentifier($0), name: $0.name, values: $0.storedValues) }
        order = table.order.map { index in { index.texts($0.row(R.self)) } }
        droppedAt = table.droppedAt.map { droppedAt in { droppedAt($0.row(R.self)) } }
    }
}
