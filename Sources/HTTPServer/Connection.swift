import Platform
import Synchronization

/// A connection, from its acceptance until its descriptor is closed. The gate's lock protects its variables.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// The connection is accepted, but no worker has opened it yet.
        case new
        /// The client sends a header, or nothing.
        case waiting
        /// The client sends a body.
        case sendingBody
        /// The server works on the request.
        case working
        /// The client reads the answer.
        case reading
    }

    let descriptor: Int32
    /// The client's address, if the number of its connections is limited.
    let key: [UInt8]?
    /// The label that the connection's requests get: `Request.label`.
    let label: String?
    /// Whether the client is on this machine: `Request.isFromLoopback`.
    let isFromLoopback: Bool
    var phase = Phase.new
    /// The time at which the phase began, in seconds of the gate's clock.
    var since: Int64 = 0
    /// Whether a request has begun.
    var hasRequest = false
    /// Whether the connection waits for a delayed answer or reads a stream.
    var isHeld = false
    /// Whether the connection has been shut down; its worker closes it next.
    var isClosing = false
    /// The number of bytes of the current request's body that have arrived.
    var bodyBytes = 0
    fileprivate(set) var next: Connection?
    fileprivate(set) unowned(unsafe) var previous: Connection?

    init(_ descriptor: Int32, key: [UInt8]?, label: String? = nil, isAdopted: Bool = false) {
        self.descriptor = descriptor
        self.key = key
        self.label = label
        isFromLoopback = key == nil && !isAdopted
    }
}

/// A list of connections in the order of their arrival. Any of them can be removed in one step.
struct ConnectionList {
    private(set) var first: Connection?
    private unowned(unsafe) var last: Connection?

    mutating func append(_ connection: Connection) {
        connection.previous = last
        connection.next = nil
        if let last { last.next = connection } else { first = connection }
        last = connection
    }

    mutating func remove(_ connection: Connection) {
        let (previous, next) = (connection.previous, connection.next)
        if let previous { previous.next = next } else { first = next }
        if let next { next.previous = previous } else { last = previous }
        connection.previous = nil
        connection.next = nil
    }
}

/// The address of a connection's client.
enum ClientAddress {
    /// Returns the address's bytes, or `nil` for loopback, which has no limit of its own.
    static func key(of address: UnsafePointer<sockaddr>?) -> [UInt8]? {
        guard let address else { return nil }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = Array(UnsafeRawBufferPointer(start: raw + 4, count: 4))
            return bytes[0] == 127 ? nil : bytes
        case AF_INET6:
            let bytes = Array(UnsafeRawBufferPointer(start: raw + 8, count: 16))
            let isMapped = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
            if isMapped { return bytes[12] == 127 ? nil : Array(bytes[12...]) }
            return bytes == [UInt8](repeating: 0, count: 15) + [1] ? nil : bytes
        default:
            return nil
        }
    }
}

/// A further port of a server, whose requests get a label. It is closed when the last reference to it is released.
package final class LabelledPort: Sendable {
    /// The port's number.
    package let port: UInt16
    private let listeners: [Int32]
    private let watch: Watch
    private let isClosed = Atomic<Bool>(false)

    fileprivate init(_ listeners: [Listener], watch: Watch) {
        port = listeners.first?.port ?? 0
        self.listeners = listeners.map(\.descriptor)
        self.watch = watch
    }

    /// Closes the port, and returns when no more connections are accepted. Open connections stay open.
    package func close() {
        end()
        watch.awaitEnd(of: listeners)
    }

    /// Closes the port, but only once: later, another port may have the same descriptors.
    private func end() {
        if !isClosed.exchange(true, ordering: .relaxed) { watch.endListening(on: listeners) }
    }

    deinit { end() }
}

extension Workers {
    func listen(on port: UInt16, label: String) throws(ListenError) -> LabelledPort {
        let listeners = try Listener.all(on: options.host, port: port)
        guard let watch, watch.listen(on: listeners.map(\.descriptor), label: label) else {
            throw ListenError(description: "can't listen on \(options.host):\(port): the server is stopping")
        }
        return LabelledPort(listeners, watch: watch)
    }

    func adopt(_ descriptor: Int32, label: String) -> Bool {
        guard !isStopping.load(ordering: .relaxed), !gate.isFull else {
            close(descriptor)
            return false
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        // Connections from within the process count as loopback: they have no limit of their own.
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                accepted(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size), label: label, isAdopted: true)
            }
        }
        return true
    }
}

/// The length of a request's body, as its header gives it (RFC 9112 section 6). An ambiguous header is refused, because
/// libmicrohttpd would use the first of several values and another reader perhaps the last.
struct Framing {
    private(set) var declaredLength = 0
    /// Whether a body may follow.
    private(set) var announcesBody = false
    /// Whether the client sends `Expect: 100-continue`, and so waits a moment before it sends the body (RFC 9110
    /// section 10.1.1).
    private(set) var expectsContinue = false
    private(set) var issue: String?

    /// Reads a header. `needsHost` is true for HTTP/1.1, which requires `Host` (RFC 9112 section 3.2); HTTP/1.0 doesn't
    /// have it.
    init(_ headers: [(name: String, value: String)], needsHost: Bool) {
        var lengths: [String] = []
        var codings: [String] = []
        var hosts = 0
        var names = true
        for header in headers {
            names = names && Framing.isToken(header.name)
            if header.name.equalsIgnoringASCIICase("Content-Length") { lengths.append(header.value) }
            if header.name.equalsIgnoringASCIICase("Transfer-Encoding") { codings.append(header.value) }
            if header.name.equalsIgnoringASCIICase("Host") { hosts += 1 }
            if header.name.equalsIgnoringASCIICase("Expect") { expectsContinue = true }
        }
        declaredLength = lengths.first.flatMap { UInt64($0) }.map { Int(clamping: $0) } ?? 0
        announcesBody = declaredLength != 0 || !codings.isEmpty
        if !names {
            issue = "the request has a header whose name contains white space or other forbidden characters"
        } else if hosts > 1 {
            issue = "the request has \(hosts) Host headers: send one"
        } else if needsHost, hosts == 0 {
            issue = "the request is HTTP/1.1 and has no Host header: send one"
        } else if lengths.count > 1 {
            issue = "the request has \(lengths.count) Content-Length headers: send one"
        } else if !codings.isEmpty, !lengths.isEmpty {
            issue = "the request has both Content-Length and Transfer-Encoding: send one"
        } else if codings.count > 1 || codings.contains(where: { !$0.equalsIgnoringASCIICase("chunked") }) {
            issue = "the request's Transfer-Encoding isn't chunked, which is all that is understood here"
        }
    }

    /// Whether the name is a token: RFC 9110 section 5.6.2.
    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x7C, 0x7E: true
                default: false
                }
            }
    }
}
