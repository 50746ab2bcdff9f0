import UnderstudyClient

/// The error for a test that asks for its world and has none.
public struct NoWorld: Error, Sendable, CustomStringConvertible {
    /// The way to correct it.
    public let description =
        "this code has no world of its own: give its test or suite the trait .world, and don't ask within Task.detached"
}

extension World {
    @TaskLocal static var ofTest: World?

    /// The world of the running test, which the trait ``Testing/Trait/world`` made for it.
    ///
    /// - Throws: ``NoWorld`` outside such a test, and in a detached task.
    public static var current: World {
        get throws {
            guard let world = ofTest else { throw NoWorld() }
            return world
        }
    }
}
