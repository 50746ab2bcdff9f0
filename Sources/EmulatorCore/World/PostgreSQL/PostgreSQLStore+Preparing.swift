import PostgreSQL

// What an update comes to: its closures run on the world in memory, and what they did is undone until it is written.

extension PostgreSQLStore {
    enum Preparation {
        case write(SharedWrite)
        case nothing
        case again
        case failed(StoreFailure)
    }

    /// Runs the closures on the world as it is now, in memory.
    func prepare(
        _ batch: [PostgreSQLUpdate], _ id: Int64, _ world: PostgreSQLResult, _ changes: PostgreSQLResult,
        _ news: inout StoreChange
    ) -> Preparation {
        guard world.count > 0 else {
            // Another daemon has removed it.
            state.withLock { state in
                if state.held?.id == id { (state.held, state.isGone) = (nil, true) }
            }
            return .nothing
        }
        do throws(StoreFailure) {
            if let reset = batch.first as? ResetUpdate { return try prepare(reset, id, world) }
            let change = state.withLock { state -> Swift.Result<SharedChange?, StoreFailure> in
                do throws(StoreFailure) {
                    guard try isCurrent(&state, id, world, changes, &news), let held = state.held else {
                        return .success(nil)
                    }
                    let change = PostgreSQLStore.run(batch, held)
                    if let failure = held.shared.failure { throw failure }
                    return .success(change)
                } catch {
                    state.held = nil
                    return .failure(error)
                }
            }
            guard let change = try change.get() else { return .again }
            let written = try change.written()
            guard written.isEmpty else { return .write(SharedWrite(id, world.integer(0, 0), change, written)) }
            // A generator has moved on, though that isn't written.
            state.withLock { _ in change.settle(but: written) }
            return .nothing
        } catch { return .failed(error) }
    }

    /// Takes over what others have changed. `false` when the world must be loaded anew.
    private func isCurrent(
        _ state: inout State, _ id: Int64, _ world: PostgreSQLResult, _ changes: PostgreSQLResult,
        _ news: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        for row in 0..<changes.count {
            guard let held = state.held, held.id == id, changes.integer(row, 0) > held.version else { continue }
            // One that comes between is gone.
            guard changes.integer(row, 1) == held.version else { break }
            try PostgreSQLStore.apply(changes.bytes(row, 2), as: changes.integer(row, 0), to: &state, &news)
        }
        guard let held = state.held, held.id == id, held.version == world.integer(0, 0) else {
            state.held = nil
            return false
        }
        return true
    }

    /// Runs closures one after the other, and leaves the tables as they were.
    static func run(_ batch: [PostgreSQLUpdate], _ held: Held) -> SharedChange {
        let (tables, journal) = (held.tables, held.shared.journal)
        tables.begin()
        journal.isOpen = true
        for update in batch {
            let (savepoint, count) = (tables.savepoint(), journal.entries.count)
            if update.run(tables) {
                tables.release(savepoint)
            } else {
                tables.undo(to: savepoint)
                journal.cut(to: count)
            }
        }
        journal.isOpen = false
        let change = SharedChange(
            of: tables, held.shared, at: (held.version + 1) * PostgreSQLSchema.placesOfVersion)
        tables.undo()
        return change
    }

    private func prepare(
        _ reset: ResetUpdate, _ id: Int64, _ world: PostgreSQLResult
    ) throws(StoreFailure) -> Preparation {
        let shared = SharedTables(StoredCoder(profiles: reset.seed.format.profiles))
        let tables = MemoryTables(reset.seed, shared: shared)
        tables.begin()
        shared.journal.isOpen = true
        var transaction = Transaction(tables: tables)
        transaction.clock = WorldClock(reset.seed)
        transaction[RandomSource.self] = RandomSource(reset.seed)
        reset.putting?(&transaction)
        shared.journal.isOpen = false
        let version = try PostgreSQLSchema.checked(world.integer(0, 0))
        let change = SharedChange(
            of: tables, shared, at: (version + 1) * PostgreSQLSchema.placesOfVersion, isReset: true)
        tables.commit()
        var write = SharedWrite(id, version, change, try change.written())
        write.reset = (update: reset, tables: tables, shared: shared)
        return .write(write)
    }
}
