import JOSE
import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A person who can sign in: the data that are the same at all providers, and each provider's own profile of the
/// person.
package struct Account: Sendable {
    package struct Name: Codable, Sendable, Equatable {
        package var given: String
        package var family: String

        package init(given: String, family: String) {
            self.given = given
            self.family = family
        }
    }

    package let id: String
    package var name: Name
    package var email: String
    package var emailVerified: Bool
    package var phoneNumber: String?
    /// The types of profiles that every person has, one for each provider.
    private let types: [any AccountProfile.Type]
    /// The providers' profiles for which the seed or a later call has data about the person. Other profiles are derived
    /// from the account when needed, because for many people they would take most of the memory.
    private var written: [any AccountProfile] = []

    package var fullName: String {
        [name.given, name.family].filter { !$0.isEmpty }.joined(separator: " ")
    }

    package subscript<Profile: AccountProfile>(type: Profile.Type) -> Profile {
        for profile in written where Swift.type(of: profile) == type {
            if let profile = profile as? Profile { return profile }
        }
        var fields = Fields(reading: [:])
        return Profile(&fields, of: self)
    }

    var identifiers: [String] { profiles.flatMap(\.identifiers) }

    /// The identifiers in the person's profiles that no other person may have, each with the profile and the member
    /// that contains it. Profiles that are derived from the account aren't included.
    var uniqueIdentifiers: [(profile: String, member: String, identifier: String)] {
        written.flatMap { profile in
            profile.uniqueIdentifiers.map {
                (profile: Swift.type(of: profile).name, member: $0.member, identifier: $0.identifier)
            }
        }
    }

    /// Returns an error for each reference in the person's profiles to something that the seed doesn't define.
    package func issues(in seed: Seed) -> [(path: String, message: String)] {
        written.flatMap { profile in
            profile.issues(in: seed).map {
                (path: "$.\(Swift.type(of: profile).name).\($0.place)", message: $0.message)
            }
        }
    }

    private var profiles: [any AccountProfile] { types.map { profile($0) } }

    private func profile<Profile: AccountProfile>(_ type: Profile.Type) -> any AccountProfile { self[type] }

    /// The texts by which a search finds the person: the ID, the e-mail address, the full name, each further word of
    /// the name, and names in the providers' profiles. A search compares the beginnings of these texts.
    var searchNames: [String] {
        let others = fullName.split(separator: " ").dropFirst().map(String.init)
        // A derived profile costs more than all names together.
        return [id, email, fullName] + others
            + types.filter { $0.hasSearchNames }.flatMap { profile($0).searchNames }
    }
}

extension Account {
    /// Reads a person's account from a seed or a request. By default, the name, the e-mail address, and the providers'
    /// numbers for the person are derived from the ID, so that they are the same in every run.
    init(_ fields: inout Fields, profiles types: [any AccountProfile.Type]) {
        let id = fields("id", .text(.identifier), "The user's ID in the seed file and the control API.")
        self.id = id
        name = fields.object("name", "The person's name.") { fields in
            let given = fields.optional("given", .text(.name), "The given name; by default the id, capitalized.")
            return Name(
                given: given ?? id.prefix(1).uppercased() + id.dropFirst(),
                family: fields("family", .text(.name), default: "Example", "Family name."))
        }
        email =
            fields.optional("email", .text(.email), "The e-mail address, by default ID@example.com.")
            ?? "\(id)@example.com"
        emailVerified = fields(
            "emailVerified", .boolean, default: true, "Whether the e-mail address is verified.")
        phoneNumber = fields.nullable("phoneNumber", .text(.phoneNumber), "Phone number in E.164.")
        self.types = types
        for type in types { read(type, &fields) }
    }

    private mutating func read<Profile: AccountProfile>(_ type: Profile.Type, _ fields: inout Fields) {
        let account = self
        let profile = fields.object(Profile.name, Profile.about) { fields in
            fields.isEmpty ? nil : Profile(&fields, of: account)
        }
        if let profile { written.append(profile) }
    }
}

extension Account: Equatable {
    package static func == (left: Account, right: Account) -> Bool {
        left.id == right.id && left.name == right.name && left.email == right.email
            && left.emailVerified == right.emailVerified && left.phoneNumber == right.phoneNumber
            && left.written.count == right.written.count
            && zip(left.written, right.written).allSatisfy { $0.equals($1) }
    }
}

