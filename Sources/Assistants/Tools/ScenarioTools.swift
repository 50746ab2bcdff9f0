import JSON
import ModelContextProtocol

// These tools list and play ready-made situations.

extension DaemonTools {
    var scenarios: Tool {
        let list = DeclaredCall("GET", "scenarios").answer.fields("scenarios")
        let page = Page("scenarios", of: list.first?.schema.elements ?? .any, "Each of them.")
        return Tool(
            "list_scenarios", title: "Ready-made situations", .reads,
            "Situations that can be played, such as an outage of a provider or rotated keys: name, what happens, and whether it is "
                + "played now.",
            arguments: WorldChoice.self, answers: page.schema
        ) { choice, _ throws(ToolFailure) in
            let answer = try daemon.call("GET", "scenarios", about: .world(choice.world))
            return .object(try page.answer(try DaemonAccess.list("scenarios", in: answer)))
        }
    }

    private struct ScenarioChoice: SchemaObject {
        let name: String
        let values: [(name: String, value: JSONValue)]
        let ends: Bool
        let world: String?

        init(_ fields: inout Fields) {
            name = fields("name", .text(.identifier), "The scenario's name.")
            values = fields.map("parameters", of: .any, "The parameters' values.")
            ends = fields("end", .boolean, default: false, "End it: its orders are withdrawn, and the clock goes back.")
            world = WorldChoice.declare(&fields)
        }
    }

    var playScenario: Tool {
        let begun = DeclaredCall("POST", "scenarios/:name").answer
        let ended = DeclaredCall("DELETE", "scenarios/:name").answer
        let schema = Schema.oneOf([begun, ended])
        return Tool(
            "play_scenario", title: "Play a situation", .changes,
            "Begins a scenario, and says what a correct client does; or ends it.", arguments: ScenarioChoice.self,
            answers: schema.answered
        ) { choice, _ throws(ToolFailure) in
            let path = "scenarios/\(DaemonAccess.segment(choice.name))"
            guard !choice.ends else {
                return try daemon.answer("DELETE", path, about: .world(choice.world), as: schema)
            }
            let body = JSONValue.object(JSONObject(choice.values.map { ($0.name, $0.value) }))
            return try daemon.answer("POST", path, body: body, about: .world(choice.world), as: schema)
        }
    }
}
