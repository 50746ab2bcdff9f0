/// How libmicrohttpd refuses a request by itself, before any callback sees it whole.
enum MicrohttpdRefusal {
    /// Why it refuses, as a sentence without markup; `nil` when the line of libmicrohttpd's log announces no refusal. The line
    /// holds the page that libmicrohttpd is about to send.
    static func reason(in line: String) -> String? {
        guard line.hasPrefix("Error processing request (HTTP response code is ") else { return nil }
        guard let start = line.firstRange(of: "<body>"), let end = line.firstRange(of: "</body>"),
            start.upperBound <= end.lowerBound
        else { return "the request can't be read as HTTP/1.1" }
        var isMarkup = false
        let text = line[start.upperBound..<end.lowerBound].utf8.filter { byte in
            if byte == UInt8(ascii: "<") { isMarkup = true }
            defer { if byte == UInt8(ascii: ">") { isMarkup = false } }
            // The sentence is sent in a header, so it is printable ASCII.
            return !isMarkup && byte != UInt8(ascii: ">") && (0x20..<0x7F).contains(byte)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether it has met a chunk whose first line doesn't fit the connection's memory. It blames the server for that and says 500, as
    /// where a server takes nothing of a body, which ours never does.
    static func isChunkLine(_ status: UInt32) -> Bool { status == 500 }

    /// Why it is refused then.
    static func chunkLine(_ options: Server.Options) -> String {
        "a chunk of the body begins with a line that is too long: a connection has \(options.connectionMemory) bytes for "
            + "it and the request's header; leave chunk extensions out"
    }

    /// A whole response, after which the connection is closed.
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
