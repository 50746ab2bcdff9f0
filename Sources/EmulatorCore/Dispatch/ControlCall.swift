import HTTPServer
import JSON
import Worlds

/// The description of a call of the control API, by which tests control the daemon: its purpose, its input and its
/// answers, declared beside its handler. Requests are checked by this description, and the list of calls and the
/// OpenAPI document are made from it.
///
/// Schemas are made on first use: most daemons never need them, and making all of them took a tenth of the time of the
/// daemon's start.
package struct ControlCall: Sendable {
    /// A sentence about what the control API call does.
    package let about: String
    /// The parameters in the path of a control API call, in their order, each with a sentence about its meaning.
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
        precondition(parameters.count == names.count, "each path parameter of \(path) needs a description")
        pathParameters = zip(parameters, names).map { (name: $0, about: $1) }
        makeQuery = input.query
        makeHeaders = input.headers
        makeBody = input.body
        makeAnswers = answers
    }

    /// The schema of the query of a control API call: an object with a member for each parameter. It is `nil` for a
    /// call that ignores the query.
    package var query: Schema? { makeQuery?() }
    /// The request headers that a control API call reads.
    package var headers: [Schema.Field] { makeHeaders() }
    /// The description of the request body of a control API call; `nil` for a call that reads no body.
    package var body: CallBody? { makeBody?() }
    /// The answers of a control API call. The refusals that all calls share are in `CallAnswer.common`.
    package var answers: [CallAnswer] {
        makeAnswers() + (makeQuery == nil ? [] : CallAnswer.unsuitableQuery)
            + (makeBody == nil ? [] : CallAnswer.unsuitableBody)
    }
}

/// The request body of a control API call. It is read as JSON, whatever its content type, since `curl -d` always sends
/// the content type of an HTML form.
package struct CallBody: Sendable {
    package let schema: Schema
    /// Whether the request body may be empty. An empty body counts as an empty JSON object.
    package let isOptional: Bool

    package init(_ schema: Schema, isOptional: Bool? = nil) {
        self.schema = schema
        self.isOptional = isOptional ?? !schema.fields.contains(where: \.isRequired)
    }
}

private struct NoParameters: SchemaObject {
    init(_ fields: inout Fields) {}
}

/// The input of a control API call. Except for a body that the handler reads itself (`unread`), the input is read from
/// the request before the handler runs, and refused if it is invalid.
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

    /// The input of a control API call that takes no parameters. A query with a parameter is refused: a call that
    /// removes everything must not ignore a parameter that was meant as a filter.
    package static var noQuery: CallInput {
        CallInput(query: { NoParameters.schema }) { (exchange) throws(ControlRefusal) in
            _ = try exchange.query(NoParameters.self)
        }
    }

    /// Returns the input of a control API call whose handler reads the request body. The schema only documents the
    /// body.
    package static func unread(
        _ schema: @escaping @autoclosure @Sendable () -> Schema, isOptional: Bool? = nil
    ) -> CallInput {
        CallInput(body: { CallBody(schema(), isOptional: isOptional) }) { (_) throws(ControlRefusal) in }
    }
}

extension CallInput where Value == LocatedJSON {
    /// Returns the input of a control API call that reads its request body as JSON, which must conform to `schema`.
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

