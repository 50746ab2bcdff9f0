import JSON
import Platform
import Synchronization
import Time
import Worlds

/// The test worlds (isolated environments) of one daemon. Each is made on first use. When there are too many, worlds
/// without changes are removed, the least recently used first, and then worlds that nobody has used for a minute.
package final class WorldRegistry: Sendable {
    /// The largest number of test worlds that can exist at the same time.
    package static let limit = 10_000
    /// The number of seconds without use after which a test world is removed. The world of requests that name no world
    /// is never removed.
    package static let idleLimit = 3_600
    /// The number of seconds without use after which a test world may be removed to make room for a new one.
    package static let evictionLimit = 60
    /// The number of test worlds that are removed at once when there are too many, so that this happens rarely.
    private static let evictionCount = limit / 16
    package static let defaultName = "default"
    /// The name of the test world that is used for requests that name no world. It is never removed.
    package let unnamed: String

    struct State {
        var worlds: [String: World]
        var lastSweep: Int
        var counts = Counts()
        var uses = 0
        /// The last time when no test world could be removed to make room for a new one, in seconds of the machine's
        /// monotonic clock.
        var fullAt: Int?
        var sharing = Sharing()

        mutating func use(_ world: World, _ now: Int) {
            uses += 1
            world.state.useNumber.store(uses, ordering: .relaxed)
            world.state.lastUse.store(now, ordering: .relaxed)
            if world.state.store.isShared { sharing.used.insert(world.name) }
        }
    }

    package struct Counts: Sendable {
        /// The number of test worlds that were removed because nobody had used them for an hour.
        package var idle = 0
        /// The number of unchanged test worlds that were removed to make room for new ones.
        package var untouched = 0
        /// The number of changed test worlds that were removed to make room for new ones.
        package var changed = 0
        /// The number of requests for a new test world that were refused, because all existing worlds were in use.
        package var refused = 0
    }

    package let seed: Seed
    let generator: KeyGenerator
    private let keys: [(SeededKeys, [KeyGenerator.NamedKey])]
    let state: Mutex<State>
    private let first: World
    let turns = (0..<Turn.count).map { _ in Turn() }
    package let budget: ProcessBudget
    /// The file or database that keeps the test worlds; `nil` where worlds are only in memory.
    package let archive: (any Archive)?
    /// A function that returns the seconds of the machine's monotonic clock.
    let now: @Sendable () -> Int

    /// Makes a registry of test worlds that are only in memory.
    package convenience init(
        seed: Seed, generator: KeyGenerator, budget: ProcessBudget = ProcessBudget(),
        unnamed: String = WorldRegistry.defaultName, now: @escaping @Sendable () -> Int = { MachineClock.uptime }
    ) {
        self.init(seed, generator, budget, unnamed, nil, WorldStore(unnamed, seed), now)
    }

    /// Makes a registry of test worlds that a file or database (`archive`) keeps, or that are only in memory if
    /// `archive` is `nil`.
    package convenience init(
        seed: Seed, generator: KeyGenerator, budget: ProcessBudget = ProcessBudget(),
        unnamed: String = WorldRegistry.defaultName, archive: (any Archive)?,
        now: @escaping @Sendable () -> Int = { MachineClock.uptime }
    ) throws(StoreFailure) {
        self.init(seed, generator, budget, unnamed, archive, try WorldStore(unnamed, seed, keptIn: archive), now)
    }

    private init(
        _ seed: Seed, _ generator: KeyGenerator, _ budget: ProcessBudget, _ unnamed: String,
        _ archive: (any Archive)?, _ store: WorldStore, _ now: @escaping @Sendable () -> Int
    ) {
        self.unnamed = unnamed
        self.seed = seed
        self.generator = generator
        self.budget = budget
        self.archive = archive
        self.now = now
        keys = KeyRings.seeded(seed)
        first = World(
            name: unnamed, seed: seed, keys: keys, generator: generator, budget: budget, store: store)
        first.state.lastUse.store(now(), ordering: .relaxed)
        state = Mutex(State(worlds: [unnamed: first], lastSweep: now()))
    }

    /// The threads for requests, which may wait for the store; `nil` if the store is memory.
    package var threads: WorkThreads? { archive.map { $0.isShared ? .shared : .local } }

    /// Whether several daemons share the test worlds, by a database.
    var isShared: Bool { archive?.isShared ?? false }

    /// The health of the store that keeps the test worlds.
    package var health: StoreHealth { archive?.health ?? StoreHealth(kind: "memory") }

    /// The test world that is used for requests that name no world, as this daemon holds it in memory.
    package var main: World { held(unnamed) ?? first }

    /// Returns the test world of this name from the store. If the store doesn't have the world, returns a new one,
    /// which is marked as removed if `makes` is false.
    func made(_ name: String, makes: Bool = true) throws(StoreFailure) -> World {
        World(
            name: name, seed: seed, keys: keys, generator: generator, budget: budget,
            store: try WorldStore(name, seed, keptIn: archive, makes: makes))
    }

    package var count: Int { state.withLock { $0.worlds.count } }

    package var counts: Counts { state.withLock { $0.counts } }

    /// The test worlds that this daemon holds in memory, sorted by name, with the seconds since each was last used by
    /// this daemon. If several daemons share their worlds, there may be more worlds: see ``list``.
    package var all: [(world: World, idle: Int)] {
        let now = now()
        let (worlds, gone) = state.withLock { state in
            let gone = sweep(&state, now)
            return (
                state.worlds.values.map { (world: $0, idle: now - $0.state.lastUse.load(ordering: .relaxed)) }, gone
            )
        }
        for world in gone { world.streams.endAll() }
        return worlds.sorted { $0.world.name < $1.world.name }
    }

    /// Returns the test world of this name, and makes it if necessary. Returns `nil` for an invalid name, or when too
    /// many worlds are in use. If several daemons share the world and `refreshing` is true, the returned world includes
    /// all changes that the other daemons have committed so far.
    package func world(_ name: String, refreshing: Bool = true) throws(StoreFailure) -> World? {
        guard WorldName.isValid(name) else { return nil }
        if isShared { return try shared(name, makes: true, refreshing: refreshing) }
        let now = now()
        let (world, gone, before) = try state.withLock { (state) throws(StoreFailure) -> (World?, [World], Counts) in
            let before = state.counts
            var gone = now - state.lastSweep >= 60 ? sweep(&state, now) : []
            if let world = state.worlds[name] {
                state.use(world, now)
                return (world, gone, before)
            }
            if state.worlds.count >= WorldRegistry.limit, state.fullAt != now {
                gone += sweep(&state, now)
                if state.worlds.count >= WorldRegistry.limit { gone += evict(&state, now) }
                state.fullAt = gone.isEmpty ? now : nil
            }
            guard state.worlds.count < WorldRegistry.limit else {
                state.counts.refused += 1
                return (nil, gone, before)
            }
            let world = try made(name)
            state.use(world, now)
            state.worlds[name] = world
            return (world, gone, before)
        }
        for world in gone { world.streams.endAll() }
        if !gone.isEmpty || world == nil { warnIfLimitReached(since: before) }
        try world?.state.store.refresh()
        return world
    }

    /// Returns the test world of this name if this daemon, or another daemon with which it shares worlds, has made the
    /// world; otherwise `nil`.
    package func existing(_ name: String, refreshing: Bool = true) throws(StoreFailure) -> World? {
        guard isShared, WorldName.isValid(name) else { return held(name) }
        return try shared(name, makes: false, refreshing: refreshing)
    }

    /// Returns the test world of this name if this daemon holds it in memory; otherwise `nil`.
    func held(_ name: String) -> World? { state.withLock { $0.worlds[name] } }

    /// Removes all test worlds from memory after the server has stopped, and closes the store. Without this call, this
    /// object would never be freed if worlds are shared, or if a world has its own seed (initial data).
    package func removeAll() {
        let worlds = state.withLock { state in
            defer { (state.worlds, state.sharing) = ([:], Sharing(hasEnded: true)) }
            return state.worlds
        }
        budget.recordings.close()
        // The worlds are freed outside the lock.
        _ = consume worlds
        archive?.close()
    }

    /// Replaces a test world by a changed copy. Returns `false` when the registry doesn't have the world any more.
    func replace(_ world: World, with other: World) -> Bool {
        state.withLock { state in
            guard state.worlds[world.name] === world else { return false }
            state.worlds[world.name] = other
            return true
        }
    }

    /// Removes a test world and closes its ports. Returns `false` when there is no such world, or when it is the world
    /// of requests that name no world.
    package func drop(_ name: String) throws(StoreFailure) -> Bool {
        guard name != unnamed else { return false }
        guard !isShared else { return try dropShared(name) }
        guard let world = held(name), try remove(world) else { return false }
        world.closePorts()
        world.forgetMail()
        world.streams.endAll()
        return true
    }

    /// Removes a test world that was made for a call that was then refused, unless another request has used the world
    /// meanwhile.
    package func dropUntouched(_ world: World) throws(StoreFailure) {
        if world.isUntouched { _ = try drop(world.name) }
    }

    /// Removes a test world, so that a new world can have the same name. Returns `false` when the world was removed
    /// before.
    private func remove(_ world: World) throws(StoreFailure) -> Bool {
        try state.withLock { (state) throws(StoreFailure) -> Bool in
            guard try world.state.store.remove() else { return false }
            if state.worlds[world.name]?.state === world.state { state.worlds[world.name] = nil }
            return true
        }
    }

    /// Removes the test worlds that weren't used at this daemon for an hour, and returns them. Worlds that several
    /// daemons share are removed only from memory, not from the store, and only if they have no listener and no port of
    /// their own.
    func sweep(_ state: inout State, _ now: Int) -> [World] {
        state.lastSweep = now
        let gone = state.worlds.values.filter { world in
            world.name != unnamed && !world.isNeededHere
                && now - world.state.lastUse.load(ordering: .relaxed) >= WorldRegistry.idleLimit
        }
        // Shared worlds are removed from memory only.
        guard !isShared else {
            for world in gone { state.worlds[world.name] = nil }
            return gone
        }
        let removed = remove(gone, from: &state)
        state.counts.idle += removed.count
        return removed
    }

    /// Removes test worlds, and returns those that were removed. A world that the store can't remove stays.
    private func remove(_ worlds: [World], from state: inout State) -> [World] {
        worlds.filter { world in
            do throws(StoreFailure) { try world.state.store.remove() } catch {
                budget.notices.warnOncePerMinute(
                    .stores, "a test world can't be removed from the store: \(error.diagnosis.line)")
                return false
            }
            state.worlds[world.name] = nil
            return true
        }
    }

    /// Removes some test worlds to make room for new ones, and returns the removed worlds.
    private func evict(_ state: inout State, _ now: Int) -> [World] {
        let others = leastUsed(state)
        let untouched = Array(others.lazy.filter { $0.isUntouched }.prefix(WorldRegistry.evictionCount))
        guard untouched.isEmpty else {
            let gone = remove(untouched, from: &state)
            state.counts.untouched += gone.count
            return gone
        }
        let unused = others.prefix { now - $0.state.lastUse.load(ordering: .relaxed) >= WorldRegistry.evictionLimit }
            .prefix(WorldRegistry.evictionCount).filter { !$0.recording.isListenedTo }
        let gone = remove(unused, from: &state)
        state.counts.changed += gone.count
        return gone
    }

    /// Returns the test worlds that may be removed, the least recently used first. The world of requests that name no
    /// world isn't among them.
    private func leastUsed(_ state: State) -> [World] {
        state.worlds.values.filter { $0.name != unnamed }
            .map { (world: $0, number: $0.state.useNumber.load(ordering: .relaxed)) }
            .sorted { $0.number < $1.number }.map(\.world)
    }

    /// If too many test worlds are in this daemon's memory, removes some of them from memory, and returns the removed
    /// worlds. It is called only if daemons share test worlds in a store. The worlds stay in the store.
    func unload(_ state: inout State) -> [World] {
        guard state.worlds.count >= WorldRegistry.limit else { return [] }
        let gone = leastUsed(state).lazy.filter { !$0.isNeededHere }.prefix(WorldRegistry.evictionCount)
        for world in gone { state.worlds[world.name] = nil }
        return Array(gone)
    }

    /// If more test worlds have been removed to make room, or refused, than `before` says, logs that the limit of test
    /// worlds is reached.
    func warnIfLimitReached(since before: Counts) {
        let counts = counts
        if counts.changed > before.changed {
            budget.notices.warnOncePerMinute(
                .worlds,
                "the limit of \(WorldRegistry.limit) test worlds is reached: \(counts.changed - before.changed) of "
                    + "them with data, unused for \(WorldRegistry.evictionLimit) seconds, were removed")
        } else if counts.refused > before.refused {
            budget.notices.warnOncePerMinute(
                .worlds,
                "the limit of \(WorldRegistry.limit) test worlds is reached, all in use: new ones are refused")
        } else if counts.untouched > before.untouched {
            budget.notices.warnOncePerMinute(
                .worlds,
                "the limit of \(WorldRegistry.limit) test worlds is reached: unchanged ones are removed to make room")
        }
    }
}
