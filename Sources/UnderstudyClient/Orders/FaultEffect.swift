extension World {
    /// An effect that a test can cause at an endpoint, such as an error status or a delay. Several effects can be
    /// combined.
    ///
    ///     try await world.fault(.status(503), .delay(.seconds(2)), host: "appleid.apple.com")
    public struct FaultEffect: Sendable, Hashable {
        /// The kind of signature, correct or wrong, that a test can give to a token.
        public enum Signature: String, Sendable, Hashable, CaseIterable, Codable {
            /// The token keeps its correct signature.
            case valid
            /// The token has a signature that was made for other bytes than the token's.
            case invalid
            /// The token is signed by a key that isn't published.
            case unknownKey
            /// The token has an HS256 signature, with the public key as the secret.
            case wrongAlgorithm
            /// The token has no signature, and `alg` is `none`.
            case none
        }

        /// The moment at which a test can make an endpoint close the connection to the client.
        public enum Disconnect: String, Sendable, Hashable, CaseIterable {
            /// The connection to the client closes before the answer begins.
            case beforeHeaders
            /// The connection to the client closes in the middle of the answer's body.
            case midBody
        }

        /// A wrong key set that a test can make a provider publish in place of the right one.
        public enum KeySet: String, Sendable, Hashable, CaseIterable {
            /// The provider's published key set is empty.
            case empty
            /// The provider's published key set has only keys older than the key that signs tokens.
            case stale
        }

        /// A defect of the parameter `state` that a test can cause in redirects.
        public enum State: String, Sendable, Hashable, CaseIterable {
            /// The redirect has no `state`.
            case missing
            /// The redirect's `state` has a wrong value.
            case wrong
        }

        /// A defect of the parameter `iss` that a test can cause in redirects.
        public enum RedirectIssuer: String, Sendable, Hashable, CaseIterable {
            /// The redirect has no `iss`.
            case missing
            /// The redirect's `iss` names a wrong issuer.
            case wrong
            /// The redirect's `iss` differs from the issuer only by a slash at the end.
            case normalized
        }

        let members: [String: JSONValue]

        /// Makes a fault's effect from its members in the control API's JSON. `docs/orders.md` lists the members.
        public init(_ members: [String: JSONValue]) { self.members = members }

        /// Replaces an endpoint's answer by one with this HTTP status. The request isn't handled.
        ///
        /// - Parameters:
        ///   - status: 200 to 599.
        ///   - headers: the answer's header fields.
        ///   - body: the answer's body, a text or JSON.
        public static func status(
            _ status: Int, headers: [String: String] = [:], body: JSONValue? = nil
        ) -> FaultEffect {
            var members: [String: JSONValue] = ["status": .integer(Int64(status))]
            if !headers.isEmpty { members["headers"] = .object(headers.mapValues { .string($0) }) }
            members["body"] = body
            return FaultEffect(members)
        }

        /// Delays an endpoint's answer, by an hour at most. The request itself is handled at once.
        public static func delay(_ duration: Duration) -> FaultEffect { FaultEffect(["delay": .string(duration.wire)]) }

        /// Closes the connection to the client before or in the middle of the answer.
        public static func disconnect(_ moment: Disconnect = .beforeHeaders) -> FaultEffect {
            FaultEffect(["disconnect": .string(moment.rawValue)])
        }

        /// Replaces an endpoint's answer by one of the endpoint's own errors, in the provider's form.
        ///
        /// - Parameters:
        ///   - name: the error's name, such as `invalid_grant`; ``World/endpoints()`` lists the names.
        ///   - description: the error's description; `nil` means the error's usual description.
        public static func error(_ name: String, description: String? = nil) -> FaultEffect {
            var members: [String: JSONValue] = ["error": .string(name)]
            members["description"] = description.map { .string($0) }
            return FaultEffect(members)
        }

        /// Puts errors into the ID tokens that an endpoint issues, for tests of their verification.
        ///
        /// - Parameters:
        ///   - claims: the claims to set; `null` removes a claim. Times may be relative to now: `"exp": "-1h"`.
        ///   - header: the header members to set; `null` removes a member.
        ///   - signature: the kind of signature.
        public static func token(
            claims: [String: JSONValue] = [:], header: [String: JSONValue] = [:], signature: Signature = .valid
        ) -> FaultEffect {
            var token: [String: JSONValue] = ["signature": .string(signature.rawValue)]
            if !claims.isEmpty { token["claims"] = .object(claims) }
            if !header.isEmpty { token["header"] = .object(header) }
            return FaultEffect(["token": .object(token)])
        }

        /// Changes members of an endpoint's next successful answer, which is JSON or a form.
        ///
        /// - Parameter members: the members' new values; `null` removes a member.
        public static func response(_ members: [String: JSONValue]) -> FaultEffect {
            FaultEffect(["response": .object(members)])
        }

        /// Makes the provider sign tokens with a new key from now on.
        ///
        /// - Parameter drop: `true` withdraws all old keys. With `false`, the two newest of them stay published.
        public static func rotateKeys(droppingOld drop: Bool = false) -> FaultEffect {
            FaultEffect(["rotateKeys": drop ? "drop" : true])
        }

        /// Makes a provider publish a key set without the right keys.
        public static func keySet(_ keys: KeySet) -> FaultEffect { FaultEffect(["jwks": .string(keys.rawValue)]) }

        /// Reverses the sequence of the members in the JSON objects of an answer. The sequence has no meaning in JSON,
        /// so clients must accept this.
        public static let shuffledMembers = FaultEffect(["shuffle": true])

        /// Cuts off the body of an answer in the middle of its JSON.
        public static let malformedJSON = FaultEffect(["malformedJSON": true])

        /// Removes the parameter `state` from a provider's redirects, or gives it a wrong value.
        public static func state(_ state: State) -> FaultEffect { FaultEffect(["state": .string(state.rawValue)]) }

        /// Removes the parameter `iss` from the redirects of an OpenID Connect issuer, or gives it a wrong value.
        public static func issuer(_ issuer: RedirectIssuer) -> FaultEffect {
            FaultEffect(["iss": .string(issuer.rawValue)])
        }

        /// Makes a provider issue an authorization code that counts as redeemed already.
        public static let usedCode = FaultEffect(["code": "used"])
    }
}
