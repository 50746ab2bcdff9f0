extension World {
    /// An ID token that was minted without a sign-in.
    public struct MintedToken: Sendable, Hashable, Decodable {
        /// The JSON Web Token.
        public let token: String
        /// The token's header.
        public let header: JSONValue?
        /// The token's claims.
        public let claims: JSONValue?
    }
}

extension World {
    /// The description of a value, with its errors.
    public struct Explanation: Sendable, Hashable, Decodable {
        /// A single statement about the value.
        public struct Finding: Sendable, Hashable, Decodable {
            /// Whether the statement is as it should be; `nil` if it is only information.
            public let holds: Bool?
            /// The statement, in words.
            public let text: String
            /// The ID of the exchange that the statement refers to.
            public let request: String?
        }

        /// Findings under one heading.
        public struct Part: Sendable, Hashable, Decodable {
            /// The heading.
            public let heading: String
            /// The findings.
            public let findings: [Finding]
        }

        /// The kind of value, in words.
        public let kind: String
        /// Whether the value has no errors.
        public let isSound: Bool
        /// The findings, by heading.
        public let parts: [Part]

        private enum CodingKeys: String, CodingKey {
            case kind, parts
            case isSound = "sound"
        }
    }
}

extension World {
    /// ID tokens without a sign-in: `world.tokens`.
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

        /// Mints an ID token without a sign-in: a valid one, or one with an error that a verifier should find.
        ///
        ///     let expired = try await world.tokens.mint(.apple, client: "com.example.app", claims: ["exp": "-1h"])
        ///
        /// - Parameters:
        ///   - provider: the provider that issues the token. GitHub issues no ID tokens.
        ///   - client: the client's ID; for Firebase, the project's ID.
        ///   - account: the account; for Firebase, a user's local ID or e-mail address.
        ///   - nonce: the claim `nonce`.
        ///   - scopes: the granted scopes.
        ///   - claims: the claims to set; `null` removes a claim. Times may be relative to now: `"exp": "-1h"`.
        ///   - header: the header members to set; `null` removes a member.
        ///   - signature: the kind of signature.
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

        /// Revokes one access or refresh token of any provider. Other tokens of the same sign-in stay valid.
        ///
        /// - Throws: ``UnderstudyError``, with the code `noSuchToken` if the token was never issued, or doesn't work
        ///   any more.
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

    /// ID tokens without a sign-in.
    public var tokens: Tokens { Tokens(world: self) }

    /// Explains a value and its errors, by this world's seed, keys, clock and recording.
    ///
    ///     let explanation = try await world.explain(idToken)
    ///     #expect(explanation.isSound)
    ///
    /// - Parameters:
    ///   - value: an ID token, a client secret, a code, a nonce or a callback URL.
    ///   - rawNonce: the raw nonce, whose SHA-256 digest the token should have.
    /// - Throws: ``UnderstudyError``.
    public func explain(_ value: String, rawNonce: String? = nil) async throws -> Explanation {
        try await call("POST", "explain", ExplainOrder(value: value, rawNonce: rawNonce))
    }
}
