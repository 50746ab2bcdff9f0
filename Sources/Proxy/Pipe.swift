import Platform

/// Carries bytes between two sockets.
enum Pipe {
    /// What has arrived: empty when the other side has ended, `nil` when the connection broke.
    static func read(from descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return count < 0 ? nil : Array(buffer.prefix(count))
        }
    }

    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, understudy_no_signal) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Seconds after which writing to a peer that doesn't read fails.
    static func limitWrites(of descriptors: [Int32], seconds: Int) {
        for descriptor in descriptors { understudy_limit(descriptor, SO_SNDTIMEO, seconds, 0) }
    }

    /// Carries bytes in both directions until both sides have ended, one of them breaks, nothing has come for `idleSeconds`, or
    /// the proxy stops.
    static func join(_ left: Int32, _ right: Int32, idleSeconds: Int, until isOver: () -> Bool) {
        var ends = [left, right]
        var deadline = ContinuousClock.now.advanced(by: .seconds(idleSeconds))
        while !isOver(), ContinuousClock.now < deadline {
            var waiting = ends.map { pollfd(fd: $0, events: $0 < 0 ? 0 : Int16(POLLIN), revents: 0) }
            guard poll(&waiting, 2, ProxyState.patience) > 0 else { continue }
            deadline = ContinuousClock.now.advanced(by: .seconds(idleSeconds))
            for place in 0..<2 where ends[place] >= 0 && waiting[place].revents != 0 {
                let (from, to) = place == 0 ? (left, right) : (right, left)
                guard let part = read(from: from), write(part[...], to: to) else { return }
                if part.isEmpty {
                    // This side has ended; the other may still send.
                    shutdown(to, Int32(SHUT_WR))
                    ends[place] = -1
                }
            }
            if ends == [-1, -1] { return }
        }
    }
}

/// Connects to a host, by name or address.
enum Connector {
    /// Milliseconds after which a host that doesn't answer is given up.
    private static let patience: Int32 = 10_000

    /// Connects to the daemon, which listens on both loopback addresses, or on the one that the machine has.
    static func connect(
        loopbackOr host: String, _ port: UInt16, by socket: SocketMaker = understudy_socket
    ) throws(Refusal) -> Int32 {
        guard host == "127.0.0.1" else { return try connect(host, port, by: socket) }
        do throws(Refusal) { return try connect(host, port, by: socket) } catch {
            return try connect("::1", port, by: socket)
        }
    }

    /// Makes a socket of a family, a type and a protocol; -1 when there can be none.
    typealias SocketMaker = (Int32, Int32, Int32) -> Int32

    static func connect(
        _ host: String, _ port: UInt16, by socket: SocketMaker = understudy_socket
    ) throws(Refusal) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = understudy_stream
        hints.ai_flags = AI_ADDRCONFIG
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let first = found else {
            throw Refusal(502, "Bad Gateway", "\(host) isn't a name that is known here")
        }
        defer { freeaddrinfo(first) }
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let entry = next?.pointee {
            let descriptor = socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
            if descriptor >= 0 {
                if understudy_connect(descriptor, entry.ai_addr, entry.ai_addrlen, patience) == 0 { return descriptor }
                close(descriptor)
            }
            next = entry.ai_next
        }
        throw Refusal(502, "Bad Gateway", "\(host):\(port) doesn't answer")
    }
}
