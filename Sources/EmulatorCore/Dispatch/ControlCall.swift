import HTTPServer
import JSON
import Worlds

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

/// An answer that a call of the control API may give.
package struct CallAnswer: Sendable {
    package enum Content: Sendable {
        case json(Schema)
        /// A file, a page or a stream of events.
        case other(type: String)
    }

    package let status: Int
    /// A sentence that says when the answer is given.
    package let about: String
    /// The content types that the answer may have; none if it has no body.
    package let contents: [Content]
    /// The codes that a refusal's error may have.
    package let codes: [String]

    private init(_ status: Int, _ about: String, _ contents: [Content] = [], codes: [String] = []) {
        self.status = status
        self.about = about
        self.contents = contents
        self.codes = codes
    }

    package static func json(_ status: Int, _ about: String, _ schema: Schema) -> CallAnswer {
        CallAnswer(status, about, [.json(schema)])
    }

    /// Returns an answer with the status 200 and JSON.
    package static func json(_ about: String, _ schema: Schema) -> CallAnswer { .json(200, about, schema) }

    /// Returns an answer without a body.
    package static func empty(_ about: String) -> CallAnswer { CallAnswer(204, about) }

    /// Returns an answer of these types: files, pages, or streams of events.
    package static func other(_ about: String, _ types: String...) -> CallAnswer {
        CallAnswer(200, about, types.map { .other(type: $0) })
    }

    /// Returns a refusal with an error's code.
    package static func refusal(_ status: Int, _ code: String, _ about: String) -> CallAnswer {
        CallAnswer(status, about, codes: [code])
    }

    static let unsuitableQuery = [
        refusal(400, "invalidQuery", "The query has a parameter that isn't known, or one that can't be used.")
    ]
    static let unsuitableBody = [
        refusal(400, "notJSON", "The body can't be read as JSON."),
        refusal(400, "invalidBody", "The body doesn't suit its schema, or contradicts itself."),
    ]

    /// The schema of all refusals.
    package static let error = Schema.members(
        "Error",
        [
            .required(
                "error",
                .members([
                    .required("code", .string, "The error's code, for programs."),
                    .required("message", .string, "The error in a sentence, for people."),
                    .optional("path", .string, "The place in the body or the query, such as `$.times`."),
                    .optional(
                        "faults",
                        .sequence(
                            of: .members([
                                .required("path", .string, "The place in the body."),
                                .required("message", .string, "The error at this place."),
                            ])), "Everything that is wrong with the body, twenty at most."),
                    .optional("more", .string, "The number of faults that aren't listed, in words."),
                ]), "The reason why the call is refused.")
        ])

    /// The refusals that any call may answer.
    package static let common: [CallAnswer] =
        [
            .refusal(400, "badHost", "The `Host` can't be one."),
            .refusal(400, "twoWorlds", "The address names two worlds."),
            .refusal(400, "tooMuch", "The request has too many fields, or texts that are too long."),
            .refusal(400, "badRequest", "The request can't be read as HTTP/1.1."),
            .refusal(401, "noToken", "The daemon has a control token, and none was sent."),
            .refusal(401, "wrongToken", "The control token is another one."),
            .refusal(403, "foreignHost", "The control API isn't served at this name: see `--control-host`."),
            .refusal(403, "foreignOrigin", "A page of another origin asks."),
            .refusal(403, "foreignSite", "A page of another site asks."),
            .refusal(403, "ownMessage", "The request is a message that a daemon sends to a client's server."),
            .refusal(404, "badWorldName", "No world can have this name."),
            .refusal(404, "noSuchHost", "The host names neither a world nor a host that is played."),
            .refusal(413, "bodyTooLarge", "The request's body is larger than the call takes."),
            .refusal(431, "headerTooLarge", "The request's header is larger than the server takes."),
            .refusal(503, "busy", "Other requests take all the room that there is."),
            .refusal(503, "tooManyWorlds", "There is no room for another world."),
        ]
        + StoreFailure.Kind.allCases.map { .refusal(503, $0.code, "The worlds' store has failed.") }
}

// The control API's calls, each with its input and answers.

