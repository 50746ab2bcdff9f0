import Synchronization

/// A rule for the value of a JSON object's member: the value's schema, and the function that reads the value.
package protocol Rule<Value>: Sendable {
    associatedtype Value

    var schema: Schema { get }
    /// A sample value, which stands in for real values while a schema is made.
    var sample: Value { get }
    /// Reads a value from JSON that was validated by the rule's schema. Returns `nil` if the JSON has another type.
    /// Limits and patterns aren't checked again.
    func read(_ json: JSONValue) -> Value?
}

/// A rule that can write its values as JSON, so that the JSON Schema can show the default of a member with this rule.
package protocol WritableRule<Value>: Rule {
    func json(_ value: Value) -> JSONValue
}

/// A rule for a JSON object with the members that the Swift type `Object` declares.
package struct ObjectRule<Object: SchemaObject>: Rule {
    package var schema: Schema { Object.schema }
    package var sample: Object { Object(reading: [:]) }

    package func read(_ json: JSONValue) -> Object? { Object(reading: json) }
}

/// A rule for a patch of a JSON object. The patch may have the same members as the object, but needn't have any.
package struct PartRule<Object: SchemaObject>: Rule {
    package var schema: Schema { Object.schema.withoutRequirements }
    package var sample: JSONObject { JSONObject() }

    package func read(_ json: JSONValue) -> JSONObject? { json.object }
}

/// A rule for a JSON object whose members aren't known at compile time, because other modules contribute some of them.
package final class ComposedRule<Value: Sendable>: Rule {
    private let name: String?
    private let build: @Sendable (inout Fields) -> Value
    private let described = Mutex<Schema?>(nil)

    /// Makes a rule for a JSON object. `name` is the name by which documentation refers to the object's schema; `nil`
    /// if the schema is written out wherever it occurs.
    package init(_ name: String? = nil, _ build: @escaping @Sendable (inout Fields) -> Value) {
        self.name = name
        self.build = build
    }

    package var schema: Schema {
        described.withLock { described in
            if let described { return described }
            let schema = Fields.describe(name: name, build).schema
            described = schema
            return schema
        }
    }

    package var sample: Value { value(reading: [:]) }

    package func read(_ json: JSONValue) -> Value? { value(reading: json) }

    /// Reads an object from JSON that is known to match the schema.
    package func value(reading json: JSONValue) -> Value {
        var fields = Fields(reading: json)
        return build(&fields)
    }

    /// Reads an object from JSON that is first validated. Throws all mistakes that are found.
    package func value(checking json: LocatedJSON) throws(Issues) -> Value {
        let issues = schema.issues(in: json)
        guard issues.isEmpty else { throw Issues(issues) }
        return value(reading: json.value)
    }
}

/// A rule for a JSON list of objects, each identified by one of its members.
package struct ListRule<Element: Rule>: Rule {
    let element: Element
    let key: String

    package var schema: Schema { .list(of: element.schema, key: key) }
    package var sample: [Element.Value] { [] }

    package func read(_ json: JSONValue) -> [Element.Value]? { json.array?.compactMap { element.read($0) } }
}

/// A rule for a JSON list.
package struct SequenceRule<Element: Rule>: Rule {
    let element: Element

    package var schema: Schema { .sequence(of: element.schema) }
    package var sample: [Element.Value] { [] }

    package func read(_ json: JSONValue) -> [Element.Value]? { json.array?.compactMap { element.read($0) } }
}

/// A rule for a JSON list of strings, numbers or Booleans, each of which occurs at most once.
package struct SetRule<Element: WritableRule>: WritableRule {
    let element: Element

    package var schema: Schema { .set(of: element.schema) }
    package var sample: [Element.Value] { [] }

    package func read(_ json: JSONValue) -> [Element.Value]? { json.array?.compactMap { element.read($0) } }

    package func json(_ value: [Element.Value]) -> JSONValue { .array(value.map { element.json($0) }) }
}

/// A rule for a JSON object with members of any name.
package struct MapRule<Element: Rule>: Rule {
    let element: Element

    package var schema: Schema { .map(of: element.schema) }
    package var sample: [(name: String, value: Element.Value)] { [] }

    package func read(_ json: JSONValue) -> [(name: String, value: Element.Value)]? {
        json.object?.members.compactMap { member in element.read(member.value).map { (member.key, $0) } }
    }
}

package struct NullableRule<Wrapped: Rule>: Rule {
    let wrapped: Wrapped

    package var schema: Schema { .nullable(wrapped.schema) }
    package var sample: Wrapped.Value? { nil }

    package func read(_ json: JSONValue) -> Wrapped.Value?? { .some(wrapped.read(json)) }
}

extension NullableRule: WritableRule where Wrapped: WritableRule {
    package func json(_ value: Wrapped.Value?) -> JSONValue { value.map { wrapped.json($0) } ?? .null }
}

/// A value that fits either the first or the second of two rules.
package enum Either<First, Second> {
    case first(First)
    case second(Second)
}

extension Either: Sendable where First: Sendable, Second: Sendable {}

package struct EitherRule<First: Rule, Second: Rule>: Rule {
    let first: First
    let second: Second

    package var schema: Schema { .either(first.schema, second.schema) }
    package var sample: Either<First.Value, Second.Value> { .first(first.sample) }

    package func read(_ json: JSONValue) -> Either<First.Value, Second.Value>? {
        first.read(json).map { .first($0) } ?? second.read(json).map { .second($0) }
    }
}

// MARK: - Shorthand for declarations

extension Rule {
    package static func object<Object>(_ type: Object.Type) -> Self where Self == ObjectRule<Object> { ObjectRule() }

    package static func part<Object>(of type: Object.Type) -> Self where Self == PartRule<Object> { PartRule() }

    package static func list<Object>(
        of type: Object.Type, key: String
    ) -> Self where Self == ListRule<ObjectRule<Object>> { ListRule(element: ObjectRule(), key: key) }

    package static func sequence<Object>(
        of type: Object.Type
    ) -> Self where Self == SequenceRule<ObjectRule<Object>> { SequenceRule(element: ObjectRule()) }

    package static func set<Element>(of element: Element) -> Self where Self == SetRule<Element> {
        SetRule(element: element)
    }

    package static func map<Element>(of element: Element) -> Self where Self == MapRule<Element> {
        MapRule(element: element)
    }

    package static func nullable<Wrapped>(_ wrapped: Wrapped) -> Self where Self == NullableRule<Wrapped> {
        NullableRule(wrapped: wrapped)
    }

    package static func either<First, Second>(
        _ first: First, _ second: Second
    ) -> Self where Self == EitherRule<First, Second> { EitherRule(first: first, second: second) }
}
