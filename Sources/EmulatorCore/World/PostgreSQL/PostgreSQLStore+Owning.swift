import PostgreSQL
import Synchronization

// How a world is changed that this daemon owns: in memory, and what that comes to is written a moment later.

extension PostgreSQLStore {
    /// Whether what is in memory is all that there is.
    var isCurrent: Bool { isOwned.load(ordering: .acquiring) && stores.ownership.isValid }

    // MARK: - Owning and letting go

    /// Owns the world, if this daemon may.
    func own() {
        guard !isOwned.load(ordering: .acquiring), stores.ownership.mayOwn else { return }
        // This process may have held the world before, and still be at work on it.
        if let id = state.withLock({ $0.held?.id }), let other = stores.ownership.owner(of: id), other !== self {
            other.letGo()
        }
        transfer { [self] () throws(StoreFailure) in
            guard let (id, version) = state.withLock({ state in state.held.map { ($0.id, $0.version) } }),
                !state.withLock({ $0.isOwned }), try stores.ownership.own(self, id, version)
            else { return }
            let isTaken = state.withLock { state in
                guard let held = state.held, held.id == id, held.version == version, !state.isGone else { return false }
                held.shared.journal.isOpen = true
                (state.isOwned, state.isLettingGo, state.isReset) = (true, false, false)
                (state.isQueued, state.isQueuedBehind) = (false, false)
                isOwned.store(true, ordering: .releasing)
                return true
            }
            guard !isTaken else { return }
            stores.ownership.remove(id)
            try stores.ownership.tell(id)
        }
    }

    /// Writes what isn't written, and lets others change the world.
    func letGo() {
        guard state.withLock({ $0.isOwned }) else { return }
        transfer { [self] () throws(StoreFailure) in
            let (id, position) = state.withLock { state -> (Int64?, Int) in
                isOwned.store(false, ordering: .releasing)
                state.isLettingGo = state.isOwned
                // Also what nobody waits for.
                if state.isOwned { enqueue(&state) }
                return (state.isOwned ? state.held?.id : nil, state.position)
            }
            guard let id else { return }
            // What can't be written is given up, and its world isn't owned then.
            _ = stores.changes.waitUntilWritten(position)
            state.withLock { state in
                guard state.isOwned else { return }
                state.held?.shared.journal.isOpen = false
                (state.isOwned, state.isLettingGo) = (false, false)
            }
            stores.ownership.remove(id)
            try stores.ownership.tell(id)
        }
    }

    private func transfer(_ change: @escaping () throws(StoreFailure) -> Void) {
        // Whoever asks for it doesn't depend on it.
        StoreCall.within(StoreCall()) { run(OwnershipUpdate(change)) }
    }

    /// What is in memory isn't so any more.
    func forget(_ state: inout State) {
        if state.isOwned, let id = state.held?.id { stores.ownership.remove(id) }
        (state.held, state.isOwned, state.isLettingGo, state.isReset) = (nil, false, false, false)
        (state.isQueued, state.isQueuedBehind) = (false, false)
        isOwned.store(false, ordering: .releasing)
    }

    // MARK: - Changing

