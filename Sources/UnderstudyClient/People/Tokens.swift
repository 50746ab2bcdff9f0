extension World {
    /// An ID token that was issued for a test, without a sign-in.
    public struct MintedToken: Sendable, Hashable, Decodable {
        /// The ID token, a JSON Web Token.
        public let token: String
        /// The decoded header of the ID token.
        public let header: JSONValue?
        /// The decoded claims of the ID token.
        public let claims: JSONValue?
    }
}

extension World {
    /// An explanation of a token, code, client secret or other value, with the errors found in it.
    public struct Explanation: Sendable, Hashable, Decodable {
        /// A single statement in the explanation of a token, code or other value.
        public struct Finding: Sendable, Hashable, Decodable {
            /// `true` if the statement confirms that something about the explained token or code is right, `false` if
            /// it reports an error, `nil` if it is only information.
            public let holds: Bool?
            /// A sentence about the token, code or other value that is explained.
            public let text: String
            /// The ID of the recorded request that this statement about a token, code or other value is about.
            public let request: String?
        }

        /// Statements about the token, code or other value that is explained, under a common heading.
        public struct Part: Sendable, Hashable, Decodable {
            /// The heading of several statements about the token, code or other value that is explained.
            public let heading: String
            /// The statements under this heading, which explain a token, code or other value.
            public let findings: [Finding]
        }

        /// The kind of value that is explained, such as an ID token, in words.
        public let kind: String
        /// Whether no error was found in the token, code or other value that is explained.
        public let isSound: Bool
        /// The statements about the token, code or other value that is explained, grouped under headings.
        public let parts: [Part]

        private enum CodingKeys: String, CodingKey {
            case kind, parts
            case isSound = "sound"
        }
    }
}

extension World {
    /// Issues ID tokens without a sign-in, for use in tests, and revokes tokens: `world.tokens`.
    public struct Tokens: Sendable, Hashable {
        let world: World

        private struct Order: Encodable {
            let provider: Provider
            let client: String
            let issuer: String?
            let account: String?
            let nonce: String?
            let scopes: [String]?
            let claims: [String: JSONValue]
            let header: [String: JSONValue]
            let signature: FaultEffect.Signature
        }

        /// Issues an ID token without a sign-in: a valid one, or one with an error that a verifier should find.
        ///
        ///     let expired = try await world.tokens.mint(.apple, client: "com.example.app", claims: ["exp": "-1h"])
        ///
        /// - Parameters:
        ///   - provider: the provider that issues the token. GitHub issues no ID tokens.
        ///   - client: the client's ID; for Firebase, the project's ID.
        ///   - issuer: at ``Provider/openID``, the ID of the issuer; otherwise, the first issuer that has the client.
        ///   - account: the account; for Firebase, a user's local ID or e-mail address.
        ///   - nonce: the value of the claim `nonce`.
        ///   - scopes: the granted scopes.
        ///   - claims: the claims to set; `null` removes a claim. Times may be relative to now: `"exp": "-1h"`.
        ///   - header: the header members to set; `null` removes a member.
        ///   - signature: the kind of the token's signature, correct or wrong.
        /// - Throws: ``UnderstudyError``.
        public func mint(
            _ provider: Provider, client: String, issuer: String? = nil, account: String? = nil, nonce: String? = nil,
            scopes: [String]? = nil,
            claims: [String: JSONValue] = [:], header: [String: JSONValue] = [:],
            signature: FaultEffect.Signature = .valid
        ) async throws -> MintedToken {
            try await world.call(
                "POST", "tokens",
                Order(
                    provider: provider, client: client, issuer: issuer, account: account, nonce: nonce, scopes: scopes,
                    claims: claims, header: header, signature: signature))
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

    /// Issues ID tokens in this test world without a sign-in, for use in tests, and revokes tokens.
    public var tokens: Tokens { Tokens(world: self) }

    /// Explains a token, code or other value, and lists its errors. The explanation uses this test world's seed (test
    /// data), keys, clock and recorded requests.
    ///
    ///     let explanation = try await world.explain(idToken)
    ///     #expect(explanation.isSound)
    ///
    /// - Parameters:
    ///   - value: the value to explain: an ID token, a client secret, a code, a nonce or a callback URL.
    ///   - rawNonce: the raw nonce, whose SHA-256 digest the token should have.
    /// - Throws: ``UnderstudyError``.
    public func explain(_ value: String, rawNonce: String? = nil) async throws -> Explanation {
        try await call("POST", "explain", ExplainOrder(value: value, rawNonce: rawNonce))
    }
}
