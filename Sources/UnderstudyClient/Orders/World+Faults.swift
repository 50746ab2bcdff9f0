extension World {
    /// An ordered fault that is waiting for its requests.
    public struct OrderedFault: Sendable, Hashable, Decodable, Identifiable {
        /// The order's ID, which removes it.
        public let id: String
        /// The conditions on the request.
        public let match: JSONValue?
        /// The effect on the request.
        public let effect: JSONValue
        /// The number of matching requests to let pass first.
        public let after: Int?
        /// The number of requests it still applies to; `nil` is unlimited.
        public let times: Int?
        /// The number of requests that have matched.
        public let seen: Int?
    }
}

extension World {
    /// An endpoint for which faults can be ordered.
    public struct Endpoint: Sendable, Hashable, Decodable {
        /// The provider's host; `nil` for the daemon's own addresses.
        public let host: String?
        /// `GET`, `POST`…; `nil` for a step of SMTP.
        public let method: String?
        /// The path; a segment that begins with `:` matches anything. `nil` for a step of SMTP.
        public let path: String?
        /// The step of SMTP; `nil` for requests.
        public let smtp: String?
        /// The effects that can be ordered here, in words.
        public let fits: String
        /// The names of the errors that can be ordered here.
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

    /// Orders a fault at requests that meet all conditions. Several faults for the same request apply one after the
    /// other.
    ///
    ///     try await world.fault(.error("invalid_grant"), host: "appleid.apple.com", path: "/auth/token")
    ///
    /// - Parameters:
    ///   - effects: one or more effects, applied together.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - method: `GET`, `POST`…
    ///   - client: the client's ID at the provider.
    ///   - fields: values that fields of the query, form or JSON body must have.
    ///   - after: the number of matching requests to let pass first.
    ///   - times: the number of requests it applies to.
    ///   - probability: the probability at each request, from the world's random generator; `nil` means always.
    /// - Returns: The order, with its ID.
    /// - Throws: ``UnderstudyError``. If the endpoint can't have an effect, the error lists the effects it can have.
    @discardableResult
    public func fault(
        _ effects: FaultEffect..., host: String? = nil, path: String? = nil, method: String? = nil,
        client: String? = nil, fields: [String: String]? = nil, after: Int = 0, times: Times = 1,
        probability: Double? = nil
    ) async throws -> OrderedFault {
        let match = FaultOrder.Match(host: host, path: path, method: method, client: client, fields: fields)
        return try await order(effects, match, after, times, probability)
    }

    /// Orders a fault in mail that the app sends by SMTP.
    ///
    ///     try await world.mailFault(at: "RCPT", FaultEffect(["reply": ["code": 450, "status": "4.2.1"]]))
    ///
    /// - Parameters:
    ///   - step: the SMTP command at which it happens, such as `RCPT`, or `MESSAGE` for the end of a mail.
    ///   - effects: `.delay`, `.disconnect`, or the effects that only mail has: `reply` as above, and
    ///     `FaultEffect(["lose": true])`.
    ///   - sender: the envelope's sender; `*` stands for any characters.
    ///   - recipient: a recipient; `*` stands for any characters.
    ///   - after: the number of matching commands to let pass first.
    ///   - times: the number of commands it applies to.
    /// - Returns: The order, with its ID.
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

    /// Lists the faults that are still waiting.
    ///
    /// - Throws: ``UnderstudyError``.
    public func faults() async throws -> [OrderedFault] {
        struct Answer: Decodable { let faults: [OrderedFault] }
        return try await (call("GET", "faults") as Answer).faults
    }

    /// Removes all faults.
    ///
    /// - Throws: ``UnderstudyError``.
    public func removeFaults() async throws { try await send("DELETE", "faults") }

    /// Removes one fault.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSuchFault` if it has been used up.
    public func remove(_ fault: OrderedFault) async throws {
        try await send("DELETE", "faults/\(Address.segment(fault.id))")
    }

    /// Lists the endpoints for which faults can be ordered, with their effects.
    ///
    /// - Throws: ``UnderstudyError``.
    public func endpoints() async throws -> [Endpoint] {
        struct Answer: Decodable { let endpoints: [Endpoint] }
        return try await (call("GET", "endpoints") as Answer).endpoints
    }
}
