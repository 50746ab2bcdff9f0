import COpenSSL

/// Self-signed X.509 certificates, which is how Google publishes keys for clients that want no JWK.
package enum Certificate {
    /// A certificate for `key`, valid between two times (seconds since 1970). The serial number follows from
    /// `serial`, so that the same call makes the same bytes.
    package static func selfSigned(
        _ key: Key, commonName: String, serial: [UInt8], from start: Int64, to end: Int64
    ) throws(KeyError) -> String {
        OpenSSL.prepare()
        guard let certificate = X509_new() else { throw KeyError("a certificate can't be made") }
        defer { X509_free(certificate) }
        let number = BN_bin2bn(serial, Int32(serial.count), nil)
        defer { BN_free(number) }
        let name = X509_get_subject_name(certificate)
        guard key.isPrivate, X509_set_version(certificate, 2) == 1,
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil,
            ASN1_TIME_set(X509_getm_notBefore(certificate), time_t(start)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), time_t(end)) != nil,
            X509_NAME_add_entry_by_txt(
                name, "CN", 0x1000 | 1, Array(commonName.utf8), Int32(commonName.utf8.count), -1, 0) == 1,
            X509_set_issuer_name(certificate, name) == 1, X509_set_pubkey(certificate, key.pointer) == 1,
            X509_sign(certificate, key.pointer, OpenSSL.sha256) > 0
        else { throw KeyError("a certificate can't be made") }
        return try Key.written { PEM_write_bio_X509($0, certificate) }
    }
}
