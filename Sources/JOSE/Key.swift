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

/// A private or public key of RSA, an elliptic curve or Ed25519, or a secret for HMAC. The object owns an OpenSSL
/// `EVP_PKEY`, from which many threads may read at once.
package final class Key: @unchecked Sendable {
    package enum Kind: Equatable, Sendable {
        case rsa(bits: Int)
        case p256
        case p384
        case p521
        case ed25519
        /// The key is a secret for HMAC, which both sides know. It has no public half.
        case secret
    }

    let pointer: OpaquePointer
    package let kind: Kind
    package let isPrivate: Bool
    /// The public half of the key as members of a JWK, without `kid`, `use` and `alg`; empty for a secret.
    package let publicMembers: [(String, JSONValue)]
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

    /// The fast signer for RS256; `nil` if this isn't a private RSA key.
    var unblindedRSA: UnblindedRSA? { unblinded.load() ?? UnblindedRSA(self).map { unblinded.storeIfNil($0) } }

    /// Reads a key from a PEM block: `PRIVATE KEY` (PKCS#8, unencrypted) or `PUBLIC KEY` (SPKI).
    package convenience init(pem: [UInt8]) throws(KeyError) {
        try self.init(pem: pem, reader: try KeyReader())
    }

    /// Reads a key from a PEM block. `reader` can be reused for many keys, which is much faster than making a reader
    /// for each.
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
        guard let start = text.firstRange(of: "-----BEGIN ") else { return "no PEM block in the text" }
        let label = text[start.upperBound...].prefix { $0 != "-" }
        return "a PEM block labelled \"\(label)\", where \"PRIVATE KEY\" (PKCS#8) or \"PUBLIC KEY\" (SPKI) is expected"
    }

    /// Whether two keys have the same public half: they are equal, or they are the halves of one key pair.
    package func hasSamePublicHalf(as other: Key) -> Bool { EVP_PKEY_eq(pointer, other.pointer) == 1 }

    /// Returns the key in PEM: PKCS#8 for a private key, SPKI for a public key.
    package func pem() throws(KeyError) -> String {
        try Key.written {
            isPrivate ? PEM_write_bio_PrivateKey($0, pointer, nil, nil, 0, nil, nil) : PEM_write_bio_PUBKEY($0, pointer)
        }
    }

    /// Returns the public half of the key in PEM (SPKI).
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

/// OpenSSL's decoder for PEM keys. Making a decoder costs more than reading a key, so one decoder reads many keys. Only
/// one thread may use it at a time.
package final class KeyReader {
    private let context: OpaquePointer
    /// The variable to which OpenSSL's decoder writes the key that it has read.
    private let target: UnsafeMutablePointer<OpaquePointer?>

    package init() throws(KeyError) {
        OpenSSL.prepare()
        target = .allocate(capacity: 1)
        target.initialize(to: nil)
        guard let context = understudy_pem_decoder(target) else {
            target.deallocate()
            throw KeyError("out of memory")
        }
        self.context = context
        // An empty pass phrase prevents OpenSSL from asking for one on the terminal.
        OSSL_DECODER_CTX_set_passphrase(context, [0], 0)
    }

    deinit {
        OSSL_DECODER_CTX_free(context)
        target.deallocate()
    }

    /// Reads the key in the PEM text `pem`; `nil` if it contains no key. The caller must free the key.
    func read(_ pem: [UInt8]) -> OpaquePointer? {
        target.pointee = nil
        let isRead = pem.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            var rest = bytes.count
            return OSSL_DECODER_from_data(context, &position, &rest) == 1
        }
        if !isRead { ERR_clear_error() }
        return isRead ? target.pointee : nil
    }
}

extension Key {
    /// Returns the public half of the key as a JSON Web Key (RFC 7517), with its members in Apple's order. For a
    /// secret, the result has no key material.
    package func jwk(keyID: String, algorithm: Algorithm) -> JSONValue {
        var members = publicMembers
        members.insert(
            contentsOf: [("kid", .string(keyID)), ("use", "sig"), ("alg", .string(algorithm.rawValue))],
            at: members.isEmpty ? 0 : 1)
        return .object(JSONObject(members))
    }

