import COpenSSL

/// What must happen before OpenSSL is first used, and what is fetched from it once.
enum OpenSSL {
    /// SHA-256, fetched once: OpenSSL 3 otherwise looks it up, under a lock, at each use.
    nonisolated(unsafe) static let sha256: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA256", nil)
    }()

    nonisolated(unsafe) static let sha1: OpaquePointer? = {
        prepare()
        return EVP_MD_fetch(nil, "SHA1", nil)
    }()

    private static let isPrepared: Bool = {
        // OpenSSL's own clean-up at exit pulls its locks away from threads that still run, such as one that makes a
        // key in the background; the process is going anyway.
        // Nor does a start have the time to read openssl.cnf, or tables of names and messages that nobody asks for.
        let without = OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS
        let nor = OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS
        OPENSSL_init_crypto(UInt64(without) | UInt64(nor), nil)
        return true
    }()

    /// By its number, as certificates name it, a digest is found in a table that `prepare` leaves empty.
    static let knowsDigestOfCertificates: Bool = {
        prepare()
        return EVP_add_digest(EVP_sha256()) == 1
    }()

    /// Costs nothing after the first time.
    static func prepare() { _ = isPrepared }
}
