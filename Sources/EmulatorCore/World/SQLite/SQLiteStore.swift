import Synchronization

/// Keeps the tables of one world in memory, and what is changed in a file.
///
/// Nobody else changes the file, so that looking and changing take as long as in memory: what was changed is written a moment later,
/// together with what others have changed (`SQLiteQueue`), and answers wait for that. When it can't be written, the world is read
/// from the file again, and whoever has changed it, or has seen what was changed, is refused.
final class SQLiteStore: Store {
    let name: String
    private let queue: SQLiteQueue
    private let state: Mutex<State>
    private let isHeld = Atomic<Bool>(false)
    /// Whether something of it was in the file when it was taken up.
    private let wasKept: Bool
    /// Held by whoever loads the world.
    private let loading = Mutex<Void>(())

    /// What is held of the world. Only reached while the lock is held.
    private struct State: @unchecked Sendable {
        var seed: Seed
        /// Whose rows aren't written while they are as there.
        var rowSeed: Seed
        var earlierSeeds = EarlierSeeds()
        var held: Held?
        /// Whether it was removed: what is changed now is lost.
        var isGone = false
        /// Whether the world has begun afresh since it was last written.
        var isReset = false
        /// Whether the queue knows that there is something to write.
        var isQueued = false
        /// Of the last change.
        var position = 0
    }

    private struct Held {
        let tables: MemoryTables
        let shared: SharedTables
        let world: SQLiteWorld
    }

    init(_ name: String, _ seed: Seed, _ queue: SQLiteQueue) {
        self.name = name
        self.queue = queue
        state = Mutex(State(seed: seed, rowSeed: seed))
        wasKept = queue.id(of: name) != nil
        queue.noteUnread(1)
        // A new one is made without a look at the file.
        if !wasKept { hold(SQLiteWorld(name, id: nil), SharedTables(StoredCoder(profiles: seed.format.profiles))) }
    }

    let lasts = true
    let lastClock: LastClock? = LastClock()

    var isKept: Bool { wasKept }

    // MARK: - Loading

    private func hold(
        _ world: SQLiteWorld, _ shared: SharedTables, _ rows: [String: [SharedTables.WrittenRow]] = [:]
    ) {
        state.withLock { state in
            guard state.held == nil, !state.isGone else { return }
            let tables = MemoryTables(state.seed, rows: state.rowSeed, shared: shared)
            // Now rather than while somebody waits for the lock.
            tables.readAll(state.seed.format.stored)
            guard shared.failure == nil else { return }
            world.notePlaces(of: rows, in: tables.seededTables)
            shared.journal.isOpen = true
            state.held = Held(tables: tables, shared: shared, world: world)
            isHeld.store(true, ordering: .releasing)
            queue.noteUnread(-1)
        }
    }

    /// Has the world in memory, unless that fails.
    private func prepare() {
        guard !isHeld.load(ordering: .acquiring) else { return }
        guard StoreCall.current?.mayWait ?? true else {
            StoreCall.current?.note(StoreFailure(.slow, "SQLite: the world is being read again"))
            return
        }
        loading.withLock { _ in
            guard state.withLock({ $0.held == nil && !$0.isGone }) else { return }
            do throws(StoreFailure) {
                let profiles = state.withLock { $0.seed.format.profiles }
                let (world, rows, values) = try queue.load(name)
                let shared = SharedTables(StoredCoder(profiles: profiles), rows: rows, values: values)
                hold(world, shared, rows)
                if let failure = shared.failure { throw failure }
            } catch { StoreCall.current?.note(error) }
        }
    }

    func resume(_ seed: Seed, rows: Seed) {
        state.withLock { state in
            (state.seed, state.rowSeed) = (seed, rows)
            letGo(&state)
        }
        prepare()
    }

    private func letGo(_ state: inout State) {
        if state.held != nil { queue.noteUnread(1) }
        lastClock?.forget()
        (state.held, state.isQueued, state.isReset) = (nil, false, false)
        isHeld.store(false, ordering: .releasing)
    }

