// How answers are described: they are written by code that knows what it says, and read by nobody here.

extension Schema {
    /// An object of an answer. With a name, documents describe it once and refer to it.
    package static func members(_ name: String, _ fields: [Field]) -> Schema { .object(Members(fields, name: name)) }

    /// The same, written out wherever it occurs.
    package static func members(_ fields: [Field]) -> Schema { .object(Members(fields)) }

    /// The members of this object, or none.
    package var fields: [Field] {
        if case .object(let members) = self { members.fields } else { [] }
    }

    /// A number of things, or of bytes.
    package static let count = Schema.integer(0...9_007_199_254_740_991)
    package static let string = Schema.text(.any)
    /// A time to the second, as answers write it.
    package static let time = Schema.text(.timestamp)

    package static func strings() -> Schema { .sequence(of: .string) }

    /// The same for whoever gets it cut short, and perhaps from a later version: texts of any form and length, lists that may have
    /// the same element twice, and members that aren't listed here.
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

    /// What RFC 7396 takes as a patch of this object: each member may be missing, and null removes it. Lists are replaced.
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
    /// Answers aren't completed, so that defaults mean nothing in them.
    fileprivate var relaxed: Schema.Field {
        isRequired ? .required(name, schema.relaxed, about) : .optional(name, schema.relaxed, about)
    }
}
