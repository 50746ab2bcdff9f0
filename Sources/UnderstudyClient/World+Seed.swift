import Foundation

extension World {
    /// The world's seed, as one file: keys included, all of which are for tests.
    ///
    /// - Throws: ``UnderstudyError``.
    public func seed() async throws -> JSONValue { try await call("GET", "seed") }

    /// Merges a seed into the world's, as another seed file would be: lists by the elements' IDs, all else replaced. The world goes on
    /// with all that it has.
    ///
    ///     try await world.seed(["accounts": [["id": "max", "email": "max@example.org"]]])
    ///
    /// - Throws: ``UnderstudyError``, with the path of what is wrong.
    public func seed(_ addition: JSONValue) async throws { try await send("POST", "seed", addition) }

    /// Replaces the world's seed. The world begins afresh from it.
    ///
    /// - Throws: ``UnderstudyError``, with the path of what is wrong.
    public func replaceSeed(_ seed: JSONValue) async throws { try await send("PUT", "seed", seed) }

    /// All of this world as JSON: seed, people, grants, codes and tokens, users, orders, clock, keys and inbox. It holds every secret of
    /// the world.
    ///
    /// - Throws: ``UnderstudyError``, with the code `tooLarge` beyond 32 MB.
    public func snapshot() async throws -> Data { try await send("GET", "snapshot") }

    /// Puts a snapshot in the place of all that this world has, wholly or not at all.
    ///
    /// - Throws: ``UnderstudyError``, with the path of what can't be used.
    public func restore(_ snapshot: Data) async throws {
        try await send(Call(method: "PUT", path: "snapshot", body: snapshot))
    }

    /// A Firebase project's users and settings as `firebase emulators:export` writes them, in a tar archive.
    ///
    /// - Parameter project: the project; `nil` is the default one.
    /// - Throws: ``UnderstudyError``.
    public func firebaseExport(project: String? = nil) async throws -> Data {
        try await send("GET", "firebase/export", query: project.map { [("project", $0)] } ?? [])
    }
}
