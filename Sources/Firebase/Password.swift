import EmulatorCore
import JOSE
import JSON
import Time

/// A user's password, in the form in which the official emulator keeps and exports it: `fakeHash:salt=…:password=…`. It
/// hashes nothing, so that people see that no secret belongs here.
struct Password: Codable, Equatable, Sendable {
    /// Base64 of REDACTED, which is what callers without administrator's rights get.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    let hash: String
    let salt: String?
    let updatedAt: Instant
    /// Whether it was imported in a form other than the official emulator's.
    let isForeign: Bool
    /// How it was hashed before it was imported, so far as the import said. Without, nobody signs in with it.
    let scheme: ImportedHash?

    init(_ text: String, salt: String, now: Instant) {
        hash = Password.hash(text, salt: salt)
        self.salt = salt
        updatedAt = now
        isForeign = false
        scheme = nil
    }

    /// A hash that was imported. With `takesFakes` it may be in the official emulator's form.
    init(importedHash hash: String, salt: String?, now: Instant, takesFakes: Bool, scheme: ImportedHash? = nil) {
        self.hash = hash
        self.salt = salt
        updatedAt = now
        isForeign = !takesFakes || !hash.hasPrefix(Password.prefix)
        self.scheme = isForeign ? scheme : nil
    }

    func matches(_ text: String) -> Bool {
        guard !isForeign else {
            guard let scheme, let hash = ImportedHash.bytes(hash) else { return false }
            return scheme.matches(text, hash, salt: ImportedHash.bytes(salt ?? "") ?? [])
        }
        return constantTimeEquals(Array(hash.utf8), Array(Password.hash(text, salt: salt ?? "").utf8))
    }

    /// A hash or a salt as bytes in base64.
    func encoded(_ text: String) -> String { isForeign ? text : Base64.encode(Array(text.utf8)) }

    private static let prefix = "fakeHash:"

    private static func hash(_ text: String, salt: String) -> String { "\(prefix)salt=\(salt):password=\(text)" }

    static func randomSalt(_ random: inout Randomness) -> String {
        "fakeSalt"
            + random.text(20, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension FirebaseCall {
    /// A password with a salt of its own.
    func hashed(_ password: String) throws -> Password {
        let (salt, now) = try update { tables in (Password.randomSalt(&tables.random), tables.now) }
        return Password(password, salt: salt, now: now)
    }
}
