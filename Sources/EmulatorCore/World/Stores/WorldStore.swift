import Synchronization

/// The tables of one world: in this process's memory, behind one lock, and committed to an archive where there is one.
///
/// Queries are answered from memory. An update runs on the tables in memory; what it changed is committed to the archive before the
/// update returns and before anybody else can read it. When that fails, the change is undone in memory, too, and the update throws.
/// When another daemon has changed the world since, the change is undone, the other's change is taken over, and the closure runs again.
package final class WorldStore: Sendable {
    let name: String
    private let archive: (any Archive)?
    private let state: Mutex<State>
    /// Held by whoever loads the world.
    private let loading = Mutex<Void>(())
    private let listeners = Mutex<[@Sendable (StoreChange) -> Void]>([])
    /// Whether the archive had something of the world before this process took it up.
    let isKept: Bool

    /// Only reached while the lock is held.
    private struct State: @unchecked Sendable {
        var seed: Seed
        /// The seed whose rows aren't archived while they are as there.
        var rowSeed: Seed
        var held: Held
        /// Whether the archive may have another state than `held`: the world is loaded again before the next update.
        var isStale = false
        /// Whether the world was removed: what is changed now is lost.
        var isGone = false
        /// Counts the changes of the seeds.
        var seedings = 0

        /// Notes that the world was removed. Returns its tables, to be freed outside the lock.
        mutating func becomeGone() -> MemoryTables {
            let tables = held.tables
            held.tables = MemoryTables(seed)
            (isGone, isStale) = (true, false)
            return tables
        }
    }

    /// The world in memory.
    private struct Held {
        let id: Int64
        var version: Int64
        /// The version at which the world began anew.
        var beginning: Int64
        var tables: MemoryTables

        /// A world that is in memory only.
        init(_ seed: Seed) { (id, version, beginning, tables) = (0, 0, 0, MemoryTables(seed)) }

        init(_ archived: ArchivedWorld, _ seed: Seed, rows: Seed) throws(StoreFailure) {
            (id, version, beginning) = (archived.id, archived.version, archived.beginning)
            tables = MemoryTables(seed, rows: rows)
            try tables.apply(archived.rows, archived.values)
        }
    }

    /// A world that is in memory only.
    package init(_ name: String, _ seed: Seed) {
        self.name = name
        archive = nil
        isKept = false
        state = Mutex(State(seed: seed, rowSeed: seed, held: Held(seed)))
    }

    /// A world that is kept in an archive, where there is one.
    convenience init(
        _ name: String, _ seed: Seed, keptIn archive: (any Archive)?, makes: Bool = true
    ) throws(StoreFailure) {
        guard let archive else {
            self.init(name, seed)
            return
        }
        try self.init(name, seed, in: archive, makes: makes)
    }

    /// Takes the world of this name from the archive. One that isn't there is made, unless not `makes`: then it has gone.
    package init(_ name: String, _ seed: Seed, in archive: any Archive, makes: Bool = true) throws(StoreFailure) {
        self.name = name
        self.archive = archive
        let coder = StoredCoder(profiles: seed.format.profiles)
        let beginning: () throws(StoreFailure) -> [ArchivedValue] = { () throws(StoreFailure) in
            // All daemons have the same clock and generator.
            [try coder.archived(WorldClock(seed)), try coder.archived(RandomSource(seed))]
        }
        let archived = try archive.load(name, beginning: makes ? beginning : nil)
        isKept = archived?.wasThere ?? false
        var state = State(
            seed: seed, rowSeed: seed,
            held: try archived.map { (archived) throws(StoreFailure) in try Held(archived, seed, rows: seed) }
                ?? Held(seed))
        state.isGone = archived == nil
        self.state = Mutex(state)
    }

    /// Whether the world was removed, or hasn't been there.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Whether what is kept outlives the process.
    var lasts: Bool { archive != nil }

    // MARK: - Loading

    /// Loads the world from the archive again if it is stale. Returns whether it was.
    @discardableResult
    private func loadIfStale(from archive: any Archive) throws(StoreFailure) -> Bool {
        guard state.withLock({ $0.isStale }) else { return false }
        // Typed errors don't come through the lock of a value that isn't there.
        let result: Result<Void, StoreFailure> = loading.withLock { _ in
            do throws(StoreFailure) { return .success(try loadAgain(from: archive)) } catch { return .failure(error) }
        }
        try result.get()
        return true
    }

    private func loadAgain(from archive: any Archive) throws(StoreFailure) {
        while true {
            let (isStale, seed, rowSeed, seedings) = state.withLock { ($0.isStale, $0.seed, $0.rowSeed, $0.seedings) }
            guard isStale else { return }
            let archived = try archive.load(name, beginning: nil)
            let loaded = try archived.map { (archived) throws(StoreFailure) in
                try Held(archived, seed, rows: rowSeed)
            }
            var news = StoreChange()
            let (isTaken, old) = state.withLock { state -> (Bool, MemoryTables?) in
                guard state.seedings == seedings else { return (false, nil) }
                // Another daemon may have removed it. One with another number has the same name only.
                guard let loaded, loaded.id == state.held.id else { return (true, state.becomeGone()) }
                let types = seed.format.stored
                news = StoreChange(
                    names: Set(types.rows.keys).union(types.values.keys),
                    isReset: state.held.beginning != loaded.beginning)
                let old = state.held.tables
                (state.held, state.isStale) = (loaded, false)
                return (true, old)
            }
            // Freed outside the lock.
            _ = consume old
            tell(news)
            if isTaken { return }
        }
    }

    /// Loads the world again: what hasn't been asked for yet is made from `seed`, and the rows that a seed brings are those of `rows`.
    func resume(_ seed: Seed, rows: Seed) throws(StoreFailure) {
        guard let archive else { return }
        state.withLock { state in
            (state.seed, state.rowSeed) = (seed, rows)
            state.isStale = !state.isGone
            state.seedings += 1
        }
        try loadIfStale(from: archive)
    }

    // MARK: - Reading and changing

    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) -> Result in try body(Snapshot(tables: state.held.tables)) }
    }

    /// Commits all that `body` changes. `body` may run several times.
    ///
    /// - Throws: Why the change can't be committed: then nothing is changed.
    package func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try change(body).get()
    }

    /// Commits all that `body` changes, or nothing when it throws. `body` may run several times.
    ///
    /// - Throws: What `body` throws, or a `StoreFailure` when the change can't be committed: then nothing is changed.
    package func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try change(body).get()
    }

    private func change<Value: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Value
    ) throws(StoreFailure) -> Result<Value, Failure> {
        guard archive != nil else { return changeMemory(body) }
        var outcome: Result<Value, Failure>?
        try commit { tables in
            var transaction = Transaction(tables: tables)
            do throws(Failure) {
                outcome = .success(try body(&transaction))
                return true
            } catch {
                outcome = .failure(error)
                return false
            }
        }
        guard let outcome else { throw StoreFailure(.slow, "the change wasn't made") }
        return outcome
    }

    private func changeMemory<Value: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        state.withLock { state in
            let tables = state.held.tables
            var transaction = Transaction(tables: tables)
            // What can't fail needs no way back.
            let canFail = Failure.self != Never.self
            if canFail { tables.begin() }
            do throws(Failure) {
                let result = try body(&transaction)
                if canFail { tables.commit() }
                return .success(result)
            } catch {
                tables.undo()
                return .failure(error)
            }
        }
    }

    /// Begins the world anew from a seed, with what `putting` adds, in one step; `also` is part of it.
    func reset(
        to seed: Seed, putting: (inout Transaction) -> Void = { _ in }, also: () -> Void = {}
    ) throws(StoreFailure) {
        func begin(_ tables: MemoryTables) {
            var transaction = Transaction(tables: tables)
            transaction.clock = WorldClock(seed)
            transaction[RandomSource.self] = RandomSource(seed)
            putting(&transaction)
        }
        func finish(_ state: inout State) {
            (state.seed, state.rowSeed) = (seed, seed)
            state.seedings += 1
            also()
        }
        guard archive == nil else {
            return try commit(
                from: seed,
                { tables in
                    begin(tables)
                    return true
                }, then: finish)
        }
        let tables = MemoryTables(seed)
        begin(tables)
        // What there was is freed outside the lock.
        let old = state.withLock { state in
            let old = state.held
            state.held.tables = tables
            finish(&state)
            return old
        }
        _ = consume old
    }

    /// What hasn't been asked for yet is made from this seed; the rest stays.
    func adopt(_ seed: Seed) throws(StoreFailure) {
        // What the earlier seed says is kept first: what a world has doesn't depend on whether it was asked for.
        try update { tables in
            tables[OutcomeQueue.self] = tables.value(OutcomeQueue.self)
            tables[FaultQueue.self] = tables.value(FaultQueue.self)
        }
        state.withLock { state in
            state.seed = seed
            state.held.tables.adopt(seed)
        }
    }

    /// Removes the world: nothing is kept of it, and what requests that are under way still change is lost. `false` when it had gone
    /// before. Where that can't be done, the world is as it was.
    @discardableResult
    func remove() throws(StoreFailure) -> Bool {
        let (isRemoved, old) = try state.withLock { (state) throws(StoreFailure) -> (Bool, MemoryTables?) in
            guard !state.isGone else { return (false, nil) }
            let isRemoved = try archive?.remove(state.held.id) ?? true
            return (isRemoved, state.becomeGone())
        }
        // The tables are freed outside the lock.
        _ = consume old
        return isRemoved
    }

    // MARK: - Commits

    private static let attempts = 8

    /// Runs a change and commits what it did. `run` returns `false` where all of that is to be undone, and may run several times; `then`
    /// runs once the change is committed. With `seed`, the world begins anew from it.
    private func commit(
        from seed: Seed? = nil, _ run: (MemoryTables) -> Bool, then: (inout State) -> Void = { _ in }
    ) throws(StoreFailure) {
        guard let archive else { return }
        var news = StoreChange()
        defer { tell(news) }
        for attempt in 0..<WorldStore.attempts {
            try loadIfStale(from: archive)
            let isDone = try state.withLock { (state) throws(StoreFailure) -> Bool in
                try self.attempt(&state, to: archive, isLocking: attempt > 0, from: seed, run, then, &news)
            }
            if isDone { return }
        }
        throw StoreFailure(.slow, "others change the world all the time")
    }

    /// Makes one attempt to commit. `false` when it is to be made again.
    private func attempt(
        _ state: inout State, to archive: any Archive, isLocking: Bool, from seed: Seed?,
        _ run: (MemoryTables) -> Bool, _ then: (inout State) -> Void, _ news: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        guard !state.isStale else { return false }
        /// The tables that were changed, until it is known whether that is committed.
        var changed: MemoryTables?
        func make(_ changes: [ArchivedChange]) throws(StoreFailure) -> WorldChange? {
            for change in changes.withLastValues { try apply(change, to: &state, &news) }
            guard !state.isStale else { return nil }
            let tables = seed.map { MemoryTables($0) } ?? state.held.tables
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
        let outcome: CommitOutcome
        do throws(StoreFailure) {
            // In a world that has gone, requests that are under way find their own changes only.
            outcome =
                state.isGone
                ? try make([]).map { _ in .committed(version: 0) } ?? .unchanged
                : try archive.commit(to: state.held.id, after: state.held.version, isLocking: isLocking, make)
        } catch {
            changed?.undo()
            // What the archive has isn't known, or can't be taken over.
            if error.kind == .unknown || error.kind == .unreadable { state.isStale = !state.isGone }
            throw error
        }
        switch outcome {
        case .committed(let version):
            changed?.commit()
            if let changed, seed != nil {
                state.held.tables = changed
                state.held.beginning = version
            }
            state.held.version = version
            then(&state)
            return true
        case .unchanged:
            changed?.commit()
            guard !state.isStale else { return false }
            // Nothing was changed perhaps because of something that another daemon has changed since.
            return isLocking || !archive.isShared || state.isGone
        case .conflict:
            changed?.undo()
            // What others have changed isn't kept any more.
            if isLocking { state.isStale = true }
            return false
        case .gone:
            _ = state.becomeGone()
            return false
        }
    }

    // MARK: - Changes by others

    /// Takes over what other daemons have changed before this call, so that whoever reads the world afterwards sees it. A world that is
    /// stale is loaded again.
    @discardableResult
    func refresh() throws(StoreFailure) -> StoreNews {
        guard let archive else { return .same }
        var found = StoreNews.same
        while true {
            if try loadIfStale(from: archive) { found = .changed }
            let (id, version, isGone) = state.withLock { ($0.held.id, $0.held.version, $0.isGone) }
            guard !isGone else { return .gone }
            guard archive.isShared else { return found }
            switch try archive.news(of: id, after: version) {
            case .none: return found
            case .gone:
                _ = state.withLock { $0.becomeGone() }
                return .gone
            case .changes(let changes, let isAll):
                if try take(changes) { found = .changed }
                if isAll { return found }
            case .forgotten: state.withLock { $0.isStale = !$0.isGone }
            }
        }
    }

    private func take(_ changes: [ArchivedChange]) throws(StoreFailure) -> Bool {
        var news = StoreChange()
        defer { tell(news) }
        return try state.withLock { (state) throws(StoreFailure) -> Bool in
            var hasChanged = false
            for change in changes.withLastValues where change.version > state.held.version {
                do throws(StoreFailure) { try apply(change, to: &state, &news) } catch {
                    state.isStale = !state.isGone
                    throw error
                }
                hasChanged = true
            }
            return hasChanged
        }
    }

    /// Does to the tables in memory what another daemon has done.
    private func apply(
        _ archived: ArchivedChange, to state: inout State, _ news: inout StoreChange
    ) throws(StoreFailure) {
        guard !state.isStale, !state.isGone else { return }
        // One that comes between is missing.
        guard archived.before == state.held.version else {
            state.isStale = true
            return
        }
        let change = archived.change
        if change.isReset {
            state.held.tables = MemoryTables(state.seed, rows: state.rowSeed)
            state.held.beginning = archived.version
            news.isReset = true
        }
        try state.held.tables.apply(change.rows, change.values)
        state.held.version = archived.version
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
