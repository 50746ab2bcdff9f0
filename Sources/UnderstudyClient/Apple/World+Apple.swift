import Foundation

extension World {
    /// Sign in with Apple, as a device and Apple's servers do it: `world.apple`.
    public struct Apple: Sendable, Hashable {
        let world: World

        private struct Order: Encodable {
            let client: String
            let scopes: [AppleIDCredential.Scope]
            let nonce: String?
            let state: String?
            let account: String?
        }

        /// Signs in as `ASAuthorizationController` does on a device. Who signs in, and how it ends, can be ordered
        /// (``World/order(_:at:client:times:)``).
        ///
        /// - Parameters:
        ///   - client: the app's bundle ID. The seed has to have it.
        ///   - nonce: what the app puts into `request.nonce`: a ``NoncePair``'s ``NoncePair/sha256``.
        ///   - scopes: what the app asks for.
        ///   - state: what the app puts into `request.state`.
        ///   - account: who is signed in on the device; `nil` leaves it to the world.
        /// - Throws: ``AppleAuthorizationError``, where a device would fail; ``UnderstudyError``, such as `noSuchAccount`.
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

        /// Whether a sign-in still holds, as `getCredentialState(forUserID:)` says it.
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

        /// What Apple's servers tell an app's server.
        public enum Event: String, Sendable, Hashable, CaseIterable, Codable {
            /// The person switched forwarding off.
            case emailDisabled = "email-disabled"
            /// The person switched forwarding on.
            case emailEnabled = "email-enabled"
            /// The person removed the app.
            case consentRevoked = "consent-revoked"
            /// The person deleted their Apple ID.
            case accountDeleted = "account-deleted"
        }

        /// What became of a notification.
        public struct Notification: Sendable, Hashable, Decodable {
            /// Whether the app's server took it.
            public let isDelivered: Bool
            /// How often it was sent.
            public let attempts: Int
            /// Why it wasn't taken.
            public let failure: String?
            /// The signed JSON Web Token; `nil` where the team has no address for it.
            public let payload: String?

            private enum CodingKeys: String, CodingKey {
                case attempts, failure, payload
                case isDelivered = "delivered"
            }
        }

        /// Makes something happen to a person's account, and has Apple's server tell the team's.
        ///
        /// - Parameters:
        ///   - event: what happens.
        ///   - account: to whom.
        ///   - client: for which client, where the person has signed in.
        /// - Throws: ``UnderstudyError``, such as `noConsent`. A notification that isn't taken isn't an error.
        @discardableResult
        public func notify(_ event: Event, account: String, client: String) async throws -> Notification {
            try await world.call(
                "POST", "apple/notifications", ["type": event.rawValue, "account": account, "client": client])
        }

        /// The person removes the app in their settings.
        ///
        /// - Throws: ``UnderstudyError``.
        public func revoke(account: String, client: String) async throws {
            try await world.revoke(.apple, account: account, client: client)
        }

        /// Publishes a new key that signs from then on, and withdraws the oldest.
        ///
        /// - Throws: ``UnderstudyError``.
        public func rotateKeys() async throws { try await world.send("POST", "apple/keys/rotate") }

        /// What Apple's private relay would do with a mail.
        public struct RelayDecision: Sendable, Hashable, Decodable {
            /// Whether it would be handed on.
            public let isForwarded: Bool
            /// To whom.
            public let to: String?
            /// The address that stands in it as the sender's.
            public let sender: String?
            /// Why it would be refused.
            public let reason: String?
            /// What the relay would say then.
            public let smtp: String?

            private enum CodingKeys: String, CodingKey {
                case to, sender, reason, smtp
                case isForwarded = "forwarded"
            }
        }

        /// What Apple's private relay would do with a mail.
        ///
        /// - Parameters:
        ///   - sender: who sends it.
        ///   - recipient: the hidden address, or the relay's address of a sender.
        /// - Throws: ``UnderstudyError``.
        public func relay(from sender: String, to recipient: String) async throws -> RelayDecision {
            try await world.call("GET", "apple/relay", query: [("from", sender), ("to", recipient)])
        }
    }
}

extension World {
    /// Sign in with Apple, as a device and Apple's servers do it.
    public var apple: Apple { Apple(world: self) }
}
