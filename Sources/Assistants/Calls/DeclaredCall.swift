import EmulatorCore
import JSON
import Understudy

/// The input and the answers that a call of the control API declares. A tool that makes the call takes its own schemas
/// from these declarations.
struct DeclaredCall: Sendable {
    private static let all = Dictionary(
        Composition.calls.compactMap { endpoint in
            endpoint.call.map { (name(endpoint.method, endpoint.path), $0) }
        }, uniquingKeysWith: { first, _ in first })

    private let call: ControlCall

    /// Finds a call of the control API. `path` is the declared path below the API's root, such as `requests/:id`.
    init(_ method: String, _ path: String) {
        guard let call = DeclaredCall.all[DeclaredCall.name(method, "\(Endpoint.controlRoot)/\(path)")] else {
            preconditionFailure("the control API has no call \(method) \(path)")
        }
        self.call = call
    }

    /// Whether the control API has a call with this method and path. `segments` are the path's segments, not
    /// percent-encoded.
    static func isDeclared(_ method: String, _ segments: [String]) -> Bool {
        Composition.calls.contains { endpoint in
            let declared = path(endpoint).split(separator: "/")
            return endpoint.method == method && declared.count == segments.count
                && zip(declared, segments).allSatisfy { $0.hasPrefix(":") || $0 == $1 }
        }
    }

    /// Returns a line for each call of the control API whose path contains `text`. If there are at most three such
    /// calls, their arguments are described, too.
    static func list(containing text: String) -> String {
        let found = Composition.calls.filter { $0.call != nil && path($0).contains(text) }
        return found.map { endpoint in
            let call = endpoint.call
            let line = "\(endpoint.method) \(path(endpoint)): \(call?.about ?? "")"
            guard found.count <= 3 else { return line }
            let input = [("query", call?.query), ("body", call?.body?.schema)].map { name, schema in
                schema.map { "\n\(name): \($0.jsonSchema().text)" } ?? ""
            }
            return line + input.joined()
        }.joined(separator: "\n")
    }

    private static func path(_ endpoint: Endpoint) -> String {
        String(endpoint.path.dropFirst("\(Endpoint.controlRoot)/".count))
    }

    private static func name(_ method: String, _ path: String) -> String { "\(method) \(path)" }

    /// The parameters of the call's query. For a call without a query, these are the members of its body.
    var fields: [Schema.Field] { (call.query ?? call.body?.schema)?.fields ?? [] }

    /// Returns the call's parameters or body members with these names, in the order of the names.
    func fields(_ names: String...) -> [Schema.Field] {
        names.compactMap { name in fields.first { $0.name == name } }
    }

    /// The HTTP statuses with which the call can answer in JSON. Some of them are refusals.
    var statuses: Set<Int> { Set(described.map(\.status)) }

    /// The schema of the answer to a successful call of the control API.
    var answer: Schema { described.first { $0.status < 300 }?.schema ?? .map(of: .any) }

    var answers: [Schema] { described.map(\.schema) }

    private var described: [(status: Int, schema: Schema)] {
        call.answers.flatMap { answer in
            answer.contents.compactMap { content in
                switch content {
                case .json(.either(let own, _)): (answer.status, own)  // The control API's own form, before others.
                case .json(let schema): (answer.status, schema)
                case .other: nil
                }
            }
        }
    }
}
