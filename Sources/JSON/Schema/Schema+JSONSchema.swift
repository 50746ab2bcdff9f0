extension Schema {
    /// Returns this schema in the standard format JSON Schema 2020-12: <https://json-schema.org/draft/2020-12/schema>.
    package func jsonSchema(title: String, description: String) -> JSONValue {
        let heading: [(String, JSONValue)] = [
            ("$schema", "https://json-schema.org/draft/2020-12/schema"), ("title", .string(title)),
            ("description", .string(description)),
        ]
        return .object(JSONObject(heading + (jsonSchema().object?.members ?? []).map { ($0.key, $0.value) }))
    }

    /// Returns this schema as JSON Schema without a heading, as a part of another document. `place` is the path of the
    /// named schemas in that document, such as `#/components/schemas/`. If `place` is `nil`, each named schema is
    /// written out wherever it occurs.
    package func jsonSchema(namesAt place: String? = nil) -> JSONValue {
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
        case .either: return ["anyOf": .array(alternatives.map { $0.jsonSchema(namesAt: place) })]
        case .list(let schema, _), .sequence(let schema):
            return ["type": "array", "items": schema.jsonSchema(namesAt: place)]
        case .set(let schema):
            return ["type": "array", "items": schema.jsonSchema(namesAt: place), "uniqueItems": true]
        case .map(let schema): return ["type": "object", "additionalProperties": schema.jsonSchema(namesAt: place)]
        case .nullable(let schema): return ["anyOf": [schema.jsonSchema(namesAt: place), ["type": "null"]]]
        case .object(let known):
            if let place, let name = known.name { return ["$ref": .string(place + name)] }
            return known.jsonSchema(namesAt: place)
        }
    }

    /// The alternative schemas, one of which a value must match. Alternatives within alternatives are included.
    private var alternatives: [Schema] {
        guard case .either(let first, let second) = self else { return [self] }
        return first.alternatives + second.alternatives
    }

    /// Collects the object schemas that have a name, from this schema and all schemas within it.
    package func named(into known: inout [String: Members]) {
        switch self {
        case .text, .integer, .boolean, .choice, .any, .number: break
        case .either(let first, let second):
            first.named(into: &known)
            second.named(into: &known)
        case .list(let schema, _), .sequence(let schema), .set(let schema), .map(let schema), .nullable(let schema):
            schema.named(into: &known)
        case .object(let members):
            if let name = members.name { guard known.updateValue(members, forKey: name) == nil else { return } }
            for field in members.listed { field.schema.named(into: &known) }
        }
    }
}

extension Schema.Members {
    /// Returns the JSON Schema of this object with all its members. `place` is the path of the named schemas to which
    /// members refer, such as `#/components/schemas/`. If `place` is `nil`, each named schema is written out in place
    /// of a reference.
    package func jsonSchema(namesAt place: String?) -> JSONValue {
        let required = fields.filter(\.isRequired).map { JSONValue.string($0.name) }
        let properties = fields.map { ($0.name, $0.jsonSchema(namesAt: place)) }
        var schema = JSONObject([("type", "object"), ("properties", .object(JSONObject(properties)))])
        if let family {
            let pattern =
                "^\(family.prefix.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "\\."))."
            schema["patternProperties"] = .object(JSONObject([(pattern, family.field.jsonSchema(namesAt: place))]))
        }
        if !required.isEmpty { schema["required"] = .array(required) }
        if !isOpen { schema["additionalProperties"] = false }
        return .object(schema)
    }
}

extension Schema.Field {
    /// Returns the JSON Schema of the member's value, with the member's meaning and default.
    package func jsonSchema(namesAt place: String? = nil) -> JSONValue {
        var schema = schema.jsonSchema(namesAt: place).object ?? JSONObject()
        schema["description"] = .string(about)
        if let fallback { schema["default"] = fallback }
        return .object(schema)
    }
}
