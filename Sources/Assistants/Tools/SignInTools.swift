import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Listing: SchemaObject {
        let limit: Int
        let world: String?

        init(_ fields: inout Fields) {
            limit = fields(
                "limit", .integer(1...20), default: 5,
                "How many sign-ins at most: the latest ones, or with after the next ones.")
            world = WorldChoice.declare(&fields)
        }
    }

    /// The conditions on a sign-in's requests.
    private static let criteria = DeclaredCall("GET", "requests").fields(
        "refused", "client", "host", "path", "method", "status", "flow")

    var signIns: Tool {
        let schema = Schema.answer([
            .required("signIns", .sequence(of: RecordingReader.signInSchema), "The sign-ins, the oldest first."),
            .optional("more", .boolean, "true: there are earlier ones or, with after, later ones."),
            .optional("last", .string, "The ID of the last request here: with it as after, only what comes later."),
        ])
        return Tool(
            "list_sign_ins", title: "Sign-ins and why they were refused", .reads,
            "What apps and browsers asked the providers here, sign-in by sign-in: each request with its status and, where it was "
                + "refused, why, in words that the real provider doesn't say. Use it first when a sign-in fails: with refused "
                + "true, only sign-ins in which something was refused.",
            arguments: .arguments(
                DaemonTools.criteria, DeclaredCall("GET", "requests").fields("after", "wait"), Listing.schema.fields),
            answers: schema, waits: { $0["wait"] != nil }
        ) { arguments, call throws(ToolFailure) in
            let listing = Listing(reading: arguments)
            let after = arguments["after"]?.string
            let reader = RecordingReader(daemon: daemon, world: listing.world)
            let found = try reader.exchanges(
                arguments.query(DaemonTools.criteria), after: after, wait: arguments.wait, call)
            var flows: [String] = []
            for exchange in after == nil ? found.reversed() : found {
                guard let flow = exchange["flow"]?.string, !flows.contains(flow) else { continue }
                flows.append(flow)
            }
            let isMore = flows.count > listing.limit
            flows = Array(flows.prefix(listing.limit))
            if after == nil { flows.reverse() }
            var signIns: [JSONValue] = []
            for flow in flows { signIns.append(try reader.signIn(flow)) }
            var answer = try AnswerSize.fitted(JSONObject([("signIns", .array(signIns))]), schema)
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
            arguments: RequestChoice.self, answers: RecordingReader.exchange.answered
        ) { choice, _ throws(ToolFailure) in
            try daemon.answer(
                "GET", "requests/\(DaemonAccess.segment(choice.id))", about: .world(choice.world),
                as: RecordingReader.exchange)
        }
    }
}
