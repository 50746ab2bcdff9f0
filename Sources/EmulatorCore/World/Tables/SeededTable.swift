/// The rows that a seed brings to every world: one table that all worlds share. Nothing changes it.
package final class SeededTable<R: Row>: @unchecked Sendable {
    let table: MemoryTable

    package init(_ rows: [R]) {
        table = MemoryTable(StoredRowRules(R.self), of: rows.map { Stored($0) })
    }

    package var count: Int { table.count }
    /// All of them, in the seed's order.
    package var rows: [R] { table.rows(after: nil, limit: .max).map { $0.row(R.self) } }

    /// Puts the rows in the order in which they are searched, which the first search of a world does otherwise, under its lock.
    package func prepareOrder() { table.prepareOrder() }

    package func find(_ key: R.Key) -> R? { table.find(key.keyText)?.row(R.self) }
}
