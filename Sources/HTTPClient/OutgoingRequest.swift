/// Sends one HTTP request and reads the answer, for notifications, blocking functions, and key sets that `explain` reads. Time
/// and size are limited; over TLS (1.2 or later) the certificate and its host name are verified.
package enum OutgoingRequest {
    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
    }

    /// Why there is no answer.
    package struct Failure: Error, CustomStringConvertible, Sendable {
        package let description: String
    }

    /// How many bytes of an answer are read at most.
    package static let answerLimit = 1 << 20

    /// Blocks its thread until the answer is there, at most `seconds`.
    package static func send(
        _ method: String, to url: String, contentType: String? = nil, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], seconds: Int = 10
    ) throws(Failure) -> Answer {
        let target = try Target(url)
        let deadline = ContinuousClock.now.advanced(by: .seconds(seconds))
        let socket = try Socket(connectingTo: target, deadline: deadline)
        let stream = target.isSecure ? try SecureStream(socket, host: target.host) : nil
        var head = "\(method) \(target.path) HTTP/1.1\r\nHost: \(target.authority)\r\nConnection: close\r\n"
        head += "Accept: */*\r\nContent-Length: \(body.count)\r\n"
        if let contentType { head += "Content-Type: \(contentType)\r\n" }
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        let message = Array((head + "\r\n").utf8) + body
        if let stream { try stream.write(message) } else { try socket.write(message) }
        var received: [UInt8] = []
        while received.count <= answerLimit {
            try socket.setTimeout(until: deadline)
            let chunk = if let stream { try stream.read() } else { try socket.read() }
            if chunk.isEmpty { break }
            received += chunk
            if let answer = Answer(received, isWhole: false) { return answer }
        }
        guard let answer = Answer(received, isWhole: true) else {
            throw Failure(description: "\(target.authority) gave no HTTP answer")
        }
        return answer
    }
}

extension OutgoingRequest.Answer {
    /// Reads an answer from the bytes that have arrived. Before the connection has ended, only an answer of known length
    /// is complete.
    fileprivate init?(_ bytes: [UInt8], isWhole: Bool) {
        let end = Array("\r\n\r\n".utf8)
        guard let blank = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<blank.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
        var body = Array(bytes[blank.upperBound...])
        let fields = lines.dropFirst().map { $0.lowercased() }
        if fields.contains(where: { $0.hasPrefix("transfer-encoding:") && $0.hasSuffix("chunked") }) {
            guard let joined = OutgoingRequest.Answer.joinChunks(body) else { return nil }
            body = joined
        } else if let field = fields.first(where: { $0.hasPrefix("content-length:") }) {
            let length = max(0, Int(field.dropFirst("content-length:".count).filter { $0 != " " }) ?? 0)
            guard body.count >= length || isWhole else { return nil }
            body = Array(body.prefix(length))
        } else if !isWhole, status != 204, status != 304 {
            return nil
        }
        self.status = status
        self.body = body
    }

    /// The chunks' contents; `nil` until the last chunk has arrived.
    private static func joinChunks(_ bytes: [UInt8]) -> [UInt8]? {
        var joined: [UInt8] = []
        var rest = bytes[...]
        while let line = rest.firstRange(of: [0x0D, 0x0A]) {
            let digits = String(decoding: rest[..<line.lowerBound].prefix { $0 != 0x3B }, as: UTF8.self)
            guard let size = Int(digits, radix: 16), size >= 0, size <= OutgoingRequest.answerLimit else { return nil }
            if size == 0 { return joined }
            let start = line.upperBound
            guard rest.endIndex - start >= size + 2 else { return nil }
            joined += rest[start..<start + size]
            rest = rest[(start + size + 2)...]
        }
        return nil
    }
}