extension Endpoint {
    /// The beginning of the paths of all control calls.
    package static let controlRoot = "/_understudy/v1"

    /// Returns a call of the control API, such as `faults/:id`, with a sentence about it and the meaning of its path's
    /// parameters. Only calls with `traits`, which act as a part of a provider, are recorded and can be ordered to
    /// fail.
    package static func control<Input>(
        _ method: String, _ path: String, _ about: String, path names: [String] = [], reads input: CallInput<Input>,
        answers: @escaping @autoclosure @Sendable () -> [CallAnswer], keys: [KeyOwner] = [],
        _ traits: EndpointTraits? = nil,
        _ respond: @escaping @Sendable (Exchange, Input) throws -> Response
    ) -> Endpoint {
        Endpoint(
            method, path, ControlCall(path, about, names: names, reads: input, answers: answers), keys, traits,
            .direct { exchange in try respond(exchange, try input.read(exchange)) })
    }

    /// Returns a call of the control API that has to wait.
    package static func control<Input>(
        _ method: String, _ path: String, _ about: String, path names: [String] = [], reads input: CallInput<Input>,
        answers: @escaping @autoclosure @Sendable () -> [CallAnswer], keys: [KeyOwner] = [],
        _ traits: EndpointTraits? = nil,
        _ respond: @escaping @Sendable (Exchange, Input) async throws -> Response
    ) -> Endpoint {
        Endpoint(
            method, path, ControlCall(path, about, names: names, reads: input, answers: answers), keys, traits,
            .task { exchange in try await respond(exchange, try input.read(exchange)) })
    }

    /// Returns a call of the control API without input beside its path, or with a body that it reads itself.
    package static func control(
        _ method: String, _ path: String, _ about: String, path names: [String] = [],
        reads input: CallInput<Void> = .nothing, answers: @escaping @autoclosure @Sendable () -> [CallAnswer],
        keys: [KeyOwner] = [],
        _ traits: EndpointTraits? = nil, _ respond: @escaping @Sendable (Exchange) throws -> Response
    ) -> Endpoint {
        control(method, path, about, path: names, reads: input, answers: answers(), keys: keys, traits) { exchange, _ in
            try respond(exchange)
        }
    }

    /// Returns a call of the control API without input beside its path, or with a body that it reads itself, that has
    /// to wait.
    package static func control(
        _ method: String, _ path: String, _ about: String, path names: [String] = [],
        reads input: CallInput<Void> = .nothing, answers: @escaping @autoclosure @Sendable () -> [CallAnswer],
        keys: [KeyOwner] = [],
        _ traits: EndpointTraits? = nil, _ respond: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Endpoint {
        control(method, path, about, path: names, reads: input, answers: answers(), keys: keys, traits) { exchange, _ in
            try await respond(exchange)
        }
    }

    private init(
        _ method: String, _ path: String, _ call: ControlCall, _ keys: [KeyOwner], _ traits: EndpointTraits?,
        _ handler: Handler
    ) {
        self.init(method, [], "\(Endpoint.controlRoot)/\(path)", .none, keys, traits, handler, call)
    }

    /// Whether the endpoint is a call of the control API.
    package var isControl: Bool {
        hosts.isEmpty && (path == Endpoint.controlRoot || path.hasPrefix("\(Endpoint.controlRoot)/"))
    }

    /// A copy of the endpoint, only for clients that may control the daemon: those of a test, unlike the app that is
    /// tested.
    package var managing: Endpoint {
        var managing = self
        managing.isManagement = true
        return managing
    }

    /// Whether a client must be allowed to control the daemon before it may call the endpoint.
    var isGuarded: Bool { isControl || isManagement }

    /// Returns the same endpoint with a handler that runs only if `refusal` returns `nil`.
    func guarded(by refusal: @escaping ControlRefusal.Check) -> Endpoint {
        var guarded = self
        let isControl = isControl
        switch handler {
        case .direct(let respond):
            guarded.handler = .direct { exchange in try refusal(exchange, isControl) ?? respond(exchange) }
        case .task(let respond):
            guarded.handler = .task { exchange in
                if let response = refusal(exchange, isControl) { return response }
                return try await respond(exchange)
            }
        }
        return guarded
    }
}
