import HTTPServer
import JSON
import EmulatorCore

// https://developer.apple.com/documentation/signinwithapplerestapi — the OpenID Connect discovery document and the keys.
// Quirk: several keys are published at once and change without notice.

extension AppleProvider {
    /// The issuer in the discovery document was another than that of tokens, so that clients which compare the two
    /// refused everybody.
    static let accountIssuer = Change(
        "accountIssuer", ("2025-06-11", "2025-06-17"),
        summary:
            "the discovery document names the issuer https://account.apple.com; tokens have https://appleid.apple.com",
        caveat: "last reported on 16 June; the end isn't published",
        evidence: "https://github.com/supabase/auth/pull/2055, https://github.com/instantdb/instant/issues/1293")

    func discovery(_ exchange: Exchange) -> Response {
        let base = exchange.address.base(of: AppleProvider.host)
        let claims: JSONValue = [
            "aud", "email", "email_verified", "exp", "iat", "is_private_email", "iss", "nonce", "nonce_supported",
            "real_user_status", "sub", "transfer_sub",
        ]
        return AppleProvider.publicJSON([
            "issuer": .string(
                exchange.world.seed.plays(AppleProvider.accountIssuer)
                    ? "https://account.apple.com" : issuer(exchange)),
            "authorization_endpoint": .string("\(base)/auth/authorize"),
            "token_endpoint": .string("\(base)/auth/token"),
            "revocation_endpoint": .string("\(base)/auth/revoke"),
            "jwks_uri": .string("\(base)/auth/keys"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "name"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "claims_supported": claims,
        ])
    }

    func keys(_ exchange: Exchange) -> Response { AppleProvider.publicJSON(exchange.keySet(.apple)) }

    /// The call `POST /_understudy/v1/apple/keys/rotate`, which publishes a new key and withdraws the oldest, as Apple
    /// sometimes does.
    var rotationCall: Endpoint {
        .control(
            "POST", "apple/keys/rotate", "Publishes a new signing key, and withdraws the oldest of more than three.",
            answers: [
                .json(
                    "The keys.",
                    .members([
                        .required("signing", .string, "The ID of the one that signs."),
                        .required("published", .strings(), "The IDs of those that are published."),
                    ])), .refusal(503, "keyGeneration", "No key can be made now."),
            ], keys: [.apple]
        ) { try await rotateKeys($0) }
    }

    private func rotateKeys(_ exchange: Exchange) async throws -> Response {
        let keys = exchange.world.keys[.apple]
        guard let keyID = try await keys.rotate()?.first else {
            return ControlAnswer.error(
                503, "keyGeneration",
                "no key: it can't be made, or \(KeyGenerator.waitingLimit) rotations wait for one already")
        }
        let published = keys.published.map { JSONValue.string($0.id) }
        return ControlAnswer.ok(["signing": .string(keyID), "published": .array(published)])
    }

    private static func publicJSON(_ value: JSONValue) -> Response {
        Response(status: 200, contentType: "application/json;charset=UTF-8", body: value.serialized())
    }
}
