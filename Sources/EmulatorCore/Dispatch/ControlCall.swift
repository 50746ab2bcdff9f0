import HTTPServer
import JSON

/// What a call of the control API is for, what it takes and what it answers: declared where the call is, beside its handler. From it
/// follow how the request is read, what is refused, the list of calls and the OpenAPI document.
///
/// Schemas are made when somebody asks for them, which most daemons never see: all of them took a tenth of the start.
package struct ControlCall: Sendable {
    /// What it does, in a sentence.
    package let about: String
    /// The parameters of its path, in their order.
    package let pathParameters: [(name: String, about: String)]
    private let makeQuery: (@Sendable () -> Schema)?
    private let makeHeaders: @Sendable () -> [Schema.Field]
    private let makeBody: (@Sendable () -> CallBody)?
    private let makeAnswers: @Sendable () -> [CallAnswer]

    init<Input>(
        _ path: String, _ about: String, names: [String], reads input: CallInput<Input>,
        answers: @escaping @Sendable () -> [CallAnswer]
    ) {
        self.about = about
        let parameters = path.split(separator: "/").filter { $0.hasPrefix(":") }.map { String($0.dropFirst()) }
        precondition(parameters.count == names.count, "each parameter of \(path) has a meaning")
        pathParameters = zip(parameters, names).map { (name: $0, about: $1) }
        makeQuery = input.query
        makeHeaders = input.headers
        makeBody = input.body
        makeAnswers = answers
    }

    /// The parameters of its query, as an object; `nil` for a call that has none, and looks at no query.
    package var query: Schema? { makeQuery?() }
    /// Headers that it looks at.
    package var headers: [Schema.Field] { makeHeaders() }
    /// `nil` for a call that reads no body.
    package var body: CallBody? { makeBody?() }
    /// Its own answers. Refusals that any call may answer are `CallAnswer.common`.
    package var answers: [CallAnswer] {
        makeAnswers() + (makeQuery == nil ? [] : CallAnswer.unsuitableQuery)
            + (makeBody == nil ? [] : CallAnswer.unsuitableBody)
    }
}

/// The body of a call: JSON, whatever its content type says, since `curl -d` always sends that of a form.
package struct CallBody: Sendable {
    package let schema: Schema
    /// Whether the call may be sent without one, which is then an empty object.
    package let isOptional: Bool

    package init(_ schema: Schema, isOptional: Bool? = nil) {
        self.schema = schema
        self.isOptional = isOptional ?? !schema.fields.contains(where: \.isRequired)
    }
}

/// A query without parameters.
private struct NoParameters: SchemaObject {
    init(_ fields: inout Fields) {}
}

/// What a call takes of its request. It is read, and refused where it doesn't suit, before the handler runs.
package struct CallInput<Value>: Sendable {
    let query: (@Sendable () -> Schema)?
    let headers: @Sendable () -> [Schema.Field]
    let body: (@Sendable () -> CallBody)?
    let read: @Sendable (Exchange) throws(ControlRefusal) -> Value

    private init(
        query: (@Sendable () -> Schema)? = nil, headers: @escaping @Sendable () -> [Schema.Field] = { [] },
        body: (@Sendable () -> CallBody)? = nil, _ read: @escaping @Sendable (Exchange) throws(ControlRefusal) -> Value
    ) {
        self.query = query
        self.headers = headers
        self.body = body
        self.read = read
    }
}

extension CallInput where Value == Void {
    static var nothing: CallInput { CallInput { (_) throws(ControlRefusal) in } }

    /// Nothing, and a query with any parameter is refused. For calls that remove everything: whoever gives a parameter means less.
    package static var noQuery: CallInput {
        CallInput(query: { NoParameters.schema }) { (exchange) throws(ControlRefusal) in
            _ = try exchange.query(NoParameters.self)
        }
    }

    /// A body that the handler reads by itself, because more than its shape decides how.
    package static func unread(
        _ schema: @escaping @autoclosure @Sendable () -> Schema, isOptional: Bool? = nil
    ) -> CallInput {
        CallInput(body: { CallBody(schema(), isOptional: isOptional) }) { (_) throws(ControlRefusal) in }
    }
}

extension CallInput where Value == LocatedJSON {
    /// A body that suits a schema, not read yet.
    package static func json(_ schema: @escaping @autoclosure @Sendable () -> Schema) -> CallInput {
        let schema = Lazy(schema)
        return CallInput(body: { CallBody(schema.value) }) { (exchange) throws(ControlRefusal) in
            try exchange.body(schema.value)
        }
    }
}

extension CallInput {
    package static func body(_ type: Value.Type) -> CallInput where Value: SchemaObject {
        CallInput(body: { CallBody(type.schema) }) { (exchange) throws(ControlRefusal) in try exchange.body(type) }
    }

    package static func body(_ rule: ComposedRule<Value>) -> CallInput where Value: Sendable {
        CallInput(body: { CallBody(rule.schema) }) { (exchange) throws(ControlRefusal) in try exchange.body(rule) }
    }

    /// The parameters of the query: those that aren't declared are refused. `headers` are those that the handler looks at.
    package static func query(
        _ type: Value.Type, headers: @escaping @autoclosure @Sendable () -> [Schema.Field] = []
    ) -> CallInput where Value: SchemaObject {
        CallInput(query: { type.schema }, headers: headers) { (exchange) throws(ControlRefusal) in
            try exchange.query(type)
        }
    }
}
