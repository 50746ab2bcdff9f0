/// Sends HTTP requests of the daemon itself, such as notifications to apps and calls of Firebase's blocking functions,
/// and reads the answers. The time and the answer's size are limited. Over TLS (1.2 or later), the server's certificate
/// and host name are verified, unless the caller waives this.
package enum OutgoingRequest {
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [(name: String, value: String)]
        package let body: [UInt8]
    }

    /// The reason why an outgoing HTTP request got no answer.
    package typealias Failure = ConnectionFailure

    /// The default for the greatest number of bytes in the answer to an outgoing HTTP request.
    package static let answerLimit = 1 << 20

    /// The greatest number of bytes in the header of the answer to an outgoing HTTP request.
    private static let headerLimit = 64 << 10

    /// The `User-Agent` of the daemon's own requests. The control API refuses requests with it, so that a notification
    /// to an app's server can't change anything in the daemon.
    package static let userAgent = "Understudy/outgoing"

    /// Sends an HTTP request, and blocks the calling thread until the answer has arrived or `seconds` have passed.
    /// `host` is sent as the `Host` header in place of the URL's host. Reading stops when the answer, with its header,
    /// has more than `limit` bytes. If `isVerified` is false, any certificate is accepted. If `mayCallThisMachine` is
    /// false, a URL whose host is this machine's loopback address, or is resolved to it, is refused.
    package static func send(
        _ method: String, to url: String, host: String? = nil, contentType: String? = nil,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], seconds: Int = 10, limit: Int = answerLimit,
        isVerified: Bool = true, mayCallThisMachine: Bool = true
    ) throws(Failure) -> Answer {
        let target = try Target(url)
        var head = "\(method) \(target.path) HTTP/1.1\r\nHost: \(host ?? target.authority)\r\nConnection: close\r\n"
        head += "Content-Length: \(body.count)\r\n"
        if !headers.contains(where: { $0.name.lowercased() == "accept" }) { head += "Accept: */*\r\n" }
        if !headers.contains(where: { $0.name.lowercased() == "user-agent" }) { head += "User-Agent: \(userAgent)\r\n" }
        if let contentType { head += "Content-Type: \(contentType)\r\n" }
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        let deadline = ContinuousClock.now.advanced(by: .seconds(seconds))
        return try exchange(
            Array((head + "\r\n").utf8) + body, with: target, until: deadline, limit: limit, isVerified,
            hasBody: method != "HEAD", mayCallThisMachine)
    }

    private static func exchange(
        _ message: [UInt8], with target: Target, until deadline: ContinuousClock.Instant, limit: Int,
        _ isVerified: Bool, hasBody: Bool, _ mayCallThisMachine: Bool
    ) throws(Failure) -> Answer {
        let connection = ClientConnection(
            try ClientSocket(
                host: target.host, port: target.port, title: target.authority, deadline: deadline,
                mayBeThisMachine: mayCallThisMachine))
        if target.isSecure { try connection.startTLS(host: target.host, isVerified: isVerified, until: deadline) }
        try connection.write(message, until: deadline)
        var received: [UInt8] = []
        var header: AnswerHeader?
        while received.count <= limit {
            let chunk = try connection.read(until: deadline)
            if chunk.isEmpty {
                guard !hasBody || header?.isCut(in: received) != true else {
                    throw Failure(description: "\(target.authority) closed the connection within its answer")
                }
                break
            }
            let place = max(0, received.count - 3)
            received += chunk
            if header == nil {
                header = try AnswerHeader(received, from: place)
                guard header != nil || received.count <= headerLimit else { break }
            }
            if let header, let body = header.body(in: received, isWhole: false) {
                return Answer(status: header.status, headers: header.headers, body: body)
            }
        }
        guard let header, let body = header.body(in: received, isWhole: true) else {
            throw Failure(description: "\(target.authority) gave no HTTP answer")
        }
        return Answer(status: header.status, headers: header.headers, body: body)
    }
}
