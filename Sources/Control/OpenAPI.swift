import EmulatorCore
import JSON

// The call GET /_understudy/v1/openapi.json: the calls in OpenAPI 3.1, generated from the declarations that also read
// requests. https://spec.openapis.org/oas/v3.1.0.html

/// The OpenAPI document that describes the calls of the control API.
package struct OpenAPIDocument: Sendable {
    static let schemas = "#/components/schemas/"
    private static let tokenScheme = "controlToken"

    /// The members of the OpenAPI document, except the server's address.
    private let members: JSONObject

    /// Makes the OpenAPI document. `wantsToken` says whether callers must send the control token.
    package init(_ endpoints: [Endpoint], version: String, wantsToken: Bool) {
        var paths = JSONObject()
        var named: [String: Schema.Members] = [:]
        CallAnswer.error.named(into: &named)
        for endpoint in endpoints {
            guard let call = endpoint.call else { continue }
            let path = OpenAPICall.path(of: endpoint)
            var methods = paths[path]?.object ?? JSONObject()
            methods[endpoint.method.lowercased()] = OpenAPICall(endpoint, call).json
            paths[path] = .object(methods)
            for schema in call.schemas { schema.named(into: &named) }
        }
        let schemas = named.sorted { $0.key < $1.key }.map { name, schema in
            (name, schema.jsonSchema(namesAt: OpenAPIDocument.schemas))
        }
        let shown: JSONValue = .object(JSONObject([(OpenAPIDocument.tokenScheme, [])]))
        members = JSONObject([
            ("info", OpenAPIDocument.about(version)),
            // A daemon without a token accepts everybody's calls.
            ("security", wantsToken ? [shown] : [[:], shown]), ("paths", .object(paths)),
            (
                "components",
                [
                    "schemas": .object(JSONObject(schemas)), "headers": OpenAPIDocument.headers,
                    "securitySchemes": .object(
                        JSONObject([(OpenAPIDocument.tokenScheme, OpenAPIDocument.security)])),
                ]
            ),
        ])
    }

    /// Returns the OpenAPI document with `url`, a test world's own address, as the server.
    func json(at url: String, world: String) -> JSONValue {
        var document = JSONObject([("openapi", "3.1.0")])
        document["info"] = members["info"]
        document["servers"] = [["url": .string(url), "description": .string("the world \(world)")]]
        document.merge(members)
        return .object(document)
    }

    private static func about(_ version: String) -> JSONValue {
        [
            "title": "Understudy: the control API", "version": .string(version),
            "description":
                "Lets a test control what happens in a world of a stand-in identity provider, and ask what happened. For tests only. Requests need no content type; bodies are read as JSON.",
            "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
        ]
    }

    private static let security: JSONValue = [
        "type": "http", "scheme": "bearer",
        "description": "The daemon's control token, if one is set (`--control-token`).",
    ]

    private static let headers: JSONValue = .object(
        JSONObject([
            (
                "Understudy-Request",
                ["description": "This request's ID in the log and in error messages.", "schema": ["type": "string"]]
            ),
            (
                Diagnosis.headerName,
                ["description": "Why the request was refused, and what to do.", "schema": ["type": "string"]]
            ),
            (
                Note.headerName,
                [
                    "description": "A warning about a successful response.", "schema": ["type": "string"],
                ]
            ),
        ]))
}

extension ControlCall {
    var schemas: [Schema] {
        let answered = answers.flatMap(\.contents).compactMap { content in
            if case .json(let schema) = content { schema } else { nil }
        }
        return [query, body?.schema].compactMap { $0 } + answered
    }
}

/// A call in an OpenAPI document: <https://spec.openapis.org/oas/v3.1.0.html#operation-object>.
struct OpenAPICall {
    private let endpoint: Endpoint
    private let call: ControlCall

    init(_ endpoint: Endpoint, _ call: ControlCall) {
        self.endpoint = endpoint
        self.call = call
    }

    /// Returns a call's path as OpenAPI writes it, such as `/_understudy/v1/faults/{id}`.
    static func path(of endpoint: Endpoint) -> String {
        let segments = endpoint.path.split(separator: "/", omittingEmptySubsequences: false)
        return segments.map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
    }

    /// The segments of a call's path below the control API's root, such as `faults` and `:id`.
    private var segments: [Substring] {
        endpoint.path.dropFirst(Endpoint.controlRoot.count).split(separator: "/")
    }

