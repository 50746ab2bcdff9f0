extension World {
    /// A fault that waits for its requests.
    public struct OrderedFault: Sendable, Hashable, Decodable, Identifiable {
        /// Its ID, by which it can be removed.
        public let id: String
        /// Which requests it is for.
        public let match: JSONValue?
        /// What it does.
        public let effect: JSONValue
        /// How many requests go by before it begins.
        public let after: Int?
        /// At how many requests it still happens; `nil` is for ever.
        public let times: Int?
        /// How many requests have matched.
        public let seen: Int?
    }
}

extension World {
    /// An operation at which something can be ordered to go wrong.
    public struct Endpoint: Sendable, Hashable, Decodable {
        /// The provider's host; `nil` at the daemon's own addresses.
        public let host: String?
        /// `GET`, `POST`…; `nil` for a step of mail.
        public let method: String?
        /// The path, with `:` before what stands for anything; `nil` for a step of mail.
        public let path: String?
        /// The step of SMTP; `nil` for requests.
        public let smtp: String?
        /// Which effects can be ordered there, in words.
        public let fits: String
        /// The names of its errors.
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

    /// Orders what goes wrong at requests that meet all conditions. Faults that match the same request come one after the other.
    ///
    /// - Parameters:
    ///   - effects: what goes wrong, one or several together.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on it; `*` stands for any characters.
    ///   - method: `GET`, `POST`…
    ///   - client: the client, as the provider calls it.
    ///   - fields: fields of the query, form or JSON body that must have these values.
    ///   - after: how many requests go by before it begins.
    ///   - times: at how many requests it happens.
    ///   - probability: how likely it happens at each, from the world's generator; `nil` is always.
    /// - Returns: The order, with its ID.
    /// - Throws: ``UnderstudyError``, which says what would fit where an effect doesn't.
    @discardableResult
    public func fault(
        _ effects: FaultEffect..., host: String? = nil, path: String? = nil, method: String? = nil,
        client: String? = nil, fields: [String: String]? = nil, after: Int = 0, times: Times = 1,
        probability: Double? = nil
    ) async throws -> OrderedFault {
        let match = FaultOrder.Match(host: host, path: path, method: method, client: client, fields: fields)
        return try await order(effects, match, after, times, probability)
    }

    /// Orders what goes wrong with mail that the app sends by SMTP.
    ///
    /// - Parameters:
    ///   - step: the command at which it goes wrong, such as `RCPT`, or `MESSAGE`, the end of a mail.
    ///   - effects: `delay`, `disconnect`, or what only mail has: `FaultEffect(["reply": ["code": 450, "status": "4.2.1"]])`, `["lose": true]`,
    ///     `["bounce": ["after": "5s"]]`.
    ///   - sender: the envelope's sender; `*` stands for any characters.
    ///   - recipient: a recipient; `*` stands for any characters.
    ///   - after: how many times it goes by before it begins.
    ///   - times: how often it happens.
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

    /// The faults that wait.
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
    /// - Throws: ``UnderstudyError``, with the code `noSuchFault` when it is spent.
    public func remove(_ fault: OrderedFault) async throws {
        try await send("DELETE", "faults/\(Address.segment(fault.id))")
    }

    /// Where something can be ordered to go wrong, and what.
    ///
    /// - Throws: ``UnderstudyError``.
    public func endpoints() async throws -> [Endpoint] {
        struct Answer: Decodable { let endpoints: [Endpoint] }
        return try await (call("GET", "endpoints") as Answer).endpoints
    }
}
