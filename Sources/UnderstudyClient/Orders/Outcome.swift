extension World {
    /// The way in which a sign-in ends: `.approve`, `.cancel` or `.error("invalidResponse")`. A test chooses it in
    /// advance, so that no page is shown.
    public struct Outcome: Sendable, Hashable {
        let name: String
        var error: String?
        var account: String?
        var shareEmail: Bool?
        var personName: PersonName?
        var scopes: [String]?

        /// The user signs in and grants the app every requested scope, without a page.
        public static let approve = Outcome.approve()

        /// The user signs in, without a page.
        ///
        /// - Parameters:
        ///   - account: the account that signs in; `nil` lets the daemon choose the account.
        ///   - shareEmail: whether the e-mail address is shared; `false` is Apple's "Hide My Email". `nil` means the
        ///     account's own setting.
        ///   - name: the name that the app gets, if the person changes it during the sign-in.
        ///   - scopes: the scopes that the person grants; `nil` grants every requested scope.
        public static func approve(
            account: String? = nil, shareEmail: Bool? = nil, name: PersonName? = nil, scopes: [String]? = nil
        ) -> Outcome {
            Outcome(
                name: "approve", error: nil, account: account, shareEmail: shareEmail, personName: name, scopes: scopes)
        }

        /// The user cancels the sign-in.
        public static let cancel = Outcome(name: "cancel")

        /// The sign-in ends with one of the provider's errors, such as `invalidResponse` of Apple's native sign-in.
        public static func error(_ name: String) -> Outcome { Outcome(name: "error", error: name) }

        /// Makes Apple's native sign-in end with the error `code`, such as `notHandled`. If this library has no
        /// constant for `code`, the daemon refuses the result.
        public static func error(_ code: AppleAuthorizationError.Code) -> Outcome { .error(code.name) }
    }
}

extension World {
    /// The given name and the family name of a user.
    public struct PersonName: Sendable, Hashable, Codable {
        /// The user's given name.
        public var given: String
        /// The user's family name.
        public var family: String

        /// Makes a user's name from a given name and a family name.
        public init(given: String, family: String) {
            self.given = given
            self.family = family
        }
    }
}

extension World {
    /// A sign-in result that a test, a scenario or the seed has set in advance, and that still applies to further
    /// sign-ins.
    public struct OrderedOutcome: Sendable, Hashable, Decodable, Identifiable {
        /// The ID of a preset sign-in result, by which the result can be removed.
        public let id: String
        /// The provider to whose sign-ins the preset result applies.
        public let provider: Provider
        /// The ID of the client to whose sign-ins the preset result applies; `nil` matches every client.
        public let client: String?
        /// The ID of the account with which the user will sign in.
        public let account: String?
        /// The preset result of the sign-in: `approve`, `cancel` or `error`.
        public let outcome: String
        /// The number of sign-ins to which the preset result still applies; `nil` is unlimited.
        public let times: Int?
    }
}

extension World {
    /// The number of times that an injected fault or a preset sign-in result applies: `3`, or `.forever`.
    public struct Times: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let count: Int?

        /// Limits an injected fault to `count` requests, or a preset sign-in result to `count` sign-ins.
        public init(integerLiteral count: Int) { self.count = count }

        /// Limits an injected fault to `count` requests, or a preset sign-in result to `count` sign-ins.
        public init(_ count: Int) { self.count = count }

        private init() { count = nil }

        /// An unlimited number of times: an injected fault or a preset sign-in result applies until it is removed or
        /// the test world is reset.
        public static let forever = Times()

        /// Encodes the number of times that an injected fault or a preset sign-in result applies, as JSON for the
        /// control API.
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

    /// Decides in advance how the next matching sign-in ends. This applies to sign-ins in a browser, in a native app,
    /// or by a device code. In a browser, no page is shown. If several preset results match a sign-in, the oldest
    /// applies.
    ///
    ///     try await world.order(.cancel, at: .google)
    ///
    /// - Parameters:
    ///   - outcome: the way in which the sign-in ends.
    ///   - provider: the provider of the sign-in.
    ///   - client: the client of the sign-in; `nil` matches every client.
    ///   - times: the number of sign-ins to which the result applies.
    /// - Returns: The preset result, with its ID.
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

    /// Lists the preset sign-in results that still apply to further sign-ins, also those of the seed and of scenarios.
    ///
    /// - Throws: ``UnderstudyError``.
    public func outcomes() async throws -> [OrderedOutcome] {
        struct DaemonAnswer: Decodable { let outcomes: [OrderedOutcome] }
        return try await (call("GET", "outcomes") as DaemonAnswer).outcomes
    }

    /// Removes all preset sign-in results, also those of the seed and of scenarios.
    ///
    /// - Throws: ``UnderstudyError``.
    public func removeOutcomes() async throws { try await send("DELETE", "outcomes") }

    /// Removes a preset sign-in result.
    ///
    /// - Throws: ``UnderstudyError``, with the code `noSuchOutcome` if the result has been used up or removed.
    public func remove(_ outcome: OrderedOutcome) async throws {
        try await send("DELETE", "outcomes/\(Address.segment(outcome.id))")
    }
}

extension World {
    /// An identity provider that the daemon stands in for.
    public struct Provider: Sendable, Hashable, Codable, RawRepresentable {
        /// The identity provider's name in the control API, such as `google`.
        public let rawValue: String

        /// Makes a `Provider` from the provider's name in the control API, such as `google`.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple, as an identity provider.
        public static let apple = Provider(rawValue: "apple")
        /// GitHub, as an identity provider.
        public static let github = Provider(rawValue: "github")
        /// Google, as an identity provider.
        public static let google = Provider(rawValue: "google")
        /// Facebook, as an identity provider.
        public static let facebook = Provider(rawValue: "facebook")
        /// Microsoft, as an identity provider.
        public static let microsoft = Provider(rawValue: "microsoft")
        /// Firebase Authentication, as an identity provider.
        public static let firebase = Provider(rawValue: "firebase")
        /// The OpenID Connect issuers that the seed (the daemon's test data) defines.
        public static let openID = Provider(rawValue: "openid")
    }
}
