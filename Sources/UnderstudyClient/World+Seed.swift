import Foundation

extension World {
    /// Returns the world's seed as one document, with its keys. All of them are test keys.
    ///
    /// - Throws: ``UnderstudyError``.
    public func seed() async throws -> JSONValue { try await call("GET", "seed") }

    /// Merges a seed into the world's, as a further seed file would be: lists are merged by the elements' IDs,
    /// everything else is replaced. The world keeps its sessions, codes and tokens.
    ///
    ///     try await world.seed(["accounts": [["id": "max", "email": "max@example.org"]]])
    ///
    /// - Throws: ``UnderstudyError``, with the path of what is wrong.
    public func seed(_ addition: JSONValue) async throws { try await send("POST", "seed", addition) }

    /// Replaces the world's seed, and resets the world to it.
    ///
    /// - Throws: ``UnderstudyError``, with the path of what is wrong.
    public func replaceSeed(_ seed: JSONValue) async throws { try await send("PUT", "seed", seed) }

    /// Returns the whole world as JSON: seed, people, grants, codes and tokens, users, orders, clock, keys and inbox.
    /// It contains every secret of the world.
    ///
    /// - Throws: ``UnderstudyError``, with the code `tooLarge` if the world is larger than 32 MB.
    public func snapshot() async throws -> Data { try await send("GET", "snapshot") }

    /// Replaces everything in this world by a snapshot, or changes nothing if the snapshot can't be used.
    ///
    /// - Throws: ``UnderstudyError``, with the path of the faulty member.
    public func restore(_ snapshot: Data) async throws {
        try await send(Call(method: "PUT", path: "snapshot", body: snapshot))
    }

    /// Returns a Firebase project's users and settings as `firebase emulators:export` writes them, in a tar archive.
    ///
    /// - Parameter project: the project's ID; `nil` is the default project.
    /// - Throws: ``UnderstudyError``.
    public func firebaseExport(project: String? = nil) async throws -> Data {
        try await send("GET", "firebase/export", query: project.map { [("project", $0)] } ?? [])
    }
}
