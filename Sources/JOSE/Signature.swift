import COpenSSL

/// The signature algorithms that the providers use (RFC 7518 §3).
package enum Algorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// The result of a verification.
package enum Verdict: Equatable, Sendable {
    case valid
    case invalid
    /// An ES256 signature in ASN.1 DER, as many libraries make it by default; JOSE wants the 64 bytes r‖s.
    case derEncoded
    /// The length isn't the one of this algorithm and key.
    case wrongLength(found: Int, expected: Int)
    case wrongKeyType
}

extension Key {
    /// Whether the key can make and check signatures of `algorithm`.
    package func suits(_ algorithm: Algorithm) -> Bool {
        switch (algorithm, kind) {
        case (.rs256, .rsa), (.es256, .p256): true
        default: false
        }
    }

    /// Signs with RS256 (PKCS#1 v1.5, deterministic) or ES256 (64 bytes r‖s).
    package func sign(_ message: [UInt8], with algorithm: Algorithm) throws(KeyError) -> [UInt8] {
        guard isPrivate, suits(algorithm) else { throw KeyError("this key can't sign \(algorithm.rawValue)") }
        guard let context = EVP_MD_CTX_new() else { throw KeyError("out of memory") }
        defer { EVP_MD_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSignInit(context, nil, OpenSSL.sha256, nil, pointer) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw KeyError("signing failed") }
        signature.removeLast(signature.count - length)
        guard algorithm == .es256 else { return signature }
        guard let raw = ECDSASignature.raw(fromDER: signature) else { throw KeyError("signing failed") }
        return raw
    }

    package func verify(_ signature: [UInt8], of message: [UInt8], with algorithm: Algorithm) -> Verdict {
        guard suits(algorithm) else { return .wrongKeyType }
        var encoded = signature
        if algorithm == .es256 {
            guard signature.count == 64 else {
                return ECDSASignature.raw(fromDER: signature) == nil
                    ? .wrongLength(found: signature.count, expected: 64) : .derEncoded
            }
            guard let der = ECDSASignature.der(fromRaw: signature) else { return .invalid }
            encoded = der
        } else if signature.count != Int(EVP_PKEY_get_size(pointer)) {
            return .wrongLength(found: signature.count, expected: Int(EVP_PKEY_get_size(pointer)))
        }
        guard let context = EVP_MD_CTX_new() else { return .invalid }
        defer { EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        guard EVP_DigestVerifyInit(context, nil, OpenSSL.sha256, nil, pointer) == 1 else { return .invalid }
        return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1 ? .valid : .invalid
    }
}

/// ECDSA over P-256 in its two spellings: JOSE's 64 bytes r‖s, and ASN.1 DER.
package enum ECDSASignature {
    package static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard der.first == 0x30, der.count <= 80 else { return nil }
        return der.withUnsafeBufferPointer { buffer -> [UInt8]? in
            var position = buffer.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &position, der.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 64)
            let ok = raw.withUnsafeMutableBufferPointer { raw -> Bool in
                guard let base = raw.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
            }
            return ok ? raw : nil
        }
    }

    package static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
        let s = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: 80)
        let length = der.withUnsafeMutableBufferPointer { buffer -> Int32 in
            var position = buffer.baseAddress
            return i2d_ECDSA_SIG(signature, &position)
        }
        return length > 0 ? Array(der.prefix(Int(length))) : nil
    }
}
