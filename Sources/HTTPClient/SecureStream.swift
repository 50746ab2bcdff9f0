import COpenSSL

/// TLS over a socket.
final class SecureStream {
    private let socket: Socket
    private let context: OpaquePointer
    private let session: OpaquePointer

    init(_ socket: Socket, host: String) throws(OutgoingRequest.Failure) {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw SecureStream.failure("TLS can't be set up") }
        understudy_ssl_require_tls12(context)
        SSL_CTX_set_default_verify_paths(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        guard let session = SSL_new(context) else {
            SSL_CTX_free(context)
            throw SecureStream.failure("TLS can't be set up")
        }
        self.socket = socket
        self.context = context
        self.session = session
        SSL_set_fd(session, socket.descriptor)
        _ = understudy_ssl_set_host(session, host)
        // An IP address must be among the certificate's addresses, a name among its names.
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) != 1 { SSL_set1_host(session, host) }
        guard SSL_connect(session) == 1 else {
            let code = SSL_get_verify_result(session)
            let reason =
                code == Int(X509_V_OK) ? "TLS handshake failed" : String(cString: X509_verify_cert_error_string(code))
            throw SecureStream.failure("\(host)'s TLS isn't accepted: \(reason)")
        }
    }

    deinit {
        SSL_free(session)
        SSL_CTX_free(context)
    }

    func write(_ bytes: [UInt8]) throws(OutgoingRequest.Failure) {
        guard SSL_write(session, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw SecureStream.failure("the TLS connection broke")
        }
    }

    func read() throws(OutgoingRequest.Failure) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = SSL_read(session, &buffer, Int32(buffer.count))
        guard count > 0 else {
            // Many servers close the connection without TLS's close_notify. That does no harm: the answer's length is
            // checked.
            ERR_clear_error()
            return []
        }
        return Array(buffer.prefix(Int(count)))
    }

    private static func failure(_ description: String) -> OutgoingRequest.Failure {
        ERR_clear_error()
        return OutgoingRequest.Failure(description: description)
    }
}
