import JOSE
import JSON

/// The public key of a WebAuthn credential, in COSE: <https://www.rfc-editor.org/rfc/rfc9053#section-7>,
/// <https://www.w3.org/TR/webauthn-3/#sctn-alg-identifier>.
///
/// The supported algorithms are ES256 (with P-256) and RS256.
package struct CredentialKey: Sendable {
    private static let algorithms: [Int64: Algorithm] = [-7: .es256, -257: .rs256]

    private let key: Key
    private let algorithm: Algorithm

    package init(_ cose: CBOR) throws(WebAuthnError) {
        guard let number = cose[3]?.integer, let algorithm = CredentialKey.algorithms[number] else {
            throw WebAuthnError("the credential's key is for neither ES256 (-7) nor RS256 (-257)")
        }
        self.algorithm = algorithm
        do { key = try Key(jwk: try CredentialKey.jwk(cose, algorithm)) } catch let error as KeyError {
            throw WebAuthnError("the credential's key can't be used: \(error.description)")
        } catch {
            throw WebAuthnError("the credential's key lacks its numbers, or is of another type than its algorithm")
        }
    }

    package init(parsing bytes: [UInt8]) throws(WebAuthnError) { try self.init(CBOR(parsing: bytes)) }

    private struct NoNumbers: Error {}

    private static func jwk(_ cose: CBOR, _ algorithm: Algorithm) throws -> JSONValue {
        func number(_ label: Int64, width: Int? = nil) throws -> JSONValue {
            guard let bytes = cose[label]?.bytes, width == nil || bytes.count == width else { throw NoNumbers() }
            return .string(Base64URL.encode(bytes))
        }
        switch (algorithm, cose[1]?.integer, cose[-1]) {
        case (.es256, 2, .integer(1)):
            return ["kty": "EC", "crv": "P-256", "x": try number(-2, width: 32), "y": try number(-3, width: 32)]
        case (.rs256, 3, .bytes(let modulus)):
            // With an exponent of 1, every signature would be valid. An even modulus can't be a product of odd primes.
            guard let exponent = cose[-2]?.bytes, exponent.drop(while: { $0 == 0 }) != [1],
                modulus.last.map({ $0 & 1 }) == 1, exponent.last.map({ $0 & 1 }) == 1
            else { throw NoNumbers() }
            return ["kty": "RSA", "n": try number(-1), "e": try number(-2)]
        default:
            throw NoNumbers()
        }
    }

    /// Whether `number` is the COSE number of this key's algorithm.
    func isFor(_ number: Int64?) -> Bool { number.flatMap { CredentialKey.algorithms[$0] } == algorithm }

    /// Whether this key has made `signature` over `message`. In WebAuthn, ECDSA signatures are in ASN.1.
    /// <https://www.w3.org/TR/webauthn-3/#sctn-signature-attestation-types>
    func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        guard algorithm == .es256 else { return key.verify(signature, of: message, with: algorithm) == .valid }
        guard let raw = ECDSASignature.raw(fromDER: signature) else { return false }
        return key.verify(raw, of: message, with: algorithm) == .valid
    }
}
