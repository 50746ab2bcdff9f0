extension World {
    /// Performs a user's actions at GitHub in a test world, such as removing an app: `world.github`.
    public struct GitHub: Sendable, Hashable {
        let world: World

        /// Removes an app from a user's GitHub account, as the user can do in the account's settings. If the app is a
        /// GitHub App, GitHub sends an event to it.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.github, account: account, client: client)
        }

        /// Signs a user out of GitHub in all browsers.
        ///
        /// - Parameters:
        ///   - account: the person's account.
        ///   - session: the only session to end, by its name on the daemon's inspector pages; `nil` ends all of them.
        /// - Throws: ``UnderstudyError``.
        public func logOut(account: String, session: String? = nil) async throws {
            try await world.send("POST", "github/logouts", PersonOrder(account: account, session: session))
        }
    }

    /// Performs a user's actions at Microsoft in a test world, such as removing an app: `world.microsoft`.
    public struct Microsoft: Sendable, Hashable {
        let world: World

        /// Removes an app from a user's Microsoft account, as the user can do in the account's settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.microsoft, account: account, client: client)
        }
    }

    /// Performs a user's actions at the OpenID Connect issuers of a test world, such as signing out: `world.openID`.
    public struct OpenID: Sendable, Hashable {
        let world: World

        /// Removes an app from a user's account at the OpenID Connect issuers, as the user can do in the account's
        /// settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.openID, account: account, client: client)
        }

        /// Signs a user out of all browsers at an OpenID Connect issuer. The issuer notifies its clients.
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

        /// Lists the clients that have registered themselves at OpenID Connect issuers, the oldest first, a thousand at
        /// most.
        ///
        /// - Throws: ``UnderstudyError``.
        public func registeredClients() async throws -> [RegisteredClient] {
            struct DaemonAnswer: Decodable { let clients: [RegisteredClient] }
            let answer: DaemonAnswer = try await world.call("GET", "openid/clients", query: [("limit", "1000")])
            return answer.clients
        }

        /// Removes all clients that have registered themselves at OpenID Connect issuers. The clients' codes and tokens
        /// stop working.
        ///
        /// - Throws: ``UnderstudyError``.
        public func removeRegisteredClients() async throws {
            try await world.send("DELETE", "openid/clients")
        }

        /// Removes a client that has registered itself at an OpenID Connect issuer.
        ///
        /// - Throws: ``UnderstudyError``, such as `noSuchClient`.
        public func removeRegisteredClient(_ id: String) async throws {
            try await world.send("DELETE", "openid/clients/\(Address.segment(id))")
        }
    }

    /// A client that has registered itself at an OpenID Connect issuer.
    public struct RegisteredClient: Sendable, Hashable, Decodable {
        /// The `client_id` of a client that has registered itself at an OpenID Connect issuer.
        public let clientID: String
        /// The `id`, in the seed, of the OpenID Connect issuer at which the client has registered itself.
        public let issuer: String
        /// The registered client's metadata (RFC 7591), including default values.
        public let metadata: JSONValue
    }

    /// Performs a user's actions at GitHub in this test world, such as removing an app.
    public var github: GitHub { GitHub(world: self) }

    /// Performs a user's actions at Microsoft in this test world, such as removing an app.
    public var microsoft: Microsoft { Microsoft(world: self) }

    /// Performs a user's actions at the OpenID Connect issuers of this test world, such as signing out.
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
