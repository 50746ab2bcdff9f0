import JOSE
import JSON
import Time

extension KeyRing {
    /// Returns a JSON Web Key Set.
    static func jwks(_ keys: [KeyGenerator.NamedKey]) -> JSONValue {
        ["keys": .array(keys.map { $0.key.jwk(keyID: $0.id, algorithm: $0.algorithm) })]
    }

    /// Signs `claims` with the current key, or by HMAC with the client's `secret`. Without a `type`, the header is
    /// Apple's: `kid` and `alg`.
    package func mint(
        _ claims: JSONObject, at time: Instant, type: String? = nil, algorithm: Algorithm? = nil, secret: String? = nil
    ) throws(KeyError) -> String {
        let named = try signer(at: time, with: algorithm, secret)
        return try JWS.mint(
            header: KeyRing.header(named, type: type), claims: claims, key: named.key, algorithm: named.algorithm)
    }

    /// Returns the key that signs at `time` with `algorithm`.
    func signer(
        at time: Instant, with algorithm: Algorithm?, _ secret: String?
    ) throws(KeyError) -> KeyGenerator.NamedKey {
        if algorithm == .hs256, let secret { return .shared(try Key(secret: Array(secret.utf8))) }
        guard let named = signing(at: time, with: algorithm) else { throw KeyRing.noKey(algorithm) }
        return named
    }

    private static func noKey(_ algorithm: Algorithm?) -> KeyError {
        KeyError(algorithm.map { "no signing key is ready for \($0.rawValue)" } ?? "no signing key is ready")
    }

    static func header(_ named: KeyGenerator.NamedKey, type: String?) -> JSONObject {
        let algorithm = JSONValue.string(named.algorithm.rawValue)
        guard let type else { return JSONObject([("kid", .string(named.id)), ("alg", algorithm)]) }
        var header = JSONObject([("alg", algorithm)])
        header["kid"] = named.algorithm == .hs256 ? nil : .string(named.id)
        header["typ"] = .string(type)
        return header
    }

    static let unsignedHeader = JSONObject([("alg", "none"), ("typ", "JWT")])

    /// The period in which certificates are valid: from 2020 to 2050, whatever the world's clock says.
    private static let validity = (
        from: Instant.first + .seconds(1_577_836_800), to: Instant.first + .seconds(2_524_608_000)
    )

    /// The end of the period in which certificates are valid.
    package static var endOfCertificates: Instant { validity.to }

    /// Returns keys as X.509 certificates by their IDs, as Google publishes them beside the key set.
    static func certificates(_ keys: [KeyGenerator.NamedKey], commonName: String) throws(KeyError) -> JSONValue {
        var certificates = JSONObject()
        for named in keys {
            certificates[named.id] = .string(
                try Certificate.selfSigned(
                    named.key, commonName: commonName, serial: Array(Digest.sha256(named.id).prefix(8)),
                    from: validity.from, to: validity.to))
        }
        return .object(certificates)
    }
}

extension KeyGenerator.NamedKey {
    /// Returns a key for a secret that both sides know, which is in no key set.
    static func shared(_ key: Key) -> KeyGenerator.NamedKey {
        KeyGenerator.NamedKey(id: "", algorithm: .hs256, key: key)
    }

    /// Returns whether `token` is signed by this key, with its algorithm.
    package func hasSigned(_ token: JWS) -> Bool {
        token.algorithm == algorithm.rawValue && token.verify(with: key, algorithm: algorithm) == .valid
    }
}
