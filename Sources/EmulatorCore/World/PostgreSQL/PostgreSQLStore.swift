import PostgreSQL
import Synchronization

/// Keeps the tables of one world in memory, as of a version of what PostgreSQL has.
///
/// A request begins with what others have changed (`refresh`). An update is committed before it returns, and holds the world's lock
/// until then, so that readers see what is committed: `PostgreSQLStore+Updating`.
final class PostgreSQLStore: Store {
    let name: String
    let stores: PostgreSQLStores
    let state: Mutex<State>
    private let listeners = Mutex<[@Sendable (StoreChange) -> Void]>([])
    /// Held by whoever loads the world.
    private let loading = Mutex<Void>(())
    /// Whether something of it was kept before this process took it up.
    private let wasKept = Atomic<Bool>(false)

    /// What is held of the world. Only reached while the lock is held.
    struct State: @unchecked Sendable {
        var seed: Seed
        /// Whose rows aren't written while they are as there.
        var rowSeed: Seed
        var held: Held?
        /// Whether it was removed: what is changed now is lost.
        var isGone = false
        /// How often the seeds were changed.
        var seedings = 0
    }

    struct Held {
        let id: Int64
        var version: Int64
        /// The version at which the world began afresh.
        var beginning: Int64
        var tables: MemoryTables
        var shared: SharedTables
    }

    init(_ name: String, _ seed: Seed, of stores: PostgreSQLStores) {
        self.name = name
        self.stores = stores
        state = Mutex(State(seed: seed, rowSeed: seed))
        do throws(StoreFailure) { wasKept.store(try load(), ordering: .relaxed) } catch { note(error) }
    }

    let lasts = true

    var isKept: Bool { wasKept.load(ordering: .relaxed) }

    func note(_ failure: StoreFailure) { StoreCall.current?.note(failure) }

    // MARK: - Loading

    /// Loads what PostgreSQL has, unless it is at hand, and returns whether it was there.
    @discardableResult
    func load(isAnew: Bool = false) throws(StoreFailure) -> Bool {
        // Typed errors don't come through the lock of a value that isn't there.
        let result: Result<Bool, StoreFailure> = loading.withLock { _ in
            do throws(StoreFailure) { return .success(try loadAlone(isAnew: isAnew)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func loadAlone(isAnew: Bool) throws(StoreFailure) -> Bool {
        while true {
            let (isHeld, isGone, before) = state.withLock {
                ($0.held != nil, $0.isGone, (seed: $0.seed, rowSeed: $0.rowSeed, seedings: $0.seedings))
            }
            if isHeld && !isAnew || isGone { return true }
            let (written, wasThere) = try PostgreSQLLoader(stores, name).load(before.seed)
            let coder = StoredCoder(profiles: before.seed.format.profiles)
            let shared = SharedTables(coder, rows: written.rows, values: written.values)
            let tables = MemoryTables(before.seed, rows: before.rowSeed, shared: shared)
            // Now rather than while somebody waits for the lock.
            tables.readAll(before.seed.format.stored)
            if let failure = shared.failure { throw failure }
            let isTaken = state.withLock { state in
                guard state.seedings == before.seedings else { return false }
                if let held = state.held, held.id == written.id, held.version > written.version { return true }
                state.held = Held(
                    id: written.id, version: written.version, beginning: written.beginning, tables: tables,
                    shared: shared)
                return true
            }
            if isTaken { return wasThere }
        }
    }

    func resume(_ seed: Seed, rows: Seed) {
        state.withLock { state in
            (state.seed, state.rowSeed, state.held) = (seed, rows, nil)
            state.seedings += 1
        }
        do throws(StoreFailure) { try load() } catch { note(error) }
    }

    // MARK: - Reading

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        while true {
            let isLoaded = prepare()
            let outcome = state.withLock { state -> Swift.Result<Result, Failure>? in
                // Whoever had the lock before may have found that the world must be loaded anew.
                guard state.held != nil || state.isGone || !isLoaded else { return nil }
                let held = state.held
                defer {
                    if let failure = held?.shared.failure {
                        state.held = nil
                        note(failure)
                    }
                }
                do throws(Failure) {
                    return .success(try body(Snapshot(tables: held?.tables ?? MemoryTables(state.seed))))
                } catch { return .failure(error) }
            }
            if let outcome { return try outcome.get() }
        }
    }

    /// Has the world in memory. `false` when that fails, of which `StoreCall` is told.
    private func prepare() -> Bool {
        guard state.withLock({ $0.held == nil && !$0.isGone }) else { return true }
        do throws(StoreFailure) {
            try load()
            return true
        } catch {
            note(error)
            return false
        }
    }

    // MARK: - Changes by others

    func whenOthersChange(_ body: @escaping @Sendable (StoreChange) -> Void) {
        listeners.withLock { $0.append(body) }
    }

    func tell(_ change: StoreChange) {
        guard !change.names.isEmpty || change.isReset else { return }
        for listener in listeners.withLock({ $0 }) { listener(change) }
    }

    // MARK: - Beginning and end

    func adopt(_ seed: Seed) {
        // What the earlier seed says is written first: what a world has doesn't depend on whether it was asked for.
        update { tables in
            tables[OutcomeQueue.self] = tables.value(OutcomeQueue.self)
            tables[FaultQueue.self] = tables.value(FaultQueue.self)
        }
        guard StoreCall.current?.failure == nil else { return }
        state.withLock { state in
            state.seed = seed
            state.held?.tables.goOn(with: seed)
        }
    }

    func remove() {
        let id = state.withLock { state -> Int64? in
            defer { (state.isGone, state.held) = (true, nil) }
            return state.isGone ? nil : state.held?.id
        }
        guard let id else { return }
        do throws(StoreFailure) {
            try stores.pool.use { connection throws(PostgreSQLError) in
                let calls = [PostgreSQLSchema.begin()] + PostgreSQLSchema.removal(of: id) + [PostgreSQLSchema.commit()]
                try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
            }
        } catch { note(error) }
    }
}
