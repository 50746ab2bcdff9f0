import JSON
import ModelContextProtocol
import Time

extension DaemonTools {
    private struct Query: SchemaObject {
        let refused: Bool?
        let criteria: [(String, String?)]
        let after: String?
        let limit: Int
        let wait: TimeSpan?
        let world: String?

        init(_ fields: inout Fields) {
            refused = fields.optional("refused", .boolean, "true: only sign-ins in which something was refused.")
            criteria = [
                (
                    "client",
                    fields.optional("client", .text(.nonEmpty), "Of this client ID; at Firebase, of this project.")
                ),
                (
                    "host",
                    fields.optional(
                        "host", .text(.nonEmpty), "With this provider's host; \"*\" stands for any characters.")
                ),
                ("path", fields.optional("path", .text(.nonEmpty), "With this path; \"*\" stands for any characters.")),
                (
                    "status",
                    fields.optional("status", .text(.nonEmpty), "With this status, such as \"401\" or \"4xx\".")
                ),
                ("flow", fields.optional("flow", .text(.nonEmpty), "The one sign-in whose first request has this ID.")),
            ]
            after = fields.optional(
                "after", .text(.nonEmpty), "Only what came after the request with this ID, such as \"r12\".")
            limit = fields(
                "limit", .integer(1...20), default: 5,
                "How many sign-ins at most: the latest ones, or with after the next ones.")
            wait = fields.optional(
                "wait", .duration(.wait), "Wait so long at most until there is one, such as \"20s\".")
            world = WorldChoice.declare(&fields)
        }
    }

    var signIns: Tool {
        Tool(
            "list_sign_ins", title: "Sign-ins and why they were refused", .reads,
            "What apps and browsers asked the providers here, sign-in by sign-in: each request with its status and, where it was "
                + "refused, why, in words that the real provider doesn't say. Use it first when a sign-in fails. Requests that "
                + "belong to no sign-in, such as for a key set, stand alone.",
            arguments: Query.self, waits: { $0.wait != nil }
        ) { query, call throws(ToolFailure) in
            let reader = RecordingReader(daemon: daemon, world: query.world)
            let refused = ("refused", query.refused.map { String($0) })
            let found = try reader.exchanges(query.criteria + [refused], after: query.after, wait: query.wait, call)
            var flows: [String] = []
            for exchange in query.after == nil ? found.reversed() : found {
                guard let flow = exchange["flow"]?.string, !flows.contains(flow) else { continue }
                flows.append(flow)
            }
            let isMore = flows.count > query.limit
            flows = Array(flows.prefix(query.limit))
            if query.after == nil { flows.reverse() }
            var signIns: [JSONValue] = []
            for flow in flows { signIns.append(try reader.signIn(flow)) }
            var answer = AnswerSize.fitted(JSONObject([("signIns", .array(signIns))]))
            if isMore { answer["more"] = true }
            answer["last"] = found.last?["id"]
            return .object(answer)
        }
    }

    private struct RequestChoice: SchemaObject {
        let id: String
        let world: String?

        init(_ fields: inout Fields) {
            id = fields("id", .text(.identifier), "The request's ID, such as \"r12\".")
            world = WorldChoice.declare(&fields)
        }
    }

    var request: Tool {
        Tool(
            "show_request", title: "One request and its answer", .reads,
            "Everything about one recorded request: headers, bodies, tokens decoded, why it was refused, the fault that was ordered. "
                + "Long texts are cut.",
            arguments: RequestChoice.self
        ) { choice, _ throws(ToolFailure) in
            let path = "requests/\(DaemonAccess.segment(choice.id))"
            return .object(
                AnswerSize.fitted(try daemon.call("GET", path, about: .world(choice.world)).object ?? JSONObject()))
        }
    }
}
