import UnderstudyClient

/// What a test's traits have said of its world, the suite's first.
struct WorldScope: Sendable {
    /// In which daemon the world is.
    let source: DaemonSource
    /// What the world's seed has beside the daemon's, in order.
    let seeds: [JSONValue]
    /// Whether a trait within has given the test another world than this one.
    let isReplaced = Flag()

    @TaskLocal static var current: WorldScope?

    /// What a trait says; what it leaves out, the one around it says.
    init(_ trait: WorldTrait, within outer: WorldScope?) {
        source = trait.source ?? outer?.source ?? .environment
        seeds = (outer?.seeds ?? []) + (trait.seed.map { [$0] } ?? [])
    }

    /// A new world for a test.
    func world(for name: String) async throws -> World {
        let world = try source.daemon().world(Understudy.uniqueWorldName(from: name))
        for seed in seeds { try await world.seed(seed) }
        return world
    }
}
