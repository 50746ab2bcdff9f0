import JSON
import ModelContextProtocol

extension DaemonTools {
    var clock: Tool {
        let call = DeclaredCall("POST", "clock")
        return Tool(
            "clock", title: "The world's time", .changes,
            "Tells the world's time or, with arguments, changes it, by which codes, tokens and sessions expire: advance \"6m\" makes an "
                + "Apple code too old, for example.",
            arguments: .withWorld(call.fields), answers: call.answer.answered
        ) { arguments, _ throws(ToolFailure) in
            let (body, world) = arguments.bodyAndWorld
            guard body.object?.isEmpty ?? true else { return try post("clock", arguments, as: call.answer) }
            return try daemon.answer("GET", "clock", about: .world(world), as: call.answer)
        }
    }
}
