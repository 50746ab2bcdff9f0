import EmulatorCore
import JOSE
import JSON
import OAuth
import Time
import WebAuthn
import Worlds

/// A passkey: an authenticator's credential with which a user can sign in.
struct Passkey: Codable, Sendable {
    /// The passkey's credential ID in base64url. A fake passkey, which test suites for the Firebase emulator send, may
    /// have any text.
    let id: String
    let name: String
    /// The passkey's public key in COSE form, in base64url; `nil` for a fake passkey, which is accepted without a
    /// signature.
    let publicKey: String?
    /// The authenticator's signature counter at the last use of the passkey.
    var signCount: UInt32

    /// The greatest number of passkeys of a user. Production has a limit (`PASSKEY_LIMIT_EXCEEDED`), but doesn't
    /// document its value.
    static let limit = 10
    /// The greatest length of a credential ID in base64url. An ID has at most 1,023 bytes:
    /// <https://www.w3.org/TR/webauthn-3/#credential-id>.
    static let longestID = 1_364

    /// Returns a credential ID in base64url, the form in which it is stored. Firebase's SDK for Apple platforms sends
    /// base64, browsers send base64url.
    static func id(_ text: String) -> String { Base64.decode(text).map { Base64URL.encode($0) } ?? text }

    /// Returns the user handle with which authenticators store a user. It is made from the user's ID, and has at most
    /// 64 bytes. <https://www.w3.org/TR/webauthn-3/#user-handle>
    static func userHandle(of localId: String) -> [UInt8] {
        localId.utf8.count <= 64 ? Array(localId.utf8) : Digest.sha256(localId)
    }

    var document: JSONValue { ["credentialId": .string(id), "name": .string(name)] }
}

extension User {
    /// The index key of a passkey: its ID, and the project or tenant whose user has the passkey.
    struct PasskeyID: TableKey {
        let pool: UserPool
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, id) }
    }

    static let byPasskey = Index<User, PasskeyID>(
        "passkey", each: { user in user.passkeys.map { PasskeyID(pool: user.pool, id: $0.id) } })

    /// Removes the user's passkeys with these IDs. Returns whether all of them existed.
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

/// A challenge that an authenticator has to sign with a passkey.
struct PasskeyChallenge: TokenRow {
    static let table = Table<PasskeyChallenge>(
        "firebase.passkeyChallenge", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires + .hours(1) })
    static let byPool = Index<PasskeyChallenge, UserPool>("pool") { $0.pool }
    /// The time for which a passkey challenge works. Production's time isn't documented. WebAuthn recommends five to
    /// ten minutes if the person is verified. <https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range>
    static let lifetime = TimeSpan.minutes(5)

    /// The passkey challenge in base64url, as `clientDataJSON` has it.
    let token: String
    let pool: UserPool
    /// The ID of the user who adds a passkey with this challenge; `nil` if the challenge is for a sign-in.
    let localId: String?
    let expires: Instant
}

/// The settings of passkeys in a project of the seed, like `PasskeyConfig` in Google's API.
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

    /// Returns the WebAuthn relying party of a project, with the origins that may use passkeys.
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
    /// The project's WebAuthn relying party; `nil` if passkeys aren't configured or aren't enabled.
    var relyingParty: RelyingParty? {
        guard let passkeys = providers.passkey, passkeys.isEnabled else { return nil }
        return passkeys.relyingParty(authorizedDomains: authorizedDomains, returnDomains: returnDomains)
    }
}
