import UnderstudyClient

/// The settings of the traits that give a test its test world: the traits of its suites and the test's own trait,
/// combined.
struct WorldScope: Sendable {
    /// The way to find the daemon that has the world of the test.
    let source: DaemonSource
    /// The seeds (test data) that the Swift Testing traits of a test and of its suites give. They are merged into the
    /// daemon's seed in this sequence.
    let seeds: [JSONValue]
    /// Whether the test doesn't use the test world of this Swift Testing trait, because another trait, nearer to the
    /// test, has made a world, too.
    let isReplaced = Flag()

    @TaskLocal static var current: WorldScope?

    /// Combines the settings of a Swift Testing trait with those of the traits around it. A setting that the trait
    /// leaves out comes from the traits around it.
    init(_ trait: WorldTrait, within outer: WorldScope?) {
        source = trait.source ?? outer?.source ?? .environment
        seeds = (outer?.seeds ?? []) + (trait.seed.map { [$0] } ?? [])
    }

    /// Makes a new test world for the test with this name.
    func world(for name: String) async throws -> World {
        let world = try source.daemon().world(Understudy.uniqueWorldName(from: name))
        for seed in seeds { try await world.seed(seed) }
        return world
    }
}
