import EmulatorCore
import JSON

/// A redirect URI that a client has registered. `http://localhost:*/path` and `http://127.0.0.1:*/path` match any port.
package struct RegisteredRedirectURI: Sendable {
    /// The way in which a request's `redirect_uri` is compared with a registered one.
    package enum Comparison: String, CaseIterable, Sendable {
        /// They must be equal, except for a port registered as `*`:
        /// <https://datatracker.ietf.org/doc/html/rfc9700#section-4.1.3>.
        case exact
        /// The request's must begin with the registered one.
        case prefix
    }

    package static let rule = TextRule(
        about: "an absolute URL such as \"https://example.com/callback\", \"com.example.app:/callback\" or "
            + "\"http://localhost:*/callback\", without a fragment or other wildcards",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s#]+$"
    ) { text in
        guard let colon = text.firstIndex(of: ":"), text.utf8.count <= 8_192 else { return false }
        let scheme = text[..<colon].utf8
        return scheme.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
            && text.index(after: colon) < text.endIndex
            && !text.contains { $0.isWhitespace || $0 == "#" }
            && RegisteredRedirectURI(text).hasNoOtherWildcard
    }

    /// Whether a browser would run the URI as a script, instead of opening an app or a site.
    static func runsScript(_ uri: String) -> Bool {
        let scheme = uri.prefix { $0 != ":" }.lowercased()
        return ["javascript", "data", "vbscript"].contains(scheme)
    }

    private static let anyPortExamples =
        "\"http://localhost:*/callback\" or \"http://127.0.0.1:*/callback\" for any port"

    /// The rule for providers that accept http and https. The provider itself checks fragments.
    package static let webRule = TextRule(
        about:
            "an absolute URL that begins with http:// or https://, such as \(anyPortExamples), without other wildcards",
        pattern: "^https?://[^\\s/]+"
    ) { TextRule.url.holds($0) && RegisteredRedirectURI($0).hasNoOtherWildcard }

    /// The rule for providers that also accept other schemes before `://`.
    package static let callbackRule = TextRule(
        about: "an absolute URL such as \"https://example.com/callback\", \"com.example.app://callback\" or "
            + "\(anyPortExamples), without other wildcards",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+"
    ) { TextRule.callbackURL.holds($0) && RegisteredRedirectURI($0).hasNoOtherWildcard }

    package let text: String
    /// The text before the port, if any port matches.
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

    /// The URL without its port, if any port matches.
    package var anyPort: String? { anyPortAt.map { $0.dropLast() + rest } }

    /// Returns `"a" or "b"`, for a diagnosis; `nil` if none is registered.
    package static func alternatives(_ registered: [String]) -> String? {
        Diagnosis.alternatives(registered).map { $0 + noteOnAnyPort(in: registered) }
    }

    /// Returns a remark if one of them matches any port; otherwise an empty text.
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

    /// Whether `uri` begins with `text`. If `text` ends with the host, the host's name must end there too.
    private func begins(_ uri: String, with text: String) -> Bool {
        guard uri.utf8.starts(with: text.utf8) else { return false }
        let isHostOnly = text.firstRange(of: "://").map { !text[$0.upperBound...].contains("/") } ?? false
        let rest = uri.utf8.dropFirst(text.utf8.count)
        return !isHostOnly || rest.first.map { "/?".utf8.contains($0) } ?? true
    }
}

extension [String] {
    /// Whether a redirect URI is one of these, which are registered.
    package func register(_ redirectURI: String) -> Bool {
        contains { RegisteredRedirectURI($0).matches(redirectURI) }
    }
}
