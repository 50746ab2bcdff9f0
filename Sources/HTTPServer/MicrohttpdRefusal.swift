/// The refusals that libmicrohttpd makes itself, before any callback has the whole request.
enum MicrohttpdRefusal {
    /// Returns the reason of a refusal as a sentence without markup, or `nil` if the line of libmicrohttpd's log
    /// announces none. The line contains the page that libmicrohttpd is about to send.
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

    /// Whether a chunk's first line was too long for the connection's memory. For this, libmicrohttpd blames the server
    /// and uses the status 500, which it otherwise has only for servers that read no body, as ours always does.
    static func isChunkLine(_ status: UInt32) -> Bool { status == 500 }

    /// Returns the reason of that refusal.
    static func chunkLine(_ options: Server.Options) -> String {
        "a chunk of the body begins with a line that is too long: a connection has \(options.connectionMemory) bytes for "
            + "it and the request's header; leave chunk extensions out"
    }

    /// Returns the bytes of a whole response, after which the connection is closed.
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
