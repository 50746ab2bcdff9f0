import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Listing: SchemaObject {
        let limit: Int

        init(_ fields: inout Fields) { limit = fields("limit", .integer(1...200), default: 50, "How many at most.") }
    }

    var worlds: Tool {
        let list = DeclaredCall("GET", "worlds").answer.fields("worlds")
        let page = Page(
            "worlds", of: list.first?.schema.elements ?? .any, "Some of them.",
            others: [.required("found", .count, "How many there are.")])
        return Tool(
            "list_worlds", title: "Which worlds there are", .reads,
            "Worlds are sandboxes in one daemon: people, codes, clock, orders and recording of each are nobody else's. Any name makes "
                + "one when it is first used, at /~NAME/ behind the daemon's address or at NAME.localhost.",
            arguments: Listing.self, answers: page.schema
        ) { listing, _ throws(ToolFailure) in
            let all = try DaemonAccess.list("worlds", in: try daemon.call("GET", "worlds", about: .daemon))
            var answer = try page.answer(Array(all.prefix(listing.limit)), more: all.count > listing.limit)
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
            "Removes a world with all that it has. Its next use makes it anew.", arguments: Name.self,
            answers: .answer([.required("removed", .string, "The world's name.")])
        ) { choice, _ throws(ToolFailure) in
            try daemon.call("DELETE", "worlds/\(DaemonAccess.segment(choice.name))", about: .daemon)
            return .object(JSONObject([("removed", .string(choice.name))]))
        }
    }

    var reset: Tool {
        let call = DeclaredCall("POST", "reset")
        return Tool(
            "reset_world", title: "Begin a world afresh", .changes,
            "Begins a world afresh from its seed: sign-ins, tokens, orders, clock, mail and recording go.",
            arguments: WorldChoice.self, answers: call.answer.answered
        ) { choice, _ throws(ToolFailure) in
            try daemon.answer("POST", "reset", about: .world(choice.world), as: call.answer)
        }
    }
}
