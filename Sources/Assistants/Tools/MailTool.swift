import JSON
import ModelContextProtocol
import Time

extension DaemonTools {
    private struct Query: SchemaObject {
        let id: String?
        let criteria: [(String, String?)]
        let limit: Int
        let wait: TimeSpan?
        let world: String?

        init(_ fields: inout Fields) {
            id = fields.optional("id", .text(.identifier), "One message whole, such as \"m3\".")
            criteria = ["to", "from", "subject", "text", "after"].map { name in
                (name, fields.optional(name, .text(.nonEmpty), Query.meanings[name] ?? ""))
            }
            limit = fields(
                "limit", .integer(1...50), default: 10,
                "How many at most: the latest ones, or with after the next ones.")
            wait = fields.optional(
                "wait", .duration(.wait), "Wait so long at most until there is one, such as \"20s\".")
            world = WorldChoice.declare(&fields)
        }

        private static let meanings = [
            "to": "To this address or phone number; \"*\" stands for any characters.",
            "from": "From this address; \"*\" stands for any characters.",
            "subject": "Whose subject contains this.", "text": "Whose text contains this.",
            "after": "Only what came after the message with this ID.",
        ]
    }

    var mail: Tool {
        Tool(
            "read_mail", title: "Mails and text messages", .reads,
            "The mails and text messages that people got or would have got: verification codes, links to reset a password, mail that "
                + "the app sent here. Codes and links are listed by themselves.",
            arguments: Query.self, waits: { $0.wait != nil }
        ) { query, call throws(ToolFailure) in
            if let id = query.id {
                let message = try daemon.call("GET", "mail/\(DaemonAccess.segment(id))", about: .world(query.world))
                return .object(AnswerSize.fitted(message.object ?? JSONObject()))
            }
            let answer = try messages(query, call)
            let shown = (answer["messages"]?.array ?? []).map(DaemonTools.brief)
            return .object(
                Page.answer("messages", shown, more: answer["more"]?.bool ?? false, last: { $0["id"] }))
        }
    }

    /// Asks again each second while nothing has come, so that a call that is cancelled ends soon.
    private func messages(_ query: Query, _ call: ToolCall) throws(ToolFailure) -> JSONValue {
        let end = ContinuousClock.now + (query.wait?.duration ?? .zero)
        let fields = query.criteria + [("limit", String(query.limit))]
        var answer = try daemon.call("GET", "mail", query: fields, about: .world(query.world))
        while (answer["messages"]?.array ?? []).isEmpty, !call.shouldEnd, end > .now {
            let milliseconds = min(end - .now, Duration.seconds(1)) / .milliseconds(1)
            let waiting = fields + [("wait", "\(max(1, Int(milliseconds)))ms")]
            answer = try daemon.call("GET", "mail", query: waiting, about: .world(query.world))
        }
        return answer
    }

    private static func brief(_ message: JSONValue) -> JSONValue {
        var brief = JSONObject()
        for name in ["id", "kind", "time", "from", "to", "subject", "codes", "links", "relay", "request"] {
            brief[name] = message[name]
        }
        brief["text"] = message["text"]?.string.map { .string(AnswerSize.cut($0, to: 600)) }
        return .object(AnswerSize.fitted(brief))
    }
}
