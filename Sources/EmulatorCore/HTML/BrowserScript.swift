import HTTPServer
import JSON

extension Response {
    /// Returns a script that pages of other sites load, such as a provider's SDK. `function` is the text of a function
    /// expression, which is called with `arguments`: the provider's addresses, in the form in which the script was
    /// requested.
    package static func browserScript(_ function: StaticString, _ arguments: [JSONValue]) -> Response {
        let values = arguments.map(\.text).joined(separator: ", ")
        return Response(
            status: 200, contentType: "text/javascript; charset=UTF-8",
            headers: [
                // The addresses depend on the form of the request, so the script must not be cached.
                (name: "Cache-Control", value: "no-store"),
                // Isolated pages may load it, too (Cross-Origin-Embedder-Policy).
                (name: "Cross-Origin-Resource-Policy", value: "cross-origin"),
            ], body: "\(function)(\(values));\n")
    }
}
