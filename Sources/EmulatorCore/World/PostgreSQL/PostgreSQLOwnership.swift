import Dispatch
import Platform
import PostgreSQL
import Synchronization
import Time

/// The worlds that this daemon owns, which it may as long as no other runs.
///
/// Requests for a world that a daemon owns are answered from its memory, without asking PostgreSQL. What they change is written a
/// moment later, together with what others change (`WriteQueue`), and their answers wait for that.
///
/// A daemon that begins asks for all worlds, in their rows. The owner looks a few times a second, and lets go of what is wanted once all
/// is written. What it saw when it looked counts for a second (`lease`): whoever wants a world and gets no answer takes it away after
/// that. So nobody changes what the owner answers from its memory. What the owner may still want to write then is refused by the
/// world's version, which is another one.
final class PostgreSQLOwnership: Sendable {
    /// How long what was seen counts.
    private static let lease: Int64 = 1_000_000_000
    /// From one look to the next, in seconds.
    private static let pause = 0.25
    /// When nothing has come during so many looks, all worlds are let go of: nobody need wait for a daemon that is idle.
    private static let idleLooks = 4

    private struct Owned {
        weak var store: PostgreSQLStore?
        /// Whether PostgreSQL has answered that this daemon is the world's owner.
        var isConfirmed = false
        /// Whether a look before that answer didn't find the world among those that are owned.
        var wasMissed = false
    }

    private struct State {
        /// By the numbers of the worlds. A world is here before it is owned, and until it is not.
        var worlds: [Int64: Owned] = [:]
        /// Whether no other daemon runs, as far as is known.
        var isAlone = false
        var isClosed = false
        var hasThread = false
    }

    private let pool: PostgreSQLPool
    private let writer: Int64
    private let state = Mutex(State())
    /// On the machine's monotonic clock, in nanoseconds.
    private let validUntil = Atomic<Int64>(0)
    private let wasUsed = Atomic<Bool>(false)
    private let wake = DispatchSemaphore(value: 0)
    /// Held by whoever looks.
    private let looking = Mutex<Void>(())

    init(_ pool: PostgreSQLPool, _ writer: Int64) {
        self.pool = pool
        self.writer = writer
    }

    /// Whether nobody else changes now what is owned.
    var isValid: Bool {
        guard MachineClock.nanoseconds < validUntil.load(ordering: .acquiring) else { return false }
        if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
        return true
    }

    /// Whether it is worth trying to own a world.
    var mayOwn: Bool { state.withLock { $0.isAlone && !$0.isClosed } }

    func note(isAlone: Bool) { state.withLock { $0.isAlone = isAlone } }

    // MARK: - Owning

    /// Owns a world that is held as of this version. `false` when that can't be, or the world has another version by now.
    func own(_ store: PostgreSQLStore, _ id: Int64, _ version: Int64) throws(StoreFailure) -> Bool {
        let asked = MachineClock.nanoseconds
        // Before it is owned: whoever looks meanwhile mustn't overlook it.
        let isFirst = state.withLock { state in
            defer { state.worlds[id] = Owned(store: store) }
            return state.worlds.isEmpty
        }
        do throws(StoreFailure) {
            let (writer, pool) = (writer, pool)
            let results = try pool.use { connection throws(PostgreSQLError) in
                try connection.run(
                    [
                        PostgreSQLSchema.own(.integer(id), .integer(writer)),
                        PostgreSQLSchema.news(.integer(id), .integer(version)),
                    ], until: .now + PostgreSQLPool.answerLimit)
            }
            guard results[0].changed == 1 else {
                note(isAlone: false)
                remove(id)
                return false
            }
            guard results[1].count > 0, results[1].integer(0, 0) == version, confirm(id) else {
                remove(id)
                try tell(id)
                return false
            }
        } catch {
            remove(id)
            throw error
        }
        if isFirst { validUntil.store(asked + PostgreSQLOwnership.lease, ordering: .releasing) }
        wasUsed.store(true, ordering: .relaxed)
        startLooking()
        return true
    }

    /// PostgreSQL has answered that this daemon is the owner. `false` when a look has found otherwise meanwhile.
    private func confirm(_ id: Int64) -> Bool {
        state.withLock { state in
            guard let owned = state.worlds[id], !owned.wasMissed else { return false }
            state.worlds[id]?.isConfirmed = true
            return true
        }
    }

