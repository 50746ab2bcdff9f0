import HTTPServer
import JSON
import EmulatorCore

// The calls GET and POST /_understudy/v1/worlds; DELETE /_understudy/v1/worlds/NAME; POST
// /_understudy/v1/worlds/NAME/reset

/// The body of a call that creates a test world. The world may get ports of its own.
private struct WorldOrder: SchemaObject {
    let name: String
    let listen: UInt16?
    let smtp: UInt16?
    let asOf: Day?

    init(_ fields: inout Fields) {
        name = fields("name", .text(.worldName), "The world's name.")
        listen = fields.optional("listen", .integer(0...65_535), "The world's own port; 0 picks a free port.")
            .map { UInt16(clamping: $0) }
        smtp = fields.optional("smtp", .integer(0...65_535), "The world's own SMTP port; 0 picks a free port.")
            .map { UInt16(clamping: $0) }
        asOf = fields.optional(
            "asOf", .text(.day),
            "Providers behave as on this day; by default, the seed's `asOf`."
        ).flatMap { Day($0) }
    }
}

extension TextRule {
    fileprivate static let worldName = TextRule(
        about: "1 to 64 letters, digits, \"-\", \"_\" and \".\", such as \"understudy world-name TEXT\" prints",
        pattern: "^[A-Za-z0-9._-]{1,64}$"
    ) { WorldName.isValid($0) }
}

extension ControlAPI {
    var worldCalls: [Endpoint] {
        let gone = CallAnswer.refusal(404, "noSuchWorld", "No world has this name.")
        return [
            .control(
                "GET", "worlds", "Lists the existing test worlds.",
                answers: [
                    .json(
                        "The worlds.",
                        .members([
                            .required("worlds", .sequence(of: ControlAPI.worldSchema), "The list."),
                            .required("limit", .count, "The most worlds at once."),
                            .required(
                                "droppedAfterIdleSeconds", .count, "Seconds without use before a world is deleted."),
                        ]))
                ]
            ) { try listWorlds($0) },
            .control(
                "POST", "worlds", "Creates a test world unless it exists. `listen` gives it its own port.",
                reads: .body(WorldOrder.self),
                answers: [
                    .json(201, "The world is made.", ControlAPI.reachedWorldSchema),
                    .json(200, "The world existed before.", ControlAPI.reachedWorldSchema),
                    .refusal(409, "otherPort", "The world already has another port."),
                    .refusal(409, "noSMTP", "The daemon takes no mail by SMTP."),
                    .refusal(409, "noHTTP", "The daemon serves HTTPS only."),
                    .refusal(409, "cannotListen", "The port can't be opened."),
                    .refusal(503, "tooManyWorlds", "There are too many worlds, all in use."),
                    .refusal(503, "tooManyPorts", "Too many worlds have ports of their own."),
                ] + ControlAPI.seedRefusals
            ) { exchange, order in
                guard order.asOf != nil else { return try addWorld(exchange, order) }
                return try await exchange.onWorkThread(of: order.name) { try addWorld(exchange, order) }
            },
            .control(
                "DELETE", "worlds/:name", "Deletes a world and all of its data.", path: ["The world's name."],
                answers: [
                    .empty("The world is removed."), gone, .refusal(409, "defaultWorld", "The default world stays."),
                ]
            ) { try removeWorld($0) },
            .control(
                "POST", "worlds/:name/reset", "Resets the named test world to its seed data.",
                path: ["The world's name."], answers: [.json("The world was reset.", ControlAPI.resetSchema), gone]
            ) { try resetWorld($0) },
        ]
    }

    private static let worldSchema = Schema.members(
        "World",
        [
            .required("name", .string, "The world's name."),
            .required("idleSeconds", .count, "The world's idle seconds."),
            .required("requests", .count, "The number of recorded requests."),
            .optional("url", .string, "The URL at the world's own port, if it has one."),
            .optional("smtp", .string, "The address at which the world receives mail, if it has its own SMTP port."),
        ])

    private static let reachedWorldSchema = Schema.members(
        "ReachedWorld",
        [
            .required("name", .string, "The world's name."), .required("url", .string, "The world's URL."),
            .optional("smtp", .string, "The address at which the world receives mail, if it has its own SMTP port."),
        ])

    static let resetSchema = Schema.members(
        "Reset", [.required("world", .string, "The test world's name."), .required("reset", .boolean, "Always true.")])

    private func listWorlds(_ exchange: Exchange) throws -> Response {
        try worlds.budget.recordings.refreshCounts()
        let all = try worlds.list().map { entry -> JSONValue in
            var world = JSONObject([
                ("name", .string(entry.name)), ("idleSeconds", .integer(Int64(entry.idle))),
                ("requests", .integer(Int64(entry.recording.count))),
            ])
            let port = ports.fixed(entry.name) ?? entry.held?.port(.http)
            if port != nil { world["url"] = .string(url(of: entry.name, port, exchange)) }
            world["smtp"] = smtp(of: entry.name, entry.held, exchange)
            return .object(world)
        }
        return ControlAnswer.ok([
            "worlds": .array(all), "limit": .integer(Int64(WorldRegistry.limit)),
            "droppedAfterIdleSeconds": .integer(Int64(WorldRegistry.idleLimit)),
        ])
    }

