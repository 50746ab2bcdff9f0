import Platform

/// Copies bytes between two connected sockets, such as a client's and a server's, in both directions.
enum Pipe {
    /// Reads the received bytes from a socket. Returns no bytes if the peer has ended the connection, and `nil` if the
    /// connection broke.
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

    /// Sets the seconds after which writing to a socket fails if the peer doesn't read.
    static func limitWrites(of descriptors: [Int32], seconds: Int) {
        for descriptor in descriptors { understudy_limit(descriptor, SO_SNDTIMEO, seconds, 0) }
    }

    /// Copies bytes between two sockets in both directions until both sides have ended, one of them breaks, nothing has
    /// moved for `idleSeconds`, or the proxy stops. If one side doesn't read, bytes from that side are still copied.
    static func join(_ left: Int32, _ right: Int32, idleSeconds: Int, until isOver: () -> Bool) {
        for end in [left, right] {
            guard fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) >= 0 else { return }
        }
        var ways = [OneWay(from: left, to: right), OneWay(from: right, to: left)]
        var deadline = ContinuousClock.now.advanced(by: .seconds(idleSeconds))
        while !isOver(), ContinuousClock.now < deadline, !ways.allSatisfy(\.isOver) {
            var waiting = [left, right].map { end in
                let events = ways.reduce(Int16(0)) { $0 | $1.events(at: end) }
                return pollfd(fd: events == 0 ? -1 : end, events: events, revents: 0)
            }
            guard poll(&waiting, 2, ProxyState.patience) > 0 else { continue }
            for place in ways.indices {
                switch ways[place].carry() {
                case .nothing: break
                case .something: deadline = ContinuousClock.now.advanced(by: .seconds(idleSeconds))
                case .broken: return
                }
            }
        }
    }
}

/// One direction of copying bytes between two sockets. It never blocks.
private struct OneWay {
    enum Outcome {
        case nothing
        case something
        case broken
    }

    let from: Int32
    let to: Int32
    /// The bytes that have been read from one socket and not yet written to the other.
    private var rest: ArraySlice<UInt8> = []
    private var hasEnded = false
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    init(from: Int32, to: Int32) {
        self.from = from
        self.to = to
    }

    var isOver: Bool { hasEnded && rest.isEmpty }

    /// Returns the `poll` events to wait for at a socket. While bytes that were read from `from` still have to be written
    /// to `to`, no further bytes are read.
    func events(at end: Int32) -> Int16 {
        if end == from, rest.isEmpty, !hasEnded { return Int16(POLLIN) }
        return end == to && !rest.isEmpty ? Int16(POLLOUT) : 0
    }

    mutating func carry() -> Outcome {
        var outcome = Outcome.nothing
        if rest.isEmpty, !hasEnded {
            let count = recv(from, &buffer, buffer.count, 0)
            if count < 0 { return OneWay.mustWait ? .nothing : .broken }
            rest = buffer[..<count]
            hasEnded = count == 0
            // The other side may still send.
            if hasEnded { shutdown(to, Int32(SHUT_WR)) }
            outcome = .something
        }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(to, $0.baseAddress, $0.count, understudy_no_signal) }
            guard count > 0 else { return count < 0 && OneWay.mustWait ? outcome : .broken }
            rest = rest.dropFirst(count)
            outcome = .something
        }
        // Released, so that the buffer isn't copied when it is filled again: this is a slice of it.
        rest = []
        return outcome
    }

    private static var mustWait: Bool { [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) }
}

/// Makes TCP connections to a host, by name or address.
enum Connector {
    /// The milliseconds after which an attempt to connect to one address of a host is given up.
    private static let patience: Int32 = 10_000

    /// Connects to `host`. If `host` is `127.0.0.1` and doesn't answer, connects to `::1`.
    static func connect(
        loopbackOr host: String, _ port: UInt16, by socket: SocketMaker = understudy_socket
    ) throws(Refusal) -> Int32 {
        guard host == "127.0.0.1" else { return try connect(host, port, by: socket) }
        do throws(Refusal) { return try connect(host, port, by: socket) } catch {
            return try connect("::1", port, by: socket)
        }
    }

    /// A function that makes a socket of an address family, a type and a protocol, or returns -1 if the system can't
    /// make one.
    typealias SocketMaker = (Int32, Int32, Int32) -> Int32

    static func connect(
        _ host: String, _ port: UInt16, by socket: SocketMaker = understudy_socket
    ) throws(Refusal) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = understudy_stream
        hints.ai_flags = AI_ADDRCONFIG
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let first = found else {
            throw Refusal(502, "Bad Gateway", "the host name \(host) can't be resolved")
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
