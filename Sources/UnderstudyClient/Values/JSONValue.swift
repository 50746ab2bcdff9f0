/// Any JSON: a seed, a claim, an answer without a Swift type of its own. Literals make values:
///
///     try await world.seed(["accounts": [["id": "max", "email": "max@example.org"]]])
public enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int64)
    /// A number with a fraction, or outside the range of `Int64`.
    case number(Double)
    /// A text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// An object: its members by their names.
    case object([String: JSONValue])

    /// The text, if the value is a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The boolean, if the value is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number, if the value is a number without a fraction.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The number, if the value is one.
    public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// The elements, if the value is a list.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members, if the value is an object.
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    /// Returns an object's member, or `nil` if there is none or the value isn't an object.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// Returns a list's element, counted from 0, or `nil` if there is none or the value isn't a list.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSONValue: Codable {
    /// Reads any JSON.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let elements = try? value.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    /// Writes the value as JSON.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }

    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes a number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// Makes a number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes a list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Makes an object. If two members have the same name, the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
