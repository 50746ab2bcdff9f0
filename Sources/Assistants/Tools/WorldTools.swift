import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Listing: SchemaObject {
        let limit: Int

        init(_ fields: inout Fields) { limit = fields("limit", .integer(1...200), default: 50, "How many at most.") }
    }

    var worlds: Tool {
        Tool(
            "list_worlds", title: "Which worlds there are", .reads,
            "Worlds are sandboxes in one daemon: people, codes, clock, orders and recording of each are nobody else's. Any name makes "
                + "one when it is first used, at /~NAME/ behind the daemon's address or at NAME.localhost.",
            arguments: Listing.self
        ) { listing, _ throws(ToolFailure) in
            let all = try daemon.call("GET", "worlds", about: .daemon)["worlds"]?.array ?? []
            var answer = Page.answer("worlds", Array(all.prefix(listing.limit)), last: { _ in nil })
            answer["found"] = .integer(Int64(all.count))
            return .object(answer)
        }
    }

    private struct Name: SchemaObject {
        let name: String

        init(_ fields: inout Fields) { name = fields("name", .text(.world), "The world's name.") }
    }

    var removeWorld: Tool {
        Tool(
            "remove_world", title: "Remove a world", .changes,
            "Removes a world with all that it has. Its next use makes it anew.", arguments: Name.self
        ) { choice, _ throws(ToolFailure) in
            try daemon.call("DELETE", "worlds/\(DaemonAccess.segment(choice.name))", about: .daemon)
            return .object(JSONObject([("removed", .string(choice.name))]))
        }
    }

    var reset: Tool {
        Tool(
            "reset_world", title: "Begin a world afresh", .changes,
            "Begins a world afresh from its seed: sign-ins, tokens, orders, clock, mail and recording go.",
            arguments: WorldChoice.self
        ) { choice, _ throws(ToolFailure) in
            .object(try daemon.call("POST", "reset", about: .world(choice.world)).object ?? JSONObject())
        }
    }
}
