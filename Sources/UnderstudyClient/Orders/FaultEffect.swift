extension World {
    /// What goes wrong at a request. Several effects can go together, such as a status and a delay.
    public struct FaultEffect: Sendable, Hashable {
        /// What a token's signature is like.
        public enum Signature: String, Sendable, Hashable, CaseIterable, Codable {
            /// As it should be.
            case valid
            /// Of something else.
            case invalid
            /// By a key that isn't published.
            case unknownKey
            /// HS256, with the public key as the secret.
            case wrongAlgorithm
            /// None, with `alg: none`.
            case none
        }

        /// How a connection ends.
        public enum Disconnect: String, Sendable, Hashable, CaseIterable {
            /// Without an answer.
            case beforeHeaders
            /// In the middle of the answer's body.
            case midBody
        }

        /// Which keys are published.
        public enum KeySet: String, Sendable, Hashable, CaseIterable {
            /// None.
            case empty
            /// Those from before the one that signs.
            case stale
        }

        /// What becomes of `state` at a redirect.
        public enum State: String, Sendable, Hashable, CaseIterable {
            /// It isn't there.
            case missing
            /// It is another one.
            case wrong
        }

        let members: [String: JSONValue]

        /// An effect as the control API writes it, by its members, as `docs/orders.md` lists them.
        public init(_ members: [String: JSONValue]) { self.members = members }

        /// Answers with this status in place of the endpoint.
        ///
        /// - Parameters:
        ///   - status: 200 to 599.
        ///   - headers: the answer's header.
        ///   - body: a text, or JSON.
        public static func status(
            _ status: Int, headers: [String: String] = [:], body: JSONValue? = nil
        ) -> FaultEffect {
            var members: [String: JSONValue] = ["status": .integer(Int64(status))]
            if !headers.isEmpty { members["headers"] = .object(headers.mapValues { .string($0) }) }
            members["body"] = body
            return FaultEffect(members)
        }

        /// Answers so much later, at most an hour. The endpoint does its work at once.
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

        /// Breaks the ID tokens that are minted.
        ///
        /// - Parameters:
        ///   - claims: claims to set; `null` removes one, and times may be relative to now: `"exp": "-1h"`.
        ///   - header: members of the header to set; `null` removes one.
        ///   - signature: what the signature is like.
        public static func token(
            claims: [String: JSONValue] = [:], header: [String: JSONValue] = [:], signature: Signature = .valid
        ) -> FaultEffect {
            var token: [String: JSONValue] = ["signature": .string(signature.rawValue)]
            if !claims.isEmpty { token["claims"] = .object(claims) }
            if !header.isEmpty { token["header"] = .object(header) }
            return FaultEffect(["token": .object(token)])
        }

        /// Changes members of the JSON answer.
        ///
        /// - Parameter members: what they are instead; `null` takes one out.
        public static func response(_ members: [String: JSONValue]) -> FaultEffect {
            FaultEffect(["response": .object(members)])
        }

        /// Signs with a new key from then on.
        ///
        /// - Parameter drop: whether the old keys are withdrawn.
        public static func rotateKeys(droppingOld drop: Bool = false) -> FaultEffect {
            FaultEffect(["rotateKeys": drop ? "drop" : true])
        }

        /// Publishes other keys than those that there are.
        public static func keySet(_ keys: KeySet) -> FaultEffect { FaultEffect(["jwks": .string(keys.rawValue)]) }

        /// Breaks the JSON of the body off in the middle.
        public static let malformedJSON = FaultEffect(["malformedJSON": true])

        /// Redirects without `state`, or with another one.
        public static func state(_ state: State) -> FaultEffect { FaultEffect(["state": .string(state.rawValue)]) }

        /// An OpenID Connect issuer's redirect without `iss`, or with another issuer's.
        public static func issuer(_ state: State) -> FaultEffect { FaultEffect(["iss": .string(state.rawValue)]) }

        /// Gives out an authorization code that has been redeemed already.
        public static let usedCode = FaultEffect(["code": "used"])
    }
}