    /// Has a thread look now and then.
    private func startLooking() {
        let isStarted = state.withLock { state in
            defer { state.hasThread = true }
            return state.hasThread
        }
        if !isStarted, !WorkThread.start(stack: 512 << 10, { [weak self] in PostgreSQLOwnership.watch { self } }) {
            state.withLock { $0.hasThread = false }
        }
        wake.signal()
    }

    /// The store in this process that owns the world, if any does.
    func owner(of id: Int64) -> PostgreSQLStore? { state.withLock { $0.worlds[id]?.store } }

    /// The world isn't owned any more.
    func remove(_ id: Int64) { state.withLock { $0.worlds[id] = nil } }

    /// Tells others that they may change the world.
    func tell(_ id: Int64) throws(StoreFailure) {
        let writer = writer
        try pool.use { connection throws(PostgreSQLError) in
            _ = try connection.run(
                [PostgreSQLSchema.letGo(.integer(id), .integer(writer))], until: .now + PostgreSQLPool.answerLimit)
        }
    }

    // MARK: - Looking

    private static func watch(_ ownership: () -> PostgreSQLOwnership?) {
        var idle = 0
        // It is asked for each time: it may go.
        while let wake = ownership()?.wake {
            _ = wake.wait(timeout: .now() + pause)
            guard let self = ownership(), !self.state.withLock({ $0.isClosed }) else { return }
            guard self.state.withLock({ !$0.worlds.isEmpty }) else {
                wake.wait()
                idle = 0
                continue
            }
            idle = self.wasUsed.exchange(false, ordering: .relaxed) ? 0 : idle + 1
            if idle >= idleLooks { self.letGoOfAll() } else { try? self.look() }
        }
    }

    /// Looks whether others want what is owned, and lets go of that. When this returns, what is still owned is valid.
    func look() throws(StoreFailure) {
        let result: Result<Void, StoreFailure> = looking.withLock { _ in
            do throws(StoreFailure) { return .success(try lookAlone()) } catch { return .failure(error) }
        }
        try result.get()
    }

    private func lookAlone() throws(StoreFailure) {
        let asked = MachineClock.nanoseconds
        // Another has looked while this waited.
        guard validUntil.load(ordering: .acquiring) - asked < PostgreSQLOwnership.lease * 9 / 10 else { return }
        let worlds = state.withLock { $0.worlds }
        guard !worlds.isEmpty else { return }
        let writer = writer
        let result = try pool.use { connection throws(PostgreSQLError) in
            try connection.run(
                [PostgreSQLSchema.owned(.integer(writer))], until: .now + PostgreSQLPool.answerLimit)[0]
        }
        let ids = Set((0..<result.count).map { result.integer($0, 0) })
        for (id, owned) in worlds {
            guard let store = owned.store else {
                remove(id)
                try tell(id)
                continue
            }
            if ids.contains(id) { continue }
            guard owned.isConfirmed else {
                // It may have become the owner after the rows were read.
                let isConfirmed = state.withLock { state in
                    state.worlds[id]?.wasMissed = true
                    return state.worlds[id]?.isConfirmed ?? false
                }
                if isConfirmed { store.letGo() }
                continue
            }
            note(isAlone: false)
            store.letGo()
        }
        validUntil.store(asked + PostgreSQLOwnership.lease, ordering: .releasing)
    }

    private func letGoOfAll() {
        for (id, owned) in state.withLock({ $0.worlds }) {
            if let store = owned.store { store.letGo() } else { remove(id) }
        }
    }

    /// Lets go of everything.
    func close() {
        state.withLock { $0.isClosed = true }
        letGoOfAll()
        wake.signal()
    }

    // MARK: - What others own

    /// Waits until no other daemon owns a world: asks them, and takes away what they don't let go of in time.
    func claimAll() throws(StoreFailure) {
        let (writer, pool) = (PostgreSQLValue.integer(writer), pool)
        let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
        var pause: UInt32 = 5_000
        while true {
            let results = try pool.use { connection throws(PostgreSQLError) in
                try connection.run(
                    [
                        PostgreSQLSchema.want(writer), PostgreSQLSchema.takeAway(writer),
                        PostgreSQLSchema.ownedByOthers(writer),
                    ], until: .now + PostgreSQLPool.answerLimit)
            }
            if results[2].integer(0, 0) == 0 { return }
            guard ContinuousClock.now < deadline else {
                throw StoreFailure(.slow, "PostgreSQL: another daemon takes hold of the worlds again and again")
            }
            usleep(pause)
            pause = min(50_000, pause * 2)
        }
    }
}
