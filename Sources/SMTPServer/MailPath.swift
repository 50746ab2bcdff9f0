/// The address in the SMTP commands `MAIL FROM:<…>` and `RCPT TO:<…>`:
/// <https://www.rfc-editor.org/rfc/rfc5321#section-4.1.2>.
package struct MailPath: Sendable, Equatable {
    /// The e-mail address without its angle brackets; empty for a bounce's null path. A source route is dropped, as
    /// section 3.3 of RFC 5321 asks.
    package let address: String
    /// The parameters after the address in an SMTP command, such as `SIZE=1000`, with their names in capitals.
    package let parameters: [Parameter]

    package struct Parameter: Sendable, Equatable {
        package let name: String
        package let value: String?
    }

    package enum Failure: Error, Sendable {
        /// The text has no address in angle brackets.
        case notAPath
        case tooLong
        case badParameter
    }

    /// The greatest numbers of octets in the parts of an e-mail address, by sections 4.5.3.1.1 to 4.5.3.1.3 of RFC
    /// 5321.
    private static let limits = (local: 64, domain: 255, path: 256)
    private static let parameterLimit = 16

    /// Whether the e-mail address is ASCII, so that a client can use it without SMTPUTF8.
    package var isASCII: Bool { address.utf8.allSatisfy { $0 < 0x80 } }

    /// Reads the address after `MAIL FROM:` or `RCPT TO:`. A space before the angle bracket is accepted, as by most
    /// servers.
    package init(parsing text: Substring) throws(Failure) {
        let rest = text.drop { $0 == " " }
        guard rest.first == "<" else { throw .notAPath }
        var isQuoted = false
        var isEscaped = false
        var end: Substring.Index?
        for place in rest.indices.dropFirst() {
            let character = rest[place]
            if isEscaped { isEscaped = false; continue }
            if character == "\\" { isEscaped = isQuoted; continue }
            if character == "\"" { isQuoted.toggle() }
            if character == ">", !isQuoted {
                end = place
                break
            }
        }
        guard let end else { throw .notAPath }
        var path = rest[rest.index(after: rest.startIndex)..<end]
        guard path.utf8.count <= MailPath.limits.path else { throw .tooLong }
        if path.first == "@", let colon = path.firstIndex(of: ":") { path = path[path.index(after: colon)...] }
        parameters = try MailPath.parameters(rest[rest.index(after: end)...])
        try MailPath.check(path)
        address = String(path)
    }

    private static func check(_ path: Substring) throws(Failure) {
        guard !path.isEmpty else { return }
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .notAPath }
        // Section 4.5.1: postmaster needs no domain.
        guard let at = path.utf8.lastIndex(of: UInt8(ascii: "@")) else {
            guard path.lowercased() == "postmaster" else { throw .notAPath }
            return
        }
        let local = path[..<at]
        let domain = path[path.index(after: at)...]
        guard local.utf8.count <= limits.local, domain.utf8.count <= limits.domain else { throw .tooLong }
        let isQuoted = local.count >= 2 && local.first == "\"" && local.last == "\""
        guard !local.isEmpty, !domain.isEmpty, isQuoted || !local.contains(" "), !domain.contains(" ") else {
            throw .notAPath
        }
    }

    private static func parameters(_ text: Substring) throws(Failure) -> [Parameter] {
        var all: [Parameter] = []
        for word in text.split(separator: " ") {
            guard all.count < parameterLimit else { throw .badParameter }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let isName =
                !parts[0].isEmpty
                && parts[0].utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D
                }
            guard isName else { throw .badParameter }
            all.append(Parameter(name: parts[0].uppercased(), value: parts.count > 1 ? String(parts[1]) : nil))
        }
        return all
    }
}
