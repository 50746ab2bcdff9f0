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
        /// Whether other members are allowed.
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
