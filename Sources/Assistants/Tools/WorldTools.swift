import JSON
import ModelContextProtocol

extension DaemonTools {
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