    /// `nil` when the world isn't owned.
    func updateOwned<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) -> Swift.Result<Result, Failure>? {
        guard isOwned.load(ordering: .acquiring), StoreCall.current?.failure == nil else { return nil }
        return state.withLock { state in
            guard state.isOwned, !state.isLettingGo, let held = state.held else { return nil }
            let count = held.shared.journal.entries.count
            var effect = SharedTables.Effect.none
            let outcome: Swift.Result<Result, Failure>
            do throws(Failure) {
                outcome = .success(try held.shared.attempt(body, on: held.tables, &effect))
            } catch { outcome = .failure(error) }
            note(effect, from: count, held, &state)
            if let failure = held.shared.failure { fail(failure, &state) }
            return outcome
        }
    }

    /// Takes note of what an update has come to that has found `count` entries in the journal. Returns the position of what is to be
    /// written before anybody is told of it.
    @discardableResult
    private func note(_ effect: SharedTables.Effect, from count: Int, _ held: Held, _ state: inout State) -> Int {
        var position = held.tables.seen
        switch effect {
        case .none, .refused: break
        case .changedBehind:
            enqueueBehind(&state)
        case .changed:
            enqueue(&state)
            held.shared.journal.place(from: count, at: state.position)
            position = state.position
        }
        stores.changes.note(position)
        return position
    }

    /// The same for what waited until the world was owned. `false` when it isn't.
    func changeOwned(_ batch: [PostgreSQLUpdate]) -> Bool {
        if let reset = batch.first as? ResetUpdate {
            guard resetOwned(reset) else { return false }
            reset.position = state.withLock { $0.position }
            return true
        }
        return state.withLock { state in
            guard state.isOwned, !state.isLettingGo, let held = state.held else { return false }
            let (tables, journal) = (held.tables, held.shared.journal)
            for update in batch {
                let count = journal.entries.count
                tables.look()
                tables.begin()
                if update.run(tables) {
                    tables.commit()
                } else {
                    tables.undo()
                    journal.cut(to: count)
                }
                update.position = note(journal.effect(from: count), from: count, held, &state)
            }
            if let failure = held.shared.failure { fail(failure, &state) }
            return true
        }
    }

    private func enqueue(_ state: inout State) {
        state.position = stores.changes.add(state.isQueued ? nil : .change(self))
        state.isQueued = true
    }

    private func enqueueBehind(_ state: inout State) {
        guard !state.isQueuedBehind else { return }
        stores.changes.addBehind(.change(self))
        state.isQueuedBehind = true
    }

    /// Begins the world afresh, if it is owned.
    func resetOwned(_ update: ResetUpdate) -> Bool {
        guard StoreCall.current?.failure == nil else { return false }
        let (isDone, old) = state.withLock { state -> (Bool, Held?) in
            guard state.isOwned, !state.isLettingGo, let held = state.held else { return (false, nil) }
            let seed = update.seed
            let shared = SharedTables(StoredCoder(profiles: seed.format.profiles))
            shared.journal.isOpen = true
            let tables = MemoryTables(seed, shared: shared)
            tables.begin()
            var transaction = Transaction(tables: tables)
            transaction.clock = WorldClock(seed)
            transaction[RandomSource.self] = RandomSource(seed)
            update.putting?(&transaction)
            tables.commit()
            let (seedBefore, rowsBefore) = (state.seed, state.rowSeed)
            (state.seed, state.rowSeed, state.isReset) = (seed, seed, true)
            state.seedings += 1
            state.held = Held(
                id: held.id, version: held.version, beginning: held.beginning, tables: tables, shared: shared)
            enqueue(&state)
            state.earlierSeeds.add(
                seedBefore, rows: rowsBefore, before: state.position, isSettled: stores.changes.isSettled)
            tables.beganAt = state.position
            stores.changes.note(state.position)
            update.also?()
            return (true, held)
        }
        // What there was is freed outside the lock.
        _ = consume old
        return isDone
    }

    /// Removes the world, if it is owned.
    func removeOwned() -> Bool {
        let id = state.withLock { state -> Int64? in
            guard state.isOwned, let id = state.held?.id else { return nil }
            forget(&state)
            state.isGone = true
            state.position = stores.changes.add(.remove(id))
            stores.changes.note(state.position)
            return id
        }
        return id != nil
    }

    // MARK: - Writing

    /// What was changed since this was last asked; what nobody waits for only if it is due. Only the queue asks.
    func takeWrite(isDue: Bool) throws(StoreFailure) -> OwnedWrite? {
        let (taken, lost) = state.withLock { state -> ((held: Held, change: SharedChange)?, StoreFailure?) in
            // Who lets go of the world writes all of it.
            let isDue = isDue || state.isLettingGo
            defer { (state.isQueued, state.lost) = (false, nil) }
            if isDue { state.isQueuedBehind = false }
            guard state.isOwned, let held = state.held else { return (nil, state.lost) }
            if state.isReset {
                held.shared.note(held.tables.box(WorldClock.self))
                held.shared.note(held.tables.box(RandomSource.self))
            }
            let change = SharedChange(
                of: held.tables, held.shared, at: (held.version + 1) * PostgreSQLSchema.placesOfVersion,
                isReset: state.isReset, isDue: isDue)
            change.settle()
            if !held.shared.journal.behind.isEmpty { enqueueBehind(&state) }
            state.isReset = false
            return ((held: held, change: change), nil)
        }
        if let lost { throw lost }
        guard let (held, change) = taken else { return nil }
        let summary = try change.summary(butWritten: true)
        guard change.isReset || !summary.isEmpty else { return nil }
        let version = try PostgreSQLSchema.checked(
            held.version + 1 + Int64(change.count) / PostgreSQLSchema.placesOfVersion)
        let isHeld = state.withLock { state in
            guard state.isOwned, state.held?.tables === held.tables || state.isReset else { return false }
            state.held?.version = version
            if change.isReset { state.held?.beginning = version }
            for (name, value) in summary.values { held.shared.noteWritten(name, value) }
            return true
        }
        guard isHeld else {
            guard state.withLock({ $0.isGone }) else {
                throw StoreFailure(.unreadable, "PostgreSQL: the world has to be read again")
            }
            return nil
        }
        return OwnedWrite(
            id: held.id, before: held.version, version: version, isReset: change.isReset, summary: summary)
    }

    /// What was changed can't be written.
    func drop() {
        state.withLock { state in
            forget(&state)
            guard let (seed, rows) = state.earlierSeeds.restored(isSettled: stores.changes.isSettled) else { return }
            (state.seed, state.rowSeed) = (seed, rows)
            state.seedings += 1
        }
    }
}
