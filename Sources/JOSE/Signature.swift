import COpenSSL

/// The signature algorithms that are made and checked here (RFC 7518 §3, RFC 8037 §3.1), in the order in which JOSE's
/// registry has them.
package enum Algorithm: String, Sendable, CaseIterable {
    /// HMAC with SHA-256, by a secret that both sides know.
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case ps256 = "PS256"
    /// With Ed25519; the name allows Ed448, too (RFC 8037 §3.1), which isn't used here.
    case edDSA = "EdDSA"

    /// The left half of the hash of `text`, base64url: OpenID Connect's `at_hash` and `c_hash` in a token that is signed with
    /// this algorithm. The hash is the one in the algorithm's name. EdDSA's name has none: clients take
    /// SHA-512, which Ed25519 itself uses.
    /// <https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken>, <https://github.com/panva/oidc-token-hash>
    package func leftHalf(of text: String) -> String {
        let hash = self == .edDSA ? Digest.sha512(text) : Digest.sha256(text)
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }
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
        case (.rs256, .rsa), (.ps256, .rsa), (.es256, .p256), (.edDSA, .ed25519), (.hs256, .secret): true
        default: false
        }
    }

    /// Signs with RS256 (PKCS#1 v1.5), PS256 (PSS, a salt of 32 bytes), ES256 (64 bytes r‖s), EdDSA or HS256. RS256, EdDSA and
    /// HS256 make the same signature each time; PS256 and ES256 don't.
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
        } else if signature.count != signatureCapacity {
            return .wrongLength(found: signature.count, expected: signatureCapacity)
        }
        if algorithm == .hs256 {
            // Such a signature is checked by making it again.
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

    /// How long a signature is at most, as OpenSSL writes it: in bytes, and for all but ES256 exactly.
    private var signatureCapacity: Int {
        switch kind {
        case .rsa, .p256: Int(EVP_PKEY_get_size(pointer))
        case .ed25519: 64
        case .secret: 32
        }
    }

    /// Ed25519 hashes by itself.
    private static func digest(of algorithm: Algorithm) -> OpaquePointer? {
        algorithm == .edDSA ? nil : OpenSSL.sha256
    }

    /// RFC 7518 section 3.5: the salt of PS256 is as long as the hash.
    private static func setPadding(_ details: OpaquePointer?, for algorithm: Algorithm) -> Bool {
        guard algorithm == .ps256 else { return true }
        return EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(details, 32) == 1
    }
}
