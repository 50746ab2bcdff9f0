import COpenSSL

/// Prepares OpenSSL, and keeps what is fetched from it once.
enum OpenSSL {
    /// SHA-256, fetched once: OpenSSL 3 otherwise looks it up, under a lock, at each use.
    nonisolated(unsafe) static let sha256: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA256", nil)
    }()

    nonisolated(unsafe) static let sha384: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA384", nil)
    }()

    nonisolated(unsafe) static let sha512: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA512", nil)
    }()

    nonisolated(unsafe) static let sha1: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA1", nil)
    }()

    private static let isPrepared: Bool = {
        // OpenSSL's clean-up at exit frees locks that other threads may still use, such as one that makes a key in the
        // background. It is switched off, and so are openssl.cnf and the tables of names and messages, which take time at
        // the start and aren't used.
        let without = OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS
        let nor = OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS
        OPENSSL_init_crypto(UInt64(without) | UInt64(nor), nil)
        return true
    }()

    /// Certificates name a digest by a number, which OpenSSL looks up in a table that `prepare` leaves empty. This adds
    /// the digest.
    static let knowsDigestOfCertificates: Bool = {
        prepare()
        return EVP_add_digest(EVP_sha256()) == 1
    }()

    /// Prepares OpenSSL. Only the first call does anything.
    static func prepare() { _ = isPrepared }
}

/// Digests that other libraries in this process look up by number to see by which a certificate is signed, as libpq does for
/// `SCRAM-SHA-256-PLUS`: `OpenSSL.prepare` leaves that table empty.
package enum CertificateDigests {
    private static let areKnown: Bool = {
        OpenSSL.prepare()
        return [EVP_sha224(), EVP_sha256(), EVP_sha384(), EVP_sha512()].allSatisfy { EVP_add_digest($0) == 1 }
    }()

    /// Adds them. Only the first call does anything.
    package static func prepare() { _ = areKnown }
}
