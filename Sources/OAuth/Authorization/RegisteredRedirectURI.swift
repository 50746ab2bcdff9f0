import EmulatorCore
import HTTPServer
import JSON
import Platform

/// A redirect URI that a client has registered. `http://localhost:*/path` and `http://127.0.0.1:*/path` match any port.
package struct RegisteredRedirectURI: Sendable {
    /// The way in which the `redirect_uri` of a request is compared with a registered redirect URI.
    package enum Comparison: String, CaseIterable, Sendable {
        /// The `redirect_uri` of the request must equal the registered one, except for a port registered as `*`:
        /// <https://datatracker.ietf.org/doc/html/rfc9700#section-4.1.3>.
        case exact
        /// The `redirect_uri` of the request must begin with the registered one.
        case prefix
    }

    package static let rule = TextRule(
        about: "an absolute URL such as \"https://example.com/callback\", \"com.example.app:/callback\" or "
            + "\"http://localhost:*/callback\", without a fragment or other wildcards",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s#]+$"
    ) { text in
        guard let colon = text.firstIndex(of: ":"), text.utf8.count <= 8_192 else { return false }
        let scheme = text[..<colon].utf8
        let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte | 0x20) }
        return scheme.first.map(isLetter) ?? false
            && scheme.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+.-".utf8.contains($0) }
            && text.index(after: colon) < text.endIndex
            && !text.contains(where: \.isWhitespace)
            // Bytes are compared, because a combining mark after "#" makes it another character.
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") }
            && RegisteredRedirectURI(text).hasNoOtherWildcard
    }

    /// Whether a browser would run the URI as a script, as with `javascript:`, instead of opening an app or a site.
    package static func runsScript(_ uri: String) -> Bool {
        let scheme = uri.prefix { $0 != ":" }.lowercased()
        return ["javascript", "data", "vbscript"].contains(scheme)
    }

    private static let anyPortExamples =
        "\"http://localhost:*/callback\" or \"http://127.0.0.1:*/callback\" for any port"

    /// The rule for redirect URIs in seeds, at providers that accept only http and https. The rule allows fragments.
    package static let webRule = TextRule(
        about:
            "an absolute URL that begins with http:// or https://, such as \(anyPortExamples), without other wildcards",
        pattern: "^https?://[^\\s/]+"
    ) { TextRule.url.holds($0) && RegisteredRedirectURI($0).hasNoOtherWildcard }

    /// The rule for redirect URIs in seeds, at providers that accept any URI scheme before `://`, not only http and
    /// https.
    package static let callbackRule = TextRule(
        about: "an absolute URL such as \"https://example.com/callback\", \"com.example.app://callback\" or "
            + "\(anyPortExamples), without other wildcards",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+"
    ) { TextRule.callbackURL.holds($0) && RegisteredRedirectURI($0).hasNoOtherWildcard }

    package let text: String
    /// The part of the redirect URI before the port, if the port is registered as `*`; otherwise `nil`.
    private let anyPortAt: String?
    private let rest: String

    package init(_ text: String) {
        self.text = text
        anyPortAt = ["http://localhost:", "http://127.0.0.1:", "http://[::1]:"].first { text.hasPrefix($0 + "*") }
        rest = anyPortAt.map { String(text.dropFirst($0.count + 1)) } ?? text
    }

    private var hasNoOtherWildcard: Bool {
        !rest.contains("*") && (anyPortAt == nil || rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?"))
    }

    /// The redirect URI without its port, if the port is registered as `*`; otherwise `nil`.
    package var anyPort: String? { anyPortAt.map { $0.dropLast() + rest } }

    /// Returns the registered redirect URIs as a text such as `"a" or "b"`, for an error message; `nil` if none is
    /// registered.
    package static func alternatives(_ registered: [String]) -> String? {
        Diagnosis.alternatives(registered).map { $0 + noteOnAnyPort(in: registered) }
    }

    /// Returns a remark for an error message if one of the registered redirect URIs has the port `*`, which matches any
    /// port; otherwise an empty text.
    package static func noteOnAnyPort(in registered: [String]) -> String {
        guard registered.contains(where: { RegisteredRedirectURI($0).anyPort != nil }) else { return "" }
        return " (\"*\" is any port, an extension of Understudy's: register a port at the real provider)"
    }

    package func matches(_ uri: String, _ comparison: Comparison = .exact) -> Bool {
        // Bytes are compared, because a combining mark after "#" makes it another character.
        let isWritable = uri.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") }
        guard comparison == .exact || isWritable else { return false }
        guard let anyPortAt else { return comparison == .exact ? uri == text : begins(uri, with: text) }
        let host = anyPortAt.dropLast()
        guard uri.hasPrefix(host) else { return false }
        var path = uri.dropFirst(host.count)
        // Without a port, it is HTTP's default.
        if path.hasPrefix(":") {
            let port = path.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard UInt16(port) != nil else { return false }
            path = path.dropFirst(1 + port.count)
        }
        guard comparison == .prefix else { return path == rest }
        return path.utf8.starts(with: rest.utf8) && (path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"))
    }

    /// Whether `uri` begins with `text`. If `text` is only a scheme and a host, the host of `uri` must be exactly that
    /// one.
    private func begins(_ uri: String, with text: String) -> Bool {
        guard uri.utf8.starts(with: text.utf8) else { return false }
        let isHostOnly = text.firstRange(of: "://").map { !text[$0.upperBound...].contains("/") } ?? false
        let rest = uri.utf8.dropFirst(text.utf8.count)
        return !isHostOnly || rest.first.map { "/?".utf8.contains($0) } ?? true
    }
}

extension [String] {
    /// Whether `redirectURI` matches one of these registered redirect URIs.
    package func register(_ redirectURI: String) -> Bool {
        contains { RegisteredRedirectURI($0).matches(redirectURI) }
    }
}

/// The parts of an absolute URL with `://`, such as an https URL, for the rules on redirect URIs.
package struct WebAddress: Sendable, Equatable {
    package let scheme: String
    /// The URL's host in lower case, without the brackets of an IPv6 address.
    package let host: String
    package let port: String?
    /// The part of the URL after the host and the port: path, query and fragment. It may be empty.
    package let rest: String
    package let hasFragment: Bool

    /// Reads an absolute URL. Returns `nil` if the URL isn't absolute, has no host, has an invalid port, contains
    /// spaces or control characters, or names a user.
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

    /// The URL's origin (scheme, host and port), as `postMessage` and the header `Origin` have it.
    package var origin: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(scheme)://\(name)" + (port.map { ":\($0)" } ?? "")
    }

    /// The URL's path without query and fragment; empty if there is none.
    package var path: String { String(Substring(rest.utf8.prefix { !"?#".utf8.contains($0) })) }

    /// The URL's port as written, or else the default port of its scheme.
    package var effectivePort: String { port ?? (scheme == "https" ? "443" : scheme == "http" ? "80" : "") }

    package var isLoopback: Bool { host == "localhost" || host == "127.0.0.1" || host == "::1" }

    package var isIPAddress: Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1
    }

    /// Whether the URL's host is an IP address, `localhost` or a name below it, or a name without a dot, such as a
    /// container's. No provider has such a host.
    package var isOfThisMachine: Bool { isIPAddress || isLocalhost || !host.contains(".") }

    package var isLocalhost: Bool { host == "localhost" || host.hasSuffix(".localhost") }

    /// Whether browsers regard both URLs as the same site: same scheme and same registrable domain, with any port. The
    /// registrable domain is taken to be the last two labels, or the whole host if it is `localhost` or an IP address.
    /// <https://html.spec.whatwg.org/#same-site>
    package func isSameSite(as other: WebAddress) -> Bool {
        scheme == other.scheme && site == other.site
    }

    private var site: String {
        guard !isIPAddress else { return host }
        return host.split(separator: ".").suffix(2).joined(separator: ".")
    }
}

