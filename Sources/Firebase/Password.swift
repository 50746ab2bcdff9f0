import EmulatorCore
import JOSE
import Time

/// A password, hashed. Not a hash that is slow to guess: this is for tests.
struct Password: Codable, Sendable {
    /// Base64 of REDACTED, which is what callers without administrator's rights get.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    private let salt: [UInt8]
    private let digest: [UInt8]
    let updatedAt: Instant

    init(_ text: String, salt: [UInt8], now: Instant) {
        self.salt = salt
        digest = Digest.sha256(salt + Array(text.utf8))
        updatedAt = now
    }

    func matches(_ text: String) -> Bool { constantTimeEquals(digest, Digest.sha256(salt + Array(text.utf8))) }
}

extension FirebaseCall {
    /// Hashes a password, outside the world's lock.
    func hashed(_ password: String) -> Password {
        let (salt, now) = update { tables in (tables.random.bytes(16), tables.now) }
        return Password(password, salt: salt, now: now)
    }
}
