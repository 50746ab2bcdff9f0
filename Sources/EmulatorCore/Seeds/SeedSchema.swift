import JSON

extension Shape {
    /// JSON Schema 2020-12 of a seed file.
    package static var schemaDocument: JSONValue {
        guard case .object(var schema) = Shape.seed.schema else { return .null }
        let heading: [(String, JSONValue)] = [
            ("$schema", "https://json-schema.org/draft/2020-12/schema"), ("title", "Understudy seed file"),
            ("description", "People, clients and projects that the stand-in identity provider knows. For tests only."),
        ]
        schema = JSONObject(heading + schema.members.map { ($0.key, $0.value) })
        return .object(schema)
    }

    private var schema: JSONValue {
        switch self {
        case .text(let rule):
            return .object(JSONObject([("type", "string")] + (rule.pattern.map { [("pattern", .string($0))] } ?? [])))
        case .integer(let range):
            return ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
        case .boolean: return ["type": "boolean"]
        case .choice(let names): return ["enum": .array(names.map { .string($0) })]
        case .any: return [:]
        case .number(let range):
            return ["type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
        case .either(let first, let second): return ["anyOf": [first.schema, second.schema]]
        case .list(let shape, _), .sequence(let shape): return ["type": "array", "items": shape.schema]
        case .set(let shape): return ["type": "array", "items": shape.schema, "uniqueItems": true]
        case .map(let shape): return ["type": "object", "additionalProperties": shape.schema]
        case .nullable(let shape): return ["anyOf": [shape.schema, ["type": "null"]]]
        case .object(let fields):
            let required = fields.filter(\.isRequired).map { JSONValue.string($0.name) }
            let properties = fields.map { field -> (String, JSONValue) in
                guard case .object(var schema) = field.shape.schema else { return (field.name, field.shape.schema) }
                schema["description"] = .string(field.about)
                if let fallback = field.fallback { schema["default"] = fallback }
                return (field.name, .object(schema))
            }
            var schema = JSONObject([("type", "object"), ("properties", .object(JSONObject(properties)))])
            if !required.isEmpty { schema["required"] = .array(required) }
            schema["additionalProperties"] = false
            return .object(schema)
        }
    }
}
