import EmulatorCore
import JSON
import ModelContextProtocol
import Time

/// The argument `world` of a tool. Every tool that acts on a test world has it.
struct WorldChoice: SchemaObject {
    let world: String?

    init(_ fields: inout Fields) { world = WorldChoice.declare(&fields) }

    static func declare(_ fields: inout Fields) -> String? {
        fields.optional(
            "world", .text(.world), "The world; by default the app's.")
    }
}

extension TextRule {
    static let world = TextRule(about: WorldName.rule, pattern: nil) { WorldName.isValid($0) }
}

extension JSONValue {
    /// The arguments of a tool, split into the body of a control call and the name of the test world.
    var bodyAndWorld: (body: JSONValue, world: String?) {
        var body = object ?? JSONObject()
        let world = body["world"]?.string
        body["world"] = nil
        return (.object(body), world)
    }

    /// Returns a tool's arguments as parameters for the query of a control call. `fields` are the parameters to take.
    func query(_ fields: [Schema.Field]) -> [(String, String?)] {
        fields.map { field in
            let value = self[field.name]
            return (field.name, value?.string ?? value?.text)
        }
    }

    /// The time that a tool may wait for something, from its argument `wait`.
    var wait: Duration { (self["wait"]?.string.flatMap { TimeSpan($0) } ?? .zero).duration }
}

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
