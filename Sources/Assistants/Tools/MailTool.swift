import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Choice: SchemaObject {
        let id: String?
        let limit: Int
        let world: String?

        init(_ fields: inout Fields) {
            id = fields.optional("id", .text(.identifier), "One message whole, such as \"m3\".")
            limit = fields(
                "limit", .integer(1...50), default: 10,
                "How many at most: the latest ones, or with after the next ones.")
            world = WorldChoice.declare(&fields)
        }
    }

    private static let mailFilters = DeclaredCall("GET", "mail").fields(
        "to", "from", "subject", "text", "kind", "after", "wait")

    var mail: Tool {
        // A list has only some members of each message.
        let message = Schema.arguments(
            DeclaredCall("GET", "mail/:id").answer.fields.map { field in
                field.name == "id" ? field : .optional(field.name, field.schema, field.about)
            })
        let page = Page("messages", of: message, "The messages, the oldest first.", goesOn: true)
        return Tool(
            "read_mail", title: "Mails and text messages", .reads,
            "The mails and text messages that people got or would have got: verification codes, links to reset a password, mail that "
                + "the app sent here. Codes and links are listed by themselves.",
            arguments: .arguments(DaemonTools.mailFilters, Choice.schema.fields), answers: page.schema,
            waits: { $0["wait"] != nil }
        ) { arguments, call throws(ToolFailure) in
            let choice = Choice(reading: arguments)
            if let id = choice.id {
                let path = "mail/\(DaemonAccess.segment(id))"
                return .object(try page.answer([try daemon.call("GET", path, about: .world(choice.world))]))
            }
            let answer = try messages(arguments, choice, call)
            let shown = try DaemonAccess.list("messages", in: answer).map(DaemonTools.brief)
            return .object(try page.answer(shown, more: answer["more"]?.bool ?? false, last: { $0["id"] }))
        }
    }

    /// Returns the messages that match the filters in `arguments`. If there are none, asks the daemon again every
    /// second until the waiting time in `arguments` is over or the tool call is cancelled.
    private func messages(
        _ arguments: JSONValue, _ choice: Choice, _ call: ToolCall
    ) throws(ToolFailure) -> JSONValue {
        let end = ContinuousClock.now + arguments.wait
        let filters = DaemonTools.mailFilters.filter { $0.name != "wait" }
        let fields = arguments.query(filters) + [("limit", String(choice.limit))]
        var answer = try daemon.call("GET", "mail", query: fields, about: .world(choice.world))
        while (answer["messages"]?.array ?? []).isEmpty, !call.shouldEnd, end > .now {
            let milliseconds = min(end - .now, Duration.seconds(1)) / .milliseconds(1)
            let waiting = fields + [("wait", "\(max(1, Int(milliseconds)))ms")]
            answer = try daemon.call("GET", "mail", query: waiting, about: .world(choice.world))
        }
        return answer
    }

    private static func brief(_ message: JSONValue) -> JSONValue {
        var brief = JSONObject()
        for name in ["id", "kind", "time", "from", "to", "subject", "codes", "links", "relay", "request"] {
            brief[name] = message[name]
        }
        brief["text"] = message["text"]?.string.map { .string(AnswerSize.cut($0, to: 600)) }
        return .object(brief)
    }
}
