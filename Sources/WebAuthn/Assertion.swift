/// The proof of a credential, as `navigator.credentials.get` answers:
/// <https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion>.
package struct Assertion: Sendable {
    package let signCount: UInt32

    /// Verifies it.
    ///
    /// - Parameters:
    ///   - challenge: the one that was given out, in base64url.
    ///   - publicKey: the credential's, as COSE writes it.
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

    /// Whether the count has grown since `last`. Authenticators that don't count always say 0; another that doesn't grow is
    /// a copy of the credential. <https://www.w3.org/TR/webauthn-3/#sctn-sign-counter>
    package func follows(_ last: UInt32) -> Bool { signCount > last || (signCount == 0 && last == 0) }
}
