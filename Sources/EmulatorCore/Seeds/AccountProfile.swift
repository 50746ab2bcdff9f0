import JOSE
import JSON

/// What a provider knows of a person, declared in the provider's folder: the member of an account with the provider's name.
package protocol AccountProfile: Codable, Equatable, Sendable {
    /// The member's name: the provider's.
    static var name: String { get }
    /// What it is, in a sentence for the seed's reference.
    static var about: String { get }
    /// What the provider calls the person, and the groups to which the person belongs: what it is, a colon, and the
    /// provider's own identifier, such as `example.login:ada`.
    var identifiers: [String] { get }
    /// Those of the identifiers that no other person has, each with the profile's member that says it.
    var uniqueIdentifiers: [(member: String, identifier: String)] { get }
    /// How one may begin to write who is meant, beside the account's ID, name and address.
    var searchNames: [String] { get }
    /// Whether a profile can have such names.
    static var hasSearchNames: Bool { get }

    /// `account` has no profiles yet: what it holds is what defaults are made from.
    init(_ fields: inout Fields, of account: Account)

    /// Checks what the profiles of a seed say of other parts of it.
    static func check(_ references: inout SeedReferences)

    /// What the profile of a person who is added while the daemon runs says of the seed and isn't so: the place in the profile, such
    /// as `orgs[0]`, and why.
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

/// Numbers and identifiers that follow from a text, the same in every run.
package enum DerivedNumber {
    /// Less than 2 to the power of 56.
    package static func of(_ text: String) -> UInt64 {
        Digest.sha256(text).prefix(7).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// 128 bits of the text's digest, as UUIDs are written.
    package static func uuid(of text: String) -> String {
        let digits = Hex.encode(Array(Digest.sha256(text).prefix(16)))
        let parts = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)]
        return parts.map { String(digits.dropFirst($0.0).prefix($0.1)) }.joined(separator: "-")
    }

    /// The last `width` digits of the same number.
    package static func digits(of text: String, width: Int) -> String {
        let digits = String(of(text))
        return String((String(repeating: "0", count: max(0, width - digits.count)) + digits).suffix(width))
    }
}
