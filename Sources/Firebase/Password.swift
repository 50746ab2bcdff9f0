import EmulatorCore
import JOSE
import JSON
import Time

/// A user's password, in the form in which the official emulator keeps and exports it: `fakeHash:salt=…:password=…`. It
/// isn't hashed, so that people see that no secret belongs here.
struct Password: Codable, Equatable, Sendable {
    /// The base64 of REDACTED, which callers without administrator's rights get.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    let hash: String
    let salt: String?
    let updatedAt: Instant
    /// Whether it was imported in a form other than the official emulator's.
    let isForeign: Bool
    /// The parameters with which it was hashed before the import, as far as they are known. Without them nobody can
    /// sign in with it.
    let scheme: ImportedHash?

    init(_ text: String, salt: String, now: Instant) {
        hash = Password.hash(text, salt: salt)
        self.salt = salt
        updatedAt = now
        isForeign = false
        scheme = nil
    }

    /// Makes a password from an imported hash. With `takesFakes` it may be in the official emulator's form.
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

    /// Returns the base64 of the bytes of a hash or a salt.
    func encoded(_ text: String) -> String { isForeign ? text : Base64.encode(Array(text.utf8)) }

    private static let prefix = "fakeHash:"

    private static func hash(_ text: String, salt: String) -> String { "\(prefix)salt=\(salt):password=\(text)" }

    static func randomSalt(_ random: inout Randomness) -> String {
        "fakeSalt"
            + random.text(20, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension FirebaseCall {
    /// Returns a password with a new salt.
    func hashed(_ password: String) throws -> Password {
        let (salt, now) = try update { tables in (Password.randomSalt(&tables.random), tables.now) }
        return Password(password, salt: salt, now: now)
    }
}
