import EmulatorCore
import JOSE
import JSON
import OAuth
import Time
import WebAuthn
import Worlds

/// An authenticator's credential with which a user may sign in.
struct Passkey: Codable, Sendable {
    /// The credential's ID in base64url; for a fake one, its name.
    let id: String
    let name: String
    /// The key in COSE's form, in base64url; `nil` for a fake passkey, which is believed without a signature.
    let publicKey: String?
    /// The authenticator's signature counter at the last use.
    var signCount: UInt32

    /// The greatest number of a user's passkeys. That there is a limit is known (`PASSKEY_LIMIT_EXCEEDED`), the limit
    /// isn't documented.
    static let limit = 10
    /// The greatest length of an ID in base64url, from 1,023 bytes: <https://www.w3.org/TR/webauthn-3/#credential-id>.
    static let longestID = 1_364

    /// Returns the ID in base64url, as stored. Clients write it in base64 (Apple's SDK) or in base64url (browsers).
    static func id(_ text: String) -> String { Base64.decode(text).map { Base64URL.encode($0) } ?? text }

    /// Returns the authenticator's handle of the user: at most 64 bytes.
    /// <https://www.w3.org/TR/webauthn-3/#user-handle>
    static func userHandle(of localId: String) -> [UInt8] {
        localId.utf8.count <= 64 ? Array(localId.utf8) : Digest.sha256(localId)
    }

    var document: JSONValue { ["credentialId": .string(id), "name": .string(name)] }
}

extension User {
    /// The key of a passkey in a pool.
    struct PasskeyID: TableKey {
        let pool: UserPool
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, id) }
    }

    static let byPasskey = Index<User, PasskeyID>(
        "passkey", each: { user in user.passkeys.map { PasskeyID(pool: user.pool, id: $0.id) } })

    /// Removes the passkeys with these IDs, and returns whether each of them existed.
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

/// A challenge for an authenticator to sign.
struct PasskeyChallenge: TokenRow {
    static let table = Table<PasskeyChallenge>(
        "firebase.passkeyChallenge", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires + .hours(1) })
    static let byPool = Index<PasskeyChallenge, UserPool>("pool") { $0.pool }
    /// The time for which a challenge works. It isn't documented; the specification recommends five to ten minutes if
    /// the person is verified. <https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range>
    static let lifetime = TimeSpan.minutes(5)

    /// The challenge in base64url, as in `clientDataJSON`.
    let token: String
    let pool: UserPool
    /// The user who adds a passkey; `nil` for a sign-in.
    let localId: String?
    let expires: Instant
}

/// The settings of passkeys in a project, as in the administrator's `PasskeyConfig`.
/// <https://pub.dev/documentation/firebaseapis/latest/identitytoolkit_v2/GoogleCloudIdentitytoolkitAdminV2PasskeyConfig-class.html>
struct PasskeySettings: SchemaObject {
    let isEnabled: Bool
    private let relyingPartyID: String?
    private let expectedOrigins: [String]

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        relyingPartyID = fields.optional(
            "rpId", .text(.identifier),
            "The relying party ID, a domain; the first of the project's `authorizedDomains` by default.")
        expectedOrigins = fields(
            "expectedOrigins", .set(of: .text(.nonEmpty)), default: [],
            "Origins of pages and apps that may use passkeys; by default https pages at the relying party's domain and at "
                + "authorized domains below it, and http pages of this machine where the domain is `localhost`.")
    }

    /// Returns the relying party of a project with these domains.
    func relyingParty(authorizedDomains: [String], returnDomains: [String]) -> RelyingParty {
        let id = relyingPartyID ?? authorizedDomains.first ?? "localhost"
        let (expected, domains) = (Set(expectedOrigins), Set(returnDomains))
        return RelyingParty(id: id) { origin in
            guard expected.isEmpty else { return expected.contains(origin) }
            guard let address = WebAddress(origin), address.rest.isEmpty || address.rest == "/" else { return false }
            let isSecure = address.scheme == "https" || (address.scheme == "http" && address.isLocalhost)
            let isBelow = address.host.hasSuffix(".\(id)") && (address.isLocalhost || domains.contains(address.host))
            return isSecure && (address.host == id || isBelow)
        }
    }
}

extension Project {
    /// The relying party; `nil` if passkeys aren't configured or aren't enabled.
    var relyingParty: RelyingParty? {
        guard let passkeys = providers.passkey, passkeys.isEnabled else { return nil }
        return passkeys.relyingParty(authorizedDomains: authorizedDomains, returnDomains: returnDomains)
    }
}
