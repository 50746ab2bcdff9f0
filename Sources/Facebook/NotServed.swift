import EmulatorCore
import HTTPServer

// What isn't served at Facebook's hosts.
//
// Quirks: the Graph API takes the first part of a path for an object, unless it is a version, and the rest for something of the object:
// https://github.com/anomalyco/openauth/issues/214, https://github.com/huandu/facebook/issues/116.

extension FacebookProvider {
    /// The Graph API's error, or a page.
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
        // What is there, but not with this method. Facebook's words for that aren't documented.
        if FacebookProvider.isServed(parts) {
            return .unsupported(exchange.request.method, id: object, diagnosis)
        }
        guard parts.count > 1 else { return noSuchObject(object, exchange, diagnosis) }
        return GraphError(
            message: "Unknown path components: /\(parts.dropFirst().joined(separator: "/"))", code: 2500,
            diagnosis: diagnosis)
    }

    /// Whether something answers at a path without its version, with one method or another.
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

    /// Whether a path begins with a version where it is to have one, and has none for an object.
    func hasVersion(_ exchange: Exchange) -> Bool {
        let (version, id) = (exchange.parameters["version"], exchange.parameters["id"])
        return version.map(FacebookProvider.isVersion) ?? !(id.map(FacebookProvider.isVersion) ?? false)
    }

    /// Such as `v22.0`; whether it is one that has been published, isn't looked at.
    static func isVersion(_ text: String) -> Bool {
        let numbers = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        return text.first == "v" && numbers.count == 2
            && numbers.allSatisfy {
                (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }
}
