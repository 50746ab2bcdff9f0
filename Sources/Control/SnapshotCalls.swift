import EmulatorCore
import HTTPServer
import JSON

// The calls GET and PUT /_understudy/v1/snapshot: the exchange's whole world as JSON, and its replacement by such a
// world.
//
// It has every secret of the world: codes, tokens, passwords' hashes, signing keys.

extension ControlAPI {
    private static let snapshotPath = "\(root)/snapshot"

    /// Returns the greatest number of bytes that the body of a request may have, if it is a snapshot and so may be
    /// larger than other bodies, or else `nil`. `target` is the request's path, which begins with `/~NAME` for a world
    /// other than the default one.
    package static func bodyLimit(_ method: String, _ target: String) -> Int? {
        guard method == "PUT", target.hasSuffix(snapshotPath) else { return nil }
        let world = target.dropLast(snapshotPath.count)
        guard world.isEmpty || (world.hasPrefix("/~") && !world.dropFirst().contains("/")) else { return nil }
        return WorldSnapshot.sizeLimit
    }

    var snapshotCalls: [Endpoint] {
        [
            .control(
                "GET", "snapshot", "Shows all of the world, its secrets included, as JSON.",
                answers: [
                    .json("The world.", ControlAPI.snapshotSchema),
                    .refusal(409, "tooLarge", "The world is too large for a snapshot."),
                ]
            ) { try await snapshot($0) },
            .control(
                "PUT", "snapshot", "Replaces the world by a snapshot that GET snapshot gave.",
                reads: .unread(ControlAPI.snapshotSchema),
                answers: [
                    .json(
                        "The snapshot is loaded.",
                        .members([
                            .required("world", .string, "The name of the world."),
                            .required("loaded", .boolean, "Always true."),
                            .required("rows", .count, "The number of rows in all tables."),
                        ])),
                    .refusal(400, "invalidSnapshot", "The body is no snapshot, or one that can't be used here."),
                    .refusal(409, "changedMeanwhile", "Other requests have changed the world at the same time."),
                    .refusal(503, "tooManySeeds", "There is no room for the snapshot's seed."),
                ]
            ) { try await loadSnapshot($0) },
        ]
    }

    private static let snapshotSchema = Schema.members(
        "Snapshot",
        [
            .required("snapshot", .integer(1...1), "The format's version."),
            .required("version", .string, "The version of the daemon that wrote the snapshot."),
            .required("world", .string, "The name of the world that was saved."),
            .required("time", .time, "The world's time then."),
            .required("seed", .string, "The world's seed, as the text of one file."),
            .required("keys", .sequence(of: .any), "The keys that sign."),
            .required("values", .map(of: .any), "The world's single values, such as its clock."),
            .required("tables", .map(of: .sequence(of: .any)), "The rows of the world's tables."),
        ])

    private func snapshot(_ exchange: Exchange) async throws -> Response {
        try await exchange.onWorkThread {
            let bytes = try exchange.world.snapshot(version: version)
            guard bytes.count <= WorldSnapshot.sizeLimit else {
                return ControlAnswer.error(
                    409, "tooLarge",
                    "the world takes \(bytes.count) bytes as a snapshot, and none may have more than \(WorldSnapshot.sizeLimit): "
                        + "remove what it needn't hold, or copy the store itself, where it is a file or a database")
            }
            return Response(
                status: 200,
                headers: [
                    (name: "Content-Type", value: "application/json"), (name: "Cache-Control", value: "no-store"),
                ], body: bytes)
        }
    }

    /// Loads a snapshot into a world, completely or not at all. There is one exception: if the snapshot has another
    /// seed than the world, and the store fails after the seed was changed, the world is a fresh one with the
    /// snapshot's seed.
    private func loadSnapshot(_ exchange: Exchange) async throws -> Response {
        try await exchange.onWorkThread { try load(exchange) }
    }

    private func load(_ exchange: Exchange) throws -> Response {
        let snapshot: WorldSnapshot
        do throws(SnapshotIssue) {
            snapshot = try WorldSnapshot(reading: exchange.request.body, exchange.world.seed.format)
        } catch {
            throw ControlRefusal(ControlAnswer.error(400, "invalidSnapshot", error.message, path: error.path))
        }
        let world = try begun(exchange.world.name, with: snapshot)
        try world.load(snapshot)
        return ControlAnswer.ok(["world": .string(world.name), "loaded": true, "rows": .integer(snapshot.rowCount)])
    }

    /// Returns the world into which a snapshot is loaded, after giving the world the snapshot's seed.
    private func begun(_ name: String, with snapshot: WorldSnapshot) throws -> World {
        let attempts = 5
        for _ in 0..<attempts {
            guard let world = try worlds.world(name) else { break }
            if world.seed.document.text == snapshot.seed { return world }
            let source = SeedSource(name: "the snapshot's seed", sent: Array(snapshot.seed.utf8))
            let seed: Seed
            do throws(Issues) { seed = try seeds.check([source]) } catch {
                let first = error.all.first
                throw ControlRefusal(
                    ControlAnswer.error(
                        400, "invalidSnapshot",
                        "the seed in it, at \(first?.path ?? "$"): \(first?.message ?? "unusable")",
                        path: "$.seed"))
            }
            let played = seeds.play(seed)
            guard let lease = worlds.budget.seeds.take(snapshot.seed.utf8.count, playing: played) else {
                throw ControlRefusal(
                    ControlAnswer.error(
                        503, "tooManySeeds",
                        "the snapshot has another seed than this daemon, and there is no room for one more: delete worlds that are done (DELETE worlds/NAME)"
                    ))
            }
            if try worlds.give(played, lease, to: world), let begun = try worlds.existing(name) { return begun }
        }
        throw ControlRefusal(
            ControlAnswer.error(
                409, "changedMeanwhile", "the world was changed by other requests at the same time; try again"))
    }
}
