import COpenSSL

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

    /// Makes a new key for `algorithm`. For HS256, it is a secret of 32 bytes.
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

    /// Makes an HS256 key of a secret, such as a client secret for `client_secret_jwt`, whose UTF-8 is the key:
    /// <https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication>.
    package convenience init(secret: [UInt8]) throws(KeyError) {
        OpenSSL.prepare()
        guard !secret.isEmpty, let pointer = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, secret, secret.count)
        else { throw KeyError("the secret can't be used as a key: is it empty?") }
        try self.init(owning: pointer, isPrivate: true)
    }
}
