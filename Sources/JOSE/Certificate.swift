import COpenSSL
import Time

/// X.509 certificates: <https://www.rfc-editor.org/rfc/rfc5280>.
package enum Certificate {
    /// Makes a self-signed certificate for `key`. Google also publishes its keys in this form, for clients that don't
    /// read JWKs. The serial number follows from `serial`, so that the same call makes the same bytes.
    package static func selfSigned(
        _ key: Key, commonName: String, serial: [UInt8], from start: Instant, to end: Instant
    ) throws(KeyError) -> String {
        try make(key, commonName: commonName, serial: serial, from: start, to: end, issuer: nil, extensions: [])
    }

    /// Makes a version 3 certificate, signed by `issuer` or else by its own key.
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

    /// Returns the public key of a certificate in DER. The certificate's signature isn't checked.
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
