/// The rows that a seed brings to every world: one table that all worlds share. Nothing changes it.
package final class SeededTable<R: Row>: @unchecked Sendable {
    let table: MemoryTable<R>

    package init(_ rows: some Sequence<R>) {
        table = MemoryTable()
        for row in rows { table.put(row, now: .first) }
    }

    package var count: Int { table.count }
    /// All of them, in the seed's order.
    package var rows: [R] { table.rows(after: nil, limit: .max) }

    package func find(_ key: R.Key) -> R? { table.find(key) }
}
