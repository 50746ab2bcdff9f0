import Synchronization
import Time

/// The worlds of one daemon, made on first use.
package final class WorldRegistry: Sendable {
    /// More worlds than this are refused.
    package static let limit = 10_000
    /// Seconds without use after which a world is dropped; the default one stays.
    package static let idleLimit = 3_600
    package static let defaultName = "default"

    private struct State {
        var worlds: [String: World]
        var lastSweep: Int
    }

    private let seed: Seed
    private let forge: KeyForge
    private let keys: [[KeyForge.NamedKey]]
    private let state: Mutex<State>
    package let main: World
    /// The machine's monotonic clock, in seconds.
    private let now: @Sendable () -> Int

    package init(seed: Seed, forge: KeyForge, now: @escaping @Sendable () -> Int = { MachineClock.uptime }) {
        self.seed = seed
        self.forge = forge
        self.now = now
        keys = KeyRings.seeded(seed)
        main = World(name: WorldRegistry.defaultName, seed: seed, keys: keys, forge: forge)
        state = Mutex(State(worlds: [WorldRegistry.defaultName: main], lastSweep: now()))
    }

    package var count: Int { state.withLock { $0.worlds.count } }

    /// By name, with the seconds since each was last used.
    package var all: [(world: World, idle: Int)] {
        let now = now()
        return state.withLock { state in
            sweep(&state, now)
            return state.worlds.values.map { (world: $0, idle: now - $0.lastUse.load(ordering: .relaxed)) }
        }.sorted { $0.world.name < $1.world.name }
    }

    /// `nil` for a name that isn't 1 to 64 letters, digits, `-`, `_` and `.`, and when there are too many worlds.
    package func world(_ name: String) -> World? {
        guard name.utf8.count <= 64, TextRule.identifier.holds(name) else { return nil }
        let now = now()
        let world = state.withLock { state -> World? in
            if now - state.lastSweep >= 60 { sweep(&state, now) }
            if let world = state.worlds[name] { return world }
            if state.worlds.count >= WorldRegistry.limit { sweep(&state, now) }
            guard state.worlds.count < WorldRegistry.limit else { return nil }
            let world = World(name: name, seed: seed, keys: keys, forge: forge)
            world.lastUse.store(now, ordering: .relaxed)
            state.worlds[name] = world
            return world
        }
        world?.lastUse.store(now, ordering: .relaxed)
        return world
    }

    /// Drops a world; its next use makes it afresh. `false` when there is none, or it is the default one.
    package func drop(_ name: String) -> Bool {
        guard name != WorldRegistry.defaultName else { return false }
        return state.withLock { $0.worlds.removeValue(forKey: name) } != nil
    }

    private func sweep(_ state: inout State, _ now: Int) {
        state.lastSweep = now
        state.worlds = state.worlds.filter { name, world in
            name == WorldRegistry.defaultName
                || now - world.lastUse.load(ordering: .relaxed) < WorldRegistry.idleLimit
        }
    }
}