    // MARK: - Reading and changing

    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        prepare()
        return try state.withLock { (state) throws(Failure) -> Result in
            guard let held = state.held else {
                queue.changes.note(state.position)
                return try body(Snapshot(tables: MemoryTables(state.seed)))
            }
            held.tables.look()
            defer {
                queue.changes.note(held.tables.seen)
                if let failure = held.shared.failure { fail(failure, &state) }
            }
            return try body(Snapshot(tables: held.tables))
        }
    }

    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        while true {
            prepare()
            var isRefused = false
            let result = try state.withLock { (state) throws(Failure) -> Result in
                try attempt(body, &state, &isRefused)
            }
            // What would have changed something is done again if the file can be written again.
            if !isRefused || queue.refuses() { return result }
        }
    }

    /// Runs `body`. `isRefused` where it would have changed something that can't be written.
    private func attempt<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result, _ state: inout State, _ isRefused: inout Bool
    ) throws(Failure) -> Result {
        guard let held = state.held else {
            var transaction = Transaction(tables: MemoryTables(state.seed))
            return try body(&transaction)
        }
        let count = held.shared.journal.entries.count
        var effect = SharedTables.Effect.none
        defer {
            note(effect, from: count, held, &state)
            if let failure = held.shared.failure { fail(failure, &state) }
            isRefused = effect == .refused
        }
        return try held.shared.attempt(
            body, on: held.tables, isRefused: queue.isFailing.load(ordering: .relaxed), &effect)
    }

    /// Takes note of what an update has come to that has found `count` entries in the journal.
    private func note(_ effect: SharedTables.Effect, from count: Int, _ held: Held, _ state: inout State) {
        switch effect {
        case .none, .refused: queue.changes.note(held.tables.seen)
        case .changed:
            held.tables.noteClock(in: lastClock)
            enqueue(&state)
            held.shared.journal.place(from: count, at: state.position)
            queue.changes.note(state.position)
        }
    }

    private func enqueue(_ state: inout State) {
        state.position = queue.changes.add(state.isQueued ? nil : .change(self))
        state.isQueued = true
    }

    /// What is in memory can't be used, and is read again when it is next asked for.
    private func fail(_ failure: StoreFailure, _ state: inout State) {
        letGo(&state)
        StoreCall.current?.note(failure)
    }

    func reset(to seed: Seed, putting: (inout Transaction) -> Void, also: () -> Void) {
        let isRefused = queue.refuses()
        prepare()
        let old = state.withLock { state -> Held? in
            guard !isRefused, let held = state.held else { return nil }
            let shared = SharedTables(StoredCoder(profiles: seed.format.profiles))
            shared.journal.isOpen = true
            let tables = MemoryTables(seed, shared: shared)
            tables.begin()
            var transaction = Transaction(tables: tables)
            transaction.clock = WorldClock(seed)
            transaction[RandomSource.self] = RandomSource(seed)
            putting(&transaction)
            tables.commit()
            let (seedBefore, rowsBefore) = (state.seed, state.rowSeed)
            (state.seed, state.rowSeed, state.isReset) = (seed, seed, true)
            state.held = Held(tables: tables, shared: shared, world: held.world)
            lastClock?.forget()
            enqueue(&state)
            state.earlierSeeds.add(
                seedBefore, rows: rowsBefore, before: state.position, isSettled: queue.changes.isSettled)
            tables.beganAt = state.position
            queue.changes.note(state.position)
            also()
            return held
        }
        // What there was is freed outside the lock.
        _ = consume old
    }

    func adopt(_ seed: Seed) {
        // What the earlier seed says is written first: what a world has doesn't depend on whether it was asked for.
        update { tables in
            tables[OutcomeQueue.self] = tables.value(OutcomeQueue.self)
            tables[FaultQueue.self] = tables.value(FaultQueue.self)
        }
        state.withLock { state in
            guard let held = state.held else { return }
            state.earlierSeeds.add(
                state.seed, rows: state.rowSeed, before: state.position, isSettled: queue.changes.isSettled)
            state.seed = seed
            held.tables.goOn(with: seed)
            held.tables.beganAt = state.position
        }
    }

    func remove() {
        state.withLock { state in
            guard !state.isGone else { return }
            let world = state.held?.world
            if state.held == nil { queue.noteUnread(-1) }
            (state.held, state.isGone) = (nil, true)
            isHeld.store(true, ordering: .releasing)
            state.position = queue.remove(world ?? SQLiteWorld(name, id: queue.id(of: name)))
            queue.changes.note(state.position)
        }
    }

    // MARK: - Writing

    /// What was changed since this was last asked. Only the queue asks, which has the file's lock.
    func takeChange() -> (world: SQLiteWorld, change: SharedChange, nextPlace: Int64)? {
        state.withLock { state in
            guard let held = state.held else { return nil }
            state.isQueued = false
            if held.world.id == nil || state.isReset {
                // A clock that the seed sets goes on from now, also after the daemon's next start.
                held.shared.note(held.tables.box(WorldClock.self))
                held.shared.note(held.tables.box(RandomSource.self))
            }
            let change = SharedChange(
                of: held.tables, held.shared, at: held.world.nextPlace, isReset: state.isReset)
            change.settle()
            state.isReset = false
            return (held.world, change, held.world.nextPlace + Int64(change.count) + 1)
        }
    }

    /// What was changed can't be written.
    func drop() {
        state.withLock { state in
            letGo(&state)
            guard let (seed, rows) = state.earlierSeeds.restored(isSettled: queue.changes.isSettled) else { return }
            (state.seed, state.rowSeed) = (seed, rows)
        }
    }
}
