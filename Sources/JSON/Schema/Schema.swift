/// The schema of a JSON value. It is used to validate, to merge, to fill in defaults, and to write the JSON Schema and
/// the reference, so these can't disagree. An object's schema comes from the initializer that reads it:
/// ``SchemaObject``.
package indirect enum Schema: Sendable {
    case text(TextRule)
    case integer(ClosedRange<Int64>)
    case boolean
    case choice([String])
    case object(Members)
    /// A list of objects that are identified by the member `key`. Lists of several files are merged by it.
    case list(of: Schema, key: String)
    /// A list of scalars, each at most once.
    case set(of: Schema)
    /// An object with members of any name.
    case map(of: Schema)
    case nullable(Schema)
    /// Any JSON.
    case any
    case number(ClosedRange<Double>)
    /// One of two schemas, distinguished by the kind of value.
    case either(Schema, Schema)
    /// A list. Lists of several files are concatenated.
    case sequence(of: Schema)

    /// A member of an object.
    package struct Field: Sendable {
        package let name: String
        package let schema: Schema
        package let isRequired: Bool
        /// The default of a missing member.
        package let fallback: JSONValue?
        /// The member's meaning, in a sentence.
        package let about: String

        /// Makes a required member.
        package static func required(_ name: String, _ schema: Schema, _ about: String) -> Field {
            Field(name: name, schema: schema, isRequired: true, fallback: nil, about: about)
        }

        /// Makes an optional member; `about` says what its absence means.
        package static func optional(
            _ name: String, _ schema: Schema, default fallback: JSONValue? = nil, _ about: String
        ) -> Field {
            Field(name: name, schema: schema, isRequired: false, fallback: fallback, about: about)
        }
    }

    /// The fields of an object, in order and by name.
    package final class Members: Sendable {
        /// The name by which documents refer to this schema; `nil` if it is written out.
        package let name: String?
        package let fields: [Field]
        /// A field for all members whose names begin with a text, such as `oidc.`.
        package let family: (prefix: String, field: Field)?
        /// Whether an object may have members that the schema doesn't list.
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

        /// The fields as the reference lists them; a family is one entry.
        var listed: [Field] { fields + (family.map { [$0.field] } ?? []) }
    }

    /// The same object with all members optional. What their absence means is described elsewhere.
    var withoutRequirements: Schema {
        guard case .object(let members) = self else { return self }
        let fields = members.fields.map { Field.optional($0.name, $0.schema, $0.about) }
        return .object(Members(fields, family: members.family))
    }

    /// The description of a valid value, for a sentence after "expected".
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

extension Schema {
    /// Converts a query's fields into the object that this schema describes. Texts become numbers or Booleans if the
    /// schema has these. If several fields have the same name, the first counts.
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
