import EmulatorCore
import HTTPServer
import JSON

// The calls GET, PUT and POST /_understudy/v1/seed: the seed of the exchange's world. Other worlds aren't affected.

extension ControlAPI {
    /// The errors of the calls that replace or extend a test world's seed.
    static let seedRefusals = [
        CallAnswer.refusal(409, "changedMeanwhile", "Another request changed the seed at the same time."),
        .refusal(503, "tooManySeeds", "Too many worlds have a separate seed."),
    ]

    var seedCalls: [Endpoint] {
        let changed =
            [
                CallAnswer.json(
                    "The seed was changed.",
                    .members([
                        .required("world", .string, "The test world's name."),
                        .required("seed", .choice(["replaced", "merged"]), "How the seed was changed."),
                    ]))
            ] + ControlAPI.seedRefusals
        return [
            .control(
                "GET", "seed", "Shows the world's seed as one file, to use with PUT seed.",
                answers: [.json("The seed.", format.schema)]
            ) { exchange in try await exchange.onWorkThread { seed(exchange) } },
            .control(
                "PUT", "seed", "Resets the world to the seed in the body.",
                reads: .unread(format.schema, isOptional: false), answers: changed
            ) { exchange in try await exchange.onWorkThread { try replaceSeed(exchange) } },
            .control(
                "POST", "seed",
                "Merges the body into the world's seed, like another seed file. The world's data are kept.",
                reads: .unread(format.schema, isOptional: false),
                answers: changed + [
                    .refusal(409, "tooManyOrders", "The seed has too many outcomes or faults.")
                ]
            ) { exchange in try await exchange.onWorkThread { try extendSeed(exchange) } },
        ]
    }

    private func seed(_ exchange: Exchange) -> Response { ControlAnswer.ok(exchange.world.seed.document) }

    /// Replaces the test world's seed by the request's body, and resets the world.
    private func replaceSeed(_ exchange: Exchange) throws -> Response {
        let body = try body(of: exchange)
        return try change(exchange, by: body, isAddition: false)
            ?? ControlAnswer.ok(["world": .string(exchange.world.name), "seed": "replaced"])
    }

    /// Merges the request's body into the test world's seed, like a further seed file. The test world keeps its data.
    private func extendSeed(_ exchange: Exchange) throws -> Response {
        let body = try body(of: exchange)
        return try change(exchange, by: body, isAddition: true)
            ?? ControlAnswer.ok(["world": .string(exchange.world.name), "seed": "merged"])
    }

    /// Merges `addition` into a test world's seed. Returns the refusal, or `nil` if the merge succeeded.
    func extend(_ world: String, by addition: JSONObject) throws -> Response? {
        let body = JSONValue.object(addition)
        return try change(
            world, by: LocatedJSON(body, file: ControlAPI.bodyName), body.serialized(), isAddition: true,
            isFromElsewhere: false)
    }

    private static let bodyName = "body"
    /// The greatest number of attempts to change a seed. A change is computed again if another request has changed the
    /// seed meanwhile.
    private static let attempts = 5

    private func change(_ exchange: Exchange, by body: LocatedJSON, isAddition: Bool) throws -> Response? {
        try change(
            exchange.world.name, by: body, exchange.request.body, isAddition: isAddition,
            isFromElsewhere: !exchange.mayChooseAddresses)
    }

    /// Replaces a test world's seed by `body`, or merges `body` into it like a further seed file. Returns the refusal
    /// if the seed can't be changed, or else `nil`. `isFromElsewhere` is the value of `Seed.isFromElsewhere` for
    /// `body`.
    private func change(
        _ name: String, by body: LocatedJSON, _ bytes: [UInt8], isAddition: Bool, isFromElsewhere: Bool
    ) throws -> Response? {
        for _ in 0..<ControlAPI.attempts {
            guard let world = try worlds.world(name) else { break }
            // One file replaces all before: otherwise there would be more of them with every call.
            let earlier =
                isAddition
                ? [SeedSource(name: "the world's seed", sent: world.seed.document.serialized(), isChecked: true)] : []
            let files = earlier + [SeedSource(name: ControlAPI.bodyName, sent: bytes)]
            var seed: Seed
            do throws(Issues) { seed = try seeds.check(files) } catch {
                return ControlAnswer.error(error.all.map(ControlAPI.placed))
            }
            seed.isFromElsewhere = isFromElsewhere || isAddition && world.seed.isFromElsewhere
            let played = seeds.play(seed)
            let size = files.reduce(0) { $0 + $1.bytes.count }
            guard let lease = worlds.budget.seeds.reserve(size, playing: played) else {
                return ControlAnswer.error(
                    503, "tooManySeeds",
                    "at most \(SeedBudget.limit) test worlds can have their own seeds, which together can take at most "
                        + "\(SeedBudget.byteLimit >> 20) MiB of memory; this seed would exceed one of these limits: "
                        + "delete unused worlds (DELETE worlds/NAME)")
            }
            let added = { (list: String) in isAddition ? body[list]?.items.count ?? 0 : 0 }
            guard !isAddition || world.hasRoom(outcomes: added("outcomes"), faults: added("faults")) else {
                return ControlAnswer.error(
                    409, "tooManyOrders",
                    "the seed adds too many outcomes or faults: a test world can have at most \(OutcomeQueue.limit) outcomes and \(FaultQueue.limit) faults"
                )
            }
            if try worlds.give(played, lease, to: world, adding: isAddition ? body : nil) { return nil }
        }
        return ControlAnswer.error(
            409, "changedMeanwhile", "the world's seed was changed by other requests at the same time; try again")
    }

    private func body(of exchange: Exchange) throws(ControlRefusal) -> LocatedJSON {
        do {
            return LocatedJSON(
                try JSONValue(parsing: exchange.request.body, limits: .control), file: ControlAPI.bodyName)
        } catch {
            throw ControlRefusal(
                ControlAnswer.error(400, "notJSON", "the body can't be read as JSON: \(error)", path: "$"))
        }
    }

    /// Returns an error of a seed that was merged from a request's body and the test world's current seed. If the error
    /// lies in the current seed, its message is changed to say so.
    private static func placed(_ issue: Issue) -> Issue {
        guard issue.file != bodyName else { return issue }
        let message = "the error is in the test world's current seed: \(issue.message)"
        return Issue(file: issue.file, path: issue.path, message: message)
    }
}
