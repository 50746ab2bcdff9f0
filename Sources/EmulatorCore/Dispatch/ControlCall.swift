import HTTPServer
import JSON

/// The description of a call of the control API: its purpose, its input and its answers, declared beside its handler.
/// The reading of requests, refusals, the list of calls and the OpenAPI document follow from it.
///
/// Schemas are made on first use, since most daemons never need them, and making all took a tenth of the start.
package struct ControlCall: Sendable {
    /// A sentence about what the call does.
    package let about: String
    /// The parameters of the call's path, in their order.
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

    /// The parameters of the call's query, as an object; `nil` for a call that ignores the query.
    package var query: Schema? { makeQuery?() }
    /// The headers that the call reads.
    package var headers: [Schema.Field] { makeHeaders() }
    /// The body; `nil` for a call that reads none.
    package var body: CallBody? { makeBody?() }
    /// The call's own answers. Refusals that any call may answer are in `CallAnswer.common`.
    package var answers: [CallAnswer] {
        makeAnswers() + (makeQuery == nil ? [] : CallAnswer.unsuitableQuery)
            + (makeBody == nil ? [] : CallAnswer.unsuitableBody)
    }
}

/// The body of a call: JSON, whatever its content type, since `curl -d` always sends that of a form.
package struct CallBody: Sendable {
    package let schema: Schema
    /// Whether the body may be empty, which is then an empty object.
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

/// The input of a call. It is read from the request, and refused if it is invalid, before the handler runs.
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

    /// The input of a call without parameters, which refuses a query that has any. Calls that remove everything use it:
    /// a parameter would suggest a filter, which isn't supported.
    package static var noQuery: CallInput {
        CallInput(query: { NoParameters.schema }) { (exchange) throws(ControlRefusal) in
            _ = try exchange.query(NoParameters.self)
        }
    }

    /// Returns the input for a body that the handler reads itself, because its schema alone doesn't say how.
    package static func unread(
        _ schema: @escaping @autoclosure @Sendable () -> Schema, isOptional: Bool? = nil
    ) -> CallInput {
        CallInput(body: { CallBody(schema(), isOptional: isOptional) }) { (_) throws(ControlRefusal) in }
    }
}

extension CallInput where Value == LocatedJSON {
    /// Returns the input for a body that conforms to a schema, as JSON.
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

    /// Returns the input for a query's parameters. Undeclared ones are refused. `headers` are those that the handler
    /// reads.
    package static func query(
        _ type: Value.Type, headers: @escaping @autoclosure @Sendable () -> [Schema.Field] = []
    ) -> CallInput where Value: SchemaObject {
        CallInput(query: { type.schema }, headers: headers) { (exchange) throws(ControlRefusal) in
            try exchange.query(type)
        }
    }
}
