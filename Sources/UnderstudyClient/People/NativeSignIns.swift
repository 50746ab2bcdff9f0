extension World {
    /// What a device and a provider's servers do with Google: `world.google`.
    public struct Google: Sendable, Hashable {
        let world: World

        /// What Google's SDK for a device would deliver.
        public struct Credential: Sendable, Hashable, Decodable {
            /// The person's ID at Google.
            public let userID: String
            /// A JSON Web Token.
            public let idToken: String
            /// For Google's APIs.
            public let accessToken: String
            /// A code that the app's backend redeems; `nil` without `serverClient`.
            public let serverAuthCode: String?
        }

        /// Signs in as Google's SDK on a device does.
        ///
        /// - Parameters:
        ///   - client: the app's client ID.
        ///   - nonce: what the app gives the SDK as nonce.
        ///   - scopes: what the app asks for; by default `openid`, `email` and `profile`.
        ///   - serverClient: the client ID of the app's backend: then it is the ID token's audience, and gets a code.
        ///   - account: who is signed in on the device; `nil` leaves it to the world.
        /// - Throws: ``UnderstudyError``, whose code is what was ordered as an outcome.
        public func authorize(
            client: String, nonce: String? = nil, scopes: [String]? = nil, serverClient: String? = nil,
            account: String? = nil
        ) async throws -> Credential {
            let order = NativeOrder(
                client: client, account: account, nonce: nonce, scopes: scopes, serverClient: serverClient)
            return try await world.call("POST", "google/authorizations", order)
        }

        /// A person removes an app in their settings.
        ///
        /// - Parameters:
        ///   - account: who; `*` is everybody.
        ///   - client: which app; `*` is every one.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.google, account: account, client: client)
        }

        /// What happens to a person's Google account, of which Cross-Account Protection tells the app.
        public enum SecurityEvent: String, Sendable, Hashable {
            /// Google has ended the person's sessions: the app should end its own.
            case sessionsRevoked = "sessions-revoked"
            /// Google has revoked all of the app's tokens for the person.
            case tokensRevoked = "tokens-revoked"
            /// Google has revoked one refresh token of the app's.
            case tokenRevoked = "token-revoked"
            /// Google has disabled the account.
            case accountDisabled = "account-disabled"
            /// Google has enabled the account again.
            case accountEnabled = "account-enabled"
            /// The account shows suspicious activity: the app should protect the person's account with it.
            case credentialChangeRequired = "account-credential-change-required"
            /// Google tests the receiver.
            case verification
        }

        /// What became of a security event.
        public struct SecurityEventDelivery: Sendable, Hashable, Decodable {
            /// Whether the app's receiver took it.
            public let isDelivered: Bool
            /// How often it was tried.
            public let attempts: Int
            /// Why it wasn't taken.
            public let failure: String?
            /// The security event token, as a receiver gets it.
            public let token: String?

            private enum CodingKeys: String, CodingKey {
                case attempts, failure, token
                case isDelivered = "delivered"
            }
        }

        /// Sends a security event of Cross-Account Protection to the seed's `securityEventsURL`.
        ///
        /// - Parameters:
        ///   - event: what happened.
        ///   - client: the client ID of the app that is told.
        ///   - account: to whom; not for `tokenRevoked` and `verification`.
        ///   - refreshToken: of `tokenRevoked`: which token.
        ///   - reason: of `accountDisabled`: `hijacking` or `bulk-account`.
        ///   - state: of `verification`: a text to know it by.
        /// - Throws: ``UnderstudyError``, such as `noConsent`. An event that isn't taken isn't an error.
        @discardableResult
        public func sendSecurityEvent(
            _ event: SecurityEvent, client: String, account: String? = nil, refreshToken: String? = nil,
            reason: String? = nil, state: String? = nil
        ) async throws -> SecurityEventDelivery {
            let order = SecurityEventOrder(
                type: event.rawValue, client: client, account: account, refreshToken: refreshToken, reason: reason,
                state: state)
            return try await world.call("POST", "google/security-events", order)
        }
    }

    /// What a device and a provider's servers do with Facebook: `world.facebook`.
    public struct Facebook: Sendable, Hashable {
        let world: World

        /// What Facebook's SDK for a device would deliver.
        public struct Credential: Sendable, Hashable, Decodable {
            /// The person's ID in the app.
            public let userID: String
            /// For the Graph API; `nil` with Limited Login.
            public let accessToken: String?
            /// With Limited Login: a JSON Web Token.
            public let authenticationToken: String?
        }

        /// Signs in as Facebook's SDK on a device does.
        ///
        /// - Parameters:
        ///   - client: the app ID.
        ///   - nonce: what the app gives the SDK as nonce.
        ///   - permissions: what the app asks for; by default `public_profile` and `email`.
        ///   - isLimited: whether it is Limited Login: a token in place of access.
        ///   - account: who is signed in on the device; `nil` leaves it to the world.
        /// - Throws: ``UnderstudyError``, whose code is what was ordered as an outcome.
        public func authorize(
            client: String, nonce: String? = nil, permissions: [String]? = nil, limited isLimited: Bool = false,
            account: String? = nil
        ) async throws -> Credential {
            let order = NativeOrder(
                client: client, account: account, nonce: nonce, scopes: permissions,
                tracking: isLimited ? "limited" : nil)
            return try await world.call("POST", "facebook/authorizations", order)
        }

        /// A person removes an app in their settings.
        ///
        /// - Parameters:
        ///   - account: who; `*` is everybody.
        ///   - client: which app; `*` is every one.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.facebook, account: account, client: client)
        }
    }

    /// Google's native sign-in.
    public var google: Google { Google(world: self) }

    /// Facebook's native sign-in.
    public var facebook: Facebook { Facebook(world: self) }
}

private struct SecurityEventOrder: Encodable {
    let type: String
    let client: String
    let account: String?
    let refreshToken: String?
    let reason: String?
    let state: String?
}

private struct NativeOrder: Encodable {
    let client: String
    let account: String?
    let nonce: String?
    let scopes: [String]?
    var tracking: String?
    var serverClient: String?
}
