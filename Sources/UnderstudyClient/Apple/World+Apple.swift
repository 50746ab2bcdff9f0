import Foundation

extension World {
    /// Sign in with Apple, on a device and at Apple's servers: `world.apple`.
    public struct Apple: Sendable, Hashable {
        let world: World

        private struct Order: Encodable {
            let client: String
            let scopes: [AppleIDCredential.Scope]
            let nonce: String?
            let state: String?
            let account: String?
        }

        /// Signs in as `ASAuthorizationController` does on a device. Order the outcome in advance with
        /// ``World/order(_:at:client:times:)``.
        ///
        ///     let credential = try await world.apple.authorize(client: "com.example.app", nonce: nonce.sha256)
        ///
        /// - Parameters:
        ///   - client: the app's bundle ID. It must be in the seed.
        ///   - nonce: the app's `request.nonce`: a ``NoncePair``'s ``NoncePair/sha256``.
        ///   - scopes: the data that the app asks for.
        ///   - state: the app's `request.state`.
        ///   - account: the account on the device; `nil` lets the world choose.
        /// - Throws: ``AppleAuthorizationError`` if the sign-in fails as on a device; ``UnderstudyError`` otherwise,
        ///   such as `noSuchAccount`.
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

        /// Returns the state of a sign-in, as `getCredentialState(forUserID:)` does.
        ///
        /// - Parameters:
        ///   - client: the app's bundle ID.
        ///   - user: the credential's ``AppleIDCredential/user``.
        /// - Throws: ``UnderstudyError``, such as `noSuchClient`.
        public func credentialState(client: String, user: String) async throws -> AppleIDCredential.State {
            struct Answer: Decodable { let rawValue: Int }
            let answer: Answer = try await world.call(
                "GET", "apple/credential-state", query: [("client", client), ("user", user)])
            guard let state = AppleIDCredential.State(rawValue: answer.rawValue) else {
                throw UnderstudyError(
                    call: "GET apple/credential-state", code: "unexpectedAnswer", message: "state \(answer.rawValue)")
            }
            return state
        }

        /// An event that Apple's servers report to an app's server.
        public enum Event: String, Sendable, Hashable, CaseIterable, Codable {
            /// The person switched off the forwarding of mail.
            case emailDisabled = "email-disabled"
            /// The person switched on the forwarding of mail.
            case emailEnabled = "email-enabled"
            /// The person removed the app.
            case consentRevoked = "consent-revoked"
            /// The person deleted their Apple ID.
            case accountDeleted = "account-deleted"
        }

        /// The result of sending a notification.
        public struct Notification: Sendable, Hashable, Decodable {
            /// Whether the app's server accepted the notification.
            public let isDelivered: Bool
            /// The number of attempts.
            public let attempts: Int
            /// The reason why the server didn't accept the notification; `nil` if it did.
            public let failure: String?
            /// The signed JSON Web Token; `nil` if the team has no notification address.
            public let payload: String?

            private enum CodingKeys: String, CodingKey {
                case attempts, failure, payload
                case isDelivered = "delivered"
            }
        }

        /// Changes a person's account, and sends Apple's notification about that to the team's server.
        ///
        /// - Parameters:
        ///   - event: the change.
        ///   - account: the person's account.
        ///   - client: a client where the person has signed in.
        /// - Throws: ``UnderstudyError``, such as `noConsent`. A notification that isn't accepted is not an error: see
        ///   ``Notification/failure``.
        @discardableResult
        public func notify(_ event: Event, account: String, client: String) async throws -> Notification {
            try await world.call(
                "POST", "apple/notifications", ["type": event.rawValue, "account": account, "client": client])
        }

        /// Removes the app from a person's account, as in the person's settings. All tokens of the app for this person
        /// stop working.
        ///
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.apple, account: account, client: client)
        }

        /// Publishes a new signing key, which is used from now on, and withdraws the oldest key.
        ///
        /// - Throws: ``UnderstudyError``.
        public func rotateKeys() async throws { try await world.send("POST", "apple/keys/rotate") }

        /// The private relay's decision about a mail.
        public struct RelayDecision: Sendable, Hashable, Decodable {
            /// Whether the relay would forward the mail.
            public let isForwarded: Bool
            /// The address that the mail would be forwarded to.
            public let to: String?
            /// The sender's address that the recipient would see.
            public let sender: String?
            /// The reason why the relay would refuse the mail.
            public let reason: String?
            /// The relay's SMTP reply to a refused mail.
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
        ///   - recipient: a private relay address, or the address under which the relay shows a sender.
        /// - Throws: ``UnderstudyError``.
        public func relay(from sender: String, to recipient: String) async throws -> RelayDecision {
            try await world.call("GET", "apple/relay", query: [("from", sender), ("to", recipient)])
        }
    }
}

extension World {
    /// Sign in with Apple, on a device and at Apple's servers.
    public var apple: Apple { Apple(world: self) }
}
