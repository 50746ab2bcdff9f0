import JSON

// Builds the schemas of tools from those of calls.

extension Schema {
    /// Returns the schema of an object with these members, for the arguments of a tool.
    static func arguments(_ fields: [Field]...) -> Schema { .object(Members(fields.flatMap { $0 })) }

    /// Returns the schema of an object with these members and the member `world`, for the arguments of a tool that
    /// makes a call in a test world.
    static func withWorld(_ fields: [Field]) -> Schema { arguments(fields, WorldChoice.schema.fields) }

    /// Returns the schema of a tool's answer with these members. Each of them can be cut if the answer is too long.
    static func answer(_ fields: [Field]...) -> Schema { Schema.object(Members(fields.flatMap { $0 })).answered }

    /// The schema of a tool's answer, made from this schema of a control call's answer. It adds the member `cut`, which
    /// lists the places at which a long answer was cut.
    var answered: Schema {
        guard case .object(let members) = self else { return relaxed }
        let cut = Field.optional("cut", .strings(), "The places at which a long answer was cut.")
        return Schema.object(Members(members.fields + [cut], family: members.family)).relaxed
    }

    /// Returns a schema that allows every value that fits at least one of `schemas`.
    static func oneOf(_ schemas: [Schema]) -> Schema {
        guard let first = schemas.first else { return .map(of: .any) }
        return schemas.dropFirst().reduce(first) { .either($0, $1) }
    }

    /// Returns the object's members that have these names.
    func fields(_ names: String...) -> [Field] { names.compactMap { name in fields.first { $0.name == name } } }

    /// The schema of the elements, if this is the schema of a list; otherwise a schema that allows any value.
    var elements: Schema {
        switch self {
        case .list(let schema, _), .sequence(let schema), .set(let schema): schema
        default: .any
        }
    }

    /// The schema without the members of its larger nested objects, so that it is short. The daemon validates these
    /// members anyway.
    var outline: Schema {
        guard case .object(let members) = self else { return self }
        let fields = members.fields.map { field -> Field in
            guard case .object(let inner) = field.schema, inner.fields.count > 2 else { return field }
            return field.isRequired
                ? .required(field.name, .map(of: .any), field.about)
                : .optional(field.name, .map(of: .any), field.about)
        }
        return .object(Members(fields, family: members.family))
    }
}

extension [Schema.Field] {
    /// Merges the arguments of several calls into the arguments of one tool that makes all these calls. An argument is
    /// required if all calls require it. If the calls describe it differently, its description has the words of each
    /// call.
    static func united(_ calls: [(name: String, fields: [Schema.Field])]) -> [Schema.Field] {
        var names: [String] = []
        for field in calls.flatMap(\.fields) where !names.contains(field.name) { names.append(field.name) }
        return names.map { name in
            let found = calls.compactMap { call in
                call.fields.first { $0.name == name }.map { (call: call.name, field: $0) }
            }
            let isEverywhere = found.count == calls.count
            var schemas: [String: Schema] = [:]
            var order: [String] = []
            for schema in found.map(\.field.schema) {
                let text = schema.jsonSchema().text
                if schemas.updateValue(schema, forKey: text) == nil { order.append(text) }
            }
            let abouts = Set(found.map(\.field.about))
            let about =
                isEverywhere && abouts.count == 1
                ? found[0].field.about : found.map { "\($0.call): \($0.field.about)" }.joined(separator: " ")
            let schema = Schema.oneOf(order.compactMap { schemas[$0] })
            return isEverywhere && found.allSatisfy(\.field.isRequired)
                ? .required(name, schema, about) : .optional(name, schema, about)
        }
    }
}
