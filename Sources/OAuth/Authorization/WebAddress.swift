import Platform
import EmulatorCore

/// The parts of an absolute http or https URL, for the rules on redirect URIs.
package struct WebAddress: Sendable, Equatable {
    package let scheme: String
    /// The host in lower case, without the brackets of an IPv6 address.
    package let host: String
    package let port: String?
    /// The part from the first slash on; empty if there is none.
    package let rest: String
    package let hasFragment: Bool

    /// Reads a URL. Returns `nil` if it isn't absolute, has no host, contains spaces or control characters, or names a
    /// user.
    package init?(_ text: String) {
        guard let mark = text.firstRange(of: "://"), !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            return nil
        }
        scheme = text[..<mark.lowerBound].lowercased()
        guard scheme.utf8.first.map({ (0x61...0x7A).contains($0) }) ?? false else { return nil }
        let after = text[mark.upperBound...]
        // Browsers compare bytes too: a combining mark would make the slash before it another character.
        let authority = Substring(after.utf8.prefix { !"/?#\\".utf8.contains($0) })
        rest = String(Substring(after.utf8.dropFirst(authority.utf8.count)))
        hasFragment = rest.utf8.contains(UInt8(ascii: "#"))
        host = Address.hostName(of: String(authority))
        let digits: Substring
        if authority.hasPrefix("[") {
            digits = authority.drop { $0 != "]" }.dropFirst()
        } else {
            digits = Substring(authority.utf8.drop { $0 != UInt8(ascii: ":") })
        }
        port = digits.hasPrefix(":") ? String(digits.dropFirst()) : nil
        guard !host.isEmpty, !authority.utf8.contains(UInt8(ascii: "@")),
            port.map({ UInt16($0) != nil && !$0.hasPrefix("+") }) ?? true
        else {
            return nil
        }
    }

    /// The scheme, the host and the port, as in `postMessage` and `Origin`.
    package var origin: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(scheme)://\(name)" + (port.map { ":\($0)" } ?? "")
    }

    /// The path without query and fragment; empty if there is none.
    package var path: String { String(Substring(rest.utf8.prefix { !"?#".utf8.contains($0) })) }

    /// The port as written, or else the scheme's default.
    package var effectivePort: String { port ?? (scheme == "https" ? "443" : scheme == "http" ? "80" : "") }

    package var isLoopback: Bool { host == "localhost" || host == "127.0.0.1" || host == "::1" }

    package var isIPAddress: Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1
    }

    /// Whether the host is this machine or a container's name: an IP address, `localhost`, or a name without a dot. No
    /// provider host has such a name.
    package var isOfThisMachine: Bool { isIPAddress || isLocalhost || !host.contains(".") }

    package var isLocalhost: Bool { host == "localhost" || host.hasSuffix(".localhost") }

    /// Whether browsers regard both as the same site: same scheme and same registrable domain, with any port. The last
    /// two labels are used as the registrable domain; for `localhost` and addresses, the whole name is.
    /// <https://html.spec.whatwg.org/#same-site>
    package func isSameSite(as other: WebAddress) -> Bool {
        scheme == other.scheme && site == other.site
    }

    private var site: String {
        guard !isIPAddress else { return host }
        return host.split(separator: ".").suffix(2).joined(separator: ".")
    }
}
