import Synchronization

/// The worlds of one daemon, made on first use.
package final class WorldRegistry: Sendable {
    /// More worlds than this are refused.
    package static let limit = 10_000

    private let seed: Seed
    private let forge: KeyForge
    private let worlds: Mutex<[String: World]>
    package let main: World

    package init(seed: Seed, forge: KeyForge) {
        self.seed = seed
        self.forge = forge
        main = World(name: "default", seed: seed, forge: forge)
        worlds = Mutex(["default": main])
    }

    package var count: Int { worlds.withLock { $0.count } }

    /// `nil` for a name that isn't 1 to 64 letters, digits, `-`, `_` and `.`, and when there are too many worlds.
    package func world(_ name: String) -> World? {
        guard name.utf8.count <= 64, TextRule.identifier.holds(name) else { return nil }
        return worlds.withLock { worlds in
            if let world = worlds[name] { return world }
            guard worlds.count < WorldRegistry.limit else { return nil }
            let world = World(name: name, seed: seed, forge: forge)
            worlds[name] = world
            return world
        }
    }
}
