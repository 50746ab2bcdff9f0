import JSON
import COpenSSL

extension Key {
    /// Returns a JSON Web Key (RFC 7517) of the public half, with its members in Apple's order. For a secret, it has no
    /// key material.
    package func jwk(keyID: String, algorithm: Algorithm) -> JSONValue {
        var members = publicMembers
        members.insert(
            contentsOf: [("kid", .string(keyID)), ("use", "sig"), ("alg", .string(algorithm.rawValue))],
            at: members.isEmpty ? 0 : 1)
        return .object(JSONObject(members))
    }

    /// Reads the public key of a JWK: `kty` `RSA` (`n`, `e`), `EC` (`crv` `P-256`, `P-384` or `P-521`, `x`, `y`) or
    /// `OKP` (`crv` `Ed25519`, `x`; RFC 8037). A modulus must have 2,048 to 8,192 bits and an exponent 64 at most, so
    /// that verification never becomes expensive.
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

    /// Returns the SHA-256 thumbprint of a public JWK, over the members that its `kty` requires and no others:
    /// <https://datatracker.ietf.org/doc/html/rfc7638#section-3.2>; for OKP,
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
