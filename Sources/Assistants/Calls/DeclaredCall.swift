import EmulatorCore
import JSON
import Understudy

/// What a call of the control API takes and answers, as it declares it: tools have their arguments and the form of their answers
/// from there.
struct DeclaredCall: Sendable {
    private static let all = Dictionary(
        Composition.calls.compactMap { operation in
            operation.call.map { (name(operation.method, operation.path), $0) }
        }, uniquingKeysWith: { first, _ in first })

    private let call: ControlCall

    /// `path` as it is declared, below the control API's root: `requests/:id`.
    init(_ method: String, _ path: String) {
        guard let call = DeclaredCall.all[DeclaredCall.name(method, "\(Operation.controlRoot)/\(path)")] else {
            preconditionFailure("the control API has no call \(method) \(path)")
        }
        self.call = call
    }

    private static func name(_ method: String, _ path: String) -> String { "\(method) \(path)" }

    /// The parameters of its query, or the members of its body.
    var fields: [Schema.Field] { (call.query ?? call.body?.schema)?.fields ?? [] }

    /// Some of them, in the order of their names here.
    func fields(_ names: String...) -> [Schema.Field] {
        names.compactMap { name in fields.first { $0.name == name } }
    }

    /// The statuses whose answers are JSON of the call's own, refusals that a client is meant to read among them.
    var statuses: Set<Int> { Set(described.map(\.status)) }

    /// What it answers when it does what it is asked to.
    var answer: Schema { described.first { $0.status < 300 }?.schema ?? .map(of: .any) }

    /// All that it may answer.
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
