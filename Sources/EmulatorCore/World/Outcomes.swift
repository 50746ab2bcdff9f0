import JSON

/// The result of sign-ins that a test or the seed (initial data) sets in advance. The next matching sign-ins end in
/// this way, without a sign-in page.
package struct Outcome: Codable, Sendable, Equatable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case approve
        case cancel
        case error
    }

    /// The details of how a sign-in ends, such as the scopes that the person grants.
    package struct Details: SchemaObject, Codable, Equatable {
        /// The OAuth error with which the sign-in ends, if its result is `error`.
        package var error: String?
        package var shareEmail: Bool?
        package var name: Account.Name?
        /// The scopes that the person grants; `nil` grants all requested scopes.
        package var scopes: [String]?

        package init() {}

        package init(_ fields: inout Fields) {
            error = fields.nullable("error", .text(.nonEmpty), "The OAuth error, for outcome \"error\".")
            shareEmail = fields.nullable("shareEmail", .boolean, "Whether to share the e-mail address.")
            name = fields.nullable("name", .object(EditedName.self), "The name that the user enters.")?.name
            scopes = fields.nullable("scopes", .set(of: .text(.nonEmpty)), "The scopes that the user grants.")
        }
    }

    private struct EditedName: SchemaObject {
        let name: Account.Name

        init(_ fields: inout Fields) {
            name = Account.Name(
                given: fields("given", .text(.any), default: "", "Given name."),
                family: fields("family", .text(.any), default: "", "Family name."))
        }
    }

    /// The ID of the sign-in result; empty until the result has been added to a test world or a seed.
    package private(set) var id: String
    package let provider: String
    /// The ID of the client to whose sign-ins the result applies; `nil` for every client.
    package let client: String?
    /// The ID of the account that signs in. If it is `nil`, the request or the `interaction` setting decides who signs
    /// in.
    package let account: String?
    package let kind: Kind
    private let details: Details
    /// The number of sign-ins to which the result still applies; `nil` if it applies to all.
    package fileprivate(set) var times: Int?

    package var error: String? { details.error }
    package var shareEmail: Bool? { details.shareEmail }
    package var name: Account.Name? { details.name }
    package var scopes: [String]? { details.scopes }

    init(id: String, provider: String, account: String? = nil, kind: Kind, details: Details, times: Int? = 1) {
        self.id = id
        self.provider = provider
        client = nil
        self.account = account
        self.kind = kind
        self.details = details
        self.times = times
    }

    /// Reads a sign-in result that a test or the seed (initial data) sets in advance. `providers` are the names of the
    /// providers at which the sign-in may be.
    init(_ fields: inout Fields, providers: [String]) {
        id = ""
        provider = fields("provider", .choice(providers), "The provider.")
        client = fields.nullable("client", .text(.nonEmpty), "The client's ID; any by default.")
        account = fields.nullable("account", .text(.nonEmpty), "The account that signs in.")
        kind = fields("outcome", .choice(Kind.self), "The person's decision.")
        details = Details(&fields)
        times = fields(
            "times", .nullable(.integer(1...1_000_000)), default: 1,
            "How many sign-ins get this outcome; null: all.")
    }

    /// The approximate size in bytes of the sign-in result's texts.
    fileprivate var size: Int {
        let texts = [client, account, error, name?.given, name?.family].compactMap { $0 } + (scopes ?? [])
        return texts.reduce(0) { $0 + $1.utf8.count + 3 }
    }

    package func named(_ id: String) -> Outcome {
        var outcome = self
        outcome.id = id
        return outcome
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
        object["times"] = times.map { .integer(Int64($0)) } ?? .null
        return .object(object)
    }
}

/// The sign-in results that tests and the seed (initial data) have set in advance in a test world, oldest first.
package struct OutcomeQueue: SeededValue, BoundedValue {
    package static let name = "outcomes"
    /// The largest number of sign-in results that may be queued. A larger number is probably a mistake in a test.
    package static let limit = 1_000
    /// The largest number of bytes that the texts of all queued sign-in results together may have. The limit is needed
    /// because a store writes all of them with each change.
    package static let sizeLimit = 1 << 20

    package private(set) var queued: [Outcome] = []
    private var made = 0

    package init() {}

    init(_ seed: Seed) { queued = seed.outcomes }

    package mutating func nextID() -> String {
        made += 1
        return "outcome-\(made)"
    }

    /// The reason why the queue has more results or bytes than a test world allows, as a clause; `nil` if it hasn't.
    var excess: String? {
        guard queued.count > OutcomeQueue.limit || queued.reduce(0, { $0 + $1.size }) > OutcomeQueue.sizeLimit else {
            return nil
        }
        return "more than \(OutcomeQueue.limit) outcomes, or more than \(OutcomeQueue.sizeLimit) bytes of outcomes"
    }

    /// Adds a sign-in result to the end of the queue. Returns `false` when the queue would have too many results or
    /// bytes.
    package mutating func add(_ outcome: Outcome) -> Bool {
        let size = queued.reduce(outcome.size) { $0 + $1.size }
        guard queued.count < OutcomeQueue.limit, size <= OutcomeQueue.sizeLimit else { return false }
        queued.append(outcome)
        return true
    }

    package mutating func removeAll() { queued = [] }

    /// Removes the queued sign-in result with this ID. Returns `false` when there is none.
    @discardableResult
    package mutating func remove(_ id: String) -> Bool {
        let count = queued.count
        queued.removeAll { $0.id == id }
        return queued.count < count
    }

    /// Returns the oldest queued result for a sign-in of this client at this provider, and of this account if the
    /// request names one. Counts the use of the result, and removes the result after its last use.
    package mutating func consumeNext(provider: String, client: String, account: String? = nil) -> Outcome? {
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
