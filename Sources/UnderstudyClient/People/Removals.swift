extension World {
    /// What a person does at GitHub: `world.github`.
    public struct GitHub: Sendable, Hashable {
        let world: World

        /// A person removes an app in their settings. GitHub tells a GitHub App.
        ///
        /// - Parameters:
        ///   - account: who; `*` is everybody.
        ///   - client: which app; `*` is every one.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.github, account: account, client: client)
        }

        /// A person is signed out of all browsers.
        ///
        /// - Parameters:
        ///   - account: who.
        ///   - session: only this session, by what the inspector calls it.
        /// - Throws: ``UnderstudyError``.
        public func logOut(account: String, session: String? = nil) async throws {
            try await world.send("POST", "github/logouts", PersonOrder(account: account, session: session))
        }
    }

    /// What a person does at an OpenID Connect issuer of the seed: `world.openID`.
    public struct OpenID: Sendable, Hashable {
        let world: World

        /// A person removes an app in their settings.
        ///
        /// - Parameters:
        ///   - account: who; `*` is everybody.
        ///   - client: which app; `*` is every one.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.openID, account: account, client: client)
        }

        /// A person is signed out of all browsers at an issuer, which tells the clients.
        ///
        /// - Parameters:
        ///   - account: who.
        ///   - issuer: the issuer's `id` in the seed.
        ///   - session: only this session, by its `sid`.
        /// - Throws: ``UnderstudyError``.
        public func logOut(account: String, issuer: String, session: String? = nil) async throws {
            try await world.send(
                "POST", "openid/logouts", PersonOrder(account: account, issuer: issuer, session: session))
        }

        /// The clients that have registered themselves, the oldest first, a thousand at most.
        ///
        /// - Throws: ``UnderstudyError``.
        public func registeredClients() async throws -> [RegisteredClient] {
            struct Answer: Decodable { let clients: [RegisteredClient] }
            let answer: Answer = try await world.call("GET", "openid/clients", query: [("limit", "1000")])
            return answer.clients
        }

        /// Removes all clients that have registered themselves: their codes and tokens work no more.
        ///
        /// - Throws: ``UnderstudyError``.
        public func removeRegisteredClients() async throws {
            try await world.send("DELETE", "openid/clients")
        }

        /// Removes one client that has registered itself.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchClient`.
        public func removeRegisteredClient(_ id: String) async throws {
            try await world.send("DELETE", "openid/clients/\(Address.segment(id))")
        }
    }

    /// A client that has registered itself at an OpenID Connect issuer.
    public struct RegisteredClient: Sendable, Hashable, Decodable {
        /// The client's ID.
        public let clientID: String
        /// The issuer's `id` in the seed.
        public let issuer: String
        /// What the client says of itself, with defaults (RFC 7591).
        public let metadata: JSONValue
    }

    /// What a person does at GitHub.
    public var github: GitHub { GitHub(world: self) }

    /// What a person does at an OpenID Connect issuer of the seed.
    public var openID: OpenID { OpenID(world: self) }

    func revoke(_ provider: Provider, account: String, client: String) async throws {
        try await send("POST", "\(provider.rawValue)/revocations", PersonOrder(account: account, client: client))
    }
}

private struct PersonOrder: Encodable {
    let account: String
    var client: String?
    var issuer: String?
    var session: String?
}
