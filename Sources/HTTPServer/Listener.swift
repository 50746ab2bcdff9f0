import Platform

/// The reason why the server can't listen on a host and port.
package struct ListenError: Error, CustomStringConvertible, Sendable {
    package let description: String

    package init(description: String) { self.description = description }
}

/// A bound, listening TCP socket.
package struct Listener {
    package let descriptor: Int32
    /// The port on which the socket listens: the real number if the caller requested 0.
    package let port: UInt16

    enum Address {
        case v4(in_addr)
        case v6(in6_addr)
    }

    /// Returns the IP addresses on which to listen for `host`. For `localhost` and `127.0.0.1`, these are the loopback
    /// addresses of IPv4 and IPv6, because a client may use either for `localhost`.
    static func addresses(of host: String) throws(ListenError) -> [Address] {
        var v4 = in_addr()
        var v6 = in6_addr()
        if host == "localhost" || host == "127.0.0.1" {
            inet_pton(AF_INET, "127.0.0.1", &v4)
            inet_pton(AF_INET6, "::1", &v6)
            return [.v4(v4), .v6(v6)]
        }
        if inet_pton(AF_INET, host, &v4) == 1 { return [.v4(v4)] }
        if inet_pton(AF_INET6, host, &v6) == 1 { return [.v6(v6)] }
        throw ListenError(description: "can't listen on \"\(host)\": give an IP address or localhost")
    }

    /// Returns listening sockets on every address of `host`, all on one port. The port 0 chooses a free one.
    package static func all(on host: String, port: UInt16) throws(ListenError) -> [Listener] {
        let addresses = try addresses(of: host)
        // With port 0, the first address chooses. If the port is in use at the second address, another one is chosen.
        var attempts = port == 0 ? 20 : 1
        while true {
            attempts -= 1
            var listeners: [Listener] = []
            do throws(ListenError) {
                for address in addresses {
                    let port = listeners.first?.port ?? port
                    if let listener = try Listener(address, host: host, port: port, isOnly: addresses.count == 1) {
                        listeners.append(listener)
                    }
                }
                if listeners.isEmpty {
                    throw ListenError(description: "can't listen on \(host): this machine has no such address")
                }
                return listeners
            } catch {
                for listener in listeners { close(listener.descriptor) }
                if attempts <= 0 { throw error }
            }
        }
    }

    /// Wraps a socket that already listens.
    init(listening descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        port = Listener.boundPort(of: descriptor)
    }

    /// Binds a socket to `address` and listens. If the machine doesn't have the address, returns `nil`, or throws an
    /// error if `isOnly` is true, which means that the caller has no other address.
    init?(_ address: Address, host: String, port: UInt16, isOnly: Bool) throws(ListenError) {
        let family =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        let descriptor = understudy_socket(family, understudy_stream, 0)
        guard descriptor >= 0 else { return nil }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var storage = sockaddr_storage()
        let length: socklen_t
        switch address {
        case .v4(let ip):
            length = withUnsafeMutableBytes(of: &storage) { bytes in
                var place = sockaddr_in()
                place.sin_family = sa_family_t(AF_INET)
                place.sin_port = port.bigEndian
                place.sin_addr = ip
                bytes.storeBytes(of: place, as: sockaddr_in.self)
                return socklen_t(MemoryLayout<sockaddr_in>.size)
            }
        case .v6(let ip):
            // `::` also means every IPv4 address; `::1` must leave IPv4 to its own socket.
            var onlyV6: Int32 = host == "::" ? 0 : 1
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &onlyV6, socklen_t(MemoryLayout<Int32>.size))
            length = withUnsafeMutableBytes(of: &storage) { bytes in
                var place = sockaddr_in6()
                place.sin6_family = sa_family_t(AF_INET6)
                place.sin6_port = port.bigEndian
                place.sin6_addr = ip
                bytes.storeBytes(of: place, as: sockaddr_in6.self)
                return socklen_t(MemoryLayout<sockaddr_in6>.size)
            }
        }
        let bound = withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0, listen(descriptor, 4096) == 0 else {
            let failure = errno
            close(descriptor)
            if failure == EADDRNOTAVAIL, !isOnly { return nil }
            throw Listener.explain(failure, host: host, port: port)
        }
        self.descriptor = descriptor
        self.port = Listener.boundPort(of: descriptor)
    }

    private static func boundPort(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port has the same position in sockaddr_in and sockaddr_in6.
        return withUnsafeBytes(of: &storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    private static func explain(_ failure: Int32, host: String, port: UInt16) -> ListenError {
        let advice =
            switch failure {
            case EADDRINUSE:
                "something has that port already. Choose another with --port, or --port 0 for any that is free"
            case EACCES: "ports below 1024 need privileges; choose a higher one with --port"
            case EADDRNOTAVAIL: "this machine has no such address"
            default: String(cString: strerror(failure))
            }
        return ListenError(description: "can't listen on \(host):\(port): \(advice)")
    }
}