    /// Reads a public key from a JWK: `kty` `RSA` (`n`, `e`), `EC` (`crv` `P-256`, `P-384` or `P-521`, `x`, `y`) or
    /// `OKP` (`crv` `Ed25519`, `x`; RFC 8037). An RSA modulus must have 2,048 to 8,192 bits, and the exponent at
    /// most 64 bits, so that verification never becomes expensive.
    package convenience init(jwk: JSONValue) throws(KeyError) {
        func member(_ name: String) throws(KeyError) -> [UInt8] {
            guard let bytes = jwk[name]?.string.flatMap({ Base64URL.decode($0) }), !bytes.isEmpty, bytes.count <= 1024
            else { throw KeyError("the JWK's member \"\(name)\" is missing or isn't base64url") }
            return bytes
        }
        OpenSSL.prepare()
        let made: OpaquePointer?
        switch jwk["kty"]?.string {
        case "RSA":
            let modulus = try member("n")
            let exponent = try member("e")
            // RFC 7518 section 3.3 requires 2,048 bits or more. OpenSSL would accept a modulus of 0.
            guard let first = modulus.firstIndex(where: { $0 != 0 }), modulus.count - first >= 256,
                let firstOfExponent = exponent.firstIndex(where: { $0 != 0 }), exponent.count - firstOfExponent <= 8
            else {
                throw KeyError(
                    "the JWK's modulus has fewer than 2048 bits, or its exponent is 0 or longer than 64 bits")
            }
            made = understudy_rsa_public(modulus, modulus.count, exponent, exponent.count)
        case "EC" where jwk["crv"]?.string.flatMap { Curve(rawValue: $0) } != nil:
            let point = try [0x04] + member("x") + member("y")
            made = understudy_ec_public(jwk["crv"]?.string ?? "", point, point.count)
        case "OKP" where jwk["crv"]?.string == "Ed25519":
            let point = try member("x")
            made = point.count == 32 ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, point, point.count) : nil
        default:
            throw KeyError(
                "a JWK with kty \(jwk["kty"]?.string ?? "missing"): only RSA, EC (P-256, P-384, P-521) and OKP Ed25519 are used here"
            )
        }
        guard let made else { throw KeyError("the JWK's numbers make no key") }
        try self.init(owning: made, isPrivate: false)
    }

    /// The members of a JWK that must stay secret: <https://datatracker.ietf.org/doc/html/rfc7518#section-6>.
    package static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Returns the SHA-256 thumbprint of a public JWK, over only the members that its `kty` requires:
    /// <https://datatracker.ietf.org/doc/html/rfc7638#section-3.2>; for `OKP`,
    /// <https://datatracker.ietf.org/doc/html/rfc8037#section-2>.
    package static func thumbprint(of jwk: JSONValue) -> String {
        let names =
            switch jwk["kty"]?.string {
            case "RSA": ["e", "kty", "n"]
            case "EC": ["crv", "kty", "x", "y"]
            default: ["crv", "kty", "x"]
            }
        let members = names.compactMap { name in jwk[name].map { (name, $0) } }
        return Base64URL.encode(Digest.sha256(JSONValue.object(JSONObject(members)).text))
    }
}

extension Key {
    package static func generateRSA(bits: Int = 2048) throws(KeyError) -> Key {
        try generated(understudy_generate_rsa(UInt32(bits)), "RSA")
    }

    package static func generateP256() throws(KeyError) -> Key { try generate(on: .p256) }

    private static func generate(on curve: Curve) throws(KeyError) -> Key {
        try generated(understudy_generate_ec(curve.rawValue), curve.rawValue)
    }

    package static func generateEd25519() throws(KeyError) -> Key {
        try generated(understudy_generate_ed25519(), "Ed25519")
    }

    /// Makes a new key for `algorithm`. For HS256, the key is a secret of 32 bytes.
    package static func generate(for algorithm: Algorithm) throws(KeyError) -> Key {
        switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: return try generateRSA()
        case .es256: return try generate(on: .p256)
        case .es384: return try generate(on: .p384)
        case .es512: return try generate(on: .p521)
        case .edDSA: return try generateEd25519()
        case .hs256:
            var random = Randomness(seed: nil)
            return try Key(secret: random.bytes(32))
        }
    }

    private static func generated(
        _ make: @autoclosure () -> OpaquePointer?, _ name: String
    ) throws(KeyError) -> Key {
        OpenSSL.prepare()
        guard let pointer = make() else { throw KeyError("\(name) key generation failed") }
        return try Key(owning: pointer, isPrivate: true)
    }

    /// Makes an HS256 key from the bytes of a secret. For `client_secret_jwt`, these bytes are the UTF-8 of the client
    /// secret: <https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication>.
    package convenience init(secret: [UInt8]) throws(KeyError) {
        OpenSSL.prepare()
        guard !secret.isEmpty, let pointer = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, secret, secret.count)
        else { throw KeyError("the secret can't be used as a key: is it empty?") }
        try self.init(owning: pointer, isPrivate: true)
    }
}

/// The elliptic curves for ECDSA. The raw value is the `crv` in a JSON Web Key:
/// <https://datatracker.ietf.org/doc/html/rfc7518#section-6.2.1.1>.
enum Curve: String, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// Finds an elliptic curve by OpenSSL's name for it.
    init?(group: String) {
        guard let curve = Curve.allCases.first(where: { $0.group == group }) else { return nil }
        self = curve
    }

    var group: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }

    var kind: Key.Kind {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }

    /// The number of bytes of a coordinate on this elliptic curve, and of each of the two numbers in an ECDSA
    /// signature.
    var width: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }
}
