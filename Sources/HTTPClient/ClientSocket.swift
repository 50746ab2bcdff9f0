import Platform

/// A TCP connection that this process has opened. Reading and writing fail after a deadline, even if bytes still come
/// slowly. The connection is closed when the last reference to this object is released.
final class ClientSocket: Sendable {
    let descriptor: Int32

    /// Connects to the host, at the first of its addresses that answers.
    ///
    /// - Parameters:
    ///   - host: a host name, which is looked up, or an IP address without brackets.
    ///   - title: the connection's name in errors.
    ///   - mayBeThisMachine: whether to connect to the loopback addresses of this machine.
    init(
        host: String, port: String, title: String, deadline: ContinuousClock.Instant, mayBeThisMachine: Bool = true
    ) throws(ConnectionFailure) {
        var hints = addrinfo()
        hints.ai_socktype = understudy_stream
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(ClientSocket.lookupName(host), port, &hints, &found)
        guard code == 0 else {
            throw ConnectionFailure(description: "\(host) can't be resolved: \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(found) }
        var reason = "no address"
        var next = found
        while let candidate = next {
            next = candidate.pointee.ai_next
            let info = candidate.pointee
            guard mayBeThisMachine || !ClientSocket.isThisMachine(info.ai_addr) else {
                reason = ClientSocket.refusal
                continue
            }
            let descriptor = understudy_socket(info.ai_family, info.ai_socktype, info.ai_protocol)
            guard descriptor >= 0 else { continue }
            let failure = understudy_connect(
                descriptor, info.ai_addr, info.ai_addrlen, max(1, ClientSocket.milliseconds(until: deadline)))
            if failure == 0 {
                understudy_block(descriptor, 0)
                var one: Int32 = 1
                setsockopt(
                    descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
                self.descriptor = descriptor
                return
            }
            reason = failure == ETIMEDOUT ? "no answer in time" : String(cString: strerror(failure))
            close(descriptor)
        }
        guard ContinuousClock.now < deadline else { throw .late }
        throw ConnectionFailure(description: "can't connect to \(title): \(reason)")
    }

    deinit { close(descriptor) }

    private static let refusal =
        "a client on another machine has set this test world's data without the control token, so the daemon sends no "
        + "requests to its own machine for the world: send the data from this machine, or with the control token"

    /// Returns whether a connection to this address would reach this machine by its loopback interface. So do the
    /// unspecified addresses, and IPv4 addresses within IPv6.
    static func isThisMachine(_ address: UnsafePointer<sockaddr>?) -> Bool {
        guard let address else { return false }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: return [0, 127].contains(raw.load(fromByteOffset: 4, as: UInt8.self))
        case AF_INET6:
            let bytes = Array(UnsafeRawBufferPointer(start: raw + 8, count: 16))
            // ::, ::1, and the obsolete and the present form of IPv4 addresses within IPv6.
            if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == bytes[11], [0, 0xFF].contains(bytes[10]) {
                return [0, 127].contains(bytes[12])
            }
            return false
        default: return true
        }
    }

    /// Returns the host name to look up in the DNS: `localhost` for every name below `localhost`, because such names
    /// always mean this machine. <https://www.rfc-editor.org/rfc/rfc6761#section-6.3>
    private static func lookupName(_ host: String) -> String {
        host.lowercased().hasSuffix(".localhost") ? "localhost" : host
    }

    // MARK: - Waiting

    /// The result of an attempt to read or write on a socket without waiting.
    enum Attempt<Value> {
        case done(Value)
        /// The socket isn't ready. The attempt can be repeated when the given `poll` events have occurred.
        case waits(for: Int16)
        case failed(ConnectionFailure)
    }

    /// Repeats `work`, which reads or writes on the socket, until it is done or the deadline has passed.
    func attempt<Value>(
        until deadline: ContinuousClock.Instant, _ work: () -> Attempt<Value>
    ) throws(ConnectionFailure) -> Value {
        while true {
            let left = ClientSocket.milliseconds(until: deadline)
            guard left > 0 else { throw .late }
            switch work() {
            case .done(let value): return value
            case .failed(let failure): throw failure
            case .waits(let event):
                var entry = pollfd(fd: descriptor, events: event, revents: 0)
                // If a signal ends the wait, the work is tried once more.
                _ = poll(&entry, 1, left)
            }
        }
    }

    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Attempt<Int> {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        return count < 0 ? unfinished(POLLIN) : .done(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> Attempt<Int> {
        let count = Platform.send(descriptor, bytes.baseAddress, bytes.count, understudy_no_signal)
        return count <= 0 ? unfinished(POLLOUT) : .done(count)
    }

    private func unfinished(_ event: Int32) -> Attempt<Int> {
        let error = errno
        if error == EAGAIN || error == EWOULDBLOCK || error == EINTR { return .waits(for: Int16(event)) }
        return .failed(ConnectionFailure(description: "the connection broke: \(String(cString: strerror(error)))"))
    }

    /// Returns the milliseconds left until a deadline, from 0 to a day.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        return left >= .seconds(86_400) ? 86_400_000 : Int32(max(0, (left / .milliseconds(1)).rounded(.up)))
    }
}

/// The reason why a TCP connection can't be made, or can't be used any more.
package struct ConnectionFailure: Error, CustomStringConvertible, Sendable {
    package let description: String
    /// Whether the connection failed because its deadline had passed.
    package let isLate: Bool

    package init(description: String, isLate: Bool = false) {
        self.description = description
        self.isLate = isLate
    }

    static let late = ConnectionFailure(description: "no answer in time", isLate: true)
}
