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
        declaredLength = lengths.first.flatMap { Int($0) } ?? 0
        announcesBody = declaredLength != 0 || !codings.isEmpty
        if !names {
            issue = "the request has a header whose name holds white space or other characters that names can't"
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
