import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A person who can sign in: the data that all providers have, and each provider's own profile.
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
    /// The types of the profiles that every person has.
    private let types: [any AccountProfile.Type]
    /// The profiles that the seed has members for. The others are derived when needed: with many people, they would
    /// take most of the memory.
    private var written: [any AccountProfile] = []

    package var fullName: String {
        [name.given, name.family].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Returns a provider's profile of the person.
    package subscript<Profile: AccountProfile>(type: Profile.Type) -> Profile {
        for profile in written where Swift.type(of: profile) == type {
            if let profile = profile as? Profile { return profile }
        }
        var fields = Fields(reading: [:])
        return Profile(&fields, of: self)
    }

    /// The identifiers of the person at all providers: `AccountProfile.identifiers`.
    var identifiers: [String] { profiles.flatMap(\.identifiers) }

    /// The identifiers that no other person may have, of the profiles in the seed, with the members that have them.
    var uniqueIdentifiers: [(profile: String, member: String, identifier: String)] {
        written.flatMap { profile in
            profile.uniqueIdentifiers.map {
                (profile: Swift.type(of: profile).name, member: $0.member, identifier: $0.identifier)
            }
        }
    }

    /// Returns references to things that the seed doesn't define.
    package func issues(in seed: Seed) -> [(path: String, message: String)] {
        written.flatMap { profile in
            profile.issues(in: seed).map {
                (path: "$.\(Swift.type(of: profile).name).\($0.place)", message: $0.message)
            }
        }
    }

    private var profiles: [any AccountProfile] { types.map { profile($0) } }

    private func profile<Profile: AccountProfile>(_ type: Profile.Type) -> any AccountProfile { self[type] }

    /// The texts with which a search for the person may begin. Each word of the name is one.
    var searchNames: [String] {
        let others = fullName.split(separator: " ").dropFirst().map(String.init)
        // A derived profile costs more than all names together.
        return [id, email, fullName] + others
            + types.filter { $0.hasSearchNames }.flatMap { profile($0).searchNames }
    }
}

extension Account {
    /// By default, name and address are derived from the ID, and so are the providers' own numbers, which are the same
    /// in every run.
    init(_ fields: inout Fields, profiles types: [any AccountProfile.Type]) {
        let id = fields("id", .text(.identifier), "How this file and the control API name the person.")
        self.id = id
        name = fields.object("name", "The person's name.") { fields in
            let given = fields.optional("given", .text(.name), "Given name; the id, capitalized, by default.")
            return Name(
                given: given ?? id.prefix(1).uppercased() + id.dropFirst(),
                family: fields("family", .text(.name), default: "Example", "Family name."))
        }
        email =
            fields.optional("email", .text(.email), "The primary address; the id at example.com by default.")
            ?? "\(id)@example.com"
        emailVerified = fields(
            "emailVerified", .boolean, default: true, "Whether the primary address is verified.")
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

    /// Decodes an account. The decoder's `userInfo` must have the types of the profiles.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Member.self)
        let known = CodingUserInfoKey.accountProfiles.flatMap { decoder.userInfo[$0] }
        guard let types = known as? [any AccountProfile.Type] else {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "the types of the profiles aren't known")
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

    /// An account with its derived profiles, for encoding.
    private struct Complete: Encodable {
        let account: Account

        func encode(to encoder: any Encoder) throws { try account.encode(account.profiles, to: encoder) }
    }

    /// The account as in a seed file, with every default.
    package var json: JSONValue { Account.json(Complete(account: self)) }

    /// The account as in a seed file, without the derived profiles.
    package var writtenJSON: JSONValue { Account.json(self) }

    private static func json(_ value: some Encodable) -> JSONValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = (try? encoder.encode(value)) ?? Data("null".utf8)
        return (try? JSONValue(parsing: Array(data), limits: .answer)) ?? .null
    }
}

extension CodingUserInfoKey {
    /// The key for the types of the profiles that an account has: `SeedFormat.profiles`.
    package static let accountProfiles = CodingUserInfoKey(rawValue: "accountProfiles")
}
