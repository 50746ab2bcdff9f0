import JSON
import ModelContextProtocol

// This tool makes any call of the control API.

extension DaemonTools {
    private enum Method: String, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    private struct AnyCall: SchemaObject {
        let method: Method?
        let path: String
        let query: [(name: String, value: String)]
        let body: JSONValue?
        let world: String?

        init(_ fields: inout Fields) {
            method = fields.optional("method", .choice(Method.self), "If missing, calls are listed.")
            path = fields(
                "path", .text(.any), default: "",
                "Such as \"apple/notifications\" or \"worlds/w1\"; in a list, what paths contain.")
            query = fields.map("query", of: .text(.any), "Parameters.")
            body = fields.optional("body", .any, "What is sent.")
            world = WorldChoice.declare(&fields)
        }
    }

    var controlCall: Tool {
        Tool(
            "call_control_api", title: "Any other call", .changes,
            "Makes a call of the control API that no other tool makes: notifications, keys, revocations, snapshots, worlds, mail. Without "
                + "a method, it lists the calls and, of a few, what they take.",
            arguments: AnyCall.self, answers: nil, waits: { call in call.query.contains { $0.name == "wait" } }
        ) { call, _ throws(ToolFailure) in
            let segments = call.path.split(separator: "/").map(String.init)
            guard let method = call.method?.rawValue else { return .text(DeclaredCall.list(containing: call.path)) }
            guard DeclaredCall.isDeclared(method, segments) else {
                throw ToolFailure(
                    "the control API has no call \(method) \(BoundedText.shortened(call.path, to: 200)): without a method, this tool lists them"
                )
            }
            let path = segments.map { DaemonAccess.segment($0) }.joined(separator: "/")
            let answer = try daemon.fetch(
                method, path, query: call.query.map { ($0.name, $0.value) }, body: call.body, about: .world(call.world))
            let json = try? JSONValue(parsing: answer.body, limits: .answer)
            guard (200..<300).contains(answer.status) else {
                throw DaemonAccess.failure(DaemonAccess.Answer(status: answer.status, json: json ?? .null))
            }
            guard let object = json?.object else {
                let text = String(decoding: answer.body, as: UTF8.self)
                return .text(text.isEmpty ? "done (\(answer.status))" : AnswerSize.cut(text, to: AnswerSize.limit))
            }
            return .object(try AnswerSize.fitted(object, .map(of: .any)))
        }
    }
}
