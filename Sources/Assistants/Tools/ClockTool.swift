import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Order: SchemaObject {
        init(_ fields: inout Fields) {
            _ = fields.optional("advance", .text(.signedDuration), "How far to move it, such as \"6m\" or \"-1h\".")
            _ = fields.optional("set", .timestamp, "A moment to go to.")
            _ = fields.optional("freeze", .boolean, "Whether time stands still.")
            _ = fields.optional("reset", .boolean, "Back to the machine's time, running.")
        }
    }

    var clock: Tool {
        Tool(
            "clock", title: "The world's time", .changes,
            "Tells the world's time or, with arguments, changes it, by which codes, tokens and sessions expire: advance \"6m\" makes an "
                + "Apple code too old, for example.",
            arguments: .withWorld(Order.schema)
        ) { arguments, _ throws(ToolFailure) in
            let (body, world) = arguments.bodyAndWorld
            guard body.object?.isEmpty ?? true else { return try post("clock", arguments) }
            return .object(try daemon.call("GET", "clock", about: .world(world)).object ?? JSONObject())
        }
    }
}
