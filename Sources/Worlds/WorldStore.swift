import Synchronization

/// The tables of one test world, in this process's memory. If there is an archive (a file or database), the tables are
/// stored there, too.
///
/// Queries are answered from memory. An update changes the tables in memory, and commits the changes to the archive
/// before any other request can read them. If the commit fails, the changes are undone and the update throws an error.
///
/// The first attempt of an update takes no lock in an archive that daemons share. If another daemon has changed the
/// world meanwhile, or the connection was lost, the attempt is undone. The next attempt locks the world, applies the
/// other daemon's changes, and runs the update's closure again. A closure that throws or changes nothing runs a second
/// time, too, because it may have read rows that another daemon has changed.
package final class WorldStore: Sendable {
    let name: String
    private let archive: (any Archive)?
    private let state: Mutex<State>
    private let loading = Mutex<Void>(())
    private let listeners = Mutex<[@Sendable (StoreChange) -> Void]>([])
    /// Whether the file or database had the test world before this process loaded it.
    package let isKept: Bool

    /// The state of the test world. It is only used while the lock is held.
    private struct State: @unchecked Sendable {
        var origin: any WorldOrigin
        /// The source of the test world's initial rows, usually the seed. A row isn't stored as long as the test world
        /// hasn't changed it.
        var rowOrigin: any WorldOrigin
        var held: Held
        /// Whether the file or database may have another state than this process's copy, so that the test world must be
        /// loaded before the next update.
        var isStale = false
        /// Whether the test world was removed, so that further changes are lost.
        var isGone = false
        /// The number of times that the seed (the source of initial values) was changed.
        var originChanges = 0

        /// Marks the test world as removed. Returns its tables, so that the caller frees them outside the lock.
        mutating func becomeGone() -> MemoryTables {
            let tables = held.tables
            held.tables = MemoryTables(origin)
            (isGone, isStale) = (true, false)
            return tables
        }
    }

    /// The copy of the test world in this process's memory.
    private struct Held {
        let id: Int64
        var version: Int64
        /// The version of the test world at which it was made or last reset to its seed.
        var beginning: Int64
        var tables: MemoryTables

        /// Makes a test world that exists in memory only.
        init(_ origin: any WorldOrigin) { (id, version, beginning, tables) = (0, 0, 0, MemoryTables(origin)) }

        init(_ archived: ArchivedWorld, _ origin: any WorldOrigin, rows: any WorldOrigin) throws(StoreFailure) {
            (id, version, beginning) = (archived.id, archived.version, archived.beginning)
            tables = MemoryTables(origin, rows: rows)
            try tables.apply(archived.rows, archived.values)
        }
    }

    /// Makes a test world that exists in memory only.
    package init(_ name: String, _ origin: any WorldOrigin) {
        self.name = name
        archive = nil
        isKept = false
        state = Mutex(State(origin: origin, rowOrigin: origin, held: Held(origin)))
    }

    /// Makes a test world that is kept in `archive` (a file or database), if there is one.
    package convenience init(
        _ name: String, _ origin: any WorldOrigin, keptIn archive: (any Archive)?, makes: Bool = true
    ) throws(StoreFailure) {
        guard let archive else {
            self.init(name, origin)
            return
        }
        try self.init(name, origin, in: archive, makes: makes)
    }

    /// Loads the test world of this name from the file or database. If there is no such world and `makes` is true, a
    /// new world is made. With `makes` false, a missing world counts as removed.
    package init(
        _ name: String, _ origin: any WorldOrigin, in archive: any Archive, makes: Bool = true
    ) throws(StoreFailure) {
        self.name = name
        self.archive = archive
        let coder = origin.coder
        let beginning: () throws(StoreFailure) -> [ArchivedValue] = { () throws(StoreFailure) in
            // All daemons have the same clock and generator for a world.
            [try coder.archived(origin.value(WorldClock.self)), try coder.archived(origin.value(RandomSource.self))]
        }
        let archived = try archive.load(name, beginning: makes ? beginning : nil)
        isKept = archived?.wasThere ?? false
        var state = State(
            origin: origin, rowOrigin: origin,
            held: try archived.map { (archived) throws(StoreFailure) in try Held(archived, origin, rows: origin) }
                ?? Held(origin))
        state.isGone = archived == nil
        self.state = Mutex(state)
    }

    /// Whether the test world was removed, or never existed.
    package var isGone: Bool { state.withLock { $0.isGone } }

    /// Whether the changes of the test world are stored in an archive.
    package var lasts: Bool { archive != nil }

    /// This is true if other daemons may change the test world, too.
    package var isShared: Bool { archive?.isShared ?? false }

    // MARK: - Loading

    /// Loads the test world again from the file or database if the copy in memory may be wrong.
    private func loadIfStale(from archive: any Archive) throws(StoreFailure) {
        guard state.withLock({ $0.isStale }) else { return }
        // A lock doesn't pass typed errors on for a value that can't be copied.
        let result: Result<Void, StoreFailure> = loading.withLock { _ in
            do throws(StoreFailure) { return .success(try loadAgain(from: archive)) } catch { return .failure(error) }
        }
        try result.get()
    }

    private func loadAgain(from archive: any Archive) throws(StoreFailure) {
        while true {
            let (isStale, origin, rowOrigin, originChanges) = state.withLock {
                ($0.isStale, $0.origin, $0.rowOrigin, $0.originChanges)
            }
            guard isStale else { return }
            let archived = try archive.load(name, beginning: nil)
            let loaded = try archived.map { (archived) throws(StoreFailure) in
                try Held(archived, origin, rows: rowOrigin)
            }
            var news = StoreChange()
            let (isTaken, old) = state.withLock { state -> (Bool, MemoryTables?) in
                guard state.originChanges == originChanges else { return (false, nil) }
                // Another daemon may have removed it. A world with another number only has the same name.
                guard let loaded, loaded.id == state.held.id else { return (true, state.becomeGone()) }
                let types = origin.storedTypes
                news = StoreChange(
                    names: Set(types.rows.keys).union(types.values.keys),
                    isReset: state.held.beginning != loaded.beginning)
                let old = state.held.tables
                (state.held, state.isStale) = (loaded, false)
                return (true, old)
            }
            // The tables are freed outside the lock.
            _ = consume old
            notifyListeners(of: news)
            if isTaken { return }
        }
    }

    /// Loads the test world again from the file or database. From now on, its initial values come from `origin`, and
    /// its initial rows from `rows`.
    package func resume(_ origin: any WorldOrigin, rows: any WorldOrigin) throws(StoreFailure) {
        guard let archive else { return }
        state.withLock { state in
            (state.origin, state.rowOrigin) = (origin, rows)
            state.isStale = !state.isGone
            state.originChanges += 1
        }
        try loadIfStale(from: archive)
    }

    // MARK: - Reading and changing

    package func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) -> Result in try body(Snapshot(tables: state.held.tables)) }
    }

    /// Runs `body`, which may run several times, and commits its changes to the test world.
    ///
    /// - Throws: The reason why the change isn't committed; the change is undone in memory. If the reason is `unknown`,
    ///   the change may have been committed to the file or database.
    package func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try change(body).get()
    }

    /// Runs `body`, which may run several times, and commits its changes to the test world. If `body` throws an error,
    /// nothing is committed; if it returns a failure, its changes are committed.
    ///
    /// - Throws: The error of `body`, or a `StoreFailure` if the change isn't committed.
    package func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try change(body).get()
    }

    private func change<Value: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Value
    ) throws(StoreFailure) -> Result<Value, Failure> {
        guard let archive else { return changeMemory(body) }
        var outcome: Result<Value, Failure>?
        try commit(to: archive) { tables in
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
            // A closure that can't throw, whose `Failure` is `Never`, needs no undo log.
            let canFail = Failure.self != Never.self
            if canFail { tables.begin() }
            do throws(Failure) {
                let result = try body(&transaction)
                if canFail { tables.keepChanges() }
                return .success(result)
            } catch {
                tables.undo()
                return .failure(error)
            }
        }
    }

    /// Resets the test world to the initial data of `origin`. The changes that `putting` makes belong to the same
    /// commit as the reset. The closure `also` runs before any other request can read the reset world.
    package func reset(
        to origin: any WorldOrigin, putting: (inout Transaction) -> Void = { _ in }, also: () -> Void = {}
    ) throws(StoreFailure) {
        func begin(_ tables: MemoryTables) {
            var transaction = Transaction(tables: tables)
            transaction.clock = origin.value(WorldClock.self)
            transaction[RandomSource.self] = origin.value(RandomSource.self)
            putting(&transaction)
        }
        func finish(_ state: inout State) {
            (state.origin, state.rowOrigin) = (origin, origin)
            state.originChanges += 1
            also()
        }
        if let archive {
            return try commit(
                to: archive, from: origin,
                { tables in
                    begin(tables)
                    return true
                }, then: finish)
        }
        let tables = MemoryTables(origin)
        begin(tables)
        // The earlier tables are freed outside the lock.
        let old = state.withLock { state in
            let old = state.held
            state.held.tables = tables
            finish(&state)
            return old
        }
        _ = consume old
    }

    /// Replaces the seed (the source of initial data). The test world's rows and values stay as they are, even those
    /// that no request has used yet.
    package func adopt(_ origin: any WorldOrigin) throws(StoreFailure) {
        // The values of the earlier origin are made first, because it mustn't matter whether somebody has used them.
        let types = state.withLock { $0.origin.storedTypes.values }.sorted { $0.key < $1.key }.map(\.value)
        try update { tables in for type in types { tables.touch(type) } }
        state.withLock { state in
            state.origin = origin
            state.held.tables.adopt(origin)
        }
    }

    /// Removes the test world from memory and from the file or database. Changes by requests that still run are lost.
    /// Returns `false` when the world was removed before. If removing fails, the world is unchanged.
    @discardableResult
    package func remove() throws(StoreFailure) -> Bool {
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

    /// Runs a change of the test world and commits it. `run` may run several times, and returns `false` if its changes
    /// shall be undone. `then` runs once, after the commit. If `origin` is given, the world is first reset to the
    /// initial data of `origin`.
    private func commit(
        to archive: any Archive, from origin: (any WorldOrigin)? = nil, _ run: (MemoryTables) -> Bool,
        then: (inout State) -> Void = { _ in }
    ) throws(StoreFailure) {
        var othersChange = StoreChange()
        defer { notifyListeners(of: othersChange) }
        for number in 0..<WorldStore.attempts {
            try loadIfStale(from: archive)
            let isDone = try state.withLock { (state) throws(StoreFailure) -> Bool in
                try commitOnce(&state, to: archive, isLocking: number > 0, from: origin, run, then, &othersChange)
            }
            if isDone { return }
        }
        throw StoreFailure(.slow, "the test world can't be changed: other daemons keep changing it at the same time")
    }

    /// Makes one attempt to commit a change of the test world. Returns `false` when another attempt is needed.
    private func commitOnce(
        _ state: inout State, to archive: any Archive, isLocking: Bool, from origin: (any WorldOrigin)?,
        _ run: (MemoryTables) -> Bool, _ then: (inout State) -> Void, _ othersChange: inout StoreChange
    ) throws(StoreFailure) -> Bool {
        guard !state.isStale else { return false }
        var changed: MemoryTables?
        func make(_ changes: [ArchivedChange]) throws(StoreFailure) -> WorldChange? {
            for change in changes.withLastValues { try apply(change, to: &state, &othersChange) }
            guard !state.isStale else { return nil }
            let tables = origin.map { MemoryTables($0) } ?? state.held.tables
            tables.begin()
            guard run(tables) else {
                tables.undo()
                return nil
            }
            changed = tables
            var change = try tables.archivedChange()
            change.isReset = origin != nil
            return change.isEmpty ? nil : change
        }
        let outcome: CommitOutcome
        do throws(StoreFailure) {
            // In a removed world, requests that still run change memory only, and are answered as if it was kept.
            outcome =
                state.isGone
                ? try make([]).map { _ in .committed(version: 0) } ?? .unchanged
                : try archive.commit(to: state.held.id, after: state.held.version, isLocking: isLocking, make)
        } catch {
            changed?.undo()
            // The state of the archive isn't known, or can't be read.
            if error.kind == .unknown || error.kind == .unreadable { state.isStale = !state.isGone }
            throw error
        }
        switch outcome {
        case .committed(let version):
            changed?.keepChanges()
            if let changed, origin != nil {
                state.held.tables = changed
                state.held.beginning = version
            }
            state.held.version = version
            then(&state)
            return true
        case .unchanged:
            changed?.keepChanges()
            guard !state.isStale else { return false }
            // Even a closure that changed nothing may have read rows that another daemon has changed since.
            return isLocking || !archive.isShared || state.isGone
        case .conflict:
            changed?.undo()
            // Even with the lock it failed: the changes of others aren't kept any more, or the connection was lost.
            if isLocking { state.isStale = true }
            return false
        case .removed:
            _ = state.becomeGone()
            return false
        }
    }

    // MARK: - Changes by others

    /// Applies the changes that other daemons have made in the test world before this call, so that a later read sees
    /// them. If the copy in memory may be wrong, the whole world is loaded again. Returns `false` if the world was
    /// removed. A world that has the same name now is a new one, with a store of its own.
    @discardableResult
    package func refresh() throws(StoreFailure) -> Bool {
        guard let archive else { return true }
        while true {
            try loadIfStale(from: archive)
            let (id, version, isGone) = state.withLock { ($0.held.id, $0.held.version, $0.isGone) }
            guard !isGone else { return false }
            guard archive.isShared else { return true }
            switch try archive.news(of: id, after: version) {
            case .none: return true
            case .removed:
                _ = state.withLock { $0.becomeGone() }
                return false
            case .changes(let changes, let isAll):
                try applyNew(changes)
                if isAll { return true }
            case .forgotten: state.withLock { $0.isStale = !$0.isGone }
            }
        }
    }

    private func applyNew(_ changes: [ArchivedChange]) throws(StoreFailure) {
        var news = StoreChange()
        defer { notifyListeners(of: news) }
        try state.withLock { (state) throws(StoreFailure) in
            for change in changes.withLastValues where change.version > state.held.version {
                do throws(StoreFailure) { try apply(change, to: &state, &news) } catch {
                    state.isStale = !state.isGone
                    throw error
                }
            }
        }
    }

    private func apply(
        _ archived: ArchivedChange, to state: inout State, _ news: inout StoreChange
    ) throws(StoreFailure) {
        guard !state.isStale, !state.isGone else { return }
        // A change between them is missing.
        guard archived.before == state.held.version else {
            state.isStale = true
            return
        }
        let change = archived.change
        if change.isReset {
            state.held.tables = MemoryTables(state.origin, rows: state.rowOrigin)
            state.held.beginning = archived.version
            news.isReset = true
        }
        try state.held.tables.apply(change.rows, change.values)
        state.held.version = archived.version
        news.names.formUnion(change.rows.lazy.map(\.table))
        news.names.formUnion(change.values.lazy.map(\.name))
    }

    /// Calls `body` each time after changes by other daemons were applied to the test world. `body` runs on the thread
    /// that has applied the changes, without a lock on the tables. It may read the tables, but must neither refresh nor
    /// change them.
    package func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void) {
        listeners.withLock { $0.append(body) }
    }

    private func notifyListeners(of change: StoreChange) {
        guard !change.names.isEmpty || change.isReset else { return }
        for listener in listeners.withLock({ $0 }) { listener(change) }
    }
}

/// The changes that other daemons have made in a test world.
package struct StoreChange: Sendable {
    /// The names of the tables and values that other daemons have changed, or may have changed.
    package var names: Set<String>
    /// Whether another daemon has reset the test world to its initial data.
    package var isReset: Bool

    package init(names: Set<String> = [], isReset: Bool = false) {
        self.names = names
        self.isReset = isReset
    }
}
