extension World {
    /// A test user who can sign in at all providers that the daemon stands in for.
    public struct Account: Sendable, Hashable, Codable, Identifiable {
        /// The account's data as JSON, in the form that a seed (the daemon's test data) has, with default values.
        public let document: JSONValue

        /// The ID by which the seed and tests name the account, such as `ada`.
        public var id: String { document["id"]?.string ?? "" }
        /// The e-mail address of the account's user.
        public var email: String? { document["email"]?.string }
        /// Whether the user's e-mail address is verified.
        public var isEmailVerified: Bool { document["emailVerified"]?.bool ?? false }
        /// The user's phone number, in E.164.
        public var phoneNumber: String? { document["phoneNumber"]?.string }
        /// The given name and the family name of the account's user.
        public var name: PersonName? {
            guard let name = document["name"]?.object else { return nil }
            return PersonName(given: name["given"]?.string ?? "", family: name["family"]?.string ?? "")
        }

        /// Returns the account's data at one provider, as JSON; `nil` if the account has no data there.
        public subscript(provider: Provider) -> JSONValue? { document[provider.rawValue] }

        /// Reads an account from the control API's JSON.
        public init(from decoder: any Decoder) throws { document = try JSONValue(from: decoder) }

        /// Encodes the account as JSON for the control API.
        public func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }
    }
}

extension World {
    /// The test users of a test world: `world.accounts`.
    public struct Accounts: Sendable, Hashable {
        let world: World

        /// Lists all test users: first the users of the seed (the daemon's test data), then the users added later.
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

        /// Returns the test user with the account ID `id`.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func get(_ id: String) async throws -> Account {
            try await world.call("GET", "accounts/\(Address.segment(id))")
        }

        /// Adds a test user, in the form that a seed (the daemon's test data) has.
        ///
        ///     try await world.accounts.add(["id": "max", "email": "max@example.org"])
        ///
        /// - Throws: ``UnderstudyError``, such as `accountExists`.
        @discardableResult
        public func add(_ account: JSONValue) async throws -> Account {
            try await world.call("POST", "accounts", account)
        }

        /// Changes a test user by a JSON Merge Patch (RFC 7396): each member replaces the member of that name, and
        /// `null` restores the default.
        ///
        ///     try await world.accounts.change("ada", ["emailVerified": false])
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        @discardableResult
        public func change(_ id: String, _ patch: JSONValue) async throws -> Account {
            try await world.call("PATCH", "accounts/\(Address.segment(id))", patch)
        }

        /// Removes a test user and ends all of the user's sign-ins.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchAccount`.
        public func remove(_ id: String) async throws {
            try await world.send("DELETE", "accounts/\(Address.segment(id))")
        }
    }
}

extension World {
    /// The test users of this test world.
    public var accounts: Accounts { Accounts(world: self) }
}