/// The origin of a web page, in the form in which browsers write it: scheme, host and port.
package struct JavaScriptOrigin: Sendable, Equatable {
    /// The rule for web origins that a seed (the test data) registers. The port `*`, which matches any port of a
    /// loopback address, is this project's own extension.
    package static let rule = TextRule(
        about:
            "an origin such as \"https://example.com\", \"http://localhost:3000\" or \"http://localhost:*\" for any port: scheme, host "
            + "and port, without a path",
        pattern: "^https?://[^\\s/?#]+$"
    ) { JavaScriptOrigin.isRegistrable($0) }

    /// The text of the origin, such as `https://example.com`.
    package let text: String

    /// Reads a web origin. Returns `nil` if `text` doesn't have the form in which browsers write origins.
    package init?(_ text: String) {
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme), address.rest.isEmpty,
            address.origin == text, !address.host.contains("*")
        else { return nil }
        self.text = text
    }

    /// Reads the header `Origin` of a request: the origin of the page whose script has sent the request.
    package init?(of request: Request) {
        guard let text = request.header("Origin") else { return nil }
        self.init(text)
    }

    package func isAmong(_ registered: [String]) -> Bool {
        registered.contains { RegisteredRedirectURI($0).matches(text) }
    }

    private static func isRegistrable(_ text: String) -> Bool {
        JavaScriptOrigin(RegisteredRedirectURI(text).anyPort ?? text) != nil
    }
}
