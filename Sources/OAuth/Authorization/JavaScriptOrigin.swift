import EmulatorCore
import HTTPServer
import JSON

/// The origin of a web page: scheme, host and port, as browsers write it.
package struct JavaScriptOrigin: Sendable, Equatable {
    /// What a seed registers for a client. That the port of the loopback address may be `*` is our own.
    package static let rule = TextRule(
        about:
            "an origin such as \"https://example.com\", \"http://localhost:3000\" or \"http://localhost:*\" for any port: scheme, host "
            + "and port, without a path",
        pattern: "^https?://[^\\s/?#]+$"
    ) { JavaScriptOrigin.isRegistrable($0) }

    /// Such as `https://example.com`.
    package let text: String

    /// `nil` for a text that isn't an origin as browsers write them.
    package init?(_ text: String) {
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme), address.rest.isEmpty,
            address.origin == text, !address.host.contains("*")
        else { return nil }
        self.text = text
    }

    /// The page that asks by a script of its own: `Origin` in the request's header.
    package init?(of request: Request) {
        guard let text = request.header("Origin") else { return nil }
        self.init(text)
    }

    /// Whether it is one of those that are registered.
    package func isAmong(_ registered: [String]) -> Bool {
        registered.contains { RegisteredRedirectURI($0).matches(text) }
    }

    private static func isRegistrable(_ text: String) -> Bool {
        JavaScriptOrigin(RegisteredRedirectURI(text).anyPort ?? text) != nil
    }
}
