import JOSE

/// The result of comparing the `nonce` of an ID token with the raw nonce that an app kept: they match, or a known
/// mistake was made. By Firebase's guide, the app sends the provider the lower-case hexadecimal SHA-256 of the raw
/// nonce.
package enum NonceComparison: Equatable, Sendable {
    case matches
    case rawNonceMissing
    /// A raw nonce was given, but the ID token carries no nonce.
    case tokenHasNone
    /// A mistake with the nonce of an ID token: the app sent the provider the raw nonce itself, and not its SHA-256.
    case rawNonceSent
    /// A mistake with the nonce of an ID token: the app gave the nonce's hash where the raw nonce is required, so that
    /// both values are the same hash.
    case hashGivenAsRawNonce
    /// A mistake with the nonce of an ID token: the app sent the provider the SHA-256 of the raw nonce in base64, and
    /// not in hexadecimal.
    case base64OfDigest
    /// A mistake with the nonce of an ID token: the app sent the provider the SHA-256 of the raw nonce in base64url,
    /// and not in hexadecimal.
    case base64URLOfDigest
    case upperCaseHex
    /// A mistake with the nonce of an ID token: the app hashed it twice, and sent the SHA-256 of the hexadecimal hash
    /// to the provider.
    case hashOfHash
    /// The nonce of the ID token has nothing to do with the raw nonce. Most likely the app made a new nonce after the
    /// authorization request.
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

    /// Returns a sentence that says which mistake was made with the nonce, and what to do. `provider` is the name of
    /// the provider that issued the ID token.
    package func explanation(provider: String) -> String {
        switch self {
        case .matches:
            "the nonce in the ID token is the SHA-256 of the raw nonce, as it should be"
        case .rawNonceMissing:
            "the ID token carries a nonce but no raw nonce was given: pass the raw nonce along with the token"
        case .tokenHasNone:
            "a raw nonce was given but the ID token carries no nonce: set request.nonce (or the nonce parameter) to the "
                + "raw nonce's SHA-256 in the request to \(provider)"
        case .rawNonceSent:
            "the raw nonce itself was sent to \(provider): send \(provider) its SHA-256 in lower-case hex, and keep the raw nonce"
        case .hashGivenAsRawNonce:
            "the nonce's hash was given in place of the raw nonce: give the text that was hashed, not its hash"
        case .base64OfDigest:
            "the nonce's SHA-256 was sent to \(provider) in base64: send it in lower-case hex, 64 characters"
        case .base64URLOfDigest:
            "the nonce's SHA-256 was sent to \(provider) in base64url: send it in lower-case hex, 64 characters"
        case .upperCaseHex:
            "the nonce's SHA-256 was sent to \(provider) in upper-case hex: write the hex digits in lower case"
        case .hashOfHash:
            "the nonce was hashed twice before it was sent to \(provider): hash the raw nonce once"
        case .unrelated:
            "the nonce in the ID token isn't made from this raw nonce: keep the raw nonce of the authorization "
                + "request, and don't generate a new raw nonce afterwards"
        }
    }
}
