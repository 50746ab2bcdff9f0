import FoundationEssentials
import JOSE
import JSON
import Time

/// A seed, checked and with its defaults filled in: what a world begins as.
package struct Seed: Sendable {
    /// The people who can sign in.
    package let people: SeededTable<Account>
    package let apple: AppleSeed
    package let github: GitHubSeed
    package let google: GoogleSeed
    package let facebook: FacebookSeed
    package let firebase: FirebaseSeed
    package let interaction: Interaction
    package let clock: ClockSeed
    package let randomSeed: String?
    package let faults: [Fault]
    /// The same as they are written, to say where one doesn't fit.
    package let faultNodes: [SeedNode]
    package let outcomes: [Outcome]
    /// The whole document, for the parts that a provider reads itself.
    package let document: JSONValue
    /// The keys in it, by their PEM text.
    package let keys: [String: Key]

    package struct ClockSeed: Codable, Sendable {
        package let set: Instant?
        package let freeze: Bool
    }

    /// `value` has passed validation.
    init(validated value: JSONValue, keys: [String: Key], faultNodes: [SeedNode]) throws {
        self.keys = keys
        self.faultNodes = faultNodes
        guard case .object(var document) = value else { throw SeedFaults(faults: []) }
        let accounts = document["accounts"]?.array ?? []
        document["accounts"] = .array(accounts.map { Account.withDerivedDefaults($0) })
        let complete = Shape.seed.completed(.object(document))
        self.document = complete
        people = SeededTable(try Seed.decode([Account].self, complete["accounts"]))
        apple = try Seed.decode(AppleSeed.self, complete["apple"])
        github = try Seed.decode(GitHubSeed.self, complete["github"])
        google = try Seed.decode(GoogleSeed.self, complete["google"])
        facebook = try Seed.decode(FacebookSeed.self, complete["facebook"])
        firebase = try Seed.decode(FirebaseSeed.self, complete["firebase"])
        interaction = try Seed.decode(Interaction.self, complete["interaction"])
        clock = try Seed.decode(ClockSeed.self, complete["clock"])
        randomSeed = complete["randomSeed"]?.string
        faults = (complete["faults"]?.array ?? []).enumerated().map { Fault(id: "seed-fault-\($0 + 1)", $1) }
        outcomes = (complete["outcomes"]?.array ?? []).enumerated().compactMap {
            Outcome(id: "seed-outcome-\($0 + 1)", $1)
        }
    }

    /// The rows of this type that every world begins with; `nil` when it begins with none.
    func rows<R: Row>(of type: R.Type) -> SeededTable<R>? { people as? SeededTable<R> }

    var signingKeys: [KeyOwner: [SigningKey]] {
        [
            .apple: apple.signingKeys, .google: google.signingKeys, .facebook: facebook.signingKeys,
            .firebase: firebase.signingKeys,
        ]
    }

    static func decode<T: Decodable>(_ type: T.Type, _ value: JSONValue?) throws -> T {
        try JSONDecoder().decode(type, from: Data((value ?? .null).serialized()))
    }
}

/// A key that signs tokens.
package struct SigningKey: Codable, Sendable {
    package let id: String
    package let privateKey: String
}

/// What an authorization does: show the sign-in page, or answer at once.
package struct Interaction: Codable, Sendable, Equatable {
    package enum Mode: String, Codable, Sendable {
        case page
        case auto
    }

    package let mode: Mode
    /// Who signs in in mode `auto`; the first account when `nil`.
    package let account: String?
    package let outcome: Outcome.Kind
    package let error: String?
    package let shareEmail: Bool?
    package let name: Account.Name?
    package let scopes: [String]?

    /// What mode `auto` answers every time; `nil` in mode `page`.
    func standing(provider: String) -> Outcome? {
        guard mode == .auto else { return nil }
        return Outcome(
            id: "interaction", provider: provider, account: account, kind: outcome, error: error,
            shareEmail: shareEmail, name: name, scopes: scopes, times: nil)
    }
}
