import JSON
import ModelContextProtocol

// These tools order outcomes and faults.

extension DaemonTools {
    var orderOutcome: Tool {
        let call = DeclaredCall("POST", "outcomes")
        return Tool(
            "order_outcome", title: "Order how a sign-in ends", .adds,
            "Decides how the next matching sign-in ends, without a page and a person: somebody approves, cancels, or there is an error. "
                + "The order is for web, device and native sign-ins, once unless `times` "
                + "says otherwise.",
            arguments: .withWorld(call.fields), answers: call.answer.answered
        ) { arguments, _ throws(ToolFailure) in try post("outcomes", arguments, as: call.answer) }
    }

    var orderFault: Tool {
        let call = DeclaredCall("POST", "faults")
        return Tool(
            "order_fault", title: "Order that something goes wrong", .adds,
            "Makes matching requests go wrong. For example match {\"host\": \"appleid.apple.com\", \"path\": "
                + "\"/auth/token\"} and effect {\"error\": \"invalid_grant\"}. list_endpoints says what fits where.",
            // The answer repeats the order in the form of the arguments.
            arguments: .withWorld(call.fields), answers: call.answer.outline.answered
        ) { arguments, _ throws(ToolFailure) in try post("faults", arguments, as: call.answer) }
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
        let list = DeclaredCall("GET", "endpoints").answer.fields("endpoints")
        let page = Page(
            "endpoints", of: list.first?.schema.elements ?? .any, "The endpoints found.",
            others: [.required("found", .count, "The number found.")])
        return Tool(
            "list_endpoints", title: "What can be ordered where", .reads,
            "The endpoints of the providers, with what order_fault can do at each and the names of its errors. There are hundreds: "
                + "narrow them down.",
            arguments: EndpointChoice.self, answers: page.schema
        ) { choice, _ throws(ToolFailure) in
            let all = try DaemonAccess.list("endpoints", in: try daemon.call("GET", "endpoints", about: .daemon))
            let found = all.filter { endpoint in
                func holds(_ name: String, _ wanted: String?) -> Bool {
                    guard let wanted else { return true }
                    return endpoint[name]?.string?.lowercased().contains(wanted.lowercased()) ?? false
                }
                return holds("host", choice.host) && holds("path", choice.path)
            }
            var answer = try page.answer(Array(found.prefix(30)), more: found.count > 30)
            answer["found"] = .integer(Int64(found.count))
            return .object(answer)
        }
    }

    var orders: Tool {
        let schema = Schema.answer(
            ["outcomes", "faults"].flatMap { DeclaredCall("GET", $0).answer.fields($0) }.map { list in
                .required(list.name, .sequence(of: list.schema.elements.outline), list.about)
            })
        return Tool(
            "list_orders", title: "Pending orders", .reads,
            "The requested outcomes and faults that aren't used up yet.",
            arguments: WorldChoice.self, answers: schema
        ) { choice, _ throws(ToolFailure) in
            var answer = JSONObject()
            for name in ["outcomes", "faults"] {
                answer[name] = try daemon.call("GET", name, about: .world(choice.world))[name]
            }
            return .object(try AnswerSize.fitted(answer, schema))
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
            arguments: Removal.self, answers: .answer([.required("removed", .string, "What was withdrawn.")])
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
            throw refused.map { DaemonAccess.failure($0) } ?? ToolFailure("no outcome or fault has the ID \(id)")
        }
    }

    /// Makes a `POST` call of the control API whose body is the tool's arguments without `world`.
    func post(_ path: String, _ arguments: JSONValue, as schema: Schema) throws(ToolFailure) -> ToolAnswer {
        let (body, world) = arguments.bodyAndWorld
        return try daemon.answer("POST", path, body: body, about: .world(world), as: schema)
    }
}

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
