/// The schema of a JSON value. It is used to validate values, to merge them, to fill in defaults, and to write the JSON
/// Schema and the documentation, so that all of these agree. An object's schema comes from the initializer that reads
/// the object: ``SchemaObject``.
package indirect enum Schema: Sendable {
    case text(TextRule)
    case integer(ClosedRange<Int64>)
    case boolean
    case choice([String])
    case object(Members)
    /// A JSON list of objects, each identified by its member `key`. Lists from several files are merged by this member.
    case list(of: Schema, key: String)
    /// A JSON list of strings, numbers or Booleans, each of which occurs at most once.
    case set(of: Schema)
    /// A JSON object with members of any name.
    case map(of: Schema)
    case nullable(Schema)
    case any
    case number(ClosedRange<Double>)
    /// A value that matches the first or the second of two schemas.
    case either(Schema, Schema)
    /// A JSON list. Lists from several files are concatenated.
    case sequence(of: Schema)

    /// A member of a JSON object, in the object's schema.
    package struct Field: Sendable {
        package let name: String
        package let schema: Schema
        package let isRequired: Bool
        /// The value that a missing member has by default; `nil` if there is no default.
        package let fallback: JSONValue?
        /// A sentence about the meaning of the JSON object's member.
        package let about: String

        /// Makes a member that a JSON object must have.
        package static func required(_ name: String, _ schema: Schema, _ about: String) -> Field {
            Field(name: name, schema: schema, isRequired: true, fallback: nil, about: about)
        }

        /// Makes a member that a JSON object may lack. `about` says what it means if the member is missing.
        package static func optional(
            _ name: String, _ schema: Schema, default fallback: JSONValue? = nil, _ about: String
        ) -> Field {
            Field(name: name, schema: schema, isRequired: false, fallback: fallback, about: about)
        }
    }

    /// The members that a JSON object can have, in order and by name.
    package final class Members: Sendable {
        /// The name by which documentation refers to the object's schema; `nil` if the schema is written out wherever
        /// it occurs.
        package let name: String?
        package let fields: [Field]
        /// The schema of all members whose names begin with a prefix, such as `oidc.`; `nil` if the object has no such
        /// members.
        package let family: (prefix: String, field: Field)?
        /// Whether a JSON object may have members that its schema doesn't list.
        package let isOpen: Bool
        private let places: [String: Int]

        package init(
            _ fields: [Field], family: (prefix: String, field: Field)? = nil, name: String? = nil, isOpen: Bool = false
        ) {
            self.name = name
            self.fields = fields
            self.family = family
            self.isOpen = isOpen
            places = Dictionary(fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        }

        package subscript(name: String) -> Field? {
            if let place = places[name] { return fields[place] }
            guard let family, name.hasPrefix(family.prefix), name != family.prefix else { return nil }
            return family.field
        }

        /// The members as the documentation lists them. All members with a common prefix, such as `oidc.`, are listed
        /// as one member.
        var listed: [Field] { fields + (family.map { [$0.field] } ?? []) }
    }

    /// A copy of this object schema in which all members are optional and have no defaults.
    var withoutRequirements: Schema {
        guard case .object(let members) = self else { return self }
        let fields = members.fields.map { Field.optional($0.name, $0.schema, $0.about) }
        return .object(Members(fields, family: members.family))
    }

    /// The words that follow "expected" in an error message: they describe the values that match this schema.
    package var expectation: String {
        switch self {
        case .text(let rule): rule.about
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .boolean: "true or false"
        case .choice(let names): "one of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        case .object, .map: "an object"
        case .list, .set, .sequence: "an array"
        case .any: "any JSON"
        case .number(let range):
            "a number from \(JSONValue.number(range.lowerBound).text) to \(JSONValue.number(range.upperBound).text)"
        case .either(let first, let second): "\(first.expectation), or \(second.expectation)"
        case .nullable(let schema): schema.expectation + ", or null"
        }
    }
}

// Schemas of answers. Answers are written by our own code and never validated here.

extension Schema {
    /// Returns the schema of a JSON object in a response. Documentation describes the object once, and refers to it by
    /// `name`.
    package static func members(_ name: String, _ fields: [Field]) -> Schema { .object(Members(fields, name: name)) }

    /// Returns the schema of a JSON object. The schema has no name, so documentation describes the object wherever it
    /// occurs.
    package static func members(_ fields: [Field]) -> Schema { .object(Members(fields)) }

    /// The members of the JSON object with this schema; empty if the schema isn't that of an object.
    package var fields: [Field] {
        if case .object(let members) = self { members.fields } else { [] }
    }

    /// The schema of a count, such as a number of items or bytes.
    package static let count = Schema.integer(0...9_007_199_254_740_991)
    package static let string = Schema.text(.any)
    /// The schema of a time with a precision of seconds, as it is in responses.
    package static let time = Schema.text(.timestamp)

    package static func strings() -> Schema { .sequence(of: .string) }

    /// The schema for a response that may be shortened, or come from a later version of the server. Texts may have any
    /// form and length, lists may contain an element twice, and objects may have members that the schema doesn't list.
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

    /// The schema of a merge patch (RFC 7396) for the JSON object that this schema describes. Each member may be
    /// missing, and `null` removes a member. A list in the patch replaces the object's whole list.
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
    /// The schema of the member in a response. It has no default, because defaults mean nothing in responses.
    fileprivate var relaxed: Schema.Field {
        isRequired ? .required(name, schema.relaxed, about) : .optional(name, schema.relaxed, about)
    }
}

extension Schema {
    /// Converts the fields of a URL's query into the JSON object that this schema describes. Texts become whole numbers
    /// or Booleans where the schema has these. If several fields have the same name, the first one counts.
    package func object(ofQuery fields: [(name: String, value: String)]) -> JSONValue {
        guard case .object(let known) = self else { return [:] }
        return .object(
            JSONObject(fields.map { ($0.name, known[$0.name]?.schema.value(ofText: $0.value) ?? .string($0.value)) }))
    }

    private func value(ofText text: String) -> JSONValue {
        switch self {
        case .nullable(let schema): schema.value(ofText: text)
        case .integer: Int64(text).map { .integer($0) } ?? .string(text)
        case .boolean: Bool(text).map { .bool($0) } ?? .string(text)
        default: .string(text)
        }
    }
}