    /// The call's operation ID in OpenAPI, such as `getFaults` or `deleteFaultsById`.
    private var id: String {
        let words = segments.flatMap { segment -> [Substring] in
            let words = segment.split { !$0.isLetter && !$0.isNumber }
            return segment.hasPrefix(":") ? ["by"] + words : words
        }
        return endpoint.method.lowercased()
            + (words.isEmpty ? ["index"] : words).map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    var json: JSONValue {
        var object = JSONObject([
            ("operationId", .string(id)), ("summary", .string(call.about)),
            ("tags", [.string(segments.first.map(String.init) ?? "index")]),
        ])
        let parameters = parameters
        if !parameters.isEmpty { object["parameters"] = .array(parameters) }
        if let body = call.body {
            object["requestBody"] = [
                "required": .bool(!body.isOptional), "content": ["application/json": ["schema": json(body.schema)]],
            ]
        }
        object["responses"] = responses
        return .object(object)
    }

    private func json(_ schema: Schema) -> JSONValue { schema.jsonSchema(namesAt: OpenAPIDocument.schemas) }

    // MARK: - Parameters

    private var parameters: [JSONValue] {
        let path = call.pathParameters.map { parameter -> JSONValue in
            [
                "name": .string(parameter.name), "in": "path", "required": true,
                "description": .string(parameter.about),
                "schema": ["type": "string"],
            ]
        }
        return path + (call.query?.fields ?? []).map { parameter($0, in: "query") }
            + call.headers.map { parameter($0, in: "header") }
    }

    private func parameter(_ field: Schema.Field, in place: String) -> JSONValue {
        var schema = json(field.schema).object ?? JSONObject()
        schema["default"] = field.fallback
        var object = JSONObject([("name", .string(field.name)), ("in", .string(place))])
        if field.isRequired { object["required"] = true }
        object["description"] = .string(field.about)
        object["schema"] = .object(schema)
        return .object(object)
    }

    // MARK: - Answers

    private var responses: JSONValue {
        let all = call.answers + CallAnswer.common
        let statuses = Set(all.map(\.status)).sorted()
        var responses = JSONObject(
            statuses.map { status in (String(status), response(all.filter { $0.status == status })) })
        if endpoint.traits != nil {
            responses["default"] = [
                "description": "A response that a fault injects (see `POST faults`).", "content": ["*/*": [:]],
            ]
        }
        return .object(responses)
    }

    /// Returns the OpenAPI response object for all answers with one HTTP status.
    private func response(_ answers: [CallAnswer]) -> JSONValue {
        let about = answers.map { answer in
            (answer.codes.map { "`\($0)`: " }.first ?? "") + answer.about
        }
        var headers = JSONObject([header("Understudy-Request")])
        if answers.contains(where: { !$0.codes.isEmpty }) { headers.merge(JSONObject([header(Diagnosis.headerName)])) }
        if answers.contains(where: { $0.status < 400 }) { headers.merge(JSONObject([header(Note.headerName)])) }
        var response = JSONObject([
            ("description", .string(about.joined(separator: "\n\n"))), ("headers", .object(headers)),
        ])
        let content = content(answers)
        if !content.isEmpty { response["content"] = .object(content) }
        return .object(response)
    }

    private func header(_ name: String) -> (String, JSONValue) {
        (name, ["$ref": .string("#/components/headers/\(name)")])
    }

    /// Returns the content of an OpenAPI response by media type.
    private func content(_ answers: [CallAnswer]) -> JSONObject {
        var schemas: [JSONValue] = []
        var others: [String] = []
        for content in answers.flatMap(\.contents) {
            switch content {
            case .json(let schema): schemas.append(json(schema))
            case .other(let type): others.append(type)
            }
        }
        let codes = answers.flatMap(\.codes)
        if !codes.isEmpty { schemas.append(OpenAPICall.error(codes)) }
        var content = JSONObject()
        if let first = schemas.first {
            content["application/json"] = ["schema": schemas.count == 1 ? first : ["anyOf": .array(schemas)]]
        }
        for type in others { content[type] = ["schema": [:]] }
        return content
    }

    private static func error(_ codes: [String]) -> JSONValue {
        [
            "allOf": [["$ref": .string("\(OpenAPIDocument.schemas)Error")]],
            "properties": [
                "error": ["properties": ["code": ["enum": .array(codes.map { .string($0) })]]]
            ],
        ]
    }
}
