/// What a JSON value may look like. One description serves to validate, to merge, to fill in defaults, to print the JSON
/// Schema and to write the reference, so that they can't disagree. An object's comes from the initializer that reads it:
/// ``SchemaObject``.
package indirect enum Schema: Sendable {
    case text(TextRule)
    case integer(ClosedRange<Int64>)
    case boolean
    case choice([String])
    case object(Members)
    /// Objects told apart by the member `key`; lists of several files merge by it.
    case list(of: Schema, key: String)
    /// Scalars, each at most once.
    case set(of: Schema)
    /// Members of any name.
    case map(of: Schema)
    case nullable(Schema)
    /// Any JSON.
    case any
    case number(ClosedRange<Double>)
    /// One or the other; they are told apart by the kind of value.
    case either(Schema, Schema)
    /// Elements in order; lists of several files follow one another.
    case sequence(of: Schema)

    /// A member of an object.
    package struct Field: Sendable {
        package let name: String
        package let schema: Schema
        package let isRequired: Bool
        /// Filled in when the member is missing.
        package let fallback: JSONValue?
        /// What it means, in a sentence.
        package let about: String

        /// A member that is always there.
        package static func required(_ name: String, _ schema: Schema, _ about: String) -> Field {
            Field(name: name, schema: schema, isRequired: true, fallback: nil, about: about)
        }

        /// A member that may be missing; `about` says what holds then.
        package static func optional(
            _ name: String, _ schema: Schema, default fallback: JSONValue? = nil, _ about: String
        ) -> Field {
            Field(name: name, schema: schema, isRequired: false, fallback: fallback, about: about)
        }
    }

    /// The fields of an object, in their order and by name.
    package final class Members: Sendable {
        /// By which documents that have a place for shared schemas refer to it; `nil` where it is written out.
        package let name: String?
        package let fields: [Field]
        /// For members whose names begin with a text, such as `oidc.`; several may be there.
        package let family: (prefix: String, field: Field)?
        /// Whether members that aren't listed may be there, too.
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

        /// As they are listed: the family stands for all of its members.
        var listed: [Field] { fields + (family.map { [$0.field] } ?? []) }
    }

    /// The same object, but its members may all be missing, and what holds then is said elsewhere.
    var withoutRequirements: Schema {
        guard case .object(let members) = self else { return self }
        let fields = members.fields.map { Field.optional($0.name, $0.schema, $0.about) }
        return .object(Members(fields, family: members.family))
    }

    /// What was expected, in a sentence after "expected".
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
