import JSON

/// The reason why a request is refused: <https://www.jsonrpc.org/specification#error_object>. A failure of a tool is
/// not such an error, but an answer of the tool.
struct RPCError: Error, Sendable {
    let code: Int64
    let message: String
    var data: JSONValue?

    var json: JSONValue {
        var object = JSONObject([("code", .integer(code)), ("message", .string(Place.shortened(message, to: 2_000)))])
        object["data"] = data
        return .object(object)
    }

    /// The message isn't JSON, or is beyond a limit.
    static func parse(_ reason: String) -> RPCError { RPCError(code: -32700, message: "Parse error: \(reason)") }

    /// The JSON isn't a message.
    static func invalidRequest(_ reason: String) -> RPCError {
        RPCError(code: -32600, message: "Invalid request: \(reason)")
    }

    static let unknownMethod: Int64 = -32601
    static let unsupportedRevision: Int64 = -32022
    static let headerMismatch: Int64 = -32020

    static func unknownMethod(_ method: String) -> RPCError {
        RPCError(code: unknownMethod, message: "Method not found: \(Place.shortened(method, to: 200))")
    }

    static func invalidParams(_ reason: String) -> RPCError {
        RPCError(code: -32602, message: "Invalid params: \(reason)")
    }

    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation>
    static func headerMismatch(_ reason: String) -> RPCError {
        RPCError(code: headerMismatch, message: "Header mismatch: \(reason)")
    }

    static func busy(_ reason: String) -> RPCError { RPCError(code: -32603, message: reason) }

    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation>
    static func unsupportedRevision(_ requested: String) -> RPCError {
        RPCError(
            code: unsupportedRevision, message: "Unsupported protocol version",
            data: [
                "supported": .array(Revision.allCases.reversed().map { .string($0.rawValue) }),
                "requested": .string(Place.shortened(requested, to: 200)),
            ])
    }
}
