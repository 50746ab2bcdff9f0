extension World {
    /// The way in which a sign-in ends, without a page: `.approve`, `.cancel` or `.error("invalidResponse")`.
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
        ///   - account: the account that signs in; `nil` leaves it to the request.
        ///   - shareEmail: whether the e-mail address is shared; `false` is Apple's "Hide My Email". `nil` means the
        ///     account's own setting.
        ///   - name: the name, if the person edits it.
        ///   - scopes: the scopes that the person grants; `nil` grants every scope asked for.
        public static func approve(
            account: String? = nil, shareEmail: Bool? = nil, name: PersonName? = nil, scopes: [String]? = nil
        ) -> Outcome {
            Outcome(
                name: "approve", error: nil, account: account, shareEmail: shareEmail, personName: name, scopes: scopes)
        }

        /// The person cancels.
        public static let cancel = Outcome(name: "cancel")

        /// The sign-in ends with one of the provider's errors, such as `invalidResponse` of Apple's native sign-in.
        public static func error(_ name: String) -> Outcome { Outcome(name: "error", error: name) }

        /// Apple's native sign-in ends with this error. A code without a name here becomes `failed`.
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

        /// Makes a person's name of a given name and a family name.
        public init(given: String, family: String) {
            self.given = given
            self.family = family
        }
    }
}

extension World {
    /// An ordered outcome that is still waiting for its sign-in.
    public struct OrderedOutcome: Sendable, Hashable, Decodable, Identifiable {
        /// The order's ID, which removes it.
        public let id: String
        /// The provider of the sign-in.
        public let provider: Provider
        /// The client of the sign-in; `nil` matches every client.
        public let client: String?
        /// The account that signs in.
        public let account: String?
        /// `approve`, `cancel` or `error`.
        public let outcome: String
        /// The number of sign-ins it still applies to; `nil` is unlimited.
        public let times: Int?
    }
}

extension World {
    /// The number of times an order applies: `3`, or `.forever`.
    public struct Times: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let count: Int?

        /// Makes a fixed number of times.
        public init(integerLiteral count: Int) { self.count = count }

        /// Makes a fixed number of times.
        public init(_ count: Int) { self.count = count }

        private init() { count = nil }

        /// An unlimited number of times: until the order is removed or the world is reset.
        public static let forever = Times()

        /// Writes the number in the control API's form.
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

    /// Orders how the next matching sign-in ends: in the web flow (without showing the page), in the device flow and in
    /// native sign-ins. Several orders for the same sign-in apply one after the other.
    ///
    ///     try await world.order(.cancel, at: .google)
    ///
    /// - Parameters:
    ///   - outcome: the outcome.
    ///   - provider: the provider of the sign-in.
    ///   - client: the client of the sign-in; `nil` matches every client.
    ///   - times: the number of sign-ins it applies to.
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

    /// Lists the outcomes that are still waiting.
    ///
    /// - Throws: ``UnderstudyError``.
    public func outcomes() async throws -> [OrderedOutcome] {
        struct Answer: Decodable { let outcomes: [OrderedOutcome] }
        return try await (call("GET", "outcomes") as Answer).outcomes
    }

    /// Removes all outcomes that are still waiting.
    ///
    /// - Throws: ``UnderstudyError``.
    public func removeOutcomes() async throws { try await send("DELETE", "outcomes") }

    /// Removes one outcome.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSuchOutcome` if it has already been applied.
    public func remove(_ outcome: OrderedOutcome) async throws {
        try await send("DELETE", "outcomes/\(Address.segment(outcome.id))")
    }
}

extension World {
    /// An identity provider.
    public struct Provider: Sendable, Hashable, Codable, RawRepresentable {
        /// The provider's name in the control API.
        public let rawValue: String

        /// Makes the provider with this name in the control API, such as `google`.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Sign in with Apple.
        public static let apple = Provider(rawValue: "apple")
        /// GitHub.
        public static let github = Provider(rawValue: "github")
        /// Google.
        public static let google = Provider(rawValue: "google")
        /// Facebook.
        public static let facebook = Provider(rawValue: "facebook")
        /// Microsoft.
        public static let microsoft = Provider(rawValue: "microsoft")
        /// Firebase Authentication.
        public static let firebase = Provider(rawValue: "firebase")
        /// The OpenID Connect issuers of the seed.
        public static let openID = Provider(rawValue: "openid")
    }
}
