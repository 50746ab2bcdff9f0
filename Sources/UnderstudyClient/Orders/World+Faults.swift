extension World {
    /// An injected fault, such as an error or a delay, that still waits for matching requests. A test, a scenario or
    /// the seed has injected it.
    public struct OrderedFault: Sendable, Hashable, Decodable, Identifiable {
        /// The ID of the injected fault, by which it can be removed.
        public let id: String
        /// The conditions that a request must meet for the injected fault to happen.
        public let match: JSONValue?
        /// The effect that the injected fault has on a request that meets its conditions.
        public let effect: JSONValue
        /// The number of requests that meet the conditions of the injected fault, but are answered as usual before the
        /// fault happens.
        public let after: Int?
        /// The total number of requests to which the injected fault applies. It doesn't count down as the fault happens.
        /// `nil` is unlimited.
        public let times: Int?
        /// The number of requests that have met the conditions of the injected fault so far.
        public let seen: Int?
    }
}

extension World {
    /// An endpoint, or a step of an SMTP conversation, at which tests can inject faults such as errors and delays.
    public struct Endpoint: Sendable, Hashable, Decodable {
        /// The provider's host that has the endpoint; `nil` for endpoints of the daemon itself.
        public let host: String?
        /// The HTTP method of the endpoint, such as `GET`; `nil` for a step of an SMTP conversation.
        public let method: String?
        /// The path of the endpoint, with `*` in place of each path parameter; `nil` for a step of an SMTP
        /// conversation.
        public let path: String?
        /// The step of an SMTP conversation, such as `RCPT`; `nil` for HTTP endpoints.
        public let smtp: String?
        /// The effects that injected faults can have at the endpoint, in words.
        public let fits: String
        /// The names of the errors that a test can make the endpoint return.
        public let errors: [String]?
    }
}

extension World {
    private struct FaultOrder: Encodable {
        struct Match: Encodable {
            var host: String?
            var path: String?
            var method: String?
            var client: String?
            var fields: [String: String]?
            var smtp: String?
            var from: String?
            var to: String?
        }
        let match: Match
        let after: Int
        let times: Times
        let probability: Double?
        let effect: [String: JSONValue]
    }

    /// Injects a fault, such as an error or a delay, into the requests that meet all conditions. At most one fault
    /// applies to a request. If several faults match, the one that was injected first applies, unless its `after` or
    /// `probability` excludes the request.
    ///
    ///     try await world.fault(.error("invalid_grant"), host: "appleid.apple.com", path: "/auth/token")
    ///
    /// - Parameters:
    ///   - effects: one or more effects, applied together.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - method: the HTTP method: `GET`, `POST`…
    ///   - client: the client's ID at the provider.
    ///   - fields: values that fields of the query, form or JSON body must have.
    ///   - after: the number of matching requests to let pass first.
    ///   - times: the number of requests to which the fault applies.
    ///   - probability: the probability at each request, from the test world's random generator; `nil` means always.
    /// - Returns: The injected fault, with its ID.
    /// - Throws: ``UnderstudyError``. If the endpoint can't have an effect, the error lists the effects that it can
    ///   have.
    @discardableResult
    public func fault(
        _ effects: FaultEffect..., host: String? = nil, path: String? = nil, method: String? = nil,
        client: String? = nil, fields: [String: String]? = nil, after: Int = 0, times: Times = 1,
        probability: Double? = nil
    ) async throws -> OrderedFault {
        let match = FaultOrder.Match(host: host, path: path, method: method, client: client, fields: fields)
        return try await order(effects, match, after, times, probability)
    }

    /// Injects a fault into mail that the app under test sends by SMTP.
    ///
    ///     try await world.mailFault(at: "RCPT", FaultEffect(["reply": ["code": 450, "status": "4.2.1"]]))
    ///
    /// - Parameters:
    ///   - step: the SMTP command at which the fault happens, such as `RCPT`; `MESSAGE` is the end of a mail.
    ///   - effects: `.delay`, `.disconnect`, or an effect that only mail has: `reply`, as in the example, or
    ///     `FaultEffect(["lose": true])`, which loses the mail.
    ///   - sender: the envelope's sender; `*` stands for any characters.
    ///   - recipient: a recipient; `*` stands for any characters.
    ///   - after: the number of matching commands to let pass first.
    ///   - times: the number of commands to which the fault applies.
    /// - Returns: The injected fault, with its ID.
    /// - Throws: ``UnderstudyError``.
    @discardableResult
    public func mailFault(
        at step: String, _ effects: FaultEffect..., from sender: String? = nil, to recipient: String? = nil,
        after: Int = 0, times: Times = 1
    ) async throws -> OrderedFault {
        try await order(effects, FaultOrder.Match(smtp: step, from: sender, to: recipient), after, times, nil)
    }

    private func order(
        _ effects: [FaultEffect], _ match: FaultOrder.Match, _ after: Int, _ times: Times, _ probability: Double?
    ) async throws -> OrderedFault {
        let members = effects.reduce(into: [:]) { all, effect in all.merge(effect.members) { $1 } }
        return try await call(
            "POST", "faults",
            FaultOrder(match: match, after: after, times: times, probability: probability, effect: members))
    }

    /// Lists the injected faults that are still waiting for requests.
    ///
    /// - Throws: ``UnderstudyError``.
    public func faults() async throws -> [OrderedFault] {
        struct DaemonAnswer: Decodable { let faults: [OrderedFault] }
        return try await (call("GET", "faults") as DaemonAnswer).faults
    }

    /// Removes all injected faults.
    ///
    /// - Throws: ``UnderstudyError``.
    public func removeFaults() async throws { try await send("DELETE", "faults") }

    /// Removes an injected fault.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSuchFault` if the fault has been used up or removed.
    public func remove(_ fault: OrderedFault) async throws {
        try await send("DELETE", "faults/\(Address.segment(fault.id))")
    }

    /// Lists the endpoints at which faults can be injected, with the effects that the faults can have.
    ///
    /// - Throws: ``UnderstudyError``.
    public func endpoints() async throws -> [Endpoint] {
        struct DaemonAnswer: Decodable { let endpoints: [Endpoint] }
        return try await (call("GET", "endpoints") as DaemonAnswer).endpoints
    }
}
