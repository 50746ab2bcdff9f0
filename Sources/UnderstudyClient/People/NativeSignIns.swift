extension World {
    /// Stands in for Google's servers and for Google's SDK on a user's device, in a test world: `world.google`.
    public struct Google: Sendable, Hashable {
        let world: World

        /// The result of a sign-in with Google's SDK on a device.
        public struct Credential: Sendable, Hashable, Decodable {
            /// The user's ID at Google.
            public let userID: String
            /// Google's ID token, a JSON Web Token.
            public let idToken: String
            /// The access token for Google's APIs.
            public let accessToken: String
            /// An authorization code for the app's backend; `nil` if the sign-in was requested without `serverClient`.
            public let serverAuthCode: String?
        }

        /// Signs a user in to an app, as Google's SDK on a device does.
        ///
        /// - Parameters:
        ///   - client: the app's client ID.
        ///   - nonce: the nonce that the app gives to the SDK.
        ///   - scopes: the scopes that the app asks for; by default `openid`, `email` and `profile`.
        ///   - serverClient: the client ID of the app's backend. It becomes the ID token's audience, and an
        ///     authorization code is issued for that client.
        ///   - account: the account on the device; `nil` lets the daemon choose.
        /// - Throws: ``UnderstudyError``. If a test has decided in advance that the sign-in fails, the error's code is
        ///   `canceled` or the name of the error that the test has chosen.
        public func authorize(
            client: String, nonce: String? = nil, scopes: [String]? = nil, serverClient: String? = nil,
            account: String? = nil
        ) async throws -> Credential {
            let order = NativeOrder(
                client: client, account: account, nonce: nonce, scopes: scopes, serverClient: serverClient)
            return try await world.call("POST", "google/authorizations", order)
        }

        /// Removes an app from a user's Google account, as the user can do in the account's settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app's client ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.google, account: account, client: client)
        }

        /// An event in a person's Google account that Google reports to apps by Cross-Account Protection.
        public enum SecurityEvent: String, Sendable, Hashable {
            /// Google has ended all of the person's sessions. The app should sign the person out, too.
            case sessionsRevoked = "sessions-revoked"
            /// Google has revoked all of the app's tokens for the person.
            case tokensRevoked = "tokens-revoked"
            /// Google has revoked a single refresh token of the app.
            case tokenRevoked = "token-revoked"
            /// Google has disabled the user's account.
            case accountDisabled = "account-disabled"
            /// Google has enabled the user's account again.
            case accountEnabled = "account-enabled"
            /// The user's Google account shows suspicious activity. The app should protect the user's account in the
            /// app.
            case credentialChangeRequired = "account-credential-change-required"
            /// Google sends a test event to the app's receiver.
            case verification
        }

        /// The result of sending one of Google's security events to an app's receiver.
        public struct SecurityEventDelivery: Sendable, Hashable, Decodable {
            /// Whether the app's receiver accepted Google's security event.
            public let isDelivered: Bool
            /// The number of attempts to deliver Google's security event.
            public let attempts: Int
            /// The reason why the app's receiver didn't accept Google's security event; `nil` if it did.
            public let failure: String?
            /// The security event token that was sent to the app's receiver.
            public let token: String?

            private enum CodingKeys: String, CodingKey {
                case attempts, failure, token
                case isDelivered = "delivered"
            }
        }

        /// Sends a security event of Google's Cross-Account Protection to the app's receiver, whose URL is
        /// `securityEventsURL` in the seed (the daemon's test data).
        ///
        /// - Parameters:
        ///   - event: the kind of event.
        ///   - client: the client ID of the app that gets the event.
        ///   - account: the person's account; not for `tokenRevoked` and `verification`.
        ///   - refreshToken: the revoked token; for `tokenRevoked`.
        ///   - reason: `hijacking` or `bulk-account`; for `accountDisabled`.
        ///   - state: a text that the receiver gets back; for `verification`.
        /// - Throws: ``UnderstudyError``, such as `noConsent`. An event that isn't accepted is not an error: see
        ///   ``SecurityEventDelivery/failure``.
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

    /// Stands in for Facebook's SDK on a user's device, in a test world: `world.facebook`.
    public struct Facebook: Sendable, Hashable {
        let world: World

        /// The result of a sign-in with Facebook's SDK on a device.
        public struct Credential: Sendable, Hashable, Decodable {
            /// The user's ID at Facebook, which is valid in this app only.
            public let userID: String
            /// Facebook's access token for the Graph API; `nil` with Limited Login.
            public let accessToken: String?
            /// Facebook's authentication token, a JSON Web Token, which only Limited Login delivers.
            public let authenticationToken: String?
        }

        /// Signs a user in to an app, as Facebook's SDK on a device does.
        ///
        /// - Parameters:
        ///   - client: the app ID.
        ///   - nonce: the nonce that the app gives to the SDK.
        ///   - permissions: the permissions that the app asks for; by default `public_profile` and `email`.
        ///   - isLimited: `true` for Limited Login, which delivers an authentication token instead of an access token.
        ///   - account: the account on the device; `nil` lets the daemon choose.
        /// - Throws: ``UnderstudyError``. If a test has decided in advance that the sign-in fails, the error's code is
        ///   `canceled` or the name of the error that the test has chosen.
        public func authorize(
            client: String, nonce: String? = nil, permissions: [String]? = nil, limited isLimited: Bool = false,
            account: String? = nil
        ) async throws -> Credential {
            let order = NativeOrder(
                client: client, account: account, nonce: nonce, scopes: permissions,
                tracking: isLimited ? "limited" : nil)
            return try await world.call("POST", "facebook/authorizations", order)
        }

        /// Removes an app from a user's Facebook account, as the user can do in the account's settings.
        ///
        /// - Parameters:
        ///   - account: the person's account; `*` means everybody.
        ///   - client: the app ID; `*` means every app.
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.facebook, account: account, client: client)
        }
    }

    /// Stands in for Google's servers and for Google's SDK on a user's device, in this test world.
    public var google: Google { Google(world: self) }

    /// Stands in for Facebook's SDK on a user's device, in this test world.
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
