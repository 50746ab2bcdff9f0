import Foundation

extension World {
    /// Stands in for Apple's servers and for a user's Apple device, in a test world: `world.apple`.
    public struct Apple: Sendable, Hashable {
        let world: World

        private struct Order: Encodable {
            let client: String
            let scopes: [AppleIDCredential.Scope]
            let nonce: String?
            let state: String?
            let account: String?
        }

        /// Signs a user in to an app, as `ASAuthorizationController` does on a device. Choose in advance how the
        /// sign-in ends, with ``World/order(_:at:client:times:)``.
        ///
        ///     let credential = try await world.apple.authorize(client: "com.example.app", nonce: nonce.sha256)
        ///
        /// - Parameters:
        ///   - client: the app's bundle ID. It must be in the seed (the daemon's test data).
        ///   - nonce: the app's `request.nonce`: a ``NoncePair``'s ``NoncePair/sha256``.
        ///   - scopes: the user's data that the app asks for.
        ///   - state: the app's `request.state`.
        ///   - account: the account on the device; `nil` lets the daemon choose.
        /// - Throws: ``AppleAuthorizationError`` for the failures that a device reports; ``UnderstudyError`` for all
        ///   others, such as `noSuchAccount`.
        public func authorize(
            client: String, nonce: String? = nil, scopes: [AppleIDCredential.Scope] = [.fullName, .email],
            state: String? = nil, account: String? = nil
        ) async throws -> AppleIDCredential {
            struct Failure: Decodable {
                struct Reason: Decodable {
                    let domain: String
                    let code: Int
                    let message: String?
                }
                let error: Reason
            }
            let order = Order(client: client, scopes: scopes, nonce: nonce, state: state, account: account)
            let call = Call(method: "POST", path: "apple/authorizations", body: try Wire.encode(order))
            let answer = try await world.answer(call)
            if answer.status == 409, let failure = try? JSONDecoder().decode(Failure.self, from: answer.body),
                failure.error.domain == AppleAuthorizationError.domain
            {
                throw AppleAuthorizationError(
                    AppleAuthorizationError.Code(rawValue: failure.error.code), reason: failure.error.message)
            }
            guard answer.status == 200 else { throw UnderstudyError(answer, to: call, at: world.url) }
            return try Wire.decode(answer.body, of: call)
        }

        /// Returns the state of a user's sign-in with Apple, such as authorized or revoked, as
        /// `getCredentialState(forUserID:)` does.
        ///
        /// - Parameters:
        ///   - client: the app's bundle ID.
        ///   - user: the user's ID at Apple: the credential's ``AppleIDCredential/user``.
        /// - Throws: ``UnderstudyError``, such as `noSuchClient`.
        public func credentialState(client: String, user: String) async throws -> AppleIDCredential.State {
            struct DaemonAnswer: Decodable { let rawValue: Int }
            let answer: DaemonAnswer = try await world.call(
                "GET", "apple/credential-state", query: [("client", client), ("user", user)])
            guard let state = AppleIDCredential.State(rawValue: answer.rawValue) else {
                throw UnderstudyError(
                    call: "GET apple/credential-state", code: "unexpectedAnswer", message: "state \(answer.rawValue)")
            }
            return state
        }

        /// An event that Apple's servers report to an app's server, such as a deleted account.
        public enum Event: String, Sendable, Hashable, CaseIterable, Codable {
            /// The user switched off the forwarding of mail by Apple's private relay.
            case emailDisabled = "email-disabled"
            /// The user switched on the forwarding of mail by Apple's private relay.
            case emailEnabled = "email-enabled"
            /// The user removed the app from the Apple account.
            case consentRevoked = "consent-revoked"
            /// The user deleted their Apple account.
            case accountDeleted = "account-deleted"
        }

        /// The result of sending one of Apple's notifications to an app's server.
        public struct Notification: Sendable, Hashable, Decodable {
            /// Whether the app's server accepted Apple's notification.
            public let isDelivered: Bool
            /// The number of attempts to deliver Apple's notification to the app's server.
            public let attempts: Int
            /// The reason why the app's server didn't accept Apple's notification; `nil` if it did.
            public let failure: String?
            /// Apple's notification as a signed JSON Web Token; `nil` if the app's team has no address for
            /// notifications.
            public let payload: String?

            private enum CodingKeys: String, CodingKey {
                case attempts, failure, payload
                case isDelivered = "delivered"
            }
        }

        /// Changes a user's Apple account, and sends Apple's notification of the change to the server of the app's
        /// team.
        ///
        /// - Parameters:
        ///   - event: the change that happens to the account.
        ///   - account: the account's ID in the seed.
        ///   - client: the ID of an app to which the user has signed in.
        /// - Throws: ``UnderstudyError``, such as `noConsent`. A notification that isn't accepted is not an error: see
        ///   ``Notification/failure``.
        @discardableResult
        public func notify(_ event: Event, account: String, client: String) async throws -> Notification {
            try await world.call(
                "POST", "apple/notifications", ["type": event.rawValue, "account": account, "client": client])
        }

        /// Removes an app and the other apps of its group from a user's Apple account, as the user can do in the
        /// account's settings. All codes and tokens that Apple gave to these apps for this user stop working.
        ///
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.apple, account: account, client: client)
        }

        /// Makes Apple sign tokens with a new key from now on. The new key is published. If there are now more than
        /// three keys, the oldest is withdrawn.
        ///
        /// - Throws: ``UnderstudyError``.
        public func rotateKeys() async throws { try await world.send("POST", "apple/keys/rotate") }

        /// The decision of Apple's private relay whether to forward a mail.
        public struct RelayDecision: Sendable, Hashable, Decodable {
            /// Whether Apple's private relay would forward the mail.
            public let isForwarded: Bool
            /// The address to which Apple's private relay would forward the mail.
            public let to: String?
            /// The sender's address (MAIL FROM) with which Apple's private relay would forward the mail.
            public let sender: String?
            /// The name of the reason why Apple's private relay wouldn't forward the mail, such as `lost`; `nil` if it
            /// would.
            public let reason: String?
            /// The SMTP reply with which Apple's private relay would refuse the mail.
            public let smtp: String?

            private enum CodingKeys: String, CodingKey {
                case to, sender, reason, smtp
                case isForwarded = "forwarded"
            }
        }

        /// Asks what Apple's private relay would do with a mail. No mail is sent.
        ///
        /// - Parameters:
        ///   - sender: the sender's address.
        ///   - recipient: a user's private relay address, or the address that the relay shows to users in place of a
        ///     sender's own.
        /// - Throws: ``UnderstudyError``.
        public func relay(from sender: String, to recipient: String) async throws -> RelayDecision {
            try await world.call("GET", "apple/relay", query: [("from", sender), ("to", recipient)])
        }
    }
}

extension World {
    /// Stands in for Apple's servers and for a user's Apple device, in this test world.
    public var apple: Apple { Apple(world: self) }
}
