import COpenSSL

/// The initialization of OpenSSL, and its digest algorithms, each of which is looked up only once.
enum OpenSSL {
    /// OpenSSL's SHA-256. It is looked up only once, because OpenSSL 3 searches for an algorithm under a lock.
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
        // background. It is switched off. So are openssl.cnf and the tables of names and messages, which cost time at
        // the start and aren't used.
        let without = OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS
        let nor = OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS
        OPENSSL_init_crypto(UInt64(without) | UInt64(nor), nil)
        return true
    }()

    /// Whether SHA-256 could be added to the table in which OpenSSL looks up the hash algorithms of certificates. The
    /// first use of this property adds it, because `prepare` leaves the table empty.
    static let knowsDigestOfCertificates: Bool = {
        prepare()
        return EVP_add_digest(EVP_sha256()) == 1
    }()

    /// Prepares OpenSSL. Only the first call has an effect.
    static func prepare() { _ = isPrepared }
}

/// Fills the table in which OpenSSL looks up the hash algorithms of certificates. `OpenSSL.prepare` leaves the table
/// empty, but other libraries in this process need it: libpq looks up algorithms there for `SCRAM-SHA-256-PLUS`.
package enum CertificateDigests {
    private static let areKnown: Bool = {
        OpenSSL.prepare()
        return [EVP_sha224(), EVP_sha256(), EVP_sha384(), EVP_sha512()].allSatisfy { EVP_add_digest($0) == 1 }
    }()

    /// Adds the hash algorithms SHA-224 to SHA-512, which certificates use, to OpenSSL's lookup table. Only the first
    /// call has an effect.
    package static func prepare() { _ = areKnown }
}
