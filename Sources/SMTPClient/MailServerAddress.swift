/// Where mail is given to another server: `HOST:PORT`, or with what AUTH is told before it, `USER:PASSWORD@HOST:PORT`.
package struct MailServerAddress: Sendable, Equatable, CustomStringConvertible {
    package struct Login: Sendable, Equatable {
        package let user: String
        package let password: String
    }

    /// A name or an IP address, without brackets.
    package let host: String
    package let port: UInt16
    package let login: Login?

    package static let expectation = "HOST:PORT, or USER:PASSWORD@HOST:PORT"

    /// User and password are taken as they stand; a password may hold colons and at signs. `nil` for what isn't an address.
    package init?(_ text: String) {
        var rest = text[...]
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !rest[..<at].utf8.contains(0) else { return nil }
            login = Login(user: String(parts[0]), password: String(parts[1]))
            rest = rest[rest.index(after: at)...]
        } else {
            login = nil
        }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0
        else { return nil }
        var host = rest[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard MailServerAddress.isHost(host, isBracketed: isBracketed) else { return nil }
        self.host = String(host)
        self.port = port
    }

    /// Without the login.
    package var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Letters, digits, `-`, `_` and `.`, or an IPv6 address: nothing that a resolver would read in another way.
    private static func isHost(_ host: Substring, isBracketed: Bool) -> Bool {
        !host.isEmpty
            && host.utf8.allSatisfy { byte in
                let isDigit = (0x30...0x39).contains(byte)
                if isBracketed { return isDigit || (0x61...0x66).contains(byte | 0x20) || ":.".utf8.contains(byte) }
                return isDigit || (0x61...0x7A).contains(byte | 0x20) || "-_.".utf8.contains(byte)
            }
    }
}
