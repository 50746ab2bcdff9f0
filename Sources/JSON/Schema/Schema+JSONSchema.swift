extension Schema {
    /// JSON Schema 2020-12: <https://json-schema.org/draft/2020-12/schema>.
    package func jsonSchema(title: String, description: String) -> JSONValue {
        let heading: [(String, JSONValue)] = [
            ("$schema", "https://json-schema.org/draft/2020-12/schema"), ("title", .string(title)),
            ("description", .string(description)),
        ]
        return .object(JSONObject(heading + (jsonSchema.object?.members ?? []).map { ($0.key, $0.value) }))
    }

    fileprivate var jsonSchema: JSONValue {
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
        case .either(let first, let second): return ["anyOf": [first.jsonSchema, second.jsonSchema]]
        case .list(let schema, _), .sequence(let schema): return ["type": "array", "items": schema.jsonSchema]
        case .set(let schema): return ["type": "array", "items": schema.jsonSchema, "uniqueItems": true]
        case .map(let schema): return ["type": "object", "additionalProperties": schema.jsonSchema]
        case .nullable(let schema): return ["anyOf": [schema.jsonSchema, ["type": "null"]]]
        case .object(let known):
            let required = known.fields.filter(\.isRequired).map { JSONValue.string($0.name) }
            let properties = known.fields.map { ($0.name, $0.jsonSchema) }
            var schema = JSONObject([("type", "object"), ("properties", .object(JSONObject(properties)))])
            if let family = known.family {
                let pattern =
                    "^\(family.prefix.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "\\."))."
                schema["patternProperties"] = .object(JSONObject([(pattern, family.field.jsonSchema)]))
            }
            if !required.isEmpty { schema["required"] = .array(required) }
            schema["additionalProperties"] = false
            return .object(schema)
        }
    }
}

extension Schema.Field {
    fileprivate var jsonSchema: JSONValue {
        var schema = schema.jsonSchema.object ?? JSONObject()
        schema["description"] = .string(about)
        if let fallback { schema["default"] = fallback }
        return .object(schema)
    }
}
