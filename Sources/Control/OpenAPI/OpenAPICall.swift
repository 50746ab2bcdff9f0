import EmulatorCore
import JSON

/// A call in an OpenAPI document: <https://spec.openapis.org/oas/v3.1.0.html#operation-object>.
struct OpenAPICall {
    private let endpoint: Endpoint
    private let call: ControlCall

    init(_ endpoint: Endpoint, _ call: ControlCall) {
        self.endpoint = endpoint
        self.call = call
    }

    /// Returns the path in OpenAPI's form: `/_understudy/v1/faults/{id}`.
    static func path(of endpoint: Endpoint) -> String {
        let segments = endpoint.path.split(separator: "/", omittingEmptySubsequences: false)
        return segments.map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
    }

    /// The segments of the path below the root of the control API: `faults`, `:id`.
    private var segments: [Substring] {
        endpoint.path.dropFirst(Endpoint.controlRoot.count).split(separator: "/")
    }

    /// The call's ID: `getFaults`, `deleteFaultsById`.
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
                "description": "Whatever a fault orders here: see `POST faults`.", "content": ["*/*": [:]],
            ]
        }
        return .object(responses)
    }

    /// Returns the response for the answers with one status.
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

    /// Returns the contents of the answers by media type.
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
