import COpenSSL
import Platform

/// The connection of an SMTP client, which is plain at first, and may continue with TLS. Only one thread uses it.
final class SMTPStream {
    /// The reason why nothing more can be read from an SMTP client.
    enum End: Error {
        /// The client has closed the connection, or the connection broke.
        case closed
        /// The client was silent or too slow.
        case silent
    }

    let descriptor: Int32
    private var session: OpaquePointer?
    private var buffer: ArraySlice<UInt8> = []
    private var output: [UInt8] = []
    private var isBroken = false

    /// The greatest number of octets that are read from the client at once. The waiting replies are sent as soon as
    /// they have this many octets together.
    private static let chunk = 16_384
    /// The number of seconds for which sending a reply may wait for the client to read.
    private static let writePatience = 30

    /// Makes a stream for a connection. The descriptor isn't closed by the stream. `patience` is the number of seconds
    /// after which a reading system call returns, so that deadlines can be checked.
    init(_ descriptor: Int32, patience: Int) {
        self.descriptor = descriptor
        understudy_silence(descriptor)
        understudy_limit(descriptor, SO_RCVTIMEO, patience, 0)
        understudy_limit(descriptor, SO_SNDTIMEO, SMTPStream.writePatience, 0)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        flush()
        guard let session else { return }
        // After a failure, `SSL_shutdown` must not be called: https://docs.openssl.org/3.0/man3/SSL_shutdown/
        if !isBroken { SSL_shutdown(session) }
        SSL_free(session)
        ERR_clear_error()
    }

    /// Begins TLS on an SMTP connection. Data that came before the handshake are discarded, so that nobody on the
    /// network can have added commands: <https://www.rfc-editor.org/rfc/rfc3207#section-6>.
    func startTLS(_ certificate: SMTPCertificate, until deadline: ContinuousClock.Instant) -> Bool {
        flush()
        buffer = []
        guard session == nil, !isBroken, let made = SSL_new(certificate.context) else { return false }
        SSL_set_fd(made, descriptor)
        while true {
            ERR_clear_error()
            let result = SSL_accept(made)
            if result == 1 { break }
            guard SSL_get_error(made, result) == SSL_ERROR_WANT_READ, ContinuousClock.now < deadline else {
                SSL_free(made)
                ERR_clear_error()
                return false
            }
        }
        session = made
        return true
    }

    // MARK: - Reading

    /// Waits for data from the client, and returns at least one octet.
    func read(until deadline: ContinuousClock.Instant) throws(End) -> ArraySlice<UInt8> {
        if buffer.isEmpty { try fill(until: deadline) }
        return buffer
    }

    /// Removes the first `count` octets of the received data, which have been used.
    func use(_ count: Int) { buffer = buffer.dropFirst(count) }

    /// Reads a line of an SMTP client without its end, which is CR LF. A single LF is accepted, too, for people who
    /// type. A line that is longer than `limit` is read to its end and cut.
    func line(limit: Int, until deadline: ContinuousClock.Instant) throws(End) -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let chunk = try read(until: deadline)
            let end = chunk.firstIndex(of: 0x0A)
            let part: ArraySlice<UInt8> = chunk[..<(end ?? chunk.endIndex)]
            line += part.prefix(max(0, limit + 1 - line.count))
            guard let end else {
                use(chunk.count)
                continue
            }
            buffer = chunk[chunk.index(after: end)...]
            if line.last == 0x0D { line.removeLast() }
            return line
        }
    }

    private func fill(until deadline: ContinuousClock.Instant) throws(End) {
        flush()
        guard !isBroken else { throw .closed }
        var bytes = [UInt8](repeating: 0, count: SMTPStream.chunk)
        while true {
            guard ContinuousClock.now < deadline else { throw .silent }
            errno = 0
            let (count, isLater) = receive(&bytes)
            if count > 0 {
                buffer = bytes[..<count]
                return
            }
            guard isLater else { throw .closed }
        }
    }

    /// Reads data from the client, for which it waits some seconds at most: the stream's `patience`. If no data have
    /// come by then, the result's `isLater` is true.
    private func receive(_ bytes: inout [UInt8]) -> (count: Int, isLater: Bool) {
        let size = bytes.count
        guard let session else {
            let count = recv(descriptor, &bytes, size, 0)
            return (count, count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno))
        }
        ERR_clear_error()
        let count = SSL_read(session, &bytes, Int32(clamping: size))
        guard count <= 0 else { return (Int(count), false) }
        let isLater = SSL_get_error(session, count) == SSL_ERROR_WANT_READ
        ERR_clear_error()
        if !isLater { isBroken = SSL_get_shutdown(session) & SSL_RECEIVED_SHUTDOWN == 0 }
        return (0, isLater)
    }

    // MARK: - Writing

    /// Buffers a reply, which is sent before the server next reads from the client. Replies to pipelined commands are
    /// thus sent together: <https://www.rfc-editor.org/rfc/rfc2920#section-3.2>.
    func write(_ text: String) {
        output += text.utf8
        if output.count >= SMTPStream.chunk { flush() }
    }

    func flush() {
        var rest = output[...]
        output = []
        while !rest.isEmpty, !isBroken {
            let count = rest.withUnsafeBytes { bytes in
                session.map { Int(SSL_write($0, bytes.baseAddress, Int32(clamping: bytes.count))) }
                    ?? send(descriptor, bytes.baseAddress, bytes.count, understudy_no_signal)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if session != nil || errno != EINTR {
                ERR_clear_error()
                isBroken = true
            }
        }
    }

    /// Waits for a duration, or until the client closes the connection or `goesOn` returns `false`.
    func wait(_ duration: Duration, while goesOn: () -> Bool) {
        flush()
        let end = ContinuousClock.now + duration
        while goesOn(), ContinuousClock.now < end, !hasLeft {
            let left = min(100, max(1, (end - ContinuousClock.now) / .milliseconds(1)))
            usleep(UInt32(left * 1_000))
        }
    }

    /// Whether the client has closed the connection or its sending half, and everything that it sent has been read.
    private var hasLeft: Bool {
        guard buffer.isEmpty else { return false }
        var next: UInt8 = 0
        let count = recv(descriptor, &next, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    }
}
