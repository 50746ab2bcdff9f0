import EmulatorCore
import JSON

// The call GET /_understudy/v1/openapi.json: the calls in OpenAPI 3.1, generated from the declarations that also read
// requests. https://spec.openapis.org/oas/v3.1.0.html

/// An OpenAPI document about calls.
package struct OpenAPIDocument: Sendable {
    static let schemas = "#/components/schemas/"
    private static let tokenScheme = "controlToken"

    /// All members except the calls' address.
    private let members: JSONObject

    /// Makes a document. `wantsToken` says whether callers must send a token.
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

    /// Returns the document for a world's own address.
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
                "How a test orders what happens in a world of a stand-in identity provider, and asks what has happened. For tests only. Requests need no content type; bodies are read as JSON.",
            "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
        ]
    }

    private static let security: JSONValue = [
        "type": "http", "scheme": "bearer",
        "description": "The daemon's control token, where it was started with one (`--control-token`).",
    ]

    private static let headers: JSONValue = .object(
        JSONObject([
            (
                "Understudy-Request",
                ["description": "By which the log and diagnoses name this request.", "schema": ["type": "string"]]
            ),
            (
                Diagnosis.headerName,
                ["description": "Why something is refused, and what to do about it.", "schema": ["type": "string"]]
            ),
            (
                Note.headerName,
                [
                    "description": "What surprises in an answer that refuses nothing.", "schema": ["type": "string"],
                ]
            ),
        ]))
}

extension ControlCall {
    /// The schemas of its bodies, parameters and answers.
    var schemas: [Schema] {
        let answered = answers.flatMap(\.contents).compactMap { content in
            if case .json(let schema) = content { schema } else { nil }
        }
        return [query, body?.schema].compactMap { $0 } + answered
    }
}
