/// A nonce, raw and hashed. Apple's request gets the hash, and whoever verifies the ID token the raw text: Firebase, or your backend.
///
///     let nonce = NoncePair()
///     request.nonce = nonce.sha256
///     // later: OAuthProvider.appleCredential(withIDToken: token, rawNonce: nonce.raw, fullName: name)
public struct NoncePair: Sendable, Hashable {
    /// The text that is kept, and shown to whoever verifies the token.
    public let raw: String
    /// The SHA-256 digest of ``raw``, in lower-case hexadecimal digits: what goes into the request, and into the token.
    public let sha256: String

    /// A nonce of a text, by default 32 random letters and digits.
    public init(raw: String = NoncePair.random()) {
        self.raw = raw
        sha256 = SHA256.hex(raw)
    }

    /// 32 letters and digits from the system's random numbers, 190 bits.
    public static func random() -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var system = SystemRandomNumberGenerator()
        return String((0..<32).map { _ in letters[Int.random(in: 0..<letters.count, using: &system)] })
    }
}
