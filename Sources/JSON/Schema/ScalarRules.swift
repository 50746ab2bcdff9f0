import Time

extension TextRule: WritableRule {
    package var schema: Schema { .text(self) }
    package var sample: String { "" }

    package func read(_ json: JSONValue) -> String? { json.string }

    package func json(_ value: String) -> JSONValue { .string(value) }
}

/// A rule for a string that is a duration, such as `5m`.
package struct SpanRule: WritableRule {
    let text: TextRule

    package var schema: Schema { .text(text) }
    package var sample: TimeSpan { .zero }

    package func read(_ json: JSONValue) -> TimeSpan? { json.string.flatMap { TimeSpan($0) } }

    /// Returns a duration as a JSON string. A day is written in hours (`24h`), as on the providers' pages.
    package func json(_ value: TimeSpan) -> JSONValue { .string(value == .days(1) ? "24h" : value.description) }
}

/// A rule for a string that is a time, such as `2030-01-01T00:00:00Z`.
package struct InstantRule: WritableRule {
    package var schema: Schema { .text(.timestamp) }
    package var sample: Instant { .first }

    package func read(_ json: JSONValue) -> Instant? { json.string.flatMap { Instant($0) } }

    package func json(_ value: Instant) -> JSONValue { .string(value.text) }
}

package struct IntegerRule: WritableRule {
    let range: ClosedRange<Int>

    package var schema: Schema { .integer(Int64(range.lowerBound)...Int64(range.upperBound)) }
    package var sample: Int { range.lowerBound }

    package func read(_ json: JSONValue) -> Int? { json.integer.flatMap { Int(exactly: $0) } }

    package func json(_ value: Int) -> JSONValue { .integer(Int64(value)) }
}

package struct NumberRule: WritableRule {
    let range: ClosedRange<Double>

    package var schema: Schema { .number(range) }
    package var sample: Double { range.lowerBound }

    package func read(_ json: JSONValue) -> Double? { json.number }

    package func json(_ value: Double) -> JSONValue { Int64(exactly: value).map { .integer($0) } ?? .number(value) }
}

package struct BooleanRule: WritableRule {
    package var schema: Schema { .boolean }
    package var sample: Bool { false }

    package func read(_ json: JSONValue) -> Bool? { json.bool }

    package func json(_ value: Bool) -> JSONValue { .bool(value) }
}

/// A rule for a string that is the raw value of one of an enum's cases.
package struct ChoiceRule<Choice: CaseIterable & RawRepresentable<String> & Sendable>: WritableRule {
    package var schema: Schema { .choice(Choice.allCases.map(\.rawValue)) }

    package var sample: Choice {
        guard let first = Choice.allCases.first else { preconditionFailure("a choice of nothing") }
        return first
    }

    package func read(_ json: JSONValue) -> Choice? { json.string.flatMap { Choice(rawValue: $0) } }

    package func json(_ value: Choice) -> JSONValue { .string(value.rawValue) }
}

/// A rule for a string that is one of several names.
package struct NameRule: WritableRule {
    let names: [String]

    package var schema: Schema { .choice(names) }
    package var sample: String { names.first ?? "" }

    package func read(_ json: JSONValue) -> String? { json.string }

    package func json(_ value: String) -> JSONValue { .string(value) }
}

package struct AnyRule: Rule {
    package var schema: Schema { .any }
    package var sample: JSONValue { .null }

    package func read(_ json: JSONValue) -> JSONValue? { json }
}

// MARK: - Shorthand for declarations

extension Rule where Self == TextRule {
    package static func text(_ rule: TextRule) -> TextRule { rule }
}

extension Rule where Self == SpanRule {
    package static var duration: SpanRule { SpanRule(text: .duration) }
    /// The validation rule for JSON text that says how long a response is delayed.
    package static var delay: SpanRule { SpanRule(text: .delay) }
    /// Returns a validation rule for JSON text that is a duration. `text` says which durations are allowed.
    package static func duration(_ text: TextRule) -> SpanRule { SpanRule(text: text) }
}

extension Rule where Self == InstantRule {
    package static var timestamp: InstantRule { InstantRule() }
}

extension Rule where Self == IntegerRule {
    package static func integer(_ range: ClosedRange<Int>) -> IntegerRule { IntegerRule(range: range) }
}

extension Rule where Self == NumberRule {
    package static func number(_ range: ClosedRange<Double>) -> NumberRule { NumberRule(range: range) }
}

extension Rule where Self == BooleanRule {
    package static var boolean: BooleanRule { BooleanRule() }
}

extension Rule where Self == NameRule {
    package static func choice(_ names: [String]) -> NameRule { NameRule(names: names) }
}

extension Rule where Self == AnyRule {
    package static var any: AnyRule { AnyRule() }
}

extension Rule {
    package static func choice<Choice>(_ type: Choice.Type) -> Self where Self == ChoiceRule<Choice> { ChoiceRule() }
}
