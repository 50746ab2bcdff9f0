import HTTPServer

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
