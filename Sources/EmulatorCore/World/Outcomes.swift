import JSON

/// What the next matching authorization does, ordered in advance, so that no browser is needed.
package struct Outcome: Sendable, Equatable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case approve
        case cancel
        case error
    }

    package let id: String
    package let provider: String
    /// `nil` matches every client.
    package let client: String?
    /// Who signs in; `nil` leaves it to the request or the interaction.
    package let account: String?
    package let kind: Kind
    /// The error's name, for `error`.
    package let error: String?
    package let shareEmail: Bool?
    package let name: Account.Name?
    /// The scopes that the person grants; `nil` grants what is asked for.
    package let scopes: [String]?
    /// `nil` is for ever.
    package var times: Int64?

    package init(
        id: String, provider: String, client: String? = nil, account: String? = nil, kind: Kind,
        error: String? = nil, shareEmail: Bool? = nil, name: Account.Name? = nil, scopes: [String]? = nil,
        times: Int64? = 1
    ) {
        self.id = id
        self.provider = provider
        self.client = client
        self.account = account
        self.kind = kind
        self.error = error
        self.shareEmail = shareEmail
        self.name = name
        self.scopes = scopes
        self.times = times
    }

    package var json: JSONValue {
        var object = JSONObject([("id", .string(id)), ("provider", .string(provider))])
        object["client"] = client.map { .string($0) }
        object["account"] = account.map { .string($0) }
        object["outcome"] = .string(kind.rawValue)
        object["error"] = error.map { .string($0) }
        object["shareEmail"] = shareEmail.map { .bool($0) }
        object["name"] = name.map { ["given": .string($0.given), "family": .string($0.family)] }
        object["scopes"] = scopes.map { .array($0.map { .string($0) }) }
        object["times"] = times.map { .integer($0) } ?? .null
        return .object(object)
    }
}

extension Outcome {
    /// The parts of an outcome that an interaction has, too.
    package static let details: [Shape.Field] = [
        .optional("error", .nullable(.text(.nonEmpty)), default: .null, "The error's name, for \"error\"."),
        .optional("shareEmail", .nullable(.boolean), default: .null, "Share the address or hide it."),
        .optional(
            "name",
            .nullable(
                .object([
                    .optional("given", .text(.any), default: "", "Given name."),
                    .optional("family", .text(.any), default: "", "Family name."),
                ])), default: .null, "The name as the person edits it."),
        .optional("scopes", .nullable(.set(of: .text(.nonEmpty))), default: .null, "The scopes that are granted."),
    ]

    /// `providers` are the names that are taken.
    package static func shape(providers: [String]) -> Shape {
        .object(
            [
                .required("provider", .choice(providers), "Whose authorization."),
                .optional("client", .nullable(.text(.nonEmpty)), default: .null, "Which client's; any by default."),
                .optional("account", .nullable(.text(.nonEmpty)), default: .null, "Who signs in."),
                .required("outcome", .choice(Kind.allCases.map(\.rawValue)), "What happens."),
            ] + details + [
                .optional(
                    "times", .nullable(.integer(1...1_000_000)), default: 1,
                    "How many authorizations it holds for; null is for ever.")
            ])
    }

    /// `value` has the shape, with its defaults filled in. `nil` when it doesn't say what happens.
    package init?(id: String, _ value: JSONValue) {
        guard let kind = Kind(rawValue: value["outcome"]?.string ?? "") else { return nil }
        self.init(
            id: id, provider: value["provider"]?.string ?? "", client: value["client"]?.string,
            account: value["account"]?.string, kind: kind, error: value["error"]?.string,
            shareEmail: value["shareEmail"]?.bool,
            name: value["name"]?.object.map { name in
                Account.Name(given: name["given"]?.string ?? "", family: name["family"]?.string ?? "")
            }, scopes: value["scopes"]?.array?.compactMap(\.string), times: value["times"].map(\.integer) ?? 1)
    }
}

/// Ordered outcomes, first come first served.
package struct OutcomeQueue: WorldValue {
    /// More than this are refused: a test that orders so many has lost count.
    package static let limit = 1_000

    package private(set) var queued: [Outcome] = []
    private var made = 0

    package init(_ seed: Seed) { queued = seed.outcomes }

    package mutating func nextID() -> String {
        made += 1
        return "outcome-\(made)"
    }

    /// `false` when the queue is full.
    package mutating func add(_ outcome: Outcome) -> Bool {
        guard queued.count < OutcomeQueue.limit else { return false }
        queued.append(outcome)
        return true
    }

    package mutating func removeAll() { queued = [] }

    /// Takes the first outcome for this provider and client, and for this account if the request names one.
    package mutating func take(provider: String, client: String, account: String? = nil) -> Outcome? {
        guard
            let place = queued.firstIndex(where: { outcome in
                outcome.provider == provider && (outcome.client ?? client) == client
                    && (account == nil || outcome.account == nil || outcome.account == account)
            })
        else { return nil }
        let outcome = queued[place]
        guard let times = outcome.times else { return outcome }
        if times > 1 { queued[place].times = times - 1 } else { queued.remove(at: place) }
        return outcome
    }
}
