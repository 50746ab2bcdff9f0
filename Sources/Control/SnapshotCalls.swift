import EmulatorCore
import HTTPServer
import JSON

// The calls GET and PUT /_understudy/v1/snapshot: the exchange's whole world as JSON, and its replacement by such a
// world.
//
// It has every secret of the world: codes, tokens, passwords' hashes, signing keys.

extension ControlAPI {
    private static let snapshotPath = "\(root)/snapshot"

    /// Returns the greatest number of bytes that a snapshot may have in the body of a request; `nil` if the request
    /// doesn't send a snapshot. `target` is the request's path, which begins with `/~NAME` for a test world other than
    /// the default one.
    package static func bodyLimit(_ method: String, _ target: String) -> Int? {
        guard method == "PUT", target.hasSuffix(snapshotPath) else { return nil }
        let world = target.dropLast(snapshotPath.count)
        guard world.isEmpty || (world.hasPrefix("/~") && !world.dropFirst().contains("/")) else { return nil }
        return WorldSnapshot.sizeLimit
    }

    var snapshotCalls: [Endpoint] {
        [
            .control(
                "GET", "snapshot", "Returns the whole world as JSON, including secrets.",
                answers: [
                    .json("The world.", ControlAPI.snapshotSchema),
                    .refusal(409, "tooLarge", "The world is too large for a snapshot."),
                ]
            ) { try await snapshot($0) },
            .control(
                "PUT", "snapshot", "Replaces the world by a snapshot from GET snapshot.",
                reads: .unread(ControlAPI.snapshotSchema),
                answers: [
                    .json(
                        "The snapshot is loaded.",
                        .members([
                            .required("world", .string, "The test world's name."),
                            .required("loaded", .boolean, "Always true."),
                            .required("rows", .count, "The number of rows in all tables."),
                        ])),
                    .refusal(400, "invalidSnapshot", "The body isn't a snapshot that this daemon can use."),
                    .refusal(409, "changedMeanwhile", "Another request changed the world at the same time."),
                    .refusal(503, "tooManySeeds", "Too many worlds have a separate seed."),
                    .refusal(503, "tooMuchMail", "The inboxes of all worlds have no room for the snapshot's messages."),
                ]
            ) { try await loadSnapshot($0) },
        ]
    }

    private static let snapshotSchema = Schema.members(
        "Snapshot",
        [
            .required("snapshot", .integer(1...1), "The format's version."),
            .required("version", .string, "The version of the daemon that wrote the snapshot."),
            .required("world", .string, "The saved test world's name."),
            .required("time", .time, "The world's time then."),
            .required("seed", .string, "The world's seed, as the text of one file."),
            .required("keys", .sequence(of: .any), "The signing keys."),
            .required("values", .map(of: .any), "World data outside tables, such as the clock."),
            .required("tables", .map(of: .sequence(of: .any)), "The rows of the world's tables."),
        ])

    private func snapshot(_ exchange: Exchange) async throws -> Response {
        try await exchange.onWorkThread {
            let bytes = try exchange.world.snapshot(version: version)
            if let excess = WorldSnapshot.limits.excess(in: bytes) {
                return ControlAnswer.error(
                    409, "tooLarge",
                    "a snapshot of this test world would have \(excess): delete data that isn't needed, or copy the store's file or "
                        + "database instead")
            }
            return Response(
                status: 200,
                headers: [
                    (name: "Content-Type", value: "application/json"), (name: "Cache-Control", value: "no-store"),
                ], body: bytes)
        }
    }

    /// Loads a snapshot into a test world, completely or not at all. There is one exception: if the store fails after
    /// the world got the snapshot's seed, the world contains only the data of this seed.
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
        guard exchange.world.hasRoom(forMail: snapshot.mailBytes) else {
            throw ControlRefusal(
                ControlAnswer.error(
                    503, "tooMuchMail",
                    "the inboxes of all test worlds have no room for the snapshot's messages: delete messages (DELETE mail) or test worlds"
                ))
        }
        let world = try begun(exchange.world.name, with: snapshot, isFromElsewhere: !exchange.mayChooseAddresses)
        try world.load(snapshot)
        return ControlAnswer.ok(["world": .string(world.name), "loaded": true, "rows": .integer(snapshot.rowCount)])
    }

    /// Gives the snapshot's seed to the test world called `name`, and returns the test world. `isFromElsewhere` is the
    /// value of `Seed.isFromElsewhere` for the snapshot.
    private func begun(_ name: String, with snapshot: WorldSnapshot, isFromElsewhere: Bool) throws -> World {
        let attempts = 5
        for _ in 0..<attempts {
            guard let world = try worlds.world(name) else { break }
            if world.seed.document.text == snapshot.seed, world.seed.isFromElsewhere || !isFromElsewhere {
                return world
            }
            let source = SeedSource(name: "the snapshot's seed", sent: Array(snapshot.seed.utf8))
            var seed: Seed
            do throws(Issues) { seed = try seeds.check([source]) } catch {
                let first = error.all.first
                throw ControlRefusal(
                    ControlAnswer.error(
                        400, "invalidSnapshot",
                        "the snapshot's seed is invalid at \(first?.path ?? "$"): \(first?.message ?? "unusable")",
                        path: "$.seed"))
            }
            seed.isFromElsewhere = isFromElsewhere
            let played = seeds.play(seed)
            guard let lease = worlds.budget.seeds.reserve(snapshot.seed.utf8.count, playing: played) else {
                throw ControlRefusal(
                    ControlAnswer.error(
                        503, "tooManySeeds",
                        "the snapshot's seed differs from this daemon's, and too many worlds already have a separate seed: delete unused worlds (DELETE worlds/NAME)"
                    ))
            }
            if try worlds.give(played, lease, to: world), let begun = try worlds.existing(name) { return begun }
        }
        throw ControlRefusal(
            ControlAnswer.error(
                409, "changedMeanwhile", "the world was changed by other requests at the same time; try again"))
    }
}
