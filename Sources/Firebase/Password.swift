import EmulatorCore
import JOSE
import JSON
import Time

/// A user's password, in the form in which the official emulator keeps and exports it: `fakeHash:salt=…:password=…`. It
/// hashes nothing, so that people see that no secret belongs here.
struct Password: Codable, Sendable {
    /// Base64 of REDACTED, which is what callers without administrator's rights get.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    let hash: String
    let salt: String?
    let updatedAt: Instant
    /// Whether it was imported in a form that only production can check: nobody signs in with it.
    let isForeign: Bool

    init(_ text: String, salt: String, now: Instant) {
        hash = Password.hash(text, salt: salt)
        self.salt = salt
        updatedAt = now
        isForeign = false
    }

    /// A hash that was imported. With `takesFakes` it may be in the official emulator's form.
    init(importedHash hash: String, salt: String?, now: Instant, takesFakes: Bool) {
        self.hash = hash
        self.salt = salt
        updatedAt = now
        isForeign = !takesFakes || !hash.hasPrefix(Password.prefix)
    }

    func matches(_ text: String) -> Bool {
        guard !isForeign else { return false }
        return constantTimeEquals(Array(hash.utf8), Array(Password.hash(text, salt: salt ?? "").utf8))
    }

    private static let prefix = "fakeHash:"

    private static func hash(_ text: String, salt: String) -> String { "\(prefix)salt=\(salt):password=\(text)" }

    static func randomSalt(_ random: inout Randomness) -> String {
        "fakeSalt"
            + random.text(20, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension FirebaseCall {
    /// A password with a salt of its own.
    func hashed(_ password: String) -> Password {
        let (salt, now) = update { tables in (Password.randomSalt(&tables.random), tables.now) }
        return Password(password, salt: salt, now: now)
    }
}
