import JSON
import COpenSSL

extension Key {
    /// A JSON Web Key (RFC 7517) of the public half, members in the order in which Apple writes them.
    package func jwk(keyID: String, algorithm: Algorithm) -> JSONValue {
        var members = publicMembers
        members.insert(
            contentsOf: [("kid", .string(keyID)), ("use", "sig"), ("alg", .string(algorithm.rawValue))], at: 1)
        return .object(JSONObject(members))
    }

    /// Reads the public key of a JWK: `kty` `RSA` (`n`, `e`) or `EC` (`crv` `P-256`, `x`, `y`).
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
            // RFC 7518 section 3.3 demands 2,048 bits or more. OpenSSL would accept a modulus of 0.
            guard let first = modulus.firstIndex(where: { $0 != 0 }), modulus.count - first >= 256,
                exponent.contains(where: { $0 != 0 })
            else { throw KeyError("the JWK's modulus has fewer than 2048 bits, or its exponent is 0") }
            made = understudy_rsa_public(modulus, modulus.count, exponent, exponent.count)
        case "EC" where jwk["crv"]?.string == "P-256":
            let point = try [0x04] + member("x") + member("y")
            made = understudy_p256_public(point, point.count)
        default:
            throw KeyError("a JWK with kty \(jwk["kty"]?.string ?? "missing"): only RSA and EC P-256 are used here")
        }
        guard let made else { throw KeyError("the JWK's numbers make no key") }
        try self.init(owning: made, isPrivate: false)
    }
}
