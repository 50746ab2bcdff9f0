import Platform
import Synchronization

/// A client's connection to the HTTP server, from its acceptance until its descriptor is closed. The connection's
/// variables are protected by the lock of the `ConnectionGate`.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// The connection is accepted, but no worker thread has opened it yet.
        case new
        /// The client is sending the header of a request, or sends nothing.
        case waiting
        /// The client is sending the body of a request.
        case sendingBody
        /// The server is working on the client's request.
        case working
        /// The client is reading the server's answer.
        case reading
    }

    let descriptor: Int32
    /// The bytes of the client's IP address; `nil` if the number of connections from it isn't limited.
    let key: [UInt8]?
    /// The name of the test world to which all requests of this connection belong (`Request.label`); `nil` if the
    /// connection serves all worlds.
    let label: String?
    /// Whether the connection's client is on this machine. The value is false for a connection made within the process.
    let isFromLoopback: Bool
    var phase = Phase.new
    /// The time, in seconds of a monotonic clock, at which the connection entered its present phase.
    var since: Int64 = 0
    /// Whether a request on the connection has begun and isn't finished.
    var hasRequest = false
    /// Whether the connection waits for a delayed answer or reads a stream.
    var isHeld = false
    /// Whether the connection has been shut down. Its worker thread closes it next.
    var isClosing = false
    /// The number of bytes of the present request's body that have arrived on the connection.
    var bodyBytes = 0
    /// The number of bytes of the answer that the client is reading.
    var answerBytes = 0
    fileprivate(set) var next: Connection?
    fileprivate(set) unowned(unsafe) var previous: Connection?

    init(_ descriptor: Int32, key: [UInt8]?, label: String? = nil, isAdopted: Bool = false) {
        self.descriptor = descriptor
        self.key = key
        self.label = label
        isFromLoopback = key == nil && !isAdopted
    }
}

/// A list of connections in the order in which they were added. Any connection can be removed in one step.
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

/// Reads the IP address of a connection's client.
package enum ClientAddress {
    /// Returns whether the client of a connected socket is on this machine.
    package static func isLoopback(_ descriptor: Int32) -> Bool { key(ofPeer: descriptor)?.isEmpty ?? false }

    /// Returns the bytes of the IP address of a connected socket's client, which are none for loopback; `nil` if the
    /// client has disconnected.
    package static func key(ofPeer descriptor: Int32) -> [UInt8]? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getpeername(descriptor, address, &length) == 0 ? key(of: address) ?? [] : nil
            }
        }
    }

    /// Returns the bytes of the client's IP address, or `nil` for loopback, whose connections aren't limited.
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

/// An additional port of the HTTP server. Its requests carry a label, by which the handler of requests tells them from
/// those of other ports. The port is closed when the last reference to this object is released.
package final class LabelledPort: Sendable {
    package let port: UInt16
    private let listeners: [Int32]
    private let watch: Watch
    private let isClosed = Atomic<Bool>(false)

    fileprivate init(_ listeners: [Listener], watch: Watch) {
        port = listeners.first?.port ?? 0
        self.listeners = listeners.map(\.descriptor)
        self.watch = watch
    }

    /// Closes this additional port of the HTTP server, and returns when no more connections are accepted. Open
    /// connections stay open.
    package func close() {
        end()
        watch.awaitEnd(of: listeners)
    }

    /// Closes this additional port of the HTTP server. A second call has no effect, because the port's descriptors may
    /// belong to another port by then.
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

    func adopt(_ descriptor: Int32, label: String?) -> Bool {
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

/// The length of an HTTP request's body, as the request's header gives it (RFC 9112 section 6). An ambiguous header is
/// refused, because libmicrohttpd would use the first of several values and another program perhaps the last.
struct Framing {
    private(set) var declaredLength = 0
    /// Whether the request's header announces a body.
    private(set) var announcesBody = false
    /// Whether the request has the header `Expect`, as `Expect: 100-continue`, with which the client waits a moment
    /// before it sends the body (RFC 9110 section 10.1.1).
    private(set) var expectsContinue = false
    private(set) var issue: String?

    /// Reads the length of the body from the header fields of a request. `needsHost` is true for HTTP/1.1, which
    /// requires the field `Host` (RFC 9112 section 3.2), and false for HTTP/1.0, which doesn't.
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
            issue = "the request has a Transfer-Encoding other than chunked: send chunked, or a Content-Length"
        }
    }

    /// Whether the text is a token, as header names and methods are: RFC 9110 section 5.6.2.
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
