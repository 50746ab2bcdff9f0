import Platform
import Synchronization

/// Tells clients why the server closes their connections, and counts such connections for the log.
package final class RefusedConnections: Sendable {
    private struct State {
        /// Connections whose clients have got the reason for the refusal. They are closed a little later, because
        /// closing a socket with unread bytes would discard the reason.
        var closing: [(descriptor: Int32, since: Int64)] = []
        var reported = ServerCounters()
        var reportedAt: Int64?
    }

    private static let closingLimit = 8
    /// The least seconds between two log lines about refused connections.
    private static let pause: Int64 = 10

    private let isPlain: Bool
    private let header: String
    private let state = Mutex(State())

    /// Makes an object that tells clients why their connections are closed. `isPlain` is false behind TLS, where
    /// nothing can be sent to clients without a handshake. `header` names the response header with the reason.
    package init(isPlain: Bool, header: String) {
        self.isPlain = isPlain
        self.header = header
    }

    /// Returns the bytes of a whole response that says why a connection is refused. Returns no bytes if `status` is 0,
    /// or if the server uses TLS.
    func answer(_ status: Int, _ reason: String) -> [UInt8] {
        guard isPlain, status > 0 else { return [] }
        let headers = [(name: header, value: reason)]
        return MicrohttpdRefusal.bytes(
            of: Response(status: status, contentType: "text/plain", headers: headers, body: reason + "\n"))
    }

    /// Sends the client a response that says why its connection is refused.
    func sendRefusal(_ descriptor: Int32, _ reason: String) {
        let bytes = answer(503, reason)
        _ = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, understudy_no_signal | Int32(MSG_DONTWAIT))
        }
        shutdown(descriptor, Int32(SHUT_WR))
        RefusedConnections.drain(descriptor)
    }

    /// Sends the client a response that says why its connection is refused, and closes the connection.
    package func refuse(_ descriptor: Int32, _ reason: String) {
        sendRefusal(descriptor, reason)
        let first = state.withLock { state -> Int32? in
            state.closing.append((descriptor, ConnectionGate.seconds))
            return state.closing.count > RefusedConnections.closingLimit ? state.closing.removeFirst().descriptor : nil
        }
        if let first { RefusedConnections.end(first) }
    }

    package func tick() {
        let now = ConnectionGate.seconds
        while let old = state.withLock({ state -> Int32? in
            guard let first = state.closing.first, now - first.since >= 2 else { return nil }
            return state.closing.removeFirst().descriptor
        }) {
            RefusedConnections.end(old)
        }
    }

    package func closeAll() {
        let closing = state.withLock { state in
            defer { state.closing = [] }
            return state.closing
        }
        for connection in closing { RefusedConnections.end(connection.descriptor) }
    }

    /// Returns how many connections were refused since the last report, and how many were closed to make room for
    /// others. Returns `nil` if there were none, or if the last report is less than ten seconds old.
    package func report(of counters: ServerCounters) -> (refused: UInt64, evicted: UInt64)? {
        state.withLock { state in
            let refused = counters.refused - state.reported.refused
            let evicted = counters.evicted - state.reported.evicted
            let now = ConnectionGate.seconds
            guard refused + evicted > 0, state.reportedAt.map({ now - $0 >= RefusedConnections.pause }) ?? true else {
                return nil
            }
            state.reported = counters
            state.reportedAt = now
            return (refused, evicted)
        }
    }

    private static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        for _ in 0..<8 where recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) <= 0 { return }
    }

    private static func end(_ descriptor: Int32) {
        drain(descriptor)
        close(descriptor)
    }
}

/// The error responses that the library libmicrohttpd sends to requests that it can't read. Such requests never reach
/// the server's handler.
enum MicrohttpdRefusal {
    /// Returns the reason in an error response of libmicrohttpd, as a sentence without markup. `line` is a line that
    /// libmicrohttpd has logged. Returns `nil` if the line isn't about an error response.
    static func reason(in line: String) -> String? {
        guard line.hasPrefix("Error processing request (HTTP response code is ") else { return nil }
        guard let start = line.firstRange(of: "<body>"), let end = line.firstRange(of: "</body>"),
            start.upperBound <= end.lowerBound
        else { return "the request can't be read as HTTP/1.1" }
        var isMarkup = false
        let text = line[start.upperBound..<end.lowerBound].utf8.filter { byte in
            if byte == UInt8(ascii: "<") { isMarkup = true }
            defer { if byte == UInt8(ascii: ">") { isMarkup = false } }
            // The sentence is sent in a header field, so it must be printable ASCII.
            return !isMarkup && byte != UInt8(ascii: ">") && (0x20..<0x7F).contains(byte)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether an error status of libmicrohttpd means that the first line of a chunk was too long for the connection's
    /// memory. In this server, libmicrohttpd sends the status 500 only for that error.
    static func isChunkLine(_ status: UInt32) -> Bool { status == 500 }

    /// Returns the reason for refusing a request in which the first line of a chunk was too long.
    static func chunkLine(_ options: Server.Options) -> String {
        "a chunk of the body begins with a line that is too long: a connection has \(options.connectionMemory) bytes for "
            + "it and the request's header; leave chunk extensions out"
    }

    /// Returns the bytes of a whole HTTP response, after which the connection is closed.
    static func bytes(of response: Response) -> [UInt8] {
        let phrases = [
            400: "Bad Request", 408: "Request Timeout", 413: "Content Too Large", 414: "URI Too Long",
            431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
            503: "Service Unavailable", 505: "HTTP Version Not Supported",
        ]
        let length = (name: "Content-Length", value: "\(response.body.count)")
        let headers = response.headers + [length, (name: "Connection", value: "close")]
        let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("HTTP/1.1 \(response.status) \(phrases[response.status] ?? "Error")\r\n\(lines)\r\n".utf8)
            + response.body
    }
}
