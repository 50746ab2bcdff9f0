import Synchronization

/// The tables of one world: in this process's memory, behind one lock, and committed to an archive where there is one.
///
/// Queries are answered from memory. An update runs on the tables in memory; what it changed is committed to the archive before the
/// update returns and before anybody else can read it. When that fails, the change is undone in memory, too. When another daemon has
/// changed the world since, the change is undone, the other's change is taken over, and the closure runs again.
package final class WorldStore: Sendable {
    let name: String
    private let archive: (any Archive)?
    private let makes: Bool
    private let state: Mutex<State>
    /// Held by whoever loads the world.
    private let loading = Mutex<Void>(())
    private let listeners = Mutex<[@Sendable (StoreChange) -> Void]>([])
    /// Whether the archive had something of the world before this process took it up.
    private let wasKept = Atomic<Bool>(false)

    /// Only reached while the lock is held.
    private struct State: @unchecked Sendable {
        var seed: Seed
        /// The seed whose rows aren't archived while they are as there.
        var rowSeed: Seed
        /// `nil` when the world must be loaded again.
        var held: Held?
        /// Whether the world was removed: what is changed now is lost.
        var isGone = false
        /// Counts the changes of the seeds.
        var seedings = 0
        /// The world that was loaded last, by its number in the archive, and the version at which it began anew.
        var known: (id: Int64, beginning: Int64)?
    }

    /// The world in memory.
    private struct Held {
        let id: Int64
        var version: Int64
        /// The version at which the world began anew.
        var beginning: Int64
        var tables: MemoryTables
    }

    /// Takes the world of this name from the archive. One that isn't there is made, unless not `makes`: then it has gone.
    package init(_ name: String, _ seed: Seed, in archive: (any Archive)? = nil, makes: Bool = true) {
        self.name = name
        self.archive = archive
        self.makes = makes
        let held = archive == nil ? Held(id: 0, version: 0, beginning: 0, tables: MemoryTables(seed)) : nil
        state = Mutex(State(seed: seed, rowSeed: seed, held: held))
        guard archive != nil else { return }
        do throws(StoreFailure) { wasKept.store(try load(), ordering: .relaxed) } catch { note(error) }
    }

    /// Whether the world was removed, or hasn't been there.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Whether what is kept outlives the process.
    var lasts: Bool { archive != nil }

    var isKept: Bool { wasKept.load(ordering: .relaxed) }

    private func note(_ failure: StoreFailure) { StoreCall.current?.note(failure) }

    // MARK: - Loading

    /// Loads the world from the archive, unless it is in memory. Returns whether it was there.
    @discardableResult
    private func load(isAnew: Bool = false) throws(StoreFailure) -> Bool {
        guard let archive else { return true }
        // Typed errors don't come through the lock of a value that isn't there.
        let result: Result<Bool, StoreFailure> = loading.withLock { _ in
            do throws(StoreFailure) { return .success(try load(from: archive, isAnew: isAnew)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func load(from archive: any Archive, isAnew: Bool) throws(StoreFailure) -> Bool {
        while true {
            let (isThere, isKnown, before) = state.withLock { state in
                (
                    state.held != nil && !isAnew || state.isGone, state.known != nil,
                    (state.seed, state.rowSeed, state.seedings)
                )
            }
            if isThere { return true }
            let (seed, rowSeed, seedings) = before
            let coder = StoredCoder(profiles: seed.format.profiles)
            let beginning: () throws(StoreFailure) -> [ArchivedValue] = { () throws(StoreFailure) in
                // All daemons have the same clock and generator.
                [try coder.archived(WorldClock(seed)), try coder.archived(RandomSource(seed))]
            }
            guard let archived = try archive.load(name, beginning: makes && !isKnown ? beginning : nil) else {
                state.withLock { ($0.held, $0.isGone) = (nil, true) }
                return false
            }
            let tables = MemoryTables(seed, rows: rowSeed)
            try tables.apply(archived.rows, archived.values)
            var news: StoreChange?
            let isTaken = state.withLock { state in
                guard state.seedings == seedings else { return false }
                if let known = state.known, known.id != archived.id {
                    // Another daemon has removed it. This one has the same name only.
                    (state.held, state.isGone) = (nil, true)
                    return true
                }
                if let held = state.held, held.version > archived.version { return true }
                if let known = state.known {
                    let types = seed.format.stored
                    let names = Set(types.rows.keys).union(types.values.keys)
                    news = StoreChange(names: names, isReset: known.beginning != archived.beginning)
                }
                state.known = (id: archived.id, beginning: archived.beginning)
                state.held = Held(
                    id: archived.id, version: archived.version, beginning: archived.beginning, tables: tables)
                return true
            }
            if let news { tell(news) }
            if isTaken { return archived.wasThere }
        }
    }

    /// Loads the world again: what hasn't been asked for yet is made from `seed`, and the rows that a seed brings are those of `rows`.
    func resume(_ seed: Seed, rows: Seed) {
        state.withLock { state in
            (state.seed, state.rowSeed, state.held) = (seed, rows, nil)
            state.seedings += 1
        }
        do throws(StoreFailure) { try load() } catch { note(error) }
    }

    // MARK: - Reading and changing

    /// Runs `body` on the tables. Where the world can't be loaded, or the request's store has failed before, `body` finds what a new world
    /// has, and `StoreCall` is told: the request is refused.
    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // A request whose store has failed is refused: what it reads is as little as what it changes.
        var hasFailed = archive != nil && StoreCall.current?.failure != nil
        while true {
            let outcome = state.withLock { state -> Swift.Result<Result, Failure>? in
                guard state.held != nil || state.isGone || hasFailed else { return nil }
                let tables = hasFailed ? MemoryTables(state.seed) : state.held?.tables ?? MemoryTables(state.seed)
                do throws(Failure) { return .success(try body(Snapshot(tables: tables))) } catch {
                    return .failure(error)
                }
            }
            if let outcome { return try outcome.get() }
            do throws(StoreFailure) { try load() } catch {
                note(error)
                hasFailed = true
            }
        }
    }

    /// Commits all that `body` changes, or nothing when it throws. When that fails, nothing is changed, and `StoreCall` is told: what `body`
    /// returns is of no use then. `body` may run several times.
    package func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard archive != nil else { return try updateMemory(body) }
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

    private func updateMemory<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) -> Result in
            let tables = state.held?.tables ?? MemoryTables(state.seed)
            var transaction = Transaction(tables: tables)
            // What can't fail needs no way back.
            if Failure.self == Never.self { return try body(&transaction) }
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

    /// Begins the world anew from a seed, with what `putting` adds, in one step; `also` is part of it. `false` when that can't be
    /// committed, of which `StoreCall` is told.
    @discardableResult
    func reset(to seed: Seed, putting: (inout Transaction) -> Void = { _ in }, also: () -> Void = {}) -> Bool {
        var isDone = false
        func begin(_ tables: MemoryTables) {
            var transaction = Transaction(tables: tables)
            transaction.clock = WorldClock(seed)
            transaction[RandomSource.self] = RandomSource(seed)
            putting(&transaction)
        }
        func finish(_ state: inout State) {
            (state.seed, state.rowSeed) = (seed, seed)
            state.seedings += 1
            isDone = true
            also()
        }
        guard archive == nil else {
            commit(
                from: seed,
                { tables in
                    begin(tables)
                    return true
                }, then: finish)
            return isDone
        }
        let tables = MemoryTables(seed)
        begin(tables)
        // What there was is freed outside the lock.
        let old = state.withLock { state in
            let old = state.held
            state.held = Held(id: 0, version: 0, beginning: 0, tables: tables)
            finish(&state)
            return old
        }
        _ = consume old
        return isDone
    }

    /// What hasn't been asked for yet is made from this seed; the rest stays.
    func adopt(_ seed: Seed) {
        // What the earlier seed says is kept first: what a world has doesn't depend on whether it was asked for.
        update { tables in
            tables[OutcomeQueue.self] = tables.value(OutcomeQueue.self)
            tables[FaultQueue.self] = tables.value(FaultQueue.self)
        }
        guard StoreCall.current?.failure == nil else { return }
        state.withLock { state in
            state.seed = seed
            state.held?.tables.adopt(seed)
        }
    }

    /// Removes the world: nothing is kept of it, and what requests that are under way still change is lost. `false` when it had gone
    /// before, and when the archive fails, of which `StoreCall` is told: then the world is as it was.
    @discardableResult
    func remove() -> Bool {
        do throws(StoreFailure) {
            try load()
            let result = state.withLock { state -> Swift.Result<(isRemoved: Bool, held: Held?), StoreFailure> in
                guard let held = state.held else { return .success((false, nil)) }
                do throws(StoreFailure) {
                    let isRemoved = try archive?.remove(held.id) ?? true
                    (state.held, state.isGone) = (nil, true)
                    return .success((isRemoved, held))
                } catch { return .failure(error) }
            }
            // The tables are freed here, outside the lock.
            return try result.get().isRemoved
        } catch {
            note(error)
            return false
        }
    }

    // MARK: - Commits

    private static let attempts = 8

    /// Runs a change and commits what it did. `run` returns `false` where all of that is to be undone, and may run several times; `then`
    /// runs once the change is committed. With `seed`, the world begins anew from it. A failure is told to `StoreCall`.
    private func commit(
        from seed: Seed? = nil, _ run: (MemoryTables) -> Bool, then: (inout State) -> Void = { _ in }
    ) {
        guard let archive else { return }
        var news = StoreChange()
        defer { tell(news) }
        do throws(StoreFailure) {
            for attempt in 0..<WorldStore.attempts {
                let outcome = state.withLock { state -> Swift.Result<Bool, StoreFailure>? in
                    guard state.held != nil || state.isGone else { return nil }
                    do throws(StoreFailure) {
                        return .success(
                            try self.attempt(&state, to: archive, isLocking: attempt > 0, from: seed, run, then, &news))
                    } catch { return .failure(error) }
                }
                if let outcome {
                    if try outcome.get() { return }
                } else {
                    try load()
                }
            }
            throw StoreFailure(.slow, "others change the world all the time")
        } catch { note(error) }
    }

    /// Makes one attempt to commit. `false` when it is to be made again; `true` also where the world has gone, in which nothing can be
    /// changed.
    private func attempt(
        _ state: inout State, to archive: any Archive, isLocking: Bool, from seed: Seed?,
        _ run: (MemoryTables) -> Bool, _ then: (inout State) -> Void, _ news: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        guard let held = state.held else { return state.isGone }
        /// The tables that were changed, until it is known whether that is committed.
        var changed: MemoryTables?
        let outcome: CommitOutcome
        do throws(StoreFailure) {
            outcome = try archive.commit(to: held.id, after: held.version, isLocking: isLocking) {
                (changes) throws(StoreFailure) -> WorldChange? in
                for change in changes.withLastValues { try apply(change, to: &state, &news) }
                guard let current = state.held else { return nil }
                let tables = seed.map { MemoryTables($0) } ?? current.tables
                tables.begin()
                guard run(tables) else {
                    tables.undo()
                    return nil
                }
                changed = tables
                var change = try tables.change()
                change.isReset = seed != nil
                return change.isEmpty ? nil : change
            }
        } catch {
            changed?.undo()
            // What the archive has isn't known, or can't be taken over.
            if error.kind == .unknown || error.kind == .unreadable { state.held = nil }
            throw error
        }
        switch outcome {
        case .committed(let version):
            changed?.commit()
            if let changed, seed != nil { state.held?.tables = changed }
            if seed != nil {
                state.held?.beginning = version
                state.known?.beginning = version
            }
            state.held?.version = version
            then(&state)
            return true
        case .unchanged:
            changed?.commit()
            guard state.held != nil else { return state.isGone }
            // Whoever hasn't looked for what others did may have changed nothing because of something old.
            return isLocking || !archive.isShared || StoreCall.current?.hasRefreshed(self) == true
        case .conflict:
            changed?.undo()
            // What others have changed isn't kept any more.
            if isLocking { state.held = nil }
            return false
        case .gone:
            (state.held, state.isGone) = (nil, true)
            return true
        }
    }

    // MARK: - Changes by others

    /// Takes over what other daemons have changed before this call, so that whoever reads the world afterwards sees it. A failure is told
    /// to `StoreCall`.
    func refresh() -> StoreNews {
        guard let archive, archive.isShared else { return .same }
        var found = StoreNews.same
        do throws(StoreFailure) {
            while true {
                try load()
                guard let (id, version) = state.withLock({ state in state.held.map { ($0.id, $0.version) } }) else {
                    return .gone
                }
                switch try archive.news(of: id, after: version) {
                case .none: return found
                case .gone:
                    state.withLock { state in
                        if state.held?.id == id { (state.held, state.isGone) = (nil, true) }
                    }
                    return .gone
                case .changes(let changes, let isAll):
                    if try take(changes, id) { found = .changed }
                    if isAll { return found }
                case .forgotten:
                    try load(isAnew: true)
                    found = .changed
                }
            }
        } catch {
            note(error)
            return found
        }
    }

    private func take(_ changes: [ArchivedChange], _ id: Int64) throws(StoreFailure) -> Bool {
        var news = StoreChange()
        defer { tell(news) }
        let result = state.withLock { state -> Result<Bool, StoreFailure> in
            do throws(StoreFailure) {
                var hasChanged = false
                for change in changes.withLastValues
                where state.held?.id == id && change.version > state.held?.version ?? .max {
                    try apply(change, to: &state, &news)
                    hasChanged = true
                }
                return .success(hasChanged)
            } catch {
                state.held = nil
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Does to the tables in memory what another daemon has done.
    private func apply(
        _ archived: ArchivedChange, to state: inout State, _ news: inout StoreChange
    ) throws(StoreFailure) {
        guard state.held != nil else { return }
        // One that comes between is missing.
        guard archived.before == state.held?.version else {
            state.held = nil
            return
        }
        let change = archived.change
        if change.isReset {
            state.held?.tables = MemoryTables(state.seed, rows: state.rowSeed)
            state.held?.beginning = archived.version
            state.known?.beginning = archived.version
            news.isReset = true
        }
        try state.held?.tables.apply(change.rows, change.values)
        state.held?.version = archived.version
        news.names.formUnion(change.rows.lazy.map(\.table))
        news.names.formUnion(change.values.lazy.map(\.name))
    }

    /// Calls `body` each time after changes by other daemons were taken over, on the thread that did so, under no lock of a world's
    /// tables: it may look at them, but neither refresh nor change them.
    func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void) {
        listeners.withLock { $0.append(body) }
    }

    private func tell(_ change: StoreChange) {
        guard !change.names.isEmpty || change.isReset else { return }
        for listener in listeners.withLock({ $0 }) { listener(change) }
    }
}

/// What a store found when it looked for changes by other daemons.
package enum StoreNews: Sendable {
    case same
    case changed
    /// The world isn't there any more. One of the same name may be: it is another world, with a store of its own.
    case gone
}

/// What other daemons have changed in a world.
package struct StoreChange: Sendable {
    /// Of the tables and values.
    package var names: Set<String>
    /// Whether the world began anew.
    package var isReset: Bool

    package init(names: Set<String> = [], isReset: Bool = false) {
        self.names = names
        self.isReset = isReset
    }
}
