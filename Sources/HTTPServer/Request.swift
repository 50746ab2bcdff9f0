/// A complete HTTP request.
package struct Request: Sendable {
    /// The HTTP method as the client sent it, usually in upper case: `GET`.
    package var method: String
    /// The path of the request as the client sent it: percent-encoded, without the query.
    package var path: String
    /// The query of the request, as the client sent it; `nil` if the target has no `?`.
    package var query: String?
    /// The header fields of the request in the order of arrival, with their names as the client sent them.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// Whether the request came over TLS that this server itself terminates.
    package var isSecure: Bool
    /// The name of the test world to which the request's port or connection belongs; `nil` if the port serves all
    /// worlds.
    package var label: String?
    /// Whether the request's client is on this machine. The value is false behind the daemon's own proxy, which hides
    /// the client's address.
    package var isFromLoopback: Bool

    package init(
        method: String, target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        isSecure: Bool = false, label: String? = nil, isFromLoopback: Bool = true
    ) {
        self.isSecure = isSecure
        self.label = label
        self.isFromLoopback = isFromLoopback
        self.method = method
        self.headers = headers
        self.body = body
        // A target in absolute form (RFC 9112 §3.2.2), as proxies send it, is cut down to its path.
        var rest = Substring(target)
        if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = String(rest[..<mark])
            query = String(rest[rest.utf8.index(after: mark)...])
        } else {
            path = String(rest)
            query = nil
        }
        if path.isEmpty { path = "/" }
    }

    /// Returns the value of the request's first header field with this name. Upper and lower case in the name make no
    /// difference.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// The media type of the request's body, in lower case and without parameters.
    package var contentType: String? {
        header("Content-Type").map(\.mediaType)
    }

    /// Whether the request's body is declared as JSON, with or without a charset. Types that end with `+json` count,
    /// too.
    package var hasJSONBody: Bool {
        contentType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false
    }

    /// The decoded fields of the request's query.
    package var queryForm: Form { Form(parsing: query ?? "") }

    /// The fields of the request's `application/x-www-form-urlencoded` body; empty for any other media type.
    package var bodyForm: Form {
        contentType == "application/x-www-form-urlencoded" ? Form(parsing: body) : Form(fields: [])
    }
}

extension StringProtocol {
    /// The media type in a header's value: in lower case, without parameters and whitespace.
    package var mediaType: String {
        let isPlain = utf8.allSatisfy {
            $0 > UInt8(ascii: " ") && $0 != UInt8(ascii: ";") && !(0x41...0x5A).contains($0)
        }
        if isPlain { return String(self) }
        var type: [UInt8] = []
        type.reserveCapacity(utf8.count)
        for byte in utf8 {
            if byte == UInt8(ascii: ";") { break }
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { continue }
            type.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
        }
        return String(decoding: type, as: UTF8.self)
    }
}

extension String {
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Most texts are equal as they are.
        if self == other { return true }
        var (mine, others) = (utf8.makeIterator(), other.utf8.makeIterator())
        while let left = mine.next(), let right = others.next() {
            guard left == right || (left ^ right == 0x20 && (0x61...0x7A).contains(left | 0x20)) else { return false }
        }
        return true
    }
}
