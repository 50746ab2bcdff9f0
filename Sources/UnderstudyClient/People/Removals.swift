extension World {
    /// A person's actions at GitHub: `world.github`.
    public struct GitHub: Sendable, Hashable {
        let world: World

        /// Removes an app from a person's account, as in the person's settings. If it is a GitHub App, GitHub sends it
        /// an event.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.github, account: account, client: client)
        }

        /// Signs a person out of all browsers.
        ///
        /// - Parameters:
        ///   - account: the person's account.
        ///   - session: the only session to end, by its name in the inspector; `nil` ends all of them.
        /// - Throws: ``UnderstudyError``.
        public func logOut(account: String, session: String? = nil) async throws {
            try await world.send("POST", "github/logouts", PersonOrder(account: account, session: session))
        }
    }

    /// A person's actions at Microsoft: `world.microsoft`.
    public struct Microsoft: Sendable, Hashable {
        let world: World

        /// Removes an app from a person's account, as in the person's settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.microsoft, account: account, client: client)
        }
    }

    /// A person's actions at an OpenID Connect issuer of the seed: `world.openID`.
    public struct OpenID: Sendable, Hashable {
        let world: World

        /// Removes an app from a person's account, as in the person's settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.openID, account: account, client: client)
        }

        /// Signs a person out of all browsers at an issuer. The issuer notifies the clients.
        ///
        /// - Parameters:
        ///   - account: the person's account.
        ///   - issuer: the issuer's `id` in the seed.
        ///   - session: the only session to end, by its `sid`; `nil` ends all of them.
        /// - Throws: ``UnderstudyError``.
        public func logOut(account: String, issuer: String, session: String? = nil) async throws {
            try await world.send(
                "POST", "openid/logouts", PersonOrder(account: account, issuer: issuer, session: session))
        }

        /// Lists the clients that have registered themselves, the oldest first, a thousand at most.
        ///
        /// - Throws: ``UnderstudyError``.
        public func registeredClients() async throws -> [RegisteredClient] {
            struct Answer: Decodable { let clients: [RegisteredClient] }
            let answer: Answer = try await world.call("GET", "openid/clients", query: [("limit", "1000")])
            return answer.clients
        }

        /// Removes all clients that have registered themselves. Their codes and tokens stop working.
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
        /// The client's metadata (RFC 7591), with defaults.
        public let metadata: JSONValue
    }

    /// A person's actions at GitHub.
    public var github: GitHub { GitHub(world: self) }

    /// A person's actions at Microsoft.
    public var microsoft: Microsoft { Microsoft(world: self) }

    /// A person's actions at an OpenID Connect issuer of the seed.
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
