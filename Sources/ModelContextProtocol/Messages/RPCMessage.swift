import JSON

enum RPCIdentifier: Hashable, Sendable {
    case number(Int64)
    case text(String)

    /// Reads the ID of a JSON-RPC request. Returns `nil` for any JSON but a string or a whole number.
    init?(_ json: JSONValue) {
        if let text = json.string {
            self = .text(text)
        } else if let number = json.integer {
            self = .number(number)
        } else {
            return nil
        }
    }

    var json: JSONValue {
        switch self {
        case .number(let number): .integer(number)
        case .text(let text): .string(text)
        }
    }
}

/// A message of JSON-RPC 2.0, as the Model Context Protocol restricts it:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic#messages>.
enum RPCMessage: Sendable {
    case request(RPCRequest)
    case notification(method: String, params: JSONObject)
    /// A JSON-RPC response, which is ignored because this server sends no requests.
    case answer

    /// The error for a message that isn't valid JSON-RPC, with the ID of the request to answer.
    struct Failure: Error {
        /// The ID of the request to answer; `nil` if the message has no readable ID.
        let id: RPCIdentifier?
        let error: RPCError
    }

    init(reading json: JSONValue) throws(Failure) {
        guard let object = json.object else {
            throw Failure(id: nil, error: .invalidRequest("found \(json.kindName), expected an object"))
        }
        let id = object["id"].flatMap { RPCIdentifier($0) }
        guard object["jsonrpc"]?.string == "2.0" else {
            throw Failure(id: id, error: .invalidRequest("the member \"jsonrpc\" has to be \"2.0\""))
        }
        guard let method = object["method"] else {
            guard object["result"] != nil || object["error"] != nil else {
                throw Failure(id: id, error: .invalidRequest("the member \"method\" is missing"))
            }
            self = .answer
            return
        }
        guard let method = method.string else {
            throw Failure(id: id, error: .invalidRequest("the member \"method\" has to be a string"))
        }
        guard object["id"] == nil || id != nil else {
            throw Failure(id: nil, error: .invalidRequest("the member \"id\" has to be a string or a whole number"))
        }
        let params = object["params"] ?? [:]
        guard let params = params.object else {
            throw Failure(id: id, error: .invalidParams("found \(params.kindName), expected an object"))
        }
        self =
            id.map { .request(RPCRequest(id: $0, method: method, params: params)) }
            ?? .notification(method: method, params: params)
    }
}

/// A JSON-RPC request, which expects a response.
struct RPCRequest: Sendable {
    let id: RPCIdentifier
    let method: String
    let params: JSONObject

    func answer(_ result: JSONObject) -> JSONValue {
        ["jsonrpc": "2.0", "id": id.json, "result": .object(result)]
    }

    func answer(_ error: RPCError) -> JSONValue { RPCRequest.answer(error, to: id) }

    /// Returns a JSON-RPC error response. Its ID is null if the request's ID couldn't be read:
    /// <https://www.jsonrpc.org/specification#response_object>.
    static func answer(_ error: RPCError, to id: RPCIdentifier?) -> JSONValue {
        ["jsonrpc": "2.0", "id": id?.json ?? .null, "error": error.json]
    }
}

/// The JSON-RPC error with which a request is refused: <https://www.jsonrpc.org/specification#error_object>. A tool's
/// failure isn't sent as such an error, but as a result of the tool.
struct RPCError: Error, Sendable {
    let code: Int64
    let message: String
    var data: JSONValue?

    var json: JSONValue {
        var object = JSONObject([
            ("code", .integer(code)), ("message", .string(BoundedText.shortened(message, to: 2_000))),
        ])
        object["data"] = data
        return .object(object)
    }

    /// Returns the error for a message that can't be parsed as JSON.
    static func parse(_ reason: String) -> RPCError { RPCError(code: -32700, message: "Parse error: \(reason)") }

    /// Returns the error for a message that the server can't accept, such as JSON that isn't a JSON-RPC message.
    static func invalidRequest(_ reason: String) -> RPCError {
        RPCError(code: -32600, message: "Invalid request: \(reason)")
    }

    static let unknownMethod: Int64 = -32601
    static let unsupportedRevision: Int64 = -32022
    static let headerMismatch: Int64 = -32020

    static func unknownMethod(_ method: String) -> RPCError {
        RPCError(code: unknownMethod, message: "Method not found: \(BoundedText.shortened(method, to: 200))")
    }

    static func invalidParams(_ reason: String) -> RPCError {
        RPCError(code: -32602, message: "Invalid params: \(reason)")
    }

    /// Returns the error for an HTTP header that contradicts the message in the body:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation>
    static func headerMismatch(_ reason: String) -> RPCError {
        RPCError(code: headerMismatch, message: "Header mismatch: \(reason)")
    }

    static func busy(_ reason: String) -> RPCError { RPCError(code: -32603, message: reason) }

    /// Returns the error for an unknown revision of the Model Context Protocol:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation>. A
    /// known revision gets this error, too, if it is named in the wrong place: some must be named in the member
    /// `_meta`, the others in an HTTP header.
    static func unsupportedRevision(_ requested: String) -> RPCError {
        RPCError(
            code: unsupportedRevision, message: "Unsupported protocol version",
            data: [
                "supported": .array(Revision.allCases.reversed().map { .string($0.rawValue) }),
                "requested": .string(BoundedText.shortened(requested, to: 200)),
            ])
    }
}
