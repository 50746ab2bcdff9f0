import FoundationEssentials
import JOSE

/// A seed, checked and with its defaults filled in: what a world begins as.
package struct Seed: Sendable {
    package let accounts: [Account]
    package let apple: AppleSeed
    package let github: GitHubSeed
    package let interaction: Interaction
    package let clock: ClockSeed
    package let randomSeed: String?
    /// The whole document, for the parts that a provider reads itself.
    package let document: JSONValue
    /// The keys in it, by their PEM text.
    package let keys: [String: Key]

    package struct ClockSeed: Codable, Sendable {
        package let set: String?
        package let freeze: Bool
    }

    /// `value` has passed validation.
    init(validated value: JSONValue, keys: [String: Key]) throws {
        self.keys = keys
        guard case .object(var document) = value else { throw SeedFaults(faults: []) }
        let accounts = document["accounts"]?.array ?? []
        document["accounts"] = .array(accounts.map { Account.withDerivedDefaults($0) })
        let complete = Shape.seed.completed(.object(document))
        self.document = complete
        self.accounts = try Seed.decode([Account].self, complete["accounts"])
        apple = try Seed.decode(AppleSeed.self, complete["apple"])
        github = try Seed.decode(GitHubSeed.self, complete["github"])
        interaction = try Seed.decode(Interaction.self, complete["interaction"])
        clock = try Seed.decode(ClockSeed.self, complete["clock"])
        randomSeed = complete["randomSeed"]?.string
    }

    static func decode<T: Decodable>(_ type: T.Type, _ value: JSONValue?) throws -> T {
        try JSONDecoder().decode(type, from: Data((value ?? .null).serialized()))
    }
}

/// What an authorization does: show the sign-in page, or approve at once.
package struct Interaction: Codable, Sendable, Equatable {
    package enum Mode: String, Codable, Sendable {
        case page
        case auto
    }

    package let mode: Mode
    /// Who signs in in mode `auto`; the first account when `nil`.
    package let account: String?
}
