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

    private struct State {
        var worlds: [String: World]
        var lastSweep: Int
        var counts = Counts()
        var uses = 0
        /// When no world could be found that makes way.
        var fullAt: Int?

        mutating func use(_ world: World, _ now: Int) {
            uses += 1
            world.state.useNumber.store(uses, ordering: .relaxed)
            world.state.lastUse.store(now, ordering: .relaxed)
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

    private let seed: Seed
    let generator: KeyGenerator
    private let keys: [(SeededKeys, [KeyGenerator.NamedKey])]
    private let state: Mutex<State>
    private let first: World
    package let budget: ProcessBudget
    /// The machine's monotonic clock, in seconds.
    private let now: @Sendable () -> Int

    package init(
        seed: Seed, generator: KeyGenerator, budget: ProcessBudget = ProcessBudget(),
        unnamed: String = WorldRegistry.defaultName,
        now: @escaping @Sendable () -> Int = { MachineClock.uptime }
    ) {
        self.unnamed = unnamed
        self.seed = seed
        self.generator = generator
        self.budget = budget
        self.now = now
        keys = KeyRings.seeded(seed)
        first = World(name: unnamed, seed: seed, keys: keys, generator: generator, budget: budget)
        state = Mutex(State(worlds: [unnamed: first], lastSweep: now()))
    }

    /// The world of requests that name none.
    package var main: World { existing(unnamed) ?? first }

    package var count: Int { state.withLock { $0.worlds.count } }

    package var counts: Counts { state.withLock { $0.counts } }

    /// By name, with the seconds since each was last used.
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

    /// `nil` for a name that can't be one, and when all worlds that there may be are in use.
    package func world(_ name: String) -> World? {
        guard WorldName.isValid(name) else { return nil }
        let now = now()
        let (world, gone, before) = state.withLock { state -> (World?, [World], Counts) in
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
            let world = World(name: name, seed: seed, keys: keys, generator: generator, budget: budget)
            state.use(world, now)
            state.worlds[name] = world
            return (world, gone, before)
        }
        for world in gone { world.streams.endAll() }
        if !gone.isEmpty || world == nil { tell(before) }
        return world
    }

    /// The world of this name, if it has been made.
    package func existing(_ name: String) -> World? { state.withLock { $0.worlds[name] } }

    /// Lets all worlds go, when nothing is served any more: what answers for a world with a seed of its own refers to the
    /// registry.
    package func removeAll() {
        let worlds = state.withLock { state in
            defer { state.worlds = [:] }
            return state.worlds
        }
        // Freed outside the lock.
        _ = consume worlds
    }

    /// Puts one world in the place of another. `false` when that isn't there any more.
    func replace(_ world: World, with other: World) -> Bool {
        state.withLock { state in
            guard state.worlds[world.name] === world else { return false }
            state.worlds[world.name] = other
            return true
        }
    }

    /// Drops a world and closes its port; its next use makes it afresh. `false` when there is none, or it is the one of requests that name none.
    package func drop(_ name: String) -> Bool {
        guard name != unnamed else { return false }
        let world = state.withLock { $0.worlds.removeValue(forKey: name) }
        world?.closePort()
        world?.streams.endAll()
        return world != nil
    }

    /// Lets idle worlds go, and returns them.
    private func sweep(_ state: inout State, _ now: Int) -> [World] {
        state.lastSweep = now
        let gone = state.worlds.values.filter { world in
            world.name != unnamed && now - world.state.lastUse.load(ordering: .relaxed) >= WorldRegistry.idleLimit
        }
        for world in gone { state.worlds[world.name] = nil }
        state.counts.idle += gone.count
        return gone
    }

    /// Makes room, and returns what went.
    private func evict(_ state: inout State, _ now: Int) -> [World] {
        let others = state.worlds.values.filter { $0.name != unnamed }
            .map { (world: $0, number: $0.state.useNumber.load(ordering: .relaxed)) }
            .sorted { $0.number < $1.number }.map(\.world)
        var gone = Array(others.lazy.filter { $0.isUntouched }.prefix(WorldRegistry.evictionCount))
        state.counts.untouched += gone.count
        if gone.isEmpty {
            gone = others.prefix { now - $0.state.lastUse.load(ordering: .relaxed) >= WorldRegistry.evictionLimit }
                .prefix(WorldRegistry.evictionCount).filter { !$0.recording.isListenedTo }
            state.counts.changed += gone.count
        }
        for world in gone { state.worlds[world.name] = nil }
        return gone
    }

    /// Says in the log what went, if anything did but by lying idle.
    private func tell(_ before: Counts) {
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
