import UnderstudyClient

/// The error of a test that uses `World.current` although no trait has made a test world for the test.
public struct NoWorld: Error, Sendable, CustomStringConvertible {
    /// The error's text, which says how to give the test a test world.
    public let description =
        "no test with a world runs here: give the test or its suite the trait .world, and don't use Task.detached"
}

extension World {
    @TaskLocal static var ofTest: World?

    /// The test world of the running test, which the trait ``Testing/Trait/world`` made for it.
    ///
    /// - Throws: ``NoWorld`` outside a test with that trait, and in a detached task.
    public static var current: World {
        get throws {
            guard let world = ofTest else { throw NoWorld() }
            return world
        }
    }
}
