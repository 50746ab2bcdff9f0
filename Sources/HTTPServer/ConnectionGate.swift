import Platform
import Synchronization

/// Counts a server's connections and the bytes of their requests, and closes connections when a limit is reached.
///
/// A connection may be closed before its request has arrived, and while its client reads the answer, but never while
/// the server works on its request. Connections whose requests haven't arrived are closed first, beginning with the
/// oldest.
final class ConnectionGate: Sendable {
    struct Limits: Sendable {
        var connections: Int
        var connectionsPerAddress: Int
        /// The greatest number of bytes that the bodies of all requests together may take in memory.
        var bodyBytes = 64 << 20
        /// The greatest number of bytes that the answers which clients are reading together may take in memory.
        var answerBytes = 256 << 20
        /// The seconds in which each part of a request must have arrived: first its first line, then the rest of its
        /// header, and then its body.
        var requestSeconds: Int64 = 60
        /// The seconds in which the client must have read an answer.
        var answerSeconds: Int64 = 120

        /// The number of connections that may wait for a delayed answer or read a stream. The other connections are
        /// kept for short requests.
        var held: Int { max(1, connections * 3 / 4) }
        /// The number of connections that may exist above the limit for a moment, until the connections that had to
        /// make room for new ones are closed.
        var slack: Int { max(1, min(64, connections / 8)) }
    }

    enum Admission {
        case admitted(Connection)
        case refused(String)
    }

    private struct State {
        var byDescriptor: [Int32: Connection] = [:]
        var byAddress: [[UInt8]: Int] = [:]
        /// The connections on which no byte of a request's body has arrived: their clients send a header, or nothing.
        var waiting = ConnectionList()
        var sendingBody = ConnectionList()
        var reading = ConnectionList()
        var closing = 0
        var closingBytes = 0
        /// The bytes of the answers on connections that are being closed.
        var closingAnswerBytes = 0
        var counters = ServerCounters()
    }

    let limits: Limits
    private let state = Mutex(State())
    private let timeoutAnswer: @Sendable (_ status: Int, _ reason: String) -> [UInt8]

    /// Makes the object that limits a server's connections. A connection may have to be closed before its request has
    /// arrived. `answer` then returns the response that tells the client why, or no bytes if the client can't be told,
    /// as behind TLS.
    init(_ limits: Limits, answer: @escaping @Sendable (_ status: Int, _ reason: String) -> [UInt8] = { _, _ in [] }) {
        self.limits = limits
        timeoutAnswer = answer
    }

    var count: Int { state.withLock { $0.byDescriptor.count } }

    var counters: ServerCounters {
        state.withLock { state in
            var counters = state.counters
            counters.open = state.byDescriptor.count
            return counters
        }
    }

    /// Whether the server has so many connections that new ones have to stay in the system's queue until some have
    /// closed.
    var isFull: Bool { state.withLock { $0.byDescriptor.count >= limits.connections + limits.slack } }

    // MARK: - A connection's life

    /// Admits or refuses a new connection. An older connection may be closed to make room for the new one. `isAdopted`
    /// is true for a connection made within the process; `address` is then only a placeholder.
    func admit(
        _ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, label: String? = nil, isAdopted: Bool = false
    ) -> Admission {
        let key = ClientAddress.key(of: address)
        return state.withLock { state in
            // The system has reused the descriptor, so the connection that had it is closed. libmicrohttpd doesn't
            // report that for a connection that no worker has opened yet.
            if let lost = state.byDescriptor[descriptor] { remove(lost, from: &state) }
            if let key, state.byAddress[key, default: 0] >= limits.connectionsPerAddress {
                state.counters.refused += 1
                return .refused("this address has \(limits.connectionsPerAddress) connections open already")
            }
            if state.byDescriptor.count - state.closing >= limits.connections {
                guard let oldest = oldest(in: state) else {
                    state.counters.refused += 1
                    return .refused("all \(limits.connections) connections are in use")
                }
                evict(
                    oldest, 503, "all \(limits.connections) connections are in use, and this request came slowly",
                    &state)
                state.counters.evicted += 1
            }
            let connection = Connection(descriptor, key: key, label: label, isAdopted: isAdopted)
            state.byDescriptor[descriptor] = connection
            if let key { state.byAddress[key, default: 0] += 1 }
            return .admitted(connection)
        }
    }

    /// Records that a worker thread has opened the connection with this descriptor.
    func opened(_ descriptor: Int32) -> Connection? {
        state.withLock { state in
            guard let connection = state.byDescriptor[descriptor] else { return nil }
            move(connection, to: .waiting, &state)
            return connection
        }
    }

    /// Stops counting a connection. This is called before the connection's descriptor is closed.
    func closed(_ connection: Connection) {
        state.withLock { state in
            if state.byDescriptor[connection.descriptor] === connection { remove(connection, from: &state) }
        }
    }

