import COpenSSL
import Time

/// A certificate authority for TLS certificates of the hosts that this server stands in for:
/// <https://www.rfc-editor.org/rfc/rfc5280>. Its certificate is constrained to a few host names, so that clients can't
/// be deceived with certificates for any other host.
package struct CertificateAuthority: Sendable {
    package let key: Key
    /// The authority's certificate, in PEM.
    package let certificate: String

    package init(key: Key, certificate: String) {
        self.key = key
        self.certificate = certificate
    }

    /// Makes a new certificate authority for hosts and their subdomains, and for this machine's loopback addresses.
    package init(commonName: String, hosts: [String], from start: Instant, to end: Instant) throws(KeyError) {
        key = try Key.generateP256()
        var constraints = hosts.map { "permitted;DNS:\($0)" }
        constraints += ["permitted;IP:127.0.0.0/255.0.0.0", "permitted;IP:::1/\(CertificateAuthority.fullMask)"]
        certificate = try Certificate.make(
            key, commonName: commonName, serial: CertificateAuthority.serial(), from: start, to: end, issuer: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"), (NID_subject_key_identifier, "hash"),
                (NID_name_constraints, "critical," + constraints.joined(separator: ",")),
            ])
    }

    private static let fullMask = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"

    private static func serial() -> [UInt8] {
        var random = Randomness(seed: nil)
        // A serial number must be positive and not empty.
        return [0x40] + random.bytes(15)
    }

    /// Issues a TLS server certificate for `hosts` and IP addresses, with a new key. Returns the key in PEM, and the
    /// chain in PEM: the server's certificate, then the authority's.
    package func issue(
        hosts: [String], addresses: [String], from start: Instant, to end: Instant
    ) throws(KeyError) -> (chain: String, key: String) {
        let own = try Key.generateP256()
        let names = hosts.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
        let leaf = try Certificate.make(
            own, commonName: "Understudy, for tests only", serial: CertificateAuthority.serial(), from: start, to: end,
            issuer: self,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid:always"),
                (NID_subject_alt_name, names.joined(separator: ",")),
            ])
        return (chain: leaf + certificate, key: try own.pem())
    }

    /// Checks that a client that trusts this authority would trust the first certificate of `chain` today. If not,
    /// throws OpenSSL's reason, such as a name outside the constraint, an expired authority, or a different authority's
    /// signature.
    package func verify(_ chain: String) throws(KeyError) {
        guard OpenSSL.knowsDigestOfCertificates else { throw KeyError("SHA-256 is missing") }
        let root = try Certificate.read(certificate)
        defer { X509_free(root) }
        let leaf = try Certificate.read(chain)
        defer { X509_free(leaf) }
        guard let store = X509_STORE_new() else { throw KeyError("a certificate can't be verified") }
        defer { X509_STORE_free(store) }
        guard let context = X509_STORE_CTX_new() else { throw KeyError("a certificate can't be verified") }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_add_cert(store, root) == 1, X509_STORE_CTX_init(context, store, leaf, nil) == 1 else {
            throw KeyError("a certificate can't be verified")
        }
        guard X509_verify_cert(context) == 1 else {
            let reason = X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context)))
            throw KeyError(reason.map { String(cString: $0) } ?? "a certificate can't be verified")
        }
    }
}

/// Functions that make and read X.509 certificates: <https://www.rfc-editor.org/rfc/rfc5280>.
package enum Certificate {
    /// Makes a self-signed certificate for `key`. Google publishes its keys in this form too, for clients that don't
    /// read JWKs. Calls with equal arguments make equal bytes if `key` is an RSA key.
    package static func selfSigned(
        _ key: Key, commonName: String, serial: [UInt8], from start: Instant, to end: Instant
    ) throws(KeyError) -> String {
        try make(key, commonName: commonName, serial: serial, from: start, to: end, issuer: nil, extensions: [])
    }

    /// Makes an X.509 version 3 certificate, signed by `issuer`, or by the certificate's own key if there is no issuer.
    static func make(
        _ key: Key, commonName: String, serial: [UInt8], from start: Instant, to end: Instant,
        issuer: CertificateAuthority?, extensions: [(kind: Int32, value: String)]
    ) throws(KeyError) -> String {
        OpenSSL.prepare()
        guard let certificate = X509_new() else { throw KeyError("a certificate can't be made") }
        defer { X509_free(certificate) }
        let number = BN_bin2bn(serial, Int32(serial.count), nil)
        defer { BN_free(number) }
        let name = X509_get_subject_name(certificate)
        let parent = try issuer.map { issuer throws(KeyError) in try read(issuer.certificate) } ?? nil
        defer { X509_free(parent) }
        guard X509_set_version(certificate, 2) == 1,
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil,
            ASN1_TIME_set(X509_getm_notBefore(certificate), time_t(start.seconds)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), time_t(end.seconds)) != nil,
            X509_NAME_add_entry_by_txt(
                name, "CN", 0x1000 | 1, Array(commonName.utf8), Int32(commonName.utf8.count), -1, 0) == 1,
            X509_set_issuer_name(certificate, parent.map { X509_get_subject_name($0) } ?? name) == 1,
            X509_set_pubkey(certificate, key.pointer) == 1
        else { throw KeyError("a certificate can't be made") }
        for entry in extensions {
            var context = X509V3_CTX()
            X509V3_set_ctx(&context, parent ?? certificate, certificate, nil, nil, 0)
            guard let made = X509V3_EXT_conf_nid(nil, &context, entry.kind, entry.value) else {
                throw KeyError("a certificate can't hold \(entry.value)")
            }
            defer { X509_EXTENSION_free(made) }
            guard X509_add_ext(certificate, made, -1) == 1 else { throw KeyError("a certificate can't be made") }
        }
        let signer = issuer?.key ?? key
        guard signer.isPrivate, X509_sign(certificate, signer.pointer, OpenSSL.sha256) > 0 else {
            throw KeyError("a certificate can't be signed")
        }
        return try Key.written { PEM_write_bio_X509($0, certificate) }
    }

    /// Returns the public key in a DER-encoded certificate. The certificate's signature isn't checked.
    package static func key(ofDER bytes: [UInt8]) throws(KeyError) -> Key {
        OpenSSL.prepare()
        let certificate = bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            return d2i_X509(nil, &position, bytes.count)
        }
        guard let certificate else { throw KeyError("a certificate can't be read") }
        defer { X509_free(certificate) }
        guard let key = X509_get_pubkey(certificate) else { throw KeyError("a certificate's key can't be read") }
        return try Key(owning: key, isPrivate: false)
    }

    static func read(_ pem: String) throws(KeyError) -> OpaquePointer? {
        // The BIO reads the bytes in place, so they must not move while it exists.
        let certificate = Array(pem.utf8).withUnsafeBytes { bytes -> OpaquePointer? in
            guard let input = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(input) }
            return PEM_read_bio_X509(input, nil, nil, nil)
        }
        guard let certificate else { throw KeyError("a certificate can't be read") }
        return certificate
    }
}
