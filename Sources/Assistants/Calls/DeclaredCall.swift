import EmulatorCore
import JSON
import Understudy

/// The input and the answers of a control call, as it declares them. Tools take their arguments and the form of their
/// answers from these.
struct DeclaredCall: Sendable {
    private static let all = Dictionary(
        Composition.calls.compactMap { operation in
            operation.call.map { (name(operation.method, operation.path), $0) }
        }, uniquingKeysWith: { first, _ in first })

    private let call: ControlCall

    /// Finds a call. `path` is the declared path below the control API's root: `requests/:id`.
    init(_ method: String, _ path: String) {
        guard let call = DeclaredCall.all[DeclaredCall.name(method, "\(Operation.controlRoot)/\(path)")] else {
            preconditionFailure("the control API has no call \(method) \(path)")
        }
        self.call = call
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

    /// All answers of the call.
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
