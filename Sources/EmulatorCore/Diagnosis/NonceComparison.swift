import JOSE

/// Compares the `nonce` of an ID token with the raw nonce that an app kept, and names the mistake when they differ.
/// The rule is Firebase's guide's: the app sends the provider the lower-case hexadecimal SHA-256 of the raw nonce.
package enum NonceComparison: Equatable, Sendable {
    case matches
    /// The token carries a nonce, but no raw nonce was given.
    case rawNonceMissing
    /// A raw nonce was given, but the token carries none.
    case tokenHasNone
    /// The raw nonce itself was sent to the provider.
    case rawNonceSent
    /// The hash was given where the raw nonce belongs: both values are the same hash.
    case hashGivenAsRawNonce
    /// Base64 of the digest was sent to the provider.
    case base64OfDigest
    /// Base64url of the digest was sent to the provider.
    case base64URLOfDigest
    case upperCaseHex
    /// The SHA-256 of the hexadecimal text was sent to the provider.
    case hashOfHash
    /// None of the known mistakes was found: most likely a new nonce was made between the two calls.
    case unrelated

    package init(tokenNonce: String?, rawNonce: String?) {
        guard let tokenNonce, !tokenNonce.isEmpty else {
            self = rawNonce == nil ? .matches : .tokenHasNone
            return
        }
        guard let rawNonce, !rawNonce.isEmpty else {
            self = .rawNonceMissing
            return
        }
        let digest = Digest.sha256(rawNonce)
        let hex = Hex.encode(digest)
        let base64 = Base64.encode(digest)
        switch tokenNonce {
        case hex: self = .matches
        case rawNonce:
            let looksHashed = rawNonce.utf8.count == 64 && Hex.decode(rawNonce) != nil
            self = looksHashed ? .hashGivenAsRawNonce : .rawNonceSent
        case hex.uppercased(): self = .upperCaseHex
        case Base64URL.encode(digest): self = .base64URLOfDigest
        case base64, String(base64.prefix { $0 != "=" }): self = .base64OfDigest
        case Hex.encode(Digest.sha256(hex)): self = .hashOfHash
        default: self = .unrelated
        }
    }

    /// Returns one sentence about what happened and what to do. `provider` is the name of the one that issued the ID
    /// token.
    package func explanation(provider: String) -> String {
        switch self {
        case .matches:
            "the nonce in the ID token is the SHA-256 of the raw nonce, as it should be"
        case .rawNonceMissing:
            "the ID token carries a nonce but no raw nonce was given: pass the raw nonce along with the token"
        case .tokenHasNone:
            "a raw nonce was given but the ID token carries no nonce: set request.nonce (or the nonce parameter) to the "
                + "raw nonce's SHA-256 before asking \(provider)"
        case .rawNonceSent:
            "the raw nonce itself was sent to \(provider): send \(provider) its SHA-256 in lower-case hex, and keep the raw nonce"
        case .hashGivenAsRawNonce:
            "the hash was given where the raw nonce belongs: give the text that was hashed, not its hash"
        case .base64OfDigest:
            "\(provider) was sent the SHA-256 in base64: send it in lower-case hex, 64 characters"
        case .base64URLOfDigest:
            "\(provider) was sent the SHA-256 in base64url: send it in lower-case hex, 64 characters"
        case .upperCaseHex:
            "\(provider) was sent the SHA-256 in upper-case hex: write the hex digits in lower case"
        case .hashOfHash:
            "the nonce was hashed twice before it was sent to \(provider): hash the raw nonce once"
        case .unrelated:
            "the nonce in the ID token isn't made from this raw nonce: keep the raw nonce of the very request that the "
                + "token answers, and make no new one in between"
        }
    }
}
