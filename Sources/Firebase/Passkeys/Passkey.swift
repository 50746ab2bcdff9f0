import EmulatorCore
import JOSE
import JSON
import Time

/// A credential of an authenticator with which a user may sign in.
struct Passkey: Codable, Sendable {
    /// The credential's ID in base64url; of a fake one, what it was called.
    let id: String
    let name: String
    /// As COSE writes it, in base64url; `nil` for a fake one, which is believed without a signature.
    let publicKey: String?
    /// How often it had signed when it was last used.
    var signCount: UInt32

    /// A user has at most so many. That there is a limit is known (`PASSKEY_LIMIT_EXCEEDED`), the limit isn't documented.
    static let limit = 10
    /// Bytes of an ID in base64url: 1,023 before that, <https://www.w3.org/TR/webauthn-3/#credential-id>.
    static let longestID = 1_364

    /// Clients write an ID in base64 (Apple's SDK) or in base64url (browsers); kept is the latter.
    static func id(_ text: String) -> String { Base64.decode(text).map { Base64URL.encode($0) } ?? text }

    /// What the authenticator keeps of the user: at most 64 bytes. <https://www.w3.org/TR/webauthn-3/#user-handle>
    static func userHandle(of localId: String) -> [UInt8] {
        localId.utf8.count <= 64 ? Array(localId.utf8) : Digest.sha256(localId)
    }

    var document: JSONValue { ["credentialId": .string(id), "name": .string(name)] }
}

extension User {
    /// A passkey, within a pool.
    struct PasskeyID: TableKey {
        let pool: UserPool
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, id) }
    }

    static let byPasskey = Index<User, PasskeyID>(
        "passkey", each: { user in user.passkeys.map { PasskeyID(pool: user.pool, id: $0.id) } })

    /// Takes away the passkeys of these IDs; whether there was one of each.
    mutating func delete(passkeys ids: [String]) -> Bool {
        let unwanted = Set(ids.map { Passkey.id($0) })
        let known = passkeys.filter { unwanted.contains($0.id) }
        passkeys.removeAll { unwanted.contains($0.id) }
        return known.count == unwanted.count
    }
}

extension TableReading where Self: ~Copyable {
    func user(passkey id: String, in pool: UserPool) -> User? {
        first(User.byPasskey, User.PasskeyID(pool: pool, id: id))
    }
}

/// A challenge that was given out and that an authenticator is to sign.
struct PasskeyChallenge: TokenRow {
    static let table = Table<PasskeyChallenge>(
        "firebase.passkeyChallenge", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires + .hours(1) })
    static let byPool = Index<PasskeyChallenge, UserPool>("pool") { $0.pool }
    /// Not documented; the specification recommends five to ten minutes where the person is verified.
    /// <https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range>
    static let lifetime = TimeSpan.minutes(5)

    /// The challenge in base64url, as `clientDataJSON` has it.
    let token: String
    let pool: UserPool
    /// Whose new passkey it is for; `nil` for a sign-in.
    let localId: String?
    let expires: Instant
}
