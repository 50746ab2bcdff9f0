import Dispatch
import Platform

/// A connected TCP socket. It is closed when the last reference to it is gone.
final class Socket: Sendable {
    let descriptor: Int32
    /// Serial, so that it has a thread also when all others wait.
    private static let watchdog = DispatchQueue(label: "understudy.deadline")

    init(connectingTo target: Target, deadline: ContinuousClock.Instant) throws(OutgoingRequest.Failure) {
        var hints = addrinfo()
        hints.ai_socktype = understudy_stream
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(target.lookupName, target.port, &hints, &found)
        guard code == 0 else {
            throw OutgoingRequest.Failure(
                description: "\(target.host) can't be resolved: \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(found) }
        var reason = "no address"
        var next = found
        while let candidate = next {
            next = candidate.pointee.ai_next
            let info = candidate.pointee
            let descriptor = understudy_socket(info.ai_family, info.ai_socktype, info.ai_protocol)
            guard descriptor >= 0 else { continue }
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            let failure = understudy_connect(
                descriptor, info.ai_addr, info.ai_addrlen, Int32(max(1, min(left, 60_000))))
            if failure == 0 {
                self.descriptor = descriptor
                Socket.setTimeout(descriptor, until: deadline)
                end(at: deadline)
                return
            }
            reason = failure == ETIMEDOUT ? "no answer in time" : String(cString: strerror(failure))
            close(descriptor)
        }
        throw OutgoingRequest.Failure(description: "can't connect to \(target.authority): \(reason)")
    }

    deinit { close(descriptor) }

    /// Ends the connection at the deadline, however slowly bytes arrive until then. A timeout of the socket begins anew with
    /// every byte, and TLS reads until it has a whole record.
    private func end(at deadline: ContinuousClock.Instant) {
        let left = max(.zero, ContinuousClock.now.duration(to: deadline)).components
        let time =
            DispatchTime.now() + .seconds(Int(left.seconds))
            + .milliseconds(Int(left.attoseconds / 1_000_000_000_000_000))
        Socket.watchdog.asyncAfter(deadline: time) { [weak self] in
            if let self { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    func setTimeout(until deadline: ContinuousClock.Instant) throws(OutgoingRequest.Failure) {
        guard ContinuousClock.now < deadline else { throw .late }
        Socket.setTimeout(descriptor, until: deadline)
    }

    private static func setTimeout(_ descriptor: Int32, until deadline: ContinuousClock.Instant) {
        let left = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline)).components
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            understudy_limit(descriptor, option, Int(left.seconds), Int(left.attoseconds / 1_000_000_000_000))
        }
    }

    func write(_ bytes: [UInt8]) throws(OutgoingRequest.Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, understudy_no_signal) }
            guard count > 0 else {
                throw OutgoingRequest.Failure(description: "the connection broke: \(Socket.lastError)")
            }
            rest = rest.dropFirst(count)
        }
    }

    /// What has arrived; empty when the peer has ended.
    func read() throws(OutgoingRequest.Failure) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else {
            throw OutgoingRequest.Failure(description: "the connection broke: \(Socket.lastError)")
        }
        return Array(buffer.prefix(count))
    }

    private static var lastError: String {
        errno == EAGAIN ? "no answer in time" : String(cString: strerror(errno))
    }
}
