extension World {
    /// How a sign-in ends.
    public struct Outcome: Sendable, Hashable {
        let name: String
        var error: String?
        var account: String?
        var shareEmail: Bool?
        var personName: PersonName?
        var scopes: [String]?

        /// The person signs in.
        public static let approve = Outcome.approve()

        /// The person signs in.
        ///
        /// - Parameters:
        ///   - account: who; `nil` leaves it to the request.
        ///   - shareEmail: whether the address is shared; `false` is Apple's "Hide My Email". `nil` leaves it to the person's settings.
        ///   - name: the name as the person edits it.
        ///   - scopes: the scopes that the person grants; `nil` grants what is asked for.
        public static func approve(
            account: String? = nil, shareEmail: Bool? = nil, name: PersonName? = nil, scopes: [String]? = nil
        ) -> Outcome {
            Outcome(
                name: "approve", error: nil, account: account, shareEmail: shareEmail, personName: name, scopes: scopes)
        }

        /// The person cancels.
        public static let cancel = Outcome(name: "cancel")

        /// The sign-in ends with an error of the provider's, by its name, such as `invalidResponse` of Apple's native sign-in.
        public static func error(_ name: String) -> Outcome { Outcome(name: "error", error: name) }

        /// Apple's native sign-in ends with this error. The daemon knows those that have a name here, and makes `failed` of any other.
        public static func error(_ code: AppleAuthorizationError.Code) -> Outcome { .error(code.name) }
    }
}

extension World {
    /// A person's name.
    public struct PersonName: Sendable, Hashable, Codable {
        /// The given name.
        public var given: String
        /// The family name.
        public var family: String

        /// A name of two parts.
        public init(given: String, family: String) {
            self.given = given
            self.family = family
        }
    }
}

extension World {
    /// An outcome that waits for its sign-in.
    public struct OrderedOutcome: Sendable, Hashable, Decodable, Identifiable {
        /// Its ID, by which it can be removed.
        public let id: String
        /// Whose sign-in it is for.
        public let provider: Provider
        /// For which client; `nil` is any.
        public let client: String?
        /// Who signs in.
        public let account: String?
        /// `approve`, `cancel` or `error`.
        public let outcome: String
        /// For how many sign-ins it still holds; `nil` is for ever.
        public let times: Int?
    }
}

extension World {
    /// How often an order holds.
    public struct Times: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let count: Int?

        /// This often.
        public init(integerLiteral count: Int) { self.count = count }

        /// This often.
        public init(_ count: Int) { self.count = count }

        private init() { count = nil }

        /// Until it is removed, or the world is reset.
        public static let forever = Times()

        /// Writes it as the control API reads it.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let count { try container.encode(count) } else { try container.encodeNil() }
        }
    }
}

extension World {
    private struct OutcomeOrder: Encodable {
        let provider: Provider
        let client: String?
        let outcome: String
        let error: String?
        let account: String?
        let shareEmail: Bool?
        let name: PersonName?
        let scopes: [String]?
        let times: Times
    }

    /// Orders how the next sign-in ends that matches, on every road: the web flow without its page, the device flow, a native sign-in.
    /// Orders that match the same sign-in come one after the other.
    ///
    /// - Parameters:
    ///   - outcome: how it ends.
    ///   - provider: whose sign-in.
    ///   - client: for which client; `nil` is any.
    ///   - times: for how many sign-ins.
    /// - Returns: The order, with its ID.
    /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
    @discardableResult
    public func order(
        _ outcome: Outcome, at provider: Provider = .apple, client: String? = nil, times: Times = 1
    ) async throws -> OrderedOutcome {
        try await call(
            "POST", "outcomes",
            OutcomeOrder(
                provider: provider, client: client, outcome: outcome.name, error: outcome.error,
                account: outcome.account, shareEmail: outcome.shareEmail, name: outcome.personName,
                scopes: outcome.scopes, times: times))
    }

    /// The outcomes that wait.
    ///
    /// - Throws: ``UnderstudyError``.
    public func outcomes() async throws -> [OrderedOutcome] {
        struct Answer: Decodable { let outcomes: [OrderedOutcome] }
        return try await (call("GET", "outcomes") as Answer).outcomes
    }

    /// Removes all outcomes that wait.
    ///
    /// - Throws: ``UnderstudyError``.
    public func removeOutcomes() async throws { try await send("DELETE", "outcomes") }

    /// Removes one outcome.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSuchOutcome` when it has happened.
    public func remove(_ outcome: OrderedOutcome) async throws {
        try await send("DELETE", "outcomes/\(Address.segment(outcome.id))")
    }
}