    /// Records that the first line of a request has arrived on the connection.
    func began(_ connection: Connection) {
        state.withLock { state in
            connection.hasRequest = true
            move(connection, to: .waiting, &state)
        }
    }

    /// Records that a part of a request's body has arrived. To make room for it, connections whose bodies began to
    /// arrive earlier may be closed. Returns `false` if there is still no room, or if the connection itself is being
    /// closed.
    func received(_ bytes: Int, on connection: Connection) -> Bool {
        state.withLock { state in
            guard !connection.isClosing else { return false }
            if connection.phase != .sendingBody { move(connection, to: .sendingBody, &state) }
            while state.counters.bodyBytes - state.closingBytes + bytes > limits.bodyBytes {
                guard let oldest = state.sendingBody.first, oldest !== connection else {
                    state.counters.refused += 1
                    return false
                }
                evict(
                    oldest, 503,
                    "the bodies of requests take \(limits.bodyBytes) bytes already, and this one came slowly", &state)
                state.counters.evicted += 1
            }
            // The bodies of connections that are being closed stay in memory a moment longer.
            guard state.counters.bodyBytes + bytes <= limits.bodyBytes * 2 else {
                state.counters.refused += 1
                return false
            }
            connection.bodyBytes += bytes
            state.counters.bodyBytes += bytes
            return true
        }
    }

    /// Records that the bytes received so far of the request's body were discarded.
    func dropBody(of connection: Connection) { state.withLock { releaseBody(of: connection, &$0) } }

    /// Goes on counting the bytes of a request's body after its connection is closed, until the returned object is
    /// released. The client has disconnected, but the work on its request isn't done.
    func leaveBody(of connection: Connection) -> LeftBody {
        state.withLock { state in
            let bytes = connection.bodyBytes
            if connection.isClosing { state.closingBytes -= bytes }
            connection.bodyBytes = 0
            return LeftBody(bytes: bytes, gate: self)
        }
    }

    fileprivate func release(_ bytes: Int) { state.withLock { $0.counters.bodyBytes -= bytes } }

    /// Counts a connection that was refused because the process had no free descriptor.
    func countRefusal() { state.withLock { $0.counters.refused += 1 } }

    /// Records that a whole request has arrived on the connection. Returns `false` if the connection is being closed.
    func working(on connection: Connection) -> Bool {
        state.withLock { state in
            guard !connection.isClosing else { return false }
            move(connection, to: .working, &state)
            return true
        }
    }

    /// Records that the answer to a request is delayed or is a stream. Returns `false` if too many connections already
    /// wait for such answers.
    func hold(_ connection: Connection) -> Bool {
        state.withLock { state in
            guard !connection.isHeld else { return true }
            guard state.counters.held < limits.held else {
                state.counters.refused += 1
                return false
            }
            connection.isHeld = true
            state.counters.held += 1
            return true
        }
    }

    /// Records that the client of the connection is reading its answer, which has a body of `bytes` bytes. To make room
    /// for it, connections whose clients have read their answers for longer may be closed.
    func answering(on connection: Connection, _ bytes: Int) {
        state.withLock { state in
            endHold(connection, &state)
            while state.counters.answerBytes - state.closingAnswerBytes + bytes > limits.answerBytes,
                let oldest = state.reading.first
            {
                evict(oldest, 0, "", &state)
                state.counters.evicted += 1
            }
            connection.answerBytes = bytes
            state.counters.answerBytes += bytes
            if connection.isClosing { state.closingAnswerBytes += bytes }
            if connection.phase == .working || connection.phase == .waiting { move(connection, to: .reading, &state) }
        }
    }

    /// Changes the connection's state after a request and its answer are done. Another request may follow on the
    /// connection.
    func completed(_ connection: Connection, wasAbandoned: Bool) {
        state.withLock { state in
            if wasAbandoned { state.counters.abandoned += 1 }
            endHold(connection, &state)
            connection.hasRequest = false
            releaseBody(of: connection, &state)
            releaseAnswer(of: connection, &state)
            if !connection.isClosing { move(connection, to: .waiting, &state) }
        }
    }

    // MARK: - Closing

    /// Closes the connections whose clients take too long to send a request or read an answer, and returns the number
    /// of closed connections.
    @discardableResult
    func expire(now: Int64 = ConnectionGate.seconds) -> Int {
        state.withLock { state in
            var count = 0
            while let oldest = oldest(sendingIn: state), now - oldest.since >= limits.requestSeconds {
                evict(oldest, 408, "the request didn't arrive within \(limits.requestSeconds) seconds", &state)
                count += 1
            }
            while let oldest = state.reading.first, now - oldest.since >= limits.answerSeconds {
                evict(oldest, 0, "", &state)
                count += 1
            }
            state.counters.expired += UInt64(count)
            return count
        }
    }

    /// Closes the connections on which no whole request has arrived.
    func closeUnfinished() {
        state.withLock { state in
            while let oldest = oldest(sendingIn: state) { evict(oldest, 503, "the server is stopping", &state) }
        }
    }

