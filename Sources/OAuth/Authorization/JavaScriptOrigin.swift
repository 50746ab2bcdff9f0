import EmulatorCore
import HTTPServer
import JSON

/// The origin of a web page, in the form of browsers: scheme, host and port.
package struct JavaScriptOrigin: Sendable, Equatable {
    /// The rule for origins that a seed registers. The `*` for any loopback port is our own extension.
    package static let rule = TextRule(
        about:
            "an origin such as \"https://example.com\", \"http://localhost:3000\" or \"http://localhost:*\" for any port: scheme, host "
            + "and port, without a path",
        pattern: "^https?://[^\\s/?#]+$"
    ) { JavaScriptOrigin.isRegistrable($0) }

    /// The origin, such as `https://example.com`.
    package let text: String

    /// Reads an origin. Returns `nil` if the text isn't in the form of browsers.
    package init?(_ text: String) {
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme), address.rest.isEmpty,
            address.origin == text, !address.host.contains("*")
        else { return nil }
        self.text = text
    }

    /// Reads the header `Origin`: the page whose script has sent the request.
    package init?(of request: Request) {
        guard let text = request.header("Origin") else { return nil }
        self.init(text)
    }

    /// Whether the origin is registered.
    package func isAmong(_ registered: [String]) -> Bool {
        registered.contains { RegisteredRedirectURI($0).matches(text) }
    }

    private static func isRegistrable(_ text: String) -> Bool {
        JavaScriptOrigin(RegisteredRedirectURI(text).anyPort ?? text) != nil
    }
}
