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

    private static let flows = DeclaredCall("GET", "flows")
    private static let criteria = flows.fields("refused", "unfinished", "provider", "client", "text", "all", "after")
    /// The longest time that a single request to the control API waits for a sign-in. It is short, so that a cancelled
    /// call of the tool ends soon.
    private static let slice = Duration.seconds(1)

    var signIns: Tool {
        Tool(
            "list_sign_ins", title: "Sign-ins and why they were refused", .reads,
            "The sign-ins here, each with its person, client, requests, how it ended, and why it was refused. Use it first when "
                + "a sign-in fails, with refused true.",
            arguments: .arguments(DaemonTools.criteria, DaemonTools.flows.fields("wait"), Listing.schema.fields),
            answers: DaemonTools.flows.answer.answered, waits: { $0["wait"] != nil }
        ) { arguments, call throws(ToolFailure) in
            let listing = Listing(reading: arguments)
            let criteria = arguments.query(DaemonTools.criteria) + [("limit", String(listing.limit))]
            let end = ContinuousClock.now + arguments.wait
            while true {
                let left = call.shouldEnd ? .zero : min(end - .now, DaemonTools.slice)
                let wait = left > .zero ? "\(max(1, Int(left / .milliseconds(1))))ms" : nil
                let answer = try daemon.call(
                    "GET", "flows", query: criteria + [("wait", wait)], about: .world(listing.world))
                guard try DaemonAccess.list("flows", in: answer).isEmpty, wait != nil else {
                    return .object(try AnswerSize.fitted(answer.object ?? JSONObject(), DaemonTools.flows.answer))
                }
            }
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

    private static let exchange = DeclaredCall("GET", "requests/:id").answer

    var request: Tool {
        Tool(
            "show_request", title: "One request and its answer", .reads,
            "Everything about one recorded request: headers, bodies, tokens decoded, why it was refused, the requested fault. "
                + "Long texts are cut.",
            arguments: RequestChoice.self, answers: DaemonTools.exchange.answered
        ) { choice, _ throws(ToolFailure) in
            try daemon.answer(
                "GET", "requests/\(DaemonAccess.segment(choice.id))", about: .world(choice.world),
                as: DaemonTools.exchange)
        }
    }
}