    private func url(of world: String, _ port: UInt16?, _ exchange: Exchange) -> String {
        exchange.address.base(ofWorld: world, isUnnamed: world == worlds.unnamed, port: port, main: ports.main)
    }

    /// Returns the address of the SMTP port that belongs to a test world alone, such as `127.0.0.1:43124`; `nil` if the
    /// world has none.
    private func smtp(of name: String, _ world: World?, _ exchange: Exchange) -> JSONValue? {
        guard let port = mailPorts.fixed(name) ?? world?.port(.smtp) else { return nil }
        return .string("\(exchange.address.daemonName):\(port)")
    }

    /// Creates a test world. Answers 201 if the world is new, and 200 if it already existed.
    private func addWorld(_ exchange: Exchange, _ order: WorldOrder) throws -> Response {
        let isMissing = try worlds.existing(order.name) == nil
        guard let world = try worlds.world(order.name) else {
            return ControlAnswer.error(
                503, "tooManyWorlds",
                "there are already \(WorldRegistry.limit) test worlds, all in use: delete some worlds", path: "$.name"
            )
        }
        // If several clients make it at once, only one makes it.
        let isNew = isMissing && world.isNewToWhoeverAsks()
        let (hadPort, hadMailPort) = (world.port(.http) != nil, world.port(.smtp) != nil)
        var port = ports.fixed(order.name) ?? world.port(.http)
        if let listen = order.listen {
            do { port = try world.open(listen, by: ports) } catch {
                if isNew { try worlds.dropUntouched(world) }
                return refusal(error, world.name, .http)
            }
        }
        if let listen = order.smtp {
            do { _ = try world.open(listen, by: mailPorts) } catch {
                if !hadPort { world.closePort(.http) }
                if isNew { try worlds.dropUntouched(world) }
                return refusal(error, world.name, .smtp)
            }
        }
        if let day = order.asOf, day != world.seed.day {
            let refusal = try extend(world.name, by: JSONObject([("asOf", .string(day.description))]))
            if let refusal {
                if !hadPort { world.closePort(.http) }
                if !hadMailPort { world.closePort(.smtp) }
                if isNew { try worlds.dropUntouched(world) }
                return refusal
            }
        }
        // A world with its own port isn't dropped as if it had only been read.
        if order.listen != nil || order.smtp != nil { world.markChanged() }
        var answer = JSONObject([
            ("name", .string(world.name)), ("url", .string(url(of: world.name, port, exchange))),
        ])
        answer["smtp"] = smtp(of: world.name, world, exchange)
        return ControlAnswer.ok(.object(answer), status: isNew ? 201 : 200)
    }

    private func refusal(_ refusal: WorldPorts.Refusal, _ world: String, _ kind: WorldPorts.Kind) -> Response {
        let member = kind == .http ? "listen" : "smtp"
        let path = "$.\(member)"
        switch refusal {
        case .other(let port):
            return ControlAnswer.error(
                409, "otherPort",
                "the test world \(Diagnosis.quote(world)) already has the port \(port), "
                    + "which can't be changed: send \"\(member)\": \(port)",
                path: path)
        case .tooMany:
            return ControlAnswer.error(
                503, "tooManyPorts",
                "\(WorldPorts.limit) test worlds already have ports of their own: delete some (DELETE worlds/NAME), or "
                    + "use this world at http://NAME.localhost",
                path: path)
        case .notServed where kind == .smtp:
            return ControlAnswer.error(
                409, "noSMTP", "this daemon accepts no mail: start the daemon with --smtp-port", path: path)
        case .notServed:
            return ControlAnswer.error(
                409, "noHTTP",
                "a world's own port serves HTTP, but this daemon serves only HTTPS: start the daemon without --tls-only",
                path: path)
        case .cannotListen(let reason):
            return ControlAnswer.error(409, "cannotListen", reason, path: path)
        }
    }

    private func removeWorld(_ exchange: Exchange) throws -> Response {
        let name = exchange.parameters["name"] ?? ""
        guard name != worlds.unnamed else {
            return ControlAnswer.error(
                409, "defaultWorld", "the default world can't be deleted: use POST reset to empty it")
        }
        guard try worlds.drop(name) else {
            return noSuchWorld(name)
        }
        return Response(status: 204)
    }

    /// Resets the test world that the path names, even if the request is addressed to another world. A world that
    /// doesn't exist isn't created.
    private func resetWorld(_ exchange: Exchange) throws -> Response {
        let name = exchange.parameters["name"] ?? ""
        guard let world = try worlds.existing(name) else { return noSuchWorld(name) }
        try world.reset()
        return ControlAnswer.ok(["world": .string(name), "reset": true])
    }

    private func noSuchWorld(_ name: String) -> Response {
        ControlAnswer.error(404, "noSuchWorld", "there is no test world \(Diagnosis.quote(name))")
    }
}
