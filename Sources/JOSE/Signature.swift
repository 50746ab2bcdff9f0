import COpenSSL

/// The algorithms by which JSON Web Signatures are made and checked here (RFC 7518 §3, RFC 8037 §3.1), in the order of
/// JOSE's registry.
package enum Algorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    /// The algorithm Ed25519. The name `EdDSA` would also allow Ed448 (RFC 8037 §3.1), which isn't supported.
    case edDSA = "EdDSA"

    /// The hash function in the algorithm's name. EdDSA has none in its name: Ed25519 hashes by itself, with SHA-512.
    fileprivate enum Hash {
        case sha256
        case sha384
        case sha512

        var function: OpaquePointer? {
            switch self {
            case .sha256: OpenSSL.sha256
            case .sha384: OpenSSL.sha384
            case .sha512: OpenSSL.sha512
            }
        }

        var size: Int32 {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    fileprivate var hash: Hash {
        switch self {
        case .hs256, .rs256, .es256, .ps256: .sha256
        case .rs384, .es384, .ps384: .sha384
        case .rs512, .es512, .ps512, .edDSA: .sha512
        }
    }

    /// The elliptic curve of an ECDSA algorithm; `nil` for other algorithms.
    var curve: Curve? {
        switch self {
        case .es256: .p256
        case .es384: .p384
        case .es512: .p521
        default: nil
        }
    }

    fileprivate var isPSS: Bool { [.ps256, .ps384, .ps512].contains(self) }

    /// Returns the left half of the hash of `text`, base64url: OpenID Connect's `at_hash` and `c_hash` in a token
    /// signed with this algorithm. The hash is the one in the algorithm's name, and SHA-512 for EdDSA, as clients
    /// expect.
    /// <https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken>, <https://github.com/panva/oidc-token-hash>
    package func leftHalf(of text: String) -> String {
        let digest =
            switch hash {
            case .sha256: Digest.sha256(text)
            case .sha384: Digest.sha384(text)
            case .sha512: Digest.sha512(text)
            }
        return Base64URL.encode(Array(digest.prefix(digest.count / 2)))
    }
}

package enum Verdict: Equatable, Sendable {
    case valid
    case invalid
    /// The signature is an ECDSA signature in ASN.1 DER, as many libraries make it by default. JOSE requires the bytes
    /// r‖s.
    case derEncoded
    /// The signature's length doesn't fit the algorithm and the key.
    case wrongLength(found: Int, expected: Int)
    case wrongKeyType
}

extension Key {
    /// Whether the key is of the kind that `algorithm` needs. A public key of that kind can only check signatures.
    package func suits(_ algorithm: Algorithm) -> Bool {
        switch kind {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512].contains(algorithm)
        case .p256, .p384, .p521: algorithm.curve?.kind == kind
        case .ed25519: algorithm == .edDSA
        case .secret: algorithm == .hs256
        }
    }

    /// Signs a message with RSA (PKCS#1 v1.5, or PSS with a salt as long as the hash), ECDSA (r‖s), EdDSA or HMAC. PSS
    /// and ECDSA make a different signature each time.
    package func sign(_ message: [UInt8], with algorithm: Algorithm) throws(KeyError) -> [UInt8] {
        guard isPrivate, suits(algorithm) else { throw KeyError("this key can't sign \(algorithm.rawValue)") }
        if algorithm == .rs256 {
            guard let signature = unblindedRSA?.signature(ofSHA256: Digest.sha256(message)) else {
                throw KeyError("signing failed")
            }
            return signature
        }
        guard let context = EVP_MD_CTX_new() else { throw KeyError("out of memory") }
        defer { EVP_MD_CTX_free(context) }
        var length = signatureCapacity
        var signature = [UInt8](repeating: 0, count: length)
        var details: OpaquePointer?
        guard EVP_DigestSignInit(context, &details, Key.digest(of: algorithm), nil, pointer) == 1,
            Key.setPadding(details, for: algorithm),
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw KeyError("signing failed") }
        signature.removeLast(signature.count - length)
        guard let width = algorithm.curve?.width else { return signature }
        guard let raw = ECDSASignature.raw(fromDER: signature, width: width) else { throw KeyError("signing failed") }
        return raw
    }

    package func verify(_ signature: [UInt8], of message: [UInt8], with algorithm: Algorithm) -> Verdict {
        guard suits(algorithm) else { return .wrongKeyType }
        var encoded = signature
        if let width = algorithm.curve?.width {
            guard signature.count == 2 * width else {
                return ECDSASignature.raw(fromDER: signature, width: width) == nil
                    ? .wrongLength(found: signature.count, expected: 2 * width) : .derEncoded
            }
            guard let der = ECDSASignature.der(fromRaw: signature, width: width) else { return .invalid }
            encoded = der
        } else if signature.count != signatureCapacity {
            return .wrongLength(found: signature.count, expected: signatureCapacity)
        }
        if algorithm == .hs256 {
            // An HMAC is checked by computing it again.
            guard let own = try? sign(message, with: .hs256) else { return .invalid }
            return constantTimeEquals(own, signature) ? .valid : .invalid
        }
        guard let context = EVP_MD_CTX_new() else { return .invalid }
        defer { EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        var details: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &details, Key.digest(of: algorithm), nil, pointer) == 1,
            Key.setPadding(details, for: algorithm)
        else { return .invalid }
        return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1 ? .valid : .invalid
    }

    /// The greatest length of a signature in OpenSSL's form, in bytes. For all algorithms but ECDSA, this is the exact
    /// length.
    private var signatureCapacity: Int {
        switch kind {
        case .rsa, .p256, .p384, .p521: Int(EVP_PKEY_get_size(pointer))
        case .ed25519: 64
        case .secret: 32
        }
    }

    /// Returns OpenSSL's digest for signing with the algorithm; `nil` for Ed25519, which hashes by itself.
    private static func digest(of algorithm: Algorithm) -> OpaquePointer? {
        algorithm == .edDSA ? nil : algorithm.hash.function
    }

    /// Sets the padding of RSA-PSS. By RFC 7518 section 3.5, the salt is as long as the hash.
    private static func setPadding(_ details: OpaquePointer?, for algorithm: Algorithm) -> Bool {
        guard algorithm.isPSS else { return true }
        return EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(details, algorithm.hash.size) == 1
    }
}

