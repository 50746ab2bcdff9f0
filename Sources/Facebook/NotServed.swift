import EmulatorCore
import HTTPServer

// These are the answers at unknown addresses of Facebook's hosts.
//
// Quirks: the Graph API regards the first part of a path as an object, unless it is a version, and the rest as a part
// of the object: https://github.com/anomalyco/openauth/issues/214, https://github.com/huandu/facebook/issues/116.

extension FacebookProvider {
    /// Returns the Graph API's error, or a page.
    package func notServed(_ exchange: Exchange) -> Response? {
        switch exchange.address.host {
        case FacebookProvider.graphHost:
            var response = unserved(exchange).response
            response.headers.append((name: "Access-Control-Allow-Origin", value: "*"))
            return response
        case FacebookProvider.host, FacebookProvider.shortHost, FacebookProvider.limitedHost,
            FacebookProvider.scriptHost:
            return nothing(exchange)
        default: return nil
        }
    }

    func nothing(_ exchange: Exchange) -> Response {
        pages.problem(404, "This page isn't available", FacebookProvider.nothingServed(exchange))
    }

    private static func nothingServed(_ exchange: Exchange) -> Diagnosis {
        let path = exchange.address.path
        let first = path.split(separator: "/").first.map(String.init) ?? ""
        return Diagnosis(
            received: Diagnosis.quote("\(exchange.request.method) \(path)"),
            isVersion("v\(first)")
                ? "nothing is served here: a version begins with v, as in v\(first)" : "nothing is served here")
    }

    func unserved(_ exchange: Exchange) -> GraphError {
        var parts = exchange.address.path.split(separator: "/").map(String.init)
        if let first = parts.first, FacebookProvider.isVersion(first) { parts.removeFirst() }
        let diagnosis = FacebookProvider.nothingServed(exchange)
        guard let object = parts.first else { return .unsupported(exchange.request.method, id: nil, diagnosis) }
        // The path exists, but not with this method. Facebook's message for that isn't documented.
        if FacebookProvider.isServed(parts) {
            return .unsupported(exchange.request.method, id: object, diagnosis)
        }
        guard parts.count > 1 else { return noSuchObject(object, exchange, diagnosis) }
        return GraphError(
            message: "Unknown path components: /\(parts.dropFirst().joined(separator: "/"))", code: 2500,
            diagnosis: diagnosis)
    }

    /// Whether a path without its version exists, with any method.
    private static func isServed(_ parts: [String]) -> Bool {
        switch parts.count {
        case 1:
            ["app", "me", "debug_token"].contains(parts[0]) || parts[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
        case 2:
            parts[0] == "oauth"
                ? ["access_token", "access_token_info"].contains(parts[1])
                : ["accounts", "friends", "permissions", "picture"].contains(parts[1])
        case 3: parts[1] == "permissions"
        default: false
        }
    }

    /// Whether the version in a path is valid, and the object isn't a version.
    func hasVersion(_ exchange: Exchange) -> Bool {
        let (version, id) = (exchange.parameters["version"], exchange.parameters["id"])
        return version.map(FacebookProvider.isVersion) ?? !(id.map(FacebookProvider.isVersion) ?? false)
    }

    /// Whether the text looks like a version, such as `v22.0`. Whether it was published isn't checked.
    static func isVersion(_ text: String) -> Bool {
        let numbers = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        return text.first == "v" && numbers.count == 2
            && numbers.allSatisfy {
                (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }
}
