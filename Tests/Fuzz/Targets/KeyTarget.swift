import JOSE
import JSON
import Time

extension FuzzTarget {
    private static let authority = Result {
        try CertificateAuthority(commonName: "fuzz", hosts: ["example.com"], from: .first, to: .last)
    }

    /// Reads keys as PEM and as JWK, and certificates.
    static let keys = FuzzTarget("keys", maximumLength: 8192) { bytes in
        if let key = try? Key(pem: bytes) { try check(key) }
        if let jwk = try? JSONValue(parsing: bytes) {
            if let key = try? Key(jwk: jwk) { try check(key) }
            for member in jwk["keys"]?.array ?? [] { if let key = try? Key(jwk: member) { try check(key) } }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let authority = try authority.get()
        guard (try? authority.verify(text)) == nil else { throw Finding("a certificate that nobody issued: \(text)") }
        try? CertificateAuthority(key: authority.key, certificate: text).verify(authority.certificate)
    }

    private static func check(_ key: Key) throws {
        guard let pem = try? key.publicPEM() else { throw Finding("a key that can't be written") }
        guard let again = try? Key(pem: Array(pem.utf8)) else {
            throw Finding("a key that can't be read again: \(pem)")
        }
        try require(again.kind == key.kind, "another kind: \(pem)")
        let algorithm: Algorithm = key.kind == .p256 ? .es256 : .rs256
        let jwk = key.jwk(keyID: "k", algorithm: algorithm)
        guard let published = try? Key(jwk: jwk) else { throw Finding("a JWK that can't be read: \(jwk.text)") }
        try require(published.jwk(keyID: "k", algorithm: algorithm).text == jwk.text, "another JWK: \(jwk.text)")
        guard key.isPrivate, key.suits(algorithm), let signature = try? key.sign([1, 2, 3], with: algorithm) else {
            return
        }
        try require(key.verify(signature, of: [1, 2, 4], with: algorithm) != .valid, "it signs anything: \(pem)")
    }
}
