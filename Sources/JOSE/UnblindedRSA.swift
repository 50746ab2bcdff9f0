import COpenSSL

/// A private RSA key that signs RS256 without blinding. Blinding would add a twentieth to a signature's time.
///
/// Blinding protects the key from an observer who can measure the time of many signatures:
/// <https://www.openssl.org/docs/man3.0/man3/RSA_blinding_on.html>. Here it protects nothing: the daemon signs
/// everything it is asked to, and its keys are for tests only. The signatures are the same, byte for byte.
final class UnblindedRSA: @unchecked Sendable {
    private let rsa: OpaquePointer
    private let length: Int

    /// Makes a signer; `nil` if OpenSSL can't.
    init?(_ key: Key) {
        guard case .rsa(let bits) = key.kind, key.isPrivate, let rsa = understudy_unblinded_rsa(key.pointer) else {
            return nil
        }
        self.rsa = rsa
        length = (bits + 7) / 8
    }

    deinit { understudy_rsa_free(rsa) }

    /// Returns the signature of a SHA-256 digest, or `nil` if it can't be made.
    func signature(ofSHA256 digest: [UInt8]) -> [UInt8]? {
        guard digest.count == 32 else { return nil }
        let signature = [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
            count = Int(understudy_rsa_sign_sha256(rsa, digest, bytes.baseAddress))
        }
        return signature.count == length ? signature : nil
    }
}