    private func oldest(sendingIn state: borrowing State) -> Connection? {
        guard let waiting = state.waiting.first else { return state.sendingBody.first }
        guard let sending = state.sendingBody.first else { return waiting }
        return sending.since < waiting.since ? sending : waiting
    }

    private func oldest(in state: borrowing State) -> Connection? { oldest(sendingIn: state) ?? state.reading.first }

    /// Closes a connection before its request or answer is done.
    private func evict(_ connection: Connection, _ status: Int, _ reason: String, _ state: inout State) {
        if connection.hasRequest, connection.phase != .reading {
            let answer = timeoutAnswer(status, reason)
            _ = answer.withUnsafeBytes {
                send(connection.descriptor, $0.baseAddress, $0.count, understudy_no_signal | Int32(MSG_DONTWAIT))
            }
        }
        move(connection, to: .working, &state)
        connection.isClosing = true
        state.closing += 1
        state.closingBytes += connection.bodyBytes
        state.closingAnswerBytes += connection.answerBytes
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
    }

    // MARK: - Lists

    private func move(_ connection: Connection, to phase: Connection.Phase, _ state: inout State) {
        guard !connection.isClosing else { return }
        unlink(connection, &state)
        connection.phase = phase
        connection.since = ConnectionGate.seconds
        switch phase {
        case .new, .working: break
        case .waiting: state.waiting.append(connection)
        case .sendingBody: state.sendingBody.append(connection)
        case .reading: state.reading.append(connection)
        }
    }

    private func unlink(_ connection: Connection, _ state: inout State) {
        switch connection.phase {
        case .new, .working: break
        case .waiting: state.waiting.remove(connection)
        case .sendingBody: state.sendingBody.remove(connection)
        case .reading: state.reading.remove(connection)
        }
    }

    private func remove(_ connection: Connection, from state: inout State) {
        unlink(connection, &state)
        connection.phase = .new
        endHold(connection, &state)
        releaseBody(of: connection, &state)
        releaseAnswer(of: connection, &state)
        if connection.isClosing { state.closing -= 1 }
        state.byDescriptor[connection.descriptor] = nil
        guard let key = connection.key, let count = state.byAddress[key] else { return }
        state.byAddress[key] = count > 1 ? count - 1 : nil
    }

    private func releaseBody(of connection: Connection, _ state: inout State) {
        state.counters.bodyBytes -= connection.bodyBytes
        if connection.isClosing { state.closingBytes -= connection.bodyBytes }
        connection.bodyBytes = 0
    }

    private func releaseAnswer(of connection: Connection, _ state: inout State) {
        state.counters.answerBytes -= connection.answerBytes
        if connection.isClosing { state.closingAnswerBytes -= connection.answerBytes }
        connection.answerBytes = 0
    }

    private func endHold(_ connection: Connection, _ state: inout State) {
        if connection.isHeld { state.counters.held -= 1 }
        connection.isHeld = false
    }

    /// The present time of a monotonic clock, in seconds.
    static var seconds: Int64 { understudy_coarse_seconds() }
}

/// The body of a request whose client has disconnected. The body is in memory, and is counted, until this object is
/// released.
final class LeftBody: Sendable {
    private let bytes: Int
    private let gate: ConnectionGate

    fileprivate init(bytes: Int, gate: ConnectionGate) {
        self.bytes = bytes
        self.gate = gate
    }

    deinit { gate.release(bytes) }
}

/// The number of connections that the operating system's limit of open files allows. Each connection needs a
/// descriptor, and a server without free descriptors can't accept connections.
package enum DescriptorLimit {
    /// Raises the limit of open files as far as the system allows.
    static func raise() { understudy_raise_open_files() }

    /// The lowest limit of open files with which a server can start.
    private static let least = 32

    /// Checks that the limit of open files leaves room for connections.
    ///
    /// - Throws: An error if no connection could be served.
    static func check() throws(ListenError) {
        let files = understudy_open_files()
        guard files < least else { return }
        throw ListenError(
            description:
                "only \(files) files may be open at once, and at least \(least) are needed: raise the limit "
                + "with ulimit -n")
    }

    /// The number of descriptors for the connections of all servers in the process. A quarter of the limit of open
    /// files, at least 32 and at most 512, is kept for epoll sets, files and outgoing requests.
    private static var available: Int {
        // If there is no limit, the system returns its largest number.
        let files = Int(min(understudy_open_files(), 1 << 20))
        return files - min(512, max(32, files / 4))
    }

    /// The most connections of one server. A daemon has two servers, for HTTP and HTTPS.
    static var connections: Int { max(4, available * 3 / 8) }

    /// The most tunnels (`CONNECT`) of the HTTP proxy. Each tunnel needs two connections.
    package static var tunnels: Int { max(2, available / 8) }
}
