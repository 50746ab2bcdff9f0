extension World {
    /// An ID token that was minted without a sign-in.
    public struct MintedToken: Sendable, Hashable, Decodable {
        /// The JSON Web Token.
        public let token: String
        /// Its header.
        public let header: JSONValue?
        /// Its claims.
        public let claims: JSONValue?
    }
}

extension World {
    /// What a value is, and what is wrong with it.
    public struct Explanation: Sendable, Hashable, Decodable {
        /// Something that was found out.
        public struct Finding: Sendable, Hashable, Decodable {
            /// Whether what should be so is so; `nil` where it is only told.
            public let holds: Bool?
            /// What it is, in words.
            public let text: String
            /// The ID of the exchange that it is about.
            public let request: String?
        }

        /// Findings of one kind.
        public struct Part: Sendable, Hashable, Decodable {
            /// What they are about.
            public let heading: String
            /// What was found out.
            public let findings: [Finding]
        }

        /// What the value is, in words.
        public let kind: String
        /// Whether nothing is wrong with it.
        public let isSound: Bool
        /// What was found out.
        public let parts: [Part]

        private enum CodingKeys: String, CodingKey {
            case kind, parts
            case isSound = "sound"
        }
    }
}

extension World {
    /// Tokens without a sign-in: `world.tokens`.
    public struct Tokens: Sendable, Hashable {
        let world: World

        private struct Order: Encodable {
            let provider: Provider
            let client: String
            let account: String?
            let nonce: String?
            let scopes: [String]?
            let claims: [String: JSONValue]
            let header: [String: JSONValue]
            let signature: FaultEffect.Signature
        }

        /// Mints an ID token, whole, or broken in one place, for tests of whoever verifies it.
        ///
        /// - Parameters:
        ///   - provider: whose token. GitHub gives out none.
        ///   - client: for which client; at Firebase, for which project.
        ///   - account: who; at Firebase a user's local ID or e-mail address.
        ///   - nonce: the claim `nonce`.
        ///   - scopes: what was granted.
        ///   - claims: claims to set; `null` removes one, and times may be relative to now: `"exp": "-1h"`.
        ///   - header: members of the header to set; `null` removes one.
        ///   - signature: what the signature is like.
        /// - Throws: ``UnderstudyError``.
        public func mint(
            _ provider: Provider, client: String, account: String? = nil, nonce: String? = nil, scopes: [String]? = nil,
            claims: [String: JSONValue] = [:], header: [String: JSONValue] = [:],
            signature: FaultEffect.Signature = .valid
        ) async throws -> MintedToken {
            try await world.call(
                "POST", "tokens",
                Order(
                    provider: provider, client: client, account: account, nonce: nonce, scopes: scopes, claims: claims,
                    header: header, signature: signature))
        }

        /// One access or refresh token stops working, whoever gave it out. What else came of the sign-in goes on.
        ///
        /// - Throws: ``UnderstudyError``, with the code `noSuchToken` where nobody gave it out, or it has stopped working already.
        public func revoke(_ token: String) async throws {
            try await world.send("POST", "tokens/revocations", ["token": token])
        }
    }
}

extension World {
    private struct ExplainOrder: Encodable {
        let value: String
        let rawNonce: String?
    }

    /// Tokens without a sign-in.
    public var tokens: Tokens { Tokens(world: self) }

    /// What a value is, and what is wrong with it, by this world's seed, keys, clock and recording.
    ///
    /// - Parameters:
    ///   - value: an ID token, a client secret, a code, a nonce or a callback URL.
    ///   - rawNonce: the text whose SHA-256 a token's nonce should be.
    /// - Throws: ``UnderstudyError``.
    public func explain(_ value: String, rawNonce: String? = nil) async throws -> Explanation {
        try await call("POST", "explain", ExplainOrder(value: value, rawNonce: rawNonce))
    }
}
