import JSON
import Synchronization
import Time

/// The worlds of one daemon, made on first use. When there are as many as there may be, those that were only looked at make
/// way for new ones, the least recently used first; then those that nobody has used for a minute.
package final class WorldRegistry: Sendable {
    /// There are never more worlds than this.
    package static let limit = 10_000
    /// Seconds without use after which a world is dropped; that of requests that name none stays.
    package static let idleLimit = 3_600
    /// Seconds without use after which a world makes way for a new one when there are too many.
    package static let evictionLimit = 60
    /// As many go at once, so that looking for them is rare.
    private static let evictionCount = limit / 16
    package static let defaultName = "default"
    /// The world of requests that name none. It stays.
    package let unnamed: String

    struct State {
        var worlds: [String: World]
        var lastSweep: Int
        var counts = Counts()
        var uses = 0
        /// When no world could be found that makes way.
        var fullAt: Int?
        /// Where worlds are shared.
        var sharing = Sharing()

        mutating func use(_ world: World, _ now: Int) {
            uses += 1
            world.state.useNumber.store(uses, ordering: .relaxed)
            world.state.lastUse.store(now, ordering: .relaxed)
            if world.state.isShared { sharing.used.insert(world.name) }
        }
    }

    /// How many worlds went, and why.
    package struct Counts: Sendable {
        /// Nobody had used them for an hour.
        package var idle = 0
        /// They had been looked at only, and made way.
        package var untouched = 0
        /// They held something, and made way all the same.
        package var changed = 0
        /// Worlds that couldn't be made, because all others were in use.
        package var refused = 0
    }

    let seed: Seed
    let generator: KeyGenerator
    private let keys: [(SeededKeys, [KeyGenerator.NamedKey])]
    let state: Mutex<State>
    private let first: World
    /// Empty where worlds aren't shared.
    let turns: [Turn]
    package let budget: ProcessBudget
    /// `nil` where worlds are in memory only.
    package let archive: (any Archive)?
    /// The machine's monotonic clock, in seconds.
    let now: @Sendable () -> Int

    /// Worlds that are in memory only.
    package convenience init(
        seed: Seed, generator: KeyGenerator, budget: ProcessBudget = ProcessBudget(),
        unnamed: String = WorldRegistry.defaultName, now: @escaping @Sendable () -> Int = { MachineClock.uptime }
    ) {
        self.init(seed, generator, budget, unnamed, nil, WorldStore(unnamed, seed), now)
    }

    /// Worlds that are kept in an archive, where there is one.
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
            name: unnamed, seed: seed, keys: keys, generator: generator, budget: budget, store: store,
            isShared: archive?.isShared ?? false)
        first.state.lastUse.store(now(), ordering: .relaxed)
        state = Mutex(State(worlds: [unnamed: first], lastSweep: now()))
        turns = archive?.isShared == true ? (0..<Turn.count).map { _ in Turn() } : []
    }

    /// Whether other daemons may read and change the same worlds.
    package var isShared: Bool { archive?.isShared ?? false }

    /// How what keeps the worlds is.
    package var health: StoreHealth { archive?.health ?? StoreHealth(kind: "memory") }

    /// The world of requests that name none, as this daemon knows it.
    package var main: World { held(unnamed) ?? first }

    /// A world as it is in the store, or a new one.
    func made(_ name: String, makes: Bool = true) throws(StoreFailure) -> World {
        World(
            name: name, seed: seed, keys: keys, generator: generator, budget: budget,
            store: try WorldStore(name, seed, keptIn: archive, makes: makes), isShared: isShared)
    }

    package var count: Int { state.withLock { $0.worlds.count } }

    package var counts: Counts { state.withLock { $0.counts } }

    /// Those that this daemon holds, by name, with the seconds since each was last used here. Where worlds are shared, there may be
    /// others: see ``list``.
    package var all: [(world: World, idle: Int)] {
        let now = now()
        let (worlds, gone) = state.withLock { state in
            let gone = sweep(&state, now)
            return (
                state.worlds.values.map { (world: $0, idle: now - $0.state.lastUse.load(ordering: .relaxed)) }, gone
            )
        }
        // Freed outside the lock.
        _ = consume gone
        return worlds.sorted { $0.world.name < $1.world.name }
    }

    /// `nil` for a name that can't be one, and when all worlds that there may be are in use. Where worlds are shared, and `refreshing`,
    /// what others have done is seen in it that happened before.
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
        if !gone.isEmpty || world == nil { tell(before) }
        try world?.state.store.refresh()
        return world
    }

    /// The world of this name, if it has been made, by whichever daemon.
    package func existing(_ name: String, refreshing: Bool = true) throws(StoreFailure) -> World? {
        guard isShared, WorldName.isValid(name) else { return held(name) }
        return try shared(name, makes: false, refreshing: refreshing)
    }

    /// The world of this name, if this daemon holds it.
    func held(_ name: String) -> World? { state.withLock { $0.worlds[name] } }

    /// Lets all worlds go, when nothing is served any more: what answers for a world with a seed of its own refers to the
    /// registry.
    package func removeAll() {
        let worlds = state.withLock { state in
            defer { (state.worlds, state.sharing) = ([:], Sharing(hasEnded: true)) }
            return state.worlds
        }
        budget.recordings.close()
        // Freed outside the lock.
        _ = consume worlds
        archive?.close()
    }

    /// Puts one world in the place of another. `false` when that isn't there any more.
    func replace(_ world: World, with other: World) -> Bool {
        state.withLock { state in
            guard state.worlds[world.name] === world else { return false }
            state.worlds[world.name] = other
            return true
        }
    }

    /// Drops a world and closes its ports; its next use makes it afresh. `false` when there is none, or it is the one of requests that name none.
    package func drop(_ name: String) throws(StoreFailure) -> Bool {
        guard name != unnamed else { return false }
        guard !isShared else { return try dropShared(name) }
        guard let world = held(name), try remove(world) else { return false }
        world.closePorts()
        world.forgetMail()
        world.streams.endAll()
        return true
    }

    /// Drops a world that was made for a call which is refused, unless somebody has used it meanwhile.
    package func dropUntouched(_ world: World) throws(StoreFailure) {
        if world.isUntouched { _ = try drop(world.name) }
    }

    /// Removes a world, so that one of the same name is another. `false` when it had gone before.
    private func remove(_ world: World) throws(StoreFailure) -> Bool {
        try state.withLock { (state) throws(StoreFailure) -> Bool in
            guard try world.state.store.remove() else { return false }
            if state.worlds[world.name]?.state === world.state { state.worlds[world.name] = nil }
            return true
        }
    }

    /// Lets idle worlds go, and returns them.
    func sweep(_ state: inout State, _ now: Int) -> [World] {
        state.lastSweep = now
        let gone = state.worlds.values.filter { world in
            world.name != unnamed && !world.isNeededHere
                && now - world.state.lastUse.load(ordering: .relaxed) >= WorldRegistry.idleLimit
        }
        // Where worlds are shared, they go from memory only.
        guard !isShared else {
            for world in gone { state.worlds[world.name] = nil }
            return gone
        }
        let removed = remove(gone, from: &state)
        state.counts.idle += removed.count
        return removed
    }

    /// Removes worlds, and returns those that went: one that the archive can't remove stays.
    private func remove(_ worlds: [World], from state: inout State) -> [World] {
        worlds.filter { world in
            do throws(StoreFailure) { try world.state.store.remove() } catch {
                budget.notices.tell(.stores, "a world can't be removed: \(error.diagnosis.line)")
                return false
            }
            state.worlds[world.name] = nil
            return true
        }
    }

    /// Makes room, and returns what went.
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

    /// All but the one that stays, the least recently used first.
    private func leastUsed(_ state: State) -> [World] {
        state.worlds.values.filter { $0.name != unnamed }
            .map { (world: $0, number: $0.state.useNumber.load(ordering: .relaxed)) }
            .sorted { $0.number < $1.number }.map(\.world)
    }

    /// Lets shared worlds go from memory, where they are still there for all, when too many are held. Returns what went.
    func unload(_ state: inout State) -> [World] {
        guard state.worlds.count >= WorldRegistry.limit else { return [] }
        let gone = leastUsed(state).lazy.filter { !$0.isNeededHere }.prefix(WorldRegistry.evictionCount)
        for world in gone { state.worlds[world.name] = nil }
        return Array(gone)
    }

    /// Says in the log what went, if anything did but by lying idle.
    func tell(_ before: Counts) {
        let counts = counts
        if counts.changed > before.changed {
            budget.notices.tell(
                .worlds,
                "there are \(WorldRegistry.limit) worlds: \(counts.changed - before.changed) that held something, but that "
                    + "nobody has used for \(WorldRegistry.evictionLimit) seconds, were dropped")
        } else if counts.refused > before.refused {
            budget.notices.tell(.worlds, "there are \(WorldRegistry.limit) worlds, all in use: no more are made")
        } else if counts.untouched > before.untouched {
            budget.notices.tell(
                .worlds, "there are \(WorldRegistry.limit) worlds: those that were only looked at make way for new ones"
            )
        }
    }
}
