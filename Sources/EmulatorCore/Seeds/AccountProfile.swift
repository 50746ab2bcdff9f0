import JOSE
import JSON

/// A provider's data about a person, declared in the provider's folder: the member of an account with the provider's
/// name.
package protocol AccountProfile: Codable, Equatable, Sendable {
    /// The name of the account's member, which is the provider's.
    static var name: String { get }
    /// A sentence about the profile for the seed's reference.
    static var about: String { get }
    /// The identifiers of the person, and of the person's groups: their kind, a colon, and the provider's own
    /// identifier, such as `example.login:ada`.
    var identifiers: [String] { get }
    /// The identifiers that no other person may have, each with the profile's member that has it.
    var uniqueIdentifiers: [(member: String, identifier: String)] { get }
    /// The texts with which a search for the person may begin, beside the account's ID, name and address.
    var searchNames: [String] { get }
    /// Whether a profile can have such names.
    static var hasSearchNames: Bool { get }

    /// Reads a profile. `account` has no profiles yet: defaults are derived from its other members.
    init(_ fields: inout Fields, of account: Account)

    /// Checks the references of a seed's profiles to other parts of it.
    static func check(_ references: inout SeedReferences)

    /// Returns the references to things that the seed doesn't define, for a person who is added while the daemon runs:
    /// the place in the profile, such as `orgs[0]`, and the reason.
    func issues(in seed: Seed) -> [(place: String, message: String)]
}

extension AccountProfile {
    package var searchNames: [String] { [] }
    package static var hasSearchNames: Bool { false }
    package var uniqueIdentifiers: [(member: String, identifier: String)] { [] }
    package var identifiers: [String] { uniqueIdentifiers.map(\.identifier) }
    package func issues(in seed: Seed) -> [(place: String, message: String)] { [] }

    func equals(_ other: any AccountProfile) -> Bool {
        guard let other = other as? Self else { return false }
        return self == other
    }

    package static func check(_ references: inout SeedReferences) {}
}

/// Derives numbers and identifiers from a text, the same in every run.
package enum DerivedNumber {
    /// Returns a number below 2 to the power of 56.
    package static func of(_ text: String) -> UInt64 {
        Digest.sha256(text).prefix(7).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns 128 bits of the text's digest in the form of a UUID.
    package static func uuid(of text: String) -> String {
        let digits = Hex.encode(Array(Digest.sha256(text).prefix(16)))
        let parts = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)]
        return parts.map { String(digits.dropFirst($0.0).prefix($0.1)) }.joined(separator: "-")
    }

    /// Returns the last `width` digits of the text's number.
    package static func digits(of text: String, width: Int) -> String {
        let digits = String(of(text))
        return String((String(repeating: "0", count: max(0, width - digits.count)) + digits).suffix(width))
    }
}