/// Converts an ECDSA signature between its two encodings: JOSE's r‖s, each of `width` bytes (32 for P-256), and ASN.1
/// DER.
package enum ECDSASignature {
    package static func raw(fromDER der: [UInt8], width: Int = 32) -> [UInt8]? {
        guard der.first == 0x30, der.count <= 2 * width + 16 else { return nil }
        return der.withUnsafeBufferPointer { buffer -> [UInt8]? in
            var position = buffer.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &position, der.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * width)
            let ok = raw.withUnsafeMutableBufferPointer { raw -> Bool in
                guard let base = raw.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, Int32(width)) == width
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + width, Int32(width)) == width
            }
            return ok ? raw : nil
        }
    }

    package static func der(fromRaw raw: [UInt8], width: Int = 32) -> [UInt8]? {
        guard raw.count == 2 * width, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(width), nil) }
        let s = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + width }, Int32(width), nil) }
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: 2 * width + 16)
        let length = der.withUnsafeMutableBufferPointer { buffer -> Int32 in
            var position = buffer.baseAddress
            return i2d_ECDSA_SIG(signature, &position)
        }
        return length > 0 ? Array(der.prefix(Int(length))) : nil
    }
}

/// A private RSA key that signs RS256 without blinding. Blinding would add a twentieth to a signature's time.
///
/// Blinding protects a key from an observer who can measure the time of many signatures:
/// <https://www.openssl.org/docs/man3.0/man3/RSA_blinding_on.html>. In this server, it would protect nothing: the
/// server signs everything it is asked to, and its keys are for tests only. Signatures with and without blinding are
/// equal, byte for byte.
final class UnblindedRSA: @unchecked Sendable {
    private let rsa: OpaquePointer
    private let length: Int

    /// Makes a fast RS256 signer for an RSA key; `nil` if OpenSSL can't.
    init?(_ key: Key) {
        guard case .rsa(let bits) = key.kind, key.isPrivate, let rsa = understudy_unblinded_rsa(key.pointer) else {
            return nil
        }
        self.rsa = rsa
        length = (bits + 7) / 8
    }

    deinit { understudy_rsa_free(rsa) }

    /// Returns the RS256 signature of a SHA-256 digest, or `nil` if it can't be made.
    func signature(ofSHA256 digest: [UInt8]) -> [UInt8]? {
        guard digest.count == 32 else { return nil }
        let signature = [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
            count = Int(understudy_rsa_sign_sha256(rsa, digest, bytes.baseAddress))
        }
        return signature.count == length ? signature : nil
    }
}
