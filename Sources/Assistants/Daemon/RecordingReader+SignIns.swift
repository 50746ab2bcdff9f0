import JSON
import ModelContextProtocol

// Describes a sign-in in a few words.

extension RecordingReader {
    private static let stepLimit = 40

    /// The schema of a sign-in as `signIn` returns it.
    static var signInSchema: Schema {
        let step = exchange.fields("id", "parent", "time", "status", "diagnosis", "note", "fault")
        return .members([
            .required("flow", .string, "The ID of its first request."),
            .optional("client", .string, "Whose sign-in it is, where that is known."),
            .required("refusals", .count, "How many of its requests were refused."),
            .required(
                "steps",
                .sequence(
                    of: .members(
                        step + [
                            .required("request", .string, "The method, and the host and the path of the provider."),
                            .optional("redirect", .string, "Where a refused request was redirected to."),
                            .optional("answer", .string, "What a refused request was answered."),
                        ])), "Its requests, the oldest first."),
            .optional("earlierSteps", .count, "How many requests before those are left out."),
        ])
    }

    /// The schema of a recorded exchange.
    static let exchange = DeclaredCall("GET", "requests/:id").answer

    /// Returns the steps of the sign-in whose first exchange has this ID.
    func signIn(_ flow: String) throws(ToolFailure) -> JSONValue {
        let steps = try pages([("flow", flow)], after: nil)
        var object = JSONObject([("flow", .string(flow))])
        object["client"] = steps.lazy.compactMap { $0["client"]?.string }.first.map {
            .string(AnswerSize.cut($0, to: 200))
        }
        object["refusals"] = .integer(Int64(steps.count { $0["diagnosis"] != nil }))
        object["steps"] = .array(steps.suffix(RecordingReader.stepLimit).map(RecordingReader.step))
        if steps.count > RecordingReader.stepLimit {
            object["earlierSteps"] = .integer(Int64(steps.count - RecordingReader.stepLimit))
        }
        return .object(object)
    }

    /// Returns an exchange without its bodies, except for a refusal's.
    private static func step(_ exchange: JSONValue) -> JSONValue {
        var step = JSONObject()
        for name in ["id", "parent", "time"] { step[name] = exchange[name] }
        let place = (exchange["host"]?.string ?? "") + (exchange["path"]?.string ?? "")
        step["request"] = .string("\(exchange["method"]?.string ?? "") \(AnswerSize.cut(place, to: 300))")
        step["status"] = exchange["status"]
        for name in ["diagnosis", "note", "fault"] {
            step[name] = exchange[name]?.string.map { .string(AnswerSize.cut($0, to: 800)) }
        }
        guard exchange["diagnosis"] != nil else { return .object(step) }
        let headers = exchange["response"]?["headers"]?.array ?? []
        func header(_ name: String) -> String? {
            headers.first { $0["name"]?.string?.lowercased() == name }?["value"]?.string
        }
        if let location = header("location") {
            step["redirect"] = .string(AnswerSize.cut(location, to: 400))
        } else if let body = exchange["response"]?["body"]?.string,
            !(header("content-type") ?? "").hasPrefix("text/html")
        {
            step["answer"] = .string(AnswerSize.cut(body, to: 400))
        }
        return .object(step)
    }
}
