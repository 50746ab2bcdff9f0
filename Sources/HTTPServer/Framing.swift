/// What a request's header says about where its body ends (RFC 9112 section 6). Where two readers could disagree the request
/// is refused: libmicrohttpd takes the first of several.
struct Framing {
    private(set) var declaredLength = 0
    private(set) var fault: String?

    init(_ headers: [(name: String, value: String)]) {
        var lengths: [String] = []
        var codings: [String] = []
        var hosts = 0
        var names = true
        for header in headers {
            names = names && Framing.isToken(header.name)
            if header.name.equalsIgnoringASCIICase("Content-Length") { lengths.append(header.value) }
            if header.name.equalsIgnoringASCIICase("Transfer-Encoding") { codings.append(header.value) }
            if header.name.equalsIgnoringASCIICase("Host") { hosts += 1 }
        }
        declaredLength = lengths.first.flatMap { Int($0) } ?? 0
        if !names {
            fault = "the request has a header whose name holds white space or other characters that names can't"
        } else if hosts > 1 {
            fault = "the request has \(hosts) Host headers: send one"
        } else if lengths.count > 1 {
            fault = "the request has \(lengths.count) Content-Length headers: send one"
        } else if !codings.isEmpty, !lengths.isEmpty {
            fault = "the request has both Content-Length and Transfer-Encoding: send one"
        } else if codings.count > 1 || codings.contains(where: { !$0.equalsIgnoringASCIICase("chunked") }) {
            fault = "the request's Transfer-Encoding isn't chunked, which is all that is understood here"
        }
    }

    /// RFC 9110 section 5.6.2.
    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x5E...0x7A).contains(byte)
                    || [0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x7C, 0x7E].contains(byte)
            }
    }
}
