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
