import JOSE

/// The registration of a new WebAuthn credential: the result of `navigator.credentials.create`.
/// <https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential>
package struct Registration: Sendable {
    package let credentialID: [UInt8]
    /// The public key of the new credential, in COSE.
    package let publicKey: [UInt8]
    package let signCount: UInt32

    /// Verifies a WebAuthn registration. The attestation formats `none` and `packed` are accepted. For `packed`, the
    /// signature is verified, but not the issuer of its certificate.
    ///
    /// - Parameter challenge: the issued challenge, in base64url.
    package init(
        _ client: ClientData, attestationObject: [UInt8], challenge: String, at party: RelyingParty
    ) throws(WebAuthnError) {
        try client.check(.create, challenge: challenge, at: party)
        let attestation = try CBOR(parsing: attestationObject)
        guard let format = attestation["fmt"]?.text, let bytes = attestation["authData"]?.bytes,
            let statement = attestation["attStmt"]
        else { throw WebAuthnError("attestationObject lacks fmt, authData or attStmt") }
        let data = try AuthenticatorData(parsing: bytes)
        try data.check(for: party)
        guard let credential = data.credential else { throw WebAuthnError("attestationObject holds no credential") }
        switch format {
        case "none":
            guard statement.isEmptyMap else { throw WebAuthnError("an attestation of format none has a statement") }
        case "packed": try Registration.checkPacked(statement, credential, data.bytes + client.hash)
        default: throw WebAuthnError("the attestation is of format \"\(format.prefix(64))\": none and packed are taken")
        }
        credentialID = credential.id
        publicKey = credential.publicKey
        signCount = data.signCount
    }

    /// Checks a WebAuthn attestation in the format `packed`, which is signed by the credential itself or by the key of
    /// a certificate: <https://www.w3.org/TR/webauthn-3/#sctn-packed-attestation>.
    private static func checkPacked(
        _ statement: CBOR, _ credential: AuthenticatorData.Credential, _ message: [UInt8]
    ) throws(WebAuthnError) {
        guard let signature = statement["sig"]?.bytes else { throw WebAuthnError("the attestation has no signature") }
        let isSigned: Bool
        if let chain = statement["x5c"]?.array {
            guard statement["alg"]?.integer == -7, let certificate = chain.first?.bytes,
                let key = try? Certificate.key(ofDER: certificate), let raw = ECDSASignature.raw(fromDER: signature)
            else { throw WebAuthnError("the attestation's certificate or signature can't be read as ES256's") }
            isSigned = key.verify(raw, of: message, with: .es256) == .valid
        } else {
            guard credential.key.isFor(statement["alg"]?.integer) else {
                throw WebAuthnError("the attestation is for another algorithm than the credential")
            }
            isSigned = credential.key.hasSigned(message, signature)
        }
        guard isSigned else { throw WebAuthnError("the attestation's signature is wrong") }
    }
}
