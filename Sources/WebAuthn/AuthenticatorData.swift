/// The authenticator data of a WebAuthn response: flags, the sign count, and the new credential after a registration.
/// <https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data>
package struct AuthenticatorData: Sendable {
    /// A new WebAuthn credential, which an authenticator has made.
    struct Credential: Sendable {
        let id: [UInt8]
        /// The public key of the WebAuthn credential, in COSE.
        let publicKey: [UInt8]
        let key: CredentialKey
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let userPresent = Flags(rawValue: 0x01)
        static let userVerified = Flags(rawValue: 0x04)
        static let backupEligible = Flags(rawValue: 0x08)
        static let backedUp = Flags(rawValue: 0x10)
        static let hasCredential = Flags(rawValue: 0x40)
        static let hasExtensions = Flags(rawValue: 0x80)
    }

    /// The greatest length of a WebAuthn credential ID in bytes, by the specification.
    static let longestCredentialID = 1023

    let bytes: [UInt8]
    /// The SHA-256 digest of the relying party's ID.
    private let relyingPartyHash: [UInt8]
    private let flags: Flags
    /// The number of signatures that the credential has made; 0 if the authenticator doesn't count.
    package let signCount: UInt32
    let credential: Credential?

    package init(parsing bytes: [UInt8]) throws(WebAuthnError) {
        guard bytes.count >= 37 else { throw WebAuthnError("authenticatorData has fewer than 37 bytes") }
        self.bytes = bytes
        relyingPartyHash = Array(bytes[..<32])
        flags = Flags(rawValue: bytes[32])
        signCount = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        credential = flags.contains(.hasCredential) ? try AuthenticatorData.credential(&rest) : nil
        if flags.contains(.hasExtensions) {
            var reader = CBORReader(rest)
            guard case .map = try reader.item() else { throw WebAuthnError("the extensions aren't a map") }
            rest = reader.rest
        }
        guard rest.isEmpty else { throw WebAuthnError("authenticatorData has \(rest.count) bytes too many") }
    }

    private static func credential(_ rest: inout ArraySlice<UInt8>) throws(WebAuthnError) -> Credential {
        // The first bytes are the authenticator's model and the length of the ID.
        guard rest.count >= 18 else { throw WebAuthnError("authenticatorData ends before its credential does") }
        let count = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard count <= longestCredentialID, count <= rest.count else {
            throw WebAuthnError("the credential's ID is longer than 1,023 bytes, or than authenticatorData")
        }
        let id = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        var reader = CBORReader(rest)
        let key = try CredentialKey(reader.item())
        defer { rest = reader.rest }
        return Credential(id: id, publicKey: Array(rest.prefix(rest.count - reader.rest.count)), key: key)
    }

    /// Checks that the authenticator's response is meant for this relying party, and that a person was present and
    /// verified.
    func check(for party: RelyingParty) throws(WebAuthnError) {
        guard relyingPartyHash == party.hash else {
            throw WebAuthnError("the authenticator answered another relying party than \"\(party.id)\"")
        }
        guard flags.contains(.userPresent) else {
            throw WebAuthnError("nobody touched the authenticator: flag UP is 0")
        }
        guard flags.contains(.userVerified) else {
            throw WebAuthnError("the authenticator didn't verify the person: flag UV is 0")
        }
        guard flags.contains(.backupEligible) || !flags.contains(.backedUp) else {
            throw WebAuthnError("the credential is backed up (flag BS), though it can't be (flag BE is 0)")
        }
    }
}
