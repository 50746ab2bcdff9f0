import COpenSSL

/// A certificate and its private key, with which the SMTP server offers TLS.
package final class SMTPCertificate: @unchecked Sendable {
    // OpenSSL counts the references to a context under a lock of its own, and the context never changes.
    let context: OpaquePointer

    /// Reads a certificate chain and its private key, both in PEM. The server's own certificate comes first in `chain`.
    /// Returns `nil` if they can't be used.
    package init?(chain: String, key: String) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { return nil }
        understudy_ssl_require_tls12(context)
        self.context = context
        guard SMTPCertificate.use(chain, key, in: context) else {
            ERR_clear_error()
            return nil
        }
    }

    deinit { SSL_CTX_free(context) }

    private static func use(_ chain: String, _ key: String, in context: OpaquePointer) -> Bool {
        reading(chain) { source in
            guard let own = PEM_read_bio_X509(source, nil, nil, nil) else { return false }
            defer { X509_free(own) }
            guard SSL_CTX_use_certificate(context, own) == 1 else { return false }
            while let next = PEM_read_bio_X509(source, nil, nil, nil) {
                // The context owns the certificate if it accepts it.
                guard understudy_ssl_add_chain(context, next) == 1 else {
                    X509_free(next)
                    return false
                }
            }
            // The chain has ended.
            ERR_clear_error()
            return true
        }
            && reading(key) { source in
                guard let read = PEM_read_bio_PrivateKey(source, nil, nil, nil) else { return false }
                defer { EVP_PKEY_free(read) }
                return SSL_CTX_use_PrivateKey(context, read) == 1
            }
    }

    /// Lets OpenSSL read PEM text. The text's bytes must exist until `read` has returned, because OpenSSL keeps a
    /// pointer to them.
    private static func reading(_ text: String, _ read: (OpaquePointer) -> Bool) -> Bool {
        Array(text.utf8).withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return false }
            defer { BIO_free(source) }
            return read(source)
        }
    }
}
