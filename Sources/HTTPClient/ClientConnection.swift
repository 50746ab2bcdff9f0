import COpenSSL
import Platform

/// A TCP connection that this process has opened as a client, plain or with TLS. Only one thread uses it.
final class ClientConnection {
    let socket: ClientSocket
    private var session: OpaquePointer?
    private var context: OpaquePointer?

    init(_ socket: ClientSocket) { self.socket = socket }

    deinit {
        if let session { SSL_free(session) }
        if let context { SSL_CTX_free(context) }
    }

    /// Begins TLS 1.2 or later on the connection. If `isVerified` is true, the server's certificate must be for the
    /// host's name and from a trusted authority.
    func startTLS(
        host: String, isVerified: Bool, until deadline: ContinuousClock.Instant
    ) throws(ConnectionFailure) {
        // OpenSSL's writing to a closed socket raises this signal.
        signal(SIGPIPE, SIG_IGN)
        guard session == nil, let context = SSL_CTX_new(TLS_client_method()) else {
            throw ConnectionFailure(description: "TLS can't be set up")
        }
        self.context = context
        understudy_ssl_require_tls12(context)
        if isVerified { SSL_CTX_set_default_verify_paths(context) }
        SSL_CTX_set_verify(context, isVerified ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        guard let made = SSL_new(context) else { throw ConnectionFailure(description: "TLS can't be set up") }
        session = made
        SSL_set_fd(made, socket.descriptor)
        _ = understudy_ssl_set_host(made, host)
        // An IP address must be among the certificate's addresses, a name among its names.
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(made), host) != 1 { SSL_set1_host(made, host) }
        do throws(ConnectionFailure) {
            _ = try socket.attempt(until: deadline) { attempt(made) { SSL_connect(made) } }
        } catch {
            let code = SSL_get_verify_result(made)
            let isDistrusted = isVerified && code != Int(X509_V_OK)
            let reason = isDistrusted ? String(cString: X509_verify_cert_error_string(code)) : "TLS handshake failed"
            throw error.isLate ? error : ConnectionFailure(description: "\(host)'s TLS isn't accepted: \(reason)")
        }
    }

    func write(
        _ bytes: some Sequence<UInt8>, until deadline: ContinuousClock.Instant
    ) throws(ConnectionFailure) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = try socket.attempt(until: deadline) {
                rest.withUnsafeBytes { bytes in
                    guard let session else { return socket.send(bytes) }
                    return attempt(session) { SSL_write(session, bytes.baseAddress, Int32(clamping: bytes.count)) }
                }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns bytes received on the connection, or none if the peer has ended it.
    func read(until deadline: ContinuousClock.Instant) throws(ConnectionFailure) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = try socket.attempt(until: deadline) { () -> ClientSocket.Attempt<Int> in
            buffer.withUnsafeMutableBytes { bytes in
                guard let session else { return socket.receive(bytes) }
                switch attempt(session, { SSL_read(session, bytes.baseAddress, Int32(bytes.count)) }) {
                // Many servers close the connection without TLS's close_notify. The caller checks whether the data is
                // complete.
                case .failed: return .done(0)
                case let other: return other
                }
            }
        }
        return Array(buffer.prefix(count))
    }

    private func attempt(_ session: OpaquePointer, _ call: () -> Int32) -> ClientSocket.Attempt<Int> {
        ERR_clear_error()
        let result = call()
        if result > 0 { return .done(Int(result)) }
        let code = SSL_get_error(session, result)
        ERR_clear_error()
        switch code {
        case SSL_ERROR_WANT_READ: return .waits(for: Int16(POLLIN))
        case SSL_ERROR_WANT_WRITE: return .waits(for: Int16(POLLOUT))
        default: return .failed(ConnectionFailure(description: "the TLS connection broke"))
        }
    }
}
