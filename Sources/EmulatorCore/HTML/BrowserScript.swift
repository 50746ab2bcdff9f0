import HTTPServer
import JSON

extension Response {
    /// A script that other sites' pages load, such as a provider's SDK. `function` is the text of a function expression, which
    /// is called with `arguments`: the addresses at which the provider is found in the way in which the script was asked for.
    package static func browserScript(_ function: StaticString, _ arguments: [JSONValue]) -> Response {
        let values = arguments.map(\.text).joined(separator: ", ")
        return Response(
            status: 200, contentType: "text/javascript; charset=UTF-8",
            headers: [
                // The addresses follow the request, so no cache may keep it for another way in.
                (name: "Cache-Control", value: "no-store"),
                // For pages that are isolated (Cross-Origin-Embedder-Policy).
                (name: "Cross-Origin-Resource-Policy", value: "cross-origin"),
            ], body: "\(function)(\(values));\n")
    }
}
