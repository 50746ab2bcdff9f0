import COpenSSL
import JSON
import Synchronization

/// The reason why a key can't be used, or a signature can't be made.
package struct KeyError: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(_ description: String) {
        self.description = description
        ERR_clear_error()
    }
}

/// A private or public key of RSA, an elliptic curve or Ed25519, or a secret for HMAC. It owns an `EVP_PKEY`, which
/// many threads may read at once.
package final class Key: @unchecked Sendable {
    package enum Kind: Equatable, Sendable {
        case rsa(bits: Int)
        case p256
        case p384
        case p521
        case ed25519
        /// Bytes that both sides know. There is no public half.
        case secret
    }

    let pointer: OpaquePointer
    package let kind: Kind
    package let isPrivate: Bool
    /// The public half as members of a JWK, without `kid`, `use` and `alg`; empty for a secret.
    package let publicMembers: [(String, JSONValue)]
    /// The signer for RS256, which is made for the first signature.
    private let unblinded = AtomicLazyReference<UnblindedRSA>()

    init(owning pointer: OpaquePointer, isPrivate: Bool) throws(KeyError) {
        self.pointer = pointer
        self.isPrivate = isPrivate
        switch EVP_PKEY_get_base_id(pointer) {
        case EVP_PKEY_RSA:
            kind = .rsa(bits: Int(EVP_PKEY_get_bits(pointer)))
            publicMembers = [
                ("kty", "RSA"), ("n", .string(Base64URL.encode(Key.number(pointer, "n")))),
                ("e", .string(Base64URL.encode(Key.number(pointer, "e")))),
            ]
        case EVP_PKEY_EC where Curve(group: Key.group(pointer)) != nil:
            let curve = Curve(group: Key.group(pointer)) ?? .p256
            kind = curve.kind
            publicMembers = [
                ("kty", "EC"), ("crv", .string(curve.rawValue)),
                ("x", .string(Base64URL.encode(Key.number(pointer, "qx", width: curve.width)))),
                ("y", .string(Base64URL.encode(Key.number(pointer, "qy", width: curve.width)))),
            ]
        case EVP_PKEY_ED25519:
            kind = .ed25519
            publicMembers = [
                ("kty", "OKP"), ("crv", "Ed25519"), ("x", .string(Base64URL.encode(Key.rawPublic(pointer)))),
            ]
        case _ where EVP_PKEY_is_a(pointer, "HMAC") == 1:
            kind = .secret
            publicMembers = []
        default:
            let name = EVP_PKEY_get0_type_name(pointer).map { String(cString: $0) } ?? "unknown"
            EVP_PKEY_free(pointer)
            throw KeyError(
                "a key of type \(name): only RSA, P-256 (prime256v1), P-384, P-521 and Ed25519 keys are used here")
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// The signer for RS256; `nil` if this isn't a private RSA key.
    var unblindedRSA: UnblindedRSA? { unblinded.load() ?? UnblindedRSA(self).map { unblinded.storeIfNil($0) } }

    /// Reads a PEM block: `PRIVATE KEY` (PKCS#8, unencrypted) or `PUBLIC KEY` (SPKI).
    package convenience init(pem: [UInt8]) throws(KeyError) {
        try self.init(pem: pem, reader: try KeyReader())
    }

    /// Reads a PEM block with a reader that can be used again, which is much faster.
    package convenience init(pem: [UInt8], reader: KeyReader) throws(KeyError) {
        let text = String(decoding: pem, as: UTF8.self)
        let isPrivate = text.contains("-----BEGIN PRIVATE KEY-----")
        guard isPrivate || text.contains("-----BEGIN PUBLIC KEY-----") else {
            throw KeyError(Key.whatInstead(of: text))
        }
        guard let pointer = reader.read(pem) else {
            throw KeyError("a PEM block that OpenSSL can't read: it is damaged or of another type than its label says")
        }
        try self.init(owning: pointer, isPrivate: isPrivate)
    }

    private static func whatInstead(of text: String) -> String {
        guard let start = text.firstRange(of: "-----BEGIN ") else { return "no PEM block in it" }
        let label = text[start.upperBound...].prefix { $0 != "-" }
        return "a PEM block labelled \"\(label)\", where \"PRIVATE KEY\" (PKCS#8) or \"PUBLIC KEY\" (SPKI) is expected"
    }

    /// Whether both are halves of one pair, or the same key.
    package func hasSamePublicHalf(as other: Key) -> Bool { EVP_PKEY_eq(pointer, other.pointer) == 1 }

    /// Returns PEM: PKCS#8 for a private key, SPKI for a public one.
    package func pem() throws(KeyError) -> String {
        try Key.written {
            isPrivate ? PEM_write_bio_PrivateKey($0, pointer, nil, nil, 0, nil, nil) : PEM_write_bio_PUBKEY($0, pointer)
        }
    }

    /// Returns the public half in PEM (SPKI).
    package func publicPEM() throws(KeyError) -> String { try Key.written { PEM_write_bio_PUBKEY($0, pointer) } }

    static func written(_ write: (OpaquePointer) -> Int32) throws(KeyError) -> String {
        guard let bio = BIO_new(BIO_s_mem()) else { throw KeyError("out of memory") }
        defer { BIO_free(bio) }
        var data: UnsafeMutablePointer<CChar>?
        guard write(bio) == 1 else { throw KeyError("it can't be written as PEM") }
        let count = understudy_bio_get_mem(bio, &data)
        guard let data else { throw KeyError("it can't be written as PEM") }
        return String(decoding: UnsafeRawBufferPointer(start: data, count: Int(count)), as: UTF8.self)
    }

    private static func number(_ pointer: OpaquePointer, _ name: String, width: Int? = nil) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else { return [] }
        defer { BN_free(number) }
        let length = width ?? Int((BN_num_bits(number) + 7) / 8)
        var bytes = [UInt8](repeating: 0, count: length)
        _ = bytes.withUnsafeMutableBufferPointer { BN_bn2binpad(number, $0.baseAddress, Int32(length)) }
        return bytes
    }

    /// Returns the 32 bytes of an Ed25519 public key.
    private static func rawPublic(_ pointer: OpaquePointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 32)
        var length = bytes.count
        guard EVP_PKEY_get_raw_public_key(pointer, &bytes, &length) == 1, length == bytes.count else { return [] }
        return bytes
    }

    private static func group(_ pointer: OpaquePointer) -> String {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1 else { return "" }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
