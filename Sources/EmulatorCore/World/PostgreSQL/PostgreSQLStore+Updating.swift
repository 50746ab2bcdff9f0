import Platform
import PostgreSQL
import Synchronization

// How a world is changed. The closure runs on the world in memory, and what it did is sent to PostgreSQL before anybody else sees it:
// in one transaction, with the version from which it began. Where another daemon has changed the world since, all of it is undone, and
// done again on what the other has left; this time the world's row is locked first, so that nobody comes in between.

extension PostgreSQLStore {
    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        // A request whose store has failed is refused: it changes nothing more.
        if StoreCall.current?.failure == nil {
            commit { tables in
                var transaction = Transaction(tables: tables)
                do throws(Failure) {
                    outcome = .success(try body(&transaction))
                    return true
                } catch {
                    outcome = .failure(error)
                    return false
                }
            }
        }
        if let outcome { return try outcome.get() }
        var transaction = Transaction(tables: MemoryTables(state.withLock { $0.seed }))
        return try body(&transaction)
    }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        commit(from: seed) { tables in
            var transaction = Transaction(tables: tables)
            transaction.clock = WorldClock(seed)
            transaction[RandomSource.self] = RandomSource(seed)
            putting(&transaction)
            return true
        } then: { state in
            (state.seed, state.rowSeed) = (seed, seed)
            state.seedings += 1
            also()
        }
    }

    private static let attempts = 8

    /// Runs a change and writes what it did. `run` returns `false` where all of that is to be undone, and may run several times; `then` is
    /// part of what has been written. With `seed`, the world begins anew from it. A failure is told to `StoreCall`.
    private func commit(
        from seed: Seed? = nil, _ run: (MemoryTables) -> Bool, then: (inout State) -> Void = { _ in }
    ) {
        var news = StoreChange()
        defer { tell(news) }
        do throws(StoreFailure) {
            for attempt in 0..<PostgreSQLStore.attempts {
                try load()
                let outcome = state.withLock { state -> Swift.Result<Bool, StoreFailure> in
                    do throws(StoreFailure) {
                        return .success(
                            try attempt == 0
                                ? change(&state, from: seed, run, then)
                                : changeLocked(&state, from: seed, run, then, &news))
                    } catch { return .failure(error) }
                }
                if try outcome.get() { return }
            }
            throw StoreFailure(.slow, "PostgreSQL: others change the world all the time")
        } catch { note(error) }
    }

    // MARK: - Attempts

    /// Changes the world in one round trip. `false` when another daemon came in between, or may have.
    private func change(
        _ state: inout State, from seed: Seed?, _ run: (MemoryTables) -> Bool, _ then: (inout State) -> Void
    ) throws(StoreFailure) -> Bool {
        guard state.held != nil else { return state.isGone }
        guard let pending = try prepare(&state, from: seed, run) else {
            // Whoever hasn't looked for what other daemons did may have changed nothing because of something old.
            return StoreCall.current?.hasRefreshed(self) == true
        }
        let sent: Swift.Result<Void, PostgreSQLError>
        do throws(StoreFailure) {
            sent = try stores.pool.useOnce { connection throws(PostgreSQLError) -> Void in
                _ = try connection.run(pending.calls(stores.writer), until: .now + PostgreSQLPool.answerLimit)
            }
        } catch {
            pending.undo()
            throw error
        }
        return try settle(sent, pending, &state, then)
    }

    /// Changes the world in two round trips, of which the first locks its row and brings what others have changed. `false` when that has
    /// to be done again.
    private func changeLocked(
        _ state: inout State, from seed: Seed?, _ run: (MemoryTables) -> Bool, _ then: (inout State) -> Void,
        _ news: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        guard let held = state.held else { return state.isGone }
        var pending: Pending?
        var (isDone, failure): (Bool, StoreFailure?) = (false, nil)
        let sent = try stores.pool.useOnce { connection throws(PostgreSQLError) -> Void in
            let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
            let results = try connection.run(
                [
                    PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(held.id)),
                    PostgreSQLSchema.changes(.integer(held.id), .integer(held.version)),
                ], until: deadline)
            do throws(StoreFailure) {
                if try catchUp(&state, results[1], results[2], &news) {
                    pending = try prepare(&state, from: seed, run)
                    isDone = pending == nil
                } else {
                    isDone = state.isGone
                }
            } catch { failure = error }
            let calls = pending?.calls(stores.writer) ?? []
            try connection.run(
                calls + [pending == nil ? PostgreSQLSchema.rollback() : PostgreSQLSchema.commit()], until: deadline)
        }
        if let failure { throw failure }
        if isDone { return true }
        return try settle(sent, pending, &state, then)
    }

    /// Takes over what others have changed until the world's row was locked. `false` when the world has gone, or must be loaded anew.
    private func catchUp(
        _ state: inout State, _ world: PostgreSQLResult, _ changes: PostgreSQLResult, _ news: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        guard world.count > 0 else {
            (state.held, state.isGone) = (nil, true)
            return false
        }
        do throws(StoreFailure) {
            for row in 0..<changes.count {
                // One that comes between is gone.
                guard let held = state.held, changes.integer(row, 1) == held.version else { break }
                try PostgreSQLStore.apply(changes.bytes(row, 2), as: changes.integer(row, 0), to: &state, &news)
            }
        } catch {
            state.held = nil
            throw error
        }
        if state.held?.version != world.integer(0, 0) { state.held = nil }
        return state.held != nil
    }

    // MARK: - What was changed

    /// What a change has done to the tables in memory, until it is known whether it is written.
    private struct Pending {
        /// The world as it is once it is written.
        let held: Held
        let before: Int64
        let change: SharedChange
        let written: SharedChange.Written

        func undo() { held.tables.undo() }

        /// All that is sent. The first call fails unless the world has the version from which the change began.
        func calls(_ writer: Int64) -> [PostgreSQLCall] {
            let (world, version) = (PostgreSQLValue.integer(held.id), PostgreSQLValue.integer(held.version))
            let set =
                change.isReset ? PostgreSQLSchema.compareAndSetBeginning : PostgreSQLSchema.compareAndSetVersion
            var calls = [
                set(world, .integer(before), version),
                PostgreSQLSchema.addChange(
                    world, version, .integer(before), .integer(writer), .bytes(written.change.bytes)),
            ]
            if change.isReset { calls.append(PostgreSQLSchema.removeRows(world)) }
            calls += written.rows.map { PostgreSQLSchema.put($0, of: held.id) }
            calls += written.values.map { name, value in PostgreSQLSchema.put(name, value, of: held.id) }
            return calls
        }
    }

    /// Runs a change on the tables in memory. `nil` when nothing is to be written.
    private func prepare(
        _ state: inout State, from seed: Seed?, _ run: (MemoryTables) -> Bool
    ) throws(StoreFailure) -> Pending? {
        guard var held = state.held else { return nil }
        let before = held.version
        if let seed {
            held.shared = SharedTables(StoredCoder(profiles: seed.format.profiles))
            held.tables = MemoryTables(seed, shared: held.shared)
        }
        let (tables, shared) = (held.tables, held.shared)
        tables.begin()
        shared.journal.isOpen = true
        let isWanted = run(tables)
        shared.journal.isOpen = false
        let change = SharedChange(
            of: tables, shared, at: (before + 1) * PostgreSQLSchema.placesOfVersion, isReset: seed != nil)
        if let failure = shared.failure {
            state.held = nil
            throw failure
        }
        guard isWanted else {
            tables.undo()
            return nil
        }
        do throws(StoreFailure) {
            let written = try change.written()
            guard !written.isEmpty else {
                tables.commit()
                return nil
            }
            held.version = try PostgreSQLSchema.checked(
                before + 1 + Int64(change.count) / PostgreSQLSchema.placesOfVersion)
            if change.isReset { held.beginning = held.version }
            return Pending(held: held, before: before, change: change, written: written)
        } catch {
            tables.undo()
            throw error
        }
    }

    /// Keeps or undoes what was sent. `false` when it is to be done again.
    private func settle(
        _ sent: Swift.Result<Void, PostgreSQLError>, _ pending: Pending?, _ state: inout State,
        _ then: (inout State) -> Void
    ) throws(StoreFailure) -> Bool {
        guard case .failure(let error) = sent else {
            if let pending { finish(pending, &state, then) }
            return pending != nil
        }
        if let pending {
            do throws(StoreFailure) {
                if error.isUncertain, try hasWritten(pending.held.id, pending.held.version) {
                    finish(pending, &state, then)
                    return true
                }
            } catch {
                // What the world is now isn't known.
                state.held = nil
                throw error
            }
            pending.undo()
        }
        let isOld = error.isConflict || error.state == PostgreSQLSchema.otherVersionState
        guard isOld || error.isEnd || pending != nil && error.isUncertain else { throw StoreFailure(error) }
        return false
    }

    private func finish(_ pending: Pending, _ state: inout State, _ then: (inout State) -> Void) {
        pending.held.tables.commit()
        pending.change.settle()
        for (name, value) in pending.written.values { pending.held.shared.noteWritten(name, value) }
        state.held = pending.held
        then(&state)
    }

    /// Looks whether a change was committed whose connection was lost meanwhile. As long as the transaction may still be committed, it
    /// has a lock, for which this waits.
    ///
    /// - Throws: `unknown` when that can't be found out.
    private func hasWritten(_ id: Int64, _ version: Int64) throws(StoreFailure) -> Bool {
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            do throws(StoreFailure) {
                return try stores.pool.use { connection throws(PostgreSQLError) in
                    let limit = ContinuousClock.now + PostgreSQLPool.answerLimit
                    let found =
                        try connection.run(
                            [
                                PostgreSQLSchema.begin(), PostgreSQLSchema.lock(.integer(id)),
                                PostgreSQLSchema.change(.integer(id), .integer(version), .integer(stores.writer)),
                            ], until: limit)[2].count > 0
                    // What was sent may still arrive, and then finds another version.
                    let calls = found ? [] : [PostgreSQLSchema.skipVersion(.integer(id))]
                    try connection.run(calls + [PostgreSQLSchema.commit()], until: limit)
                    return found
                }
            } catch {
                guard ContinuousClock.now < deadline else { throw StoreFailure(.unknown, error.detail) }
                usleep(200_000)
            }
        }
    }
}