    /// Returns the input of a control API call with query parameters, which `type` declares. Undeclared parameters are
    /// refused. `headers` are the request headers that the call's handler reads.
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
        /// A content type other than JSON, such as that of a file, a page or a stream of events.
        case other(type: String)
    }

    package let status: Int
    /// A sentence that says when a control API call gives this answer.
    package let about: String
    /// The content types that this answer of the control API may have. Empty for an answer without a body. Also empty
    /// for a refusal, because the body of every refusal is JSON with the schema `CallAnswer.error`.
    package let contents: [Content]
    /// The error codes that this answer of the control API may have, if it is a refusal.
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

    /// Returns the description of a control API answer with the status 200 and a JSON body.
    package static func json(_ about: String, _ schema: Schema) -> CallAnswer { .json(200, about, schema) }

    /// Returns the description of a control API answer with the status 204 and without a body.
    package static func empty(_ about: String) -> CallAnswer { CallAnswer(204, about) }

    /// Returns the description of a control API answer with the status 200 whose body isn't JSON, but for example a
    /// page or a stream of events. `types` are the content types that the body can have.
    package static func other(_ about: String, _ types: String...) -> CallAnswer {
        CallAnswer(200, about, types.map { .other(type: $0) })
    }

    /// Returns the description of a control API call's error response: the HTTP status, the error's code, and its
    /// meaning.
    package static func refusal(_ status: Int, _ code: String, _ about: String) -> CallAnswer {
        CallAnswer(status, about, codes: [code])
    }

    static let unsuitableQuery = [
        refusal(400, "invalidQuery", "The query has an unknown parameter or an invalid value.")
    ]
    static let unsuitableBody = [
        refusal(400, "notJSON", "The request's body can't be read as JSON."),
        refusal(400, "invalidBody", "The request's body doesn't match its schema, or contradicts itself."),
    ]

    /// The JSON schema of all error responses of the control API.
    package static let error = Schema.members(
        "Error",
        [
            .required(
                "error",
                .members([
                    .required("code", .string, "The error's code, for programs to compare."),
                    .required("message", .string, "The error in a sentence, for people to read."),
                    .optional("path", .string, "The error's place in the body or the query, such as `$.times`."),
                    .optional(
                        "faults",
                        .sequence(
                            of: .members([
                                .required("path", .string, "The error's place in the body or the query."),
                                .required("message", .string, "The error at `path`, in a sentence."),
                            ])), "The errors in the body or the query, twenty at most."),
                    .optional("more", .string, "The count of unlisted errors, as text: \"and 3 more\"."),
                ]), "The reason why the API call is refused.")
        ])

    /// The refusals with which any call of the control API may answer.
    package static let common: [CallAnswer] =
        [
            .refusal(400, "badHost", "The header `Host` isn't a valid host name or IP address."),
            .refusal(400, "twoWorlds", "The request's address names two different test worlds."),
            .refusal(400, "tooMuch", "The request has too many fields, or values that are too long."),
            .refusal(400, "badRequest", "The request can't be read as HTTP/1.1."),
            .refusal(401, "noToken", "The daemon requires a control token, but the request has none."),
            .refusal(401, "wrongToken", "The token in the request isn't the daemon's control token."),
            .refusal(403, "foreignHost", "The control API isn't served at this host name: see `--control-host`."),
            .refusal(403, "foreignOrigin", "The request comes from a web page of another origin than the daemon's."),
            .refusal(403, "foreignSite", "The request comes from a web page of another site than the daemon's."),
            .refusal(
                403, "ownMessage",
                "The daemon sent this request itself: a client's URL in the seed points at the control API."),
            .refusal(404, "badWorldName", "The name of the test world in the request's address is invalid."),
            .refusal(404, "noSuchHost", "The header `Host` names neither a test world nor a provider's host."),
            .refusal(413, "bodyTooLarge", "The request's body is larger than the API call allows."),
            .refusal(431, "headerTooLarge", "The request's header is larger than the server allows."),
            .refusal(503, "busy", "The server is busy: other requests use all its connections or memory."),
            .refusal(503, "tooManyWorlds", "There are too many test worlds, and all are in use."),
        ]
        + StoreFailure.Kind.allCases.map { .refusal(503, $0.code, "The store of the test worlds has failed.") }
}

// The control API's calls, each with its input and answers.

extension Endpoint {
    /// The beginning of the paths of all control API calls.
    package static let controlRoot = "/_understudy/v1"

    /// Returns the endpoint of a control API call. `path` is below the API's root, such as `faults/:id`. `about`
    /// describes the call in a sentence, and `names` describe the parameters in the path.
    ///
    /// `traits` are the faults that tests can request for the call. Only a call that does the work of a provider's
    /// endpoint, such as a native sign-in, has `traits`. Calls without `traits` aren't recorded.
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

    /// Returns the endpoint of a control API call whose only input is its path, or whose handler reads the request body
    /// itself.
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

    /// Whether the endpoint is a call of the control API, by which tests control the daemon.
    package var isControl: Bool {
        hosts.isEmpty && (path == Endpoint.controlRoot || path.hasPrefix("\(Endpoint.controlRoot)/"))
    }

    /// A copy of the endpoint that refuses requests without the daemon's control token, if the daemon has one. This is
    /// for endpoints that only tests call, and not the tested app.
    package var managing: Endpoint {
        var managing = self
        managing.isManagement = true
        return managing
    }

    /// Whether a client's right to call the endpoint is checked before the endpoint runs.
    var isGuarded: Bool { isControl || isManagement }

    /// Returns a copy of the endpoint whose handler calls `refusal` first. If `refusal` returns a response, that is the
    /// answer, and the original handler doesn't run.
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
