/// A nonce, raw and hashed. The hash goes into Apple's request. The raw text goes to the verifier of the ID token:
/// Firebase, or your backend.
///
///     let nonce = NoncePair()
///     request.nonce = nonce.sha256
///     // later: OAuthProvider.appleCredential(withIDToken: token, rawNonce: nonce.raw, fullName: name)
public struct NoncePair: Sendable, Hashable {
    /// The raw text, for the verifier of the ID token.
    public let raw: String
    /// The SHA-256 digest of ``raw``, in lower-case hexadecimal digits, for Apple's request. The ID token contains it.
    public let sha256: String

    /// Makes a nonce of a raw text, by default of 32 random letters and digits.
    public init(raw: String = NoncePair.random()) {
        self.raw = raw
        sha256 = SHA256.hex(raw)
    }

    /// Returns 32 random letters and digits, which have 190 bits.
    public static func random() -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var system = SystemRandomNumberGenerator()
        return String((0..<32).map { _ in letters[Int.random(in: 0..<letters.count, using: &system)] })
    }
}
