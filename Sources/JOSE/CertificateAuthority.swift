import COpenSSL
import Time

/// A certificate authority of our own: <https://www.rfc-editor.org/rfc/rfc5280>. Its certificate is constrained to a
/// few names, so that clients trust it for nothing else.
package struct CertificateAuthority: Sendable {
    package let key: Key
    /// The authority's certificate, in PEM.
    package let certificate: String

    /// Makes an authority of a certificate and a key that exist.
    package init(key: Key, certificate: String) {
        self.key = key
        self.certificate = certificate
    }

    /// Makes a new authority for hosts and their subdomains, and for this machine's loopback addresses.
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

    /// Issues a server's certificate for `hosts` and IP addresses, with its key. Both are PEM; the chain follows the
    /// certificate.
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

    /// Checks that a client that trusts this authority would trust the first certificate of `chain` today. Throws
    /// OpenSSL's reason if not: a name outside the constraint, an expired authority, or another authority's signature.
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
