// Schemas of answers. Answers are written by our own code and never validated here.

extension Schema {
    /// Returns the schema of an object in an answer. Documents describe an object with a name once, and refer to it.
    package static func members(_ name: String, _ fields: [Field]) -> Schema { .object(Members(fields, name: name)) }

    /// Returns the schema of an object without a name, which is written out wherever it occurs.
    package static func members(_ fields: [Field]) -> Schema { .object(Members(fields)) }

    /// The members of this object; empty if it isn't an object.
    package var fields: [Field] {
        if case .object(let members) = self { members.fields } else { [] }
    }

    /// A count of things or of bytes.
    package static let count = Schema.integer(0...9_007_199_254_740_991)
    package static let string = Schema.text(.any)
    /// A time to the second, in the form of answers.
    package static let time = Schema.text(.timestamp)

    package static func strings() -> Schema { .sequence(of: .string) }

    /// The schema for an answer that may be shortened, or from a later version: texts may have any form and length,
    /// lists may contain an element twice, and objects may have other members.
    package var relaxed: Schema {
        switch self {
        case .text: .text(.unlimited)
        case .integer, .boolean, .choice, .any, .number: self
        case .either(let first, let second): .either(first.relaxed, second.relaxed)
        case .list(let schema, _), .sequence(let schema), .set(let schema): .sequence(of: schema.relaxed)
        case .map(let schema): .map(of: schema.relaxed)
        case .nullable(let schema): .nullable(schema.relaxed)
        case .object(let members):
            .object(
                Members(
                    members.fields.map(\.relaxed), family: members.family.map { ($0.prefix, $0.field.relaxed) },
                    isOpen: true))
        }
    }

    /// The schema of a merge patch (RFC 7396) for this object: each member may be missing, and null removes it. Lists
    /// are replaced.
    package var mergePatch: Schema {
        guard case .object(let members) = self else { return self }
        let fields = members.fields.map { field in
            let schema = field.schema.mergePatch
            if case .nullable = schema { return Field.optional(field.name, schema, field.about) }
            return Field.optional(field.name, .nullable(schema), field.about)
        }
        return .object(Members(fields, family: members.family))
    }
}

extension Schema.Field {
    /// The field without its default, which means nothing in an answer.
    fileprivate var relaxed: Schema.Field {
        isRequired ? .required(name, schema.relaxed, about) : .optional(name, schema.relaxed, about)
    }
}
