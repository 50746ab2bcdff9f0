import Synchronization

/// A value that is read from a JSON object. Its initializer declares the object's members, each once: name, rule,
/// default and meaning.
///
///     struct Client: SchemaObject {
///         let clientID: String
///         let name: String
///
///         init(_ fields: inout Fields) {
///             clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
///             name = fields("name", .text(.nonEmpty), default: "Example", "The client's name on the consent page.")
///         }
///     }
///
/// The schema comes from the same lines: the initializer also runs with fields that only record the declarations. So it
/// must do nothing but declare members, and compute values from them.
package protocol SchemaObject: Sendable {
    /// The name by which documentation refers to the object's schema; `nil` if the schema is written out wherever it
    /// occurs.
    static var schemaName: String? { get }

    init(_ fields: inout Fields)
}

extension SchemaObject {
    package static var schemaName: String? { nil }

    /// The schema of the JSON object, as the initializer of the Swift type declares it.
    package static var schema: Schema {
        let type = ObjectIdentifier(Self.self)
        if let known = describedObjects.withLock({ $0[type] }) { return known }
        let schema = Fields.describe(name: schemaName) { Self(&$0) }.schema
        describedObjects.withLock { $0[type] = schema }
        return schema
    }

    /// Reads an object from JSON that is known to match the schema.
    package init(reading value: JSONValue) {
        var fields = Fields(reading: value)
        self.init(&fields)
    }

    /// Reads an object from JSON that is first validated. Throws all mistakes that are found.
    package init(checking json: LocatedJSON) throws(Issues) {
        let issues = Self.schema.issues(in: json)
        guard issues.isEmpty else { throw Issues(issues) }
        self.init(reading: json.value)
    }
}

private let describedObjects = Mutex<[ObjectIdentifier: Schema]>([:])

/// The members of a JSON object, as the object's initializer declares them. When the initializer reads JSON, the
/// members have the values of a validated object. When it runs only to make the schema from the declarations, there is
/// no JSON, and the members have sample values.
package struct Fields {
    /// The JSON object that is being read, without defaults for missing members. When only a schema is made, no object
    /// is read, and this value is an empty object.
    package let written: JSONObject
    private let isReading: Bool
    private var described: [Schema.Field] = []
    private var describedFamily: (prefix: String, field: Schema.Field)?

    package init(reading value: JSONValue) {
        written = value.object ?? JSONObject()
        isReading = true
    }

    private init() {
        written = JSONObject()
        isReading = false
    }

    /// Runs `build` without a JSON object. Returns the schema of the members that `build` declares, and the value that
    /// `build` makes from the members' sample values.
    static func describe<Value>(
        name: String? = nil, _ build: (inout Fields) -> Value
    ) -> (schema: Schema, sample: Value) {
        var fields = Fields()
        let sample = build(&fields)
        return (.object(Schema.Members(fields.described, family: fields.describedFamily, name: name)), sample)
    }

    /// Whether the JSON object that is being read is empty, so that all its members get their defaults.
    package var isEmpty: Bool { isReading && written.isEmpty }

    // MARK: - Members

    /// Declares a required member of a JSON object, and returns the member's value.
    package mutating func callAsFunction<R: Rule>(_ name: String, _ rule: R, _ about: String) -> R.Value {
        guard !isReading else { return written[name].flatMap { rule.read($0) } ?? rule.sample }
        described.append(.required(name, rule.schema, about))
        return rule.sample
    }

    /// Declares a JSON object's member that has a default, and returns the member's value.
    package mutating func callAsFunction<R: WritableRule>(
        _ name: String, _ rule: R, default fallback: @autoclosure () -> R.Value, _ about: String
    ) -> R.Value {
        guard !isReading else { return written[name].flatMap { rule.read($0) } ?? fallback() }
        let fallback = fallback()
        described.append(.optional(name, rule.schema, default: rule.json(fallback), about))
        return fallback
    }

    /// Declares an optional member of a JSON object, and returns the member's value. `about` says what it means if the
    /// member is missing.
    package mutating func optional<R: Rule>(_ name: String, _ rule: R, _ about: String) -> R.Value? {
        guard !isReading else { return written[name].flatMap { rule.read($0) } }
        described.append(.optional(name, rule.schema, about))
        return nil
    }

    /// Declares a JSON object's member that may be missing or `null`, with the same meaning. Returns the member's
    /// value.
    package mutating func nullable<R: Rule>(_ name: String, _ rule: R, _ about: String) -> R.Value? {
        guard !isReading else { return written[name].flatMap { rule.read($0) } }
        described.append(.optional(name, .nullable(rule.schema), default: .null, about))
        return nil
    }

    /// Declares a member whose value is an object. If the member is missing, the object is empty, and its own members
    /// have their defaults.
    package mutating func object<Value>(
        _ name: String, _ about: String, _ build: (inout Fields) -> Value
    ) -> Value {
        guard !isReading else {
            var fields = Fields(reading: written[name] ?? .null)
            return build(&fields)
        }
        let (schema, sample) = Fields.describe(build)
        described.append(.optional(name, schema, default: [:], about))
        return sample
    }

    package mutating func object<Object: SchemaObject>(
        _ name: String, _ type: Object.Type, _ about: String
    ) -> Object {
        object(name, about) { Object(&$0) }
    }

    /// Declares a member whose value is a list of objects, empty by default. The member `key` identifies each object,
    /// and lists from several files are merged by it.
    package mutating func list<R: Rule>(_ name: String, of rule: R, key: String, _ about: String) -> [R.Value] {
        elements(name, ListRule(element: rule, key: key), about)
    }

    package mutating func list<Object: SchemaObject>(
        _ name: String, of type: Object.Type, key: String, _ about: String
    ) -> [Object] {
        list(name, of: ObjectRule<Object>(), key: key, about)
    }

    /// Declares a member whose value is a list, empty by default. Lists from several files are concatenated.
    package mutating func sequence<R: Rule>(_ name: String, of rule: R, _ about: String) -> [R.Value] {
        elements(name, SequenceRule(element: rule), about)
    }

    package mutating func sequence<Object: SchemaObject>(
        _ name: String, of type: Object.Type, _ about: String
    ) -> [Object] {
        sequence(name, of: ObjectRule<Object>(), about)
    }

    /// Declares a member whose value is an object with members of any name, empty by default.
    package mutating func map<R: Rule>(_ name: String, of rule: R, _ about: String) -> [(name: String, value: R.Value)]
    {
        let rule = MapRule(element: rule)
        guard !isReading else { return written[name].flatMap { rule.read($0) } ?? [] }
        described.append(.optional(name, rule.schema, default: [:], about))
        return []
    }

    /// Declares all members whose names begin with `prefix`; the object needn't have any. The documentation lists them
    /// as `placeholder`, such as `oidc.NAME`. An object can have only one such prefix.
    package mutating func family<R: Rule>(
        _ prefix: String, listedAs placeholder: String, _ rule: R, _ about: String
    ) -> [(name: String, value: R.Value)] {
        guard !isReading else {
            return written.members.compactMap { member in
                guard member.key.hasPrefix(prefix), let value = rule.read(member.value) else { return nil }
                return (name: member.key, value: value)
            }
        }
        describedFamily = (prefix: prefix, field: .optional(placeholder, rule.schema, about))
        return []
    }

    private mutating func elements<R: Rule, Element>(
        _ name: String, _ rule: R, _ about: String
    ) -> [Element] where R.Value == [Element] {
        guard !isReading else { return written[name].flatMap { rule.read($0) } ?? [] }
        described.append(.optional(name, rule.schema, default: [], about))
        return []
    }
}
