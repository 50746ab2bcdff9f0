extension World {
    /// A person, with what each provider knows of them.
    public struct Account: Sendable, Hashable, Codable, Identifiable {
        /// As a seed writes it.
        public let document: JSONValue

        /// The account's ID in the seed.
        public var id: String { document["id"]?.string ?? "" }
        /// The e-mail address.
        public var email: String? { document["email"]?.string }
        /// Whether the address is verified.
        public var isEmailVerified: Bool { document["emailVerified"]?.bool ?? false }
        /// The phone number, in E.164.
        public var phoneNumber: String? { document["phoneNumber"]?.string }
        /// The name.
        public var name: PersonName? {
            guard let name = document["name"]?.object else { return nil }
            return PersonName(given: name["given"]?.string ?? "", family: name["family"]?.string ?? "")
        }

        /// What a provider knows of the person.
        public subscript(provider: Provider) -> JSONValue? { document[provider.rawValue] }

        /// Reads what the control API writes.
        public init(from decoder: any Decoder) throws { document = try JSONValue(from: decoder) }

        /// Writes what the control API reads.
        public func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }
    }
}

extension World {
    /// A world's people: `world.accounts`.
    public struct Accounts: Sendable, Hashable {
        let world: World

        /// Everybody, in the order of the seed, then those that were added.
        ///
        /// - Throws: ``UnderstudyError``.
        public func list() async throws -> [Account] {
            struct Page: Decodable {
                let accounts: [Account]
                let more: Bool?
                let last: String?
            }
            var found: [Account] = []
            var query: [(name: String, value: String)] = []
            while true {
                let page: Page = try await world.call("GET", "accounts", query: query)
                found += page.accounts
                guard page.more == true, let last = page.last else { return found }
                query = [("after", last)]
            }
        }

        /// One person.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func get(_ id: String) async throws -> Account {
            try await world.call("GET", "accounts/\(Address.segment(id))")
        }

        /// Adds a person, written as in a seed: `["id": "max", "email": "max@example.org"]`.
        ///
        /// - Throws: ``UnderstudyError``, such as `accountExists`.
        @discardableResult
        public func add(_ account: JSONValue) async throws -> Account {
            try await world.call("POST", "accounts", account)
        }

        /// Changes a person by a JSON Merge Patch (RFC 7396): members replace members, and `null` brings a member's default back.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        @discardableResult
        public func change(_ id: String, _ patch: JSONValue) async throws -> Account {
            try await world.call("PATCH", "accounts/\(Address.segment(id))", patch)
        }

        /// Removes a person, who is signed out of all apps.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func remove(_ id: String) async throws {
            try await world.send("DELETE", "accounts/\(Address.segment(id))")
        }
    }
}

extension World {
    /// The world's people.
    public var accounts: Accounts { Accounts(world: self) }
}
