extension World {
    /// An effect of a fault, such as a status or a delay. Several effects can be combined.
    ///
    ///     try await world.fault(.status(503), .delay(.seconds(2)), host: "appleid.apple.com")
    public struct FaultEffect: Sendable, Hashable {
        /// The kind of signature that a token gets.
        public enum Signature: String, Sendable, Hashable, CaseIterable, Codable {
            /// The correct signature.
            case valid
            /// The token has a signature that was made for other bytes.
            case invalid
            /// A signature by a key that isn't published.
            case unknownKey
            /// An HS256 signature, with the public key as the secret.
            case wrongAlgorithm
            /// No signature, with `alg: none`.
            case none
        }

        /// The moment at which a connection is closed.
        public enum Disconnect: String, Sendable, Hashable, CaseIterable {
            /// The connection closes before the answer begins.
            case beforeHeaders
            /// The connection closes in the middle of the answer's body.
            case midBody
        }

        /// The keys that are published in place of the right ones.
        public enum KeySet: String, Sendable, Hashable, CaseIterable {
            /// No keys.
            case empty
            /// Only keys older than the one that signs.
            case stale
        }

        /// A wrong parameter of a redirect.
        public enum State: String, Sendable, Hashable, CaseIterable {
            /// The parameter is missing.
            case missing
            /// The parameter has a wrong value.
            case wrong
        }

        /// A wrong `iss` of a redirect.
        public enum RedirectIssuer: String, Sendable, Hashable, CaseIterable {
            /// `iss` is missing.
            case missing
            /// `iss` names an issuer that isn't this one.
            case wrong
            /// `iss` has a slash more, or less, at its end than the issuer.
            case normalized
        }

        let members: [String: JSONValue]

        /// Makes an effect from members in the control API's form, which `docs/orders.md` lists.
        public init(_ members: [String: JSONValue]) { self.members = members }

        /// Answers with this status. The endpoint doesn't run.
        ///
        /// - Parameters:
        ///   - status: 200 to 599.
        ///   - headers: the answer's header fields.
        ///   - body: a text, or JSON.
        public static func status(
            _ status: Int, headers: [String: String] = [:], body: JSONValue? = nil
        ) -> FaultEffect {
            var members: [String: JSONValue] = ["status": .integer(Int64(status))]
            if !headers.isEmpty { members["headers"] = .object(headers.mapValues { .string($0) }) }
            members["body"] = body
            return FaultEffect(members)
        }

        /// Delays the answer, by an hour at most. The endpoint itself runs at once.
        public static func delay(_ duration: Duration) -> FaultEffect { FaultEffect(["delay": .string(duration.wire)]) }

        /// Closes the connection.
        public static func disconnect(_ moment: Disconnect = .beforeHeaders) -> FaultEffect {
            FaultEffect(["disconnect": .string(moment.rawValue)])
        }

        /// Answers with the endpoint's own error, in the endpoint's own form.
        ///
        /// - Parameters:
        ///   - name: the error's name, such as `invalid_grant`; ``World/endpoints()`` lists them.
        ///   - description: its description in place of the usual one.
        public static func error(_ name: String, description: String? = nil) -> FaultEffect {
            var members: [String: JSONValue] = ["error": .string(name)]
            members["description"] = description.map { .string($0) }
            return FaultEffect(members)
        }

        /// Breaks the ID tokens that the endpoint mints.
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

        /// Changes members of a JSON answer.
        ///
        /// - Parameter members: the members' new values; `null` removes a member.
        public static func response(_ members: [String: JSONValue]) -> FaultEffect {
            FaultEffect(["response": .object(members)])
        }

        /// Makes the provider sign with a new key from now on.
        ///
        /// - Parameter drop: `true` withdraws the old keys.
        public static func rotateKeys(droppingOld drop: Bool = false) -> FaultEffect {
            FaultEffect(["rotateKeys": drop ? "drop" : true])
        }

        /// Publishes a key set that doesn't have the right keys.
        public static func keySet(_ keys: KeySet) -> FaultEffect { FaultEffect(["jwks": .string(keys.rawValue)]) }

        /// Answers the members of the JSON in another order, which is legal.
        public static let shuffledMembers = FaultEffect(["shuffle": true])

        /// Cuts off the body in the middle of its JSON.
        public static let malformedJSON = FaultEffect(["malformedJSON": true])

        /// Redirects without `state`, or with a wrong one.
        public static func state(_ state: State) -> FaultEffect { FaultEffect(["state": .string(state.rawValue)]) }

        /// Redirects without `iss`, or with a wrong one; at OpenID Connect issuers only.
        public static func issuer(_ issuer: RedirectIssuer) -> FaultEffect {
            FaultEffect(["iss": .string(issuer.rawValue)])
        }

        /// Issues an authorization code that counts as redeemed already.
        public static let usedCode = FaultEffect(["code": "used"])
    }
}
