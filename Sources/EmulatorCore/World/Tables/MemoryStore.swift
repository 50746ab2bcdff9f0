import Synchronization

/// Keeps a world's tables in this process's memory, behind one lock.
///
/// One that is checked, for tests, does what stores do that last: rows and values are written as JSON and read back when they are
/// put, and each update runs twice, as where somebody else came in between. What the first run did is undone.
final class MemoryStore: Store {
    private let tables: Mutex<MemoryTables>
    private let isChecked: Bool
    let lastClock: LastClock? = LastClock()

    init(_ seed: Seed, isChecked: Bool = false) {
        self.isChecked = isChecked
        tables = Mutex(MemoryTables(seed, isChecked: isChecked))
    }

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try tables.withLock { (tables) throws(Failure) -> Result in try body(Snapshot(tables: tables)) }
    }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try tables.withLock { (tables) throws(Failure) -> Result in
            var transaction = Transaction(tables: tables)
            defer { tables.noteClock(in: lastClock) }
            // What can't fail needs no way back.
            if Failure.self == Never.self, !isChecked { return try body(&transaction) }
            if isChecked {
                tables.begin()
                do throws(Failure) { _ = try body(&transaction) } catch {}
                tables.undo()
            }
            tables.begin()
            do throws(Failure) {
                let result = try body(&transaction)
                tables.commit()
                return result
            } catch {
                tables.undo()
                throw error
            }
        }
    }

    func adopt(_ seed: Seed) { tables.withLock { $0.adopt(seed) } }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        let afresh = MemoryTables(seed, isChecked: isChecked)
        var transaction = Transaction(tables: afresh)
        putting(&transaction)
        // What there was is freed outside the lock.
        let old = tables.withLock { tables in
            let old = tables
            tables = afresh
            lastClock?.forget()
            also()
            return old
        }
        _ = consume old
    }
}
