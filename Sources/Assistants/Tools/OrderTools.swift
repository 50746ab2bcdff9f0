import EmulatorCore
import JSON
import ModelContextProtocol
import Understudy

// What the next sign-ins do, and what goes wrong.

extension DaemonTools {
    var orderOutcome: Tool {
        Tool(
            "order_outcome", title: "Order how a sign-in ends", .adds,
            "Decides how the next matching sign-in ends, without a page and a person: somebody approves, cancels, or there is an error "
                + "(for example provider apple, outcome cancel). It holds for web, device and native sign-ins, once unless times "
                + "says otherwise.",
            arguments: .withWorld(Providers.seedFormat.outcome.schema)
        ) { arguments, _ throws(ToolFailure) in try post("outcomes", arguments) }
    }

    var orderFault: Tool {
        Tool(
            "order_fault", title: "Order that something goes wrong", .adds,
            "Makes matching requests go wrong: a status, a delay, a closed connection, the endpoint's own error, a broken ID token, "
                + "rotated or missing keys, a wrong state, a used code. For example match {\"host\": \"appleid.apple.com\", \"path\": "
                + "\"/auth/token\"} and effect {\"error\": \"invalid_grant\"}. list_endpoints says what fits where.",
            arguments: .withWorld(Fault.schema)
        ) { arguments, _ throws(ToolFailure) in try post("faults", arguments) }
    }

    private struct EndpointChoice: SchemaObject {
        let host: String?
        let path: String?

        init(_ fields: inout Fields) {
            host = fields.optional("host", .text(.nonEmpty), "What the host contains, such as \"apple\".")
            path = fields.optional("path", .text(.nonEmpty), "What the path contains, such as \"token\".")
        }
    }

    var endpoints: Tool {
        Tool(
            "list_endpoints", title: "What can be ordered where", .reads,
            "The endpoints of the providers, with what order_fault can do at each and the names of its errors. There are hundreds: "
                + "narrow them down.",
            arguments: EndpointChoice.self
        ) { choice, _ throws(ToolFailure) in
            let all = try daemon.call("GET", "endpoints", about: .daemon)["endpoints"]?.array ?? []
            let found = all.filter { endpoint in
                func holds(_ name: String, _ wanted: String?) -> Bool {
                    guard let wanted else { return true }
                    return endpoint[name]?.string?.lowercased().contains(wanted.lowercased()) ?? false
                }
                return holds("host", choice.host) && holds("path", choice.path)
            }
            var answer = Page.answer("endpoints", Array(found.prefix(30)), last: { _ in nil })
            answer["found"] = .integer(Int64(found.count))
            return .object(answer)
        }
    }

    var orders: Tool {
        Tool(
            "list_orders", title: "What is ordered", .reads,
            "The outcomes and faults that are ordered and not used up yet.",
            arguments: WorldChoice.self
        ) { choice, _ throws(ToolFailure) in
            var answer = JSONObject()
            for name in ["outcomes", "faults"] {
                answer[name] = try daemon.call("GET", name, about: .world(choice.world))[name]
            }
            return .object(AnswerSize.fitted(answer))
        }
    }

    private enum OrderKind: String, CaseIterable {
        case outcomes
        case faults
        case all
    }

    private struct Removal: SchemaObject {
        let kind: OrderKind
        let id: String?
        let world: String?

        init(_ fields: inout Fields) {
            kind = fields("kind", .choice(OrderKind.self), default: .all, "Which orders.")
            id = fields.optional("id", .text(.identifier), "Only the order with this ID, as list_orders has it.")
            world = WorldChoice.declare(&fields)
        }
    }

    var removeOrders: Tool {
        Tool(
            "remove_orders", title: "Withdraw orders", .changes,
            "Withdraws ordered outcomes and faults, all of them or one, so that sign-ins go as usual again.",
            arguments: Removal.self
        ) { removal, _ throws(ToolFailure) in
            let kinds = removal.kind == .all ? ["outcomes", "faults"] : [removal.kind.rawValue]
            guard let id = removal.id else {
                for kind in kinds { try daemon.call("DELETE", kind, about: .world(removal.world)) }
                return .object(JSONObject([("removed", .string(kinds.joined(separator: " and ")))]))
            }
            var refused: DaemonAccess.Answer?
            for kind in kinds {
                let path = "\(kind)/\(DaemonAccess.segment(id))"
                let answer = try daemon.ask("DELETE", path, about: .world(removal.world))
                if answer.isSuccess { return .object(JSONObject([("removed", .string(id))])) }
                refused = answer
            }
            throw refused.map { DaemonAccess.failure($0) } ?? ToolFailure("there is no order \(id)")
        }
    }

    // MARK: - Scenarios

    var scenarios: Tool {
        Tool(
            "list_scenarios", title: "Ready-made situations", .reads,
            "Situations that can be played, such as an outage of a provider or rotated keys: name, what happens, and whether it is "
                + "played now.",
            arguments: WorldChoice.self
        ) { choice, _ throws(ToolFailure) in
            let all = try daemon.call("GET", "scenarios", about: .world(choice.world))["scenarios"]?.array ?? []
            return .object(Page.answer("scenarios", all, last: { $0["name"] }))
        }
    }

    private struct ScenarioChoice: SchemaObject {
        let name: String
        let values: [(name: String, value: JSONValue)]
        let ends: Bool
        let world: String?

        init(_ fields: inout Fields) {
            name = fields("name", .text(.identifier), "The scenario's name.")
            values = fields.map("parameters", of: .any, "Values of its parameters.")
            ends = fields("end", .boolean, default: false, "End it: its orders are withdrawn, and the clock goes back.")
            world = WorldChoice.declare(&fields)
        }
    }

    var playScenario: Tool {
        Tool(
            "play_scenario", title: "Play a situation", .changes,
            "Begins a scenario, and says what a correct client does; or ends it.", arguments: ScenarioChoice.self
        ) { choice, _ throws(ToolFailure) in
            let path = "scenarios/\(DaemonAccess.segment(choice.name))"
            let body = JSONValue.object(JSONObject(choice.values.map { ($0.name, $0.value) }))
            let answer =
                try choice.ends
                ? daemon.call("DELETE", path, about: .world(choice.world))
                : daemon.call("POST", path, body: body, about: .world(choice.world))
            return .object(AnswerSize.fitted(answer.object ?? JSONObject()))
        }
    }

    /// A call whose body are the arguments but for the world.
    func post(_ path: String, _ arguments: JSONValue) throws(ToolFailure) -> ToolAnswer {
        let (body, world) = arguments.bodyAndWorld
        return .object(
            AnswerSize.fitted(try daemon.call("POST", path, body: body, about: .world(world)).object ?? JSONObject()))
    }
}
