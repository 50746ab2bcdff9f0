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
