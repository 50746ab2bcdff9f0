import UnderstudyClient

/// The combined settings of the world traits around a test, from the suite's inwards.
struct WorldScope: Sendable {
    /// The daemon of the world.
    let source: DaemonSource
    /// The seeds that are merged into the daemon's, in order.
    let seeds: [JSONValue]
    /// Whether an inner trait has given the test another world than this one.
    let isReplaced = Flag()

    @TaskLocal static var current: WorldScope?

    /// Combines a trait with the traits around it. A setting that the trait leaves out comes from the outer one.
    init(_ trait: WorldTrait, within outer: WorldScope?) {
        source = trait.source ?? outer?.source ?? .environment
        seeds = (outer?.seeds ?? []) + (trait.seed.map { [$0] } ?? [])
    }

    /// Makes a new world for a test.
    func world(for name: String) async throws -> World {
        let world = try source.daemon().world(Understudy.uniqueWorldName(from: name))
        for seed in seeds { try await world.seed(seed) }
        return world
    }
}