extension Account: Codable {
    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }

        init?(stringValue: String) { self.init(stringValue) }

        init?(intValue: Int) { nil }
    }

    package func encode(to encoder: any Encoder) throws { try encode(written, to: encoder) }

    private func encode(_ profiles: [any AccountProfile], to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Member.self)
        try container.encode(id, forKey: Member("id"))
        try container.encode(name, forKey: Member("name"))
        try container.encode(email, forKey: Member("email"))
        try container.encode(emailVerified, forKey: Member("emailVerified"))
        try container.encodeIfPresent(phoneNumber, forKey: Member("phoneNumber"))
        for profile in profiles { try container.encode(profile, forKey: Member(type(of: profile).name)) }
    }

    /// Decodes a person's account. The decoder's `userInfo` must have the types of the providers' profiles.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Member.self)
        let known = CodingUserInfoKey.accountProfiles.flatMap { decoder.userInfo[$0] }
        guard let types = known as? [any AccountProfile.Type] else {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription:
                    "the account can't be decoded: set accountProfiles in the userInfo of Swift's Decoder")
            throw DecodingError.dataCorrupted(context)
        }
        id = try container.decode(String.self, forKey: Member("id"))
        name = try container.decode(Name.self, forKey: Member("name"))
        email = try container.decode(String.self, forKey: Member("email"))
        emailVerified = try container.decode(Bool.self, forKey: Member("emailVerified"))
        phoneNumber = try container.decodeIfPresent(String.self, forKey: Member("phoneNumber"))
        self.types = types
        for type in types {
            if let profile = try container.decodeIfPresent(type, forKey: Member(type.name)) { written.append(profile) }
        }
    }

    /// The form in which an account is encoded together with the profiles that are derived from it.
    private struct Complete: Encodable {
        let account: Account

        func encode(to encoder: any Encoder) throws { try account.encode(account.profiles, to: encoder) }
    }

    /// The account as JSON in the form of a seed file, with all defaults, and with the profiles that are derived from
    /// the account.
    package var json: JSONValue { Account.json(Complete(account: self)) }

    /// The account as JSON in the form of a seed file, without the profiles that are derived from the account.
    package var writtenJSON: JSONValue { Account.json(self) }

    private static func json(_ value: some Encodable) -> JSONValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = (try? encoder.encode(value)) ?? Data("null".utf8)
        return (try? JSONValue(parsing: Array(data), limits: .answer)) ?? .null
    }
}

extension CodingUserInfoKey {
    /// The key in a decoder's `userInfo` under which the types of the providers' profiles are found.
    package static let accountProfiles = CodingUserInfoKey(rawValue: "accountProfiles")
}

/// A provider's own data about a person. In a seed file, it is a member of the person's account that has the provider's
/// name.
package protocol AccountProfile: Codable, Equatable, Sendable {
    /// The provider's name, which is also the profile's key in the JSON of an account.
    static var name: String { get }
    /// A sentence that describes the provider's profile of a person in the documentation of seed files.
    static var about: String { get }
    /// The identifiers by which the provider knows the person and the person's groups. Each has a kind, a colon, and
    /// the provider's own identifier, such as `example.login:ada`.
    var identifiers: [String] { get }
    /// The identifiers in the profile that no other person may have, each with the profile's member that contains it.
    var uniqueIdentifiers: [(member: String, identifier: String)] { get }
    /// The texts by which a search finds the person, in addition to the account's ID, name and e-mail address. A search
    /// compares the beginnings of these texts.
    var searchNames: [String] { get }
    /// Whether a profile of this type can have names by which a search finds the person.
    static var hasSearchNames: Bool { get }

    /// Reads a provider's profile of a person. The profile's defaults are derived from `account`, the person's account.
    init(_ fields: inout Fields, of account: Account)

    /// Checks the references in a seed's profiles of this type: everything that is referred to must exist.
    static func check(_ references: inout SeedReferences)

    /// Returns an error for each reference in the profile to something that the seed doesn't define. It is called when
    /// a person is added or changed while the daemon runs. An error consists of the reference's path in the profile,
    /// such as `orgs[0]`, and the reason.
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

/// Derives numbers and identifiers from a text, so that they are the same in every run.
package enum DerivedNumber {
    /// Returns a number below 2 to the power of 56 that is derived from `text`.
    package static func of(_ text: String) -> UInt64 {
        Digest.sha256(text).prefix(7).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns an identifier that is derived from `text` and has the form of a UUID. Its 128 bits are the first bits of
    /// the text's SHA-256 digest.
    package static func uuid(of text: String) -> String {
        let digits = Hex.encode(Array(Digest.sha256(text).prefix(16)))
        let parts = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)]
        return parts.map { String(digits.dropFirst($0.0).prefix($0.1)) }.joined(separator: "-")
    }

    /// Returns the last `width` decimal digits of the number that is derived from `text`.
    package static func digits(of text: String, width: Int) -> String {
        let digits = String(of(text))
        return String((String(repeating: "0", count: max(0, width - digits.count)) + digits).suffix(width))
    }
}

/// Data that a provider's own tools, such as the Firebase emulator, have exported. A test world begins with them in
/// addition to the seed.
package protocol ExportedData: Sendable {
    /// A digest of the data that a tool of the provider exported. It shows whether test worlds in a store began with
    /// the same data.
    var digest: String { get }
    /// Sentences about data that the seed's settings keep from having an effect. They are logged at the start.
    var warnings: [String] { get }
}

extension Seed {
    /// A digest of everything with which test worlds begin: the seed and imported data. A file or database that keeps
    /// test worlds can only be used again while this digest is the same.
    package var digest: String {
        let parts = [document.text] + exports.map(\.digest)
        // Each part has its length before it, so that no other parts give the same text.
        let whole = parts.count == 1 ? parts[0] : parts.map { "\($0.utf8.count):\($0)" }.joined()
        return String(Hex.encode(Array(Digest.sha256(whole))).prefix(16))
    }

    /// Returns a copy of the seed to which `data` is added, such as users that the Firebase emulator has exported. Test
    /// worlds that begin from the copy also contain the data.
    package func beginning(with data: [any ExportedData]) -> Seed {
        var seed = self
        seed.exports = data
        return seed
    }

    /// Returns the data of type `type` that a provider's tools have exported; `nil` when none were imported.
    package func export<Data: ExportedData>(_ type: Data.Type) -> Data? {
        exports.lazy.compactMap { $0 as? Data }.first
    }
}
