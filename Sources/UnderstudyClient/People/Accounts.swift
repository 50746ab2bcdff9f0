extension World {
    /// A person who can sign in at the providers.
    public struct Account: Sendable, Hashable, Codable, Identifiable {
        /// The account in the seed's form.
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

        /// The person's data at one provider.
        public subscript(provider: Provider) -> JSONValue? { document[provider.rawValue] }

        /// Reads an account in the control API's form.
        public init(from decoder: any Decoder) throws { document = try JSONValue(from: decoder) }

        /// Writes the account in the control API's form.
        public func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }
    }
}

extension World {
    /// The people of a world: `world.accounts`.
    public struct Accounts: Sendable, Hashable {
        let world: World

        /// Lists all people: those of the seed, then those added later.
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

        /// Returns one person.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func get(_ id: String) async throws -> Account {
            try await world.call("GET", "accounts/\(Address.segment(id))")
        }

        /// Adds a person, written as in a seed.
        ///
        ///     try await world.accounts.add(["id": "max", "email": "max@example.org"])
        ///
        /// - Throws: ``UnderstudyError``, such as `accountExists`.
        @discardableResult
        public func add(_ account: JSONValue) async throws -> Account {
            try await world.call("POST", "accounts", account)
        }

        /// Changes a person by a JSON Merge Patch (RFC 7396): each member replaces the member of that name, and `null`
        /// restores the default.
        ///
        ///     try await world.accounts.change("ada", ["emailVerified": false])
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        @discardableResult
        public func change(_ id: String, _ patch: JSONValue) async throws -> Account {
            try await world.call("PATCH", "accounts/\(Address.segment(id))", patch)
        }

        /// Removes a person and ends all of the person's sign-ins.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func remove(_ id: String) async throws {
            try await world.send("DELETE", "accounts/\(Address.segment(id))")
        }
    }
}

extension World {
    /// The people of the world.
    public var accounts: Accounts { Accounts(world: self) }
}
