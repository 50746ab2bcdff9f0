import EmulatorCore
import JSON
import Understudy

/// The input and the answers of a control call, as it declares them. Tools take their arguments and the form of their
/// answers from these.
struct DeclaredCall: Sendable {
    private static let all = Dictionary(
        Composition.calls.compactMap { endpoint in
            endpoint.call.map { (name(endpoint.method, endpoint.path), $0) }
        }, uniquingKeysWith: { first, _ in first })

    private let call: ControlCall

    /// Finds a call. `path` is the declared path below the control API's root: `requests/:id`.
    init(_ method: String, _ path: String) {
        guard let call = DeclaredCall.all[DeclaredCall.name(method, "\(Endpoint.controlRoot)/\(path)")] else {
            preconditionFailure("the control API has no call \(method) \(path)")
        }
        self.call = call
    }

    /// Whether there is a call with this method and path, whose segments are not encoded.
    static func isDeclared(_ method: String, _ segments: [String]) -> Bool {
        Composition.calls.contains { endpoint in
            let declared = path(endpoint).split(separator: "/")
            return endpoint.method == method && declared.count == segments.count
                && zip(declared, segments).allSatisfy { $0.hasPrefix(":") || $0 == $1 }
        }
    }

    /// Returns a line for each call whose path contains a text. For three calls or fewer, the line also describes the
    /// arguments.
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

    /// The path below the control API's root.
    private static func path(_ endpoint: Endpoint) -> String {
        String(endpoint.path.dropFirst("\(Endpoint.controlRoot)/".count))
    }

    private static func name(_ method: String, _ path: String) -> String { "\(method) \(path)" }

    /// The parameters of the query, or the members of the body.
    var fields: [Schema.Field] { (call.query ?? call.body?.schema)?.fields ?? [] }

    /// Returns the fields with these names, in this order.
    func fields(_ names: String...) -> [Schema.Field] {
        names.compactMap { name in fields.first { $0.name == name } }
    }

    /// The statuses whose answers are the call's own JSON, including refusals that a client should read.
    var statuses: Set<Int> { Set(described.map(\.status)) }

    /// The answer to a successful call.
    var answer: Schema { described.first { $0.status < 300 }?.schema ?? .map(of: .any) }

    /// All answers that the call declares.
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
