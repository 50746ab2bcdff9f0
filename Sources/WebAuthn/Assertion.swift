/// A WebAuthn assertion, which proves that a person has a credential: the result of `navigator.credentials.get`.
/// <https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion>
package struct Assertion: Sendable {
    package let signCount: UInt32

    /// Verifies a WebAuthn assertion.
    ///
    /// - Parameters:
    ///   - challenge: the issued challenge, in base64url.
    ///   - publicKey: the credential's public key, in COSE.
    package init(
        _ client: ClientData, authenticatorData: [UInt8], signature: [UInt8], challenge: String, publicKey: [UInt8],
        at party: RelyingParty
    ) throws(WebAuthnError) {
        try client.check(.get, challenge: challenge, at: party)
        let data = try AuthenticatorData(parsing: authenticatorData)
        try data.check(for: party)
        guard try CredentialKey(parsing: publicKey).hasSigned(data.bytes + client.hash, signature) else {
            throw WebAuthnError("the signature isn't the credential's")
        }
        signCount = data.signCount
    }

    /// Whether the sign count is greater than `last`, or both are 0, as for an authenticator that doesn't count.
    /// Otherwise, the credential may have been copied. <https://www.w3.org/TR/webauthn-3/#sctn-sign-counter>
    package func follows(_ last: UInt32) -> Bool { signCount > last || (signCount == 0 && last == 0) }
}
