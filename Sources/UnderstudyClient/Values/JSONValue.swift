/// A JSON value, for data without a Swift type of its own, such as the claims of a token. Swift's literals make such
/// values:
///
///     try await world.seed(["accounts": [["id": "max", "email": "max@example.org"]]])
public enum JSONValue: Sendable, Hashable {
    /// The JSON value `null`.
    case null
    /// The JSON value `true` or `false`.
    case bool(Bool)
    /// A JSON number without a fraction.
    case integer(Int64)
    /// A JSON number with a fraction, or outside the range of `Int64`.
    case number(Double)
    /// A JSON string.
    case string(String)
    /// A JSON array.
    case array([JSONValue])
    /// A JSON object, as a dictionary of its members.
    case object([String: JSONValue])

    /// The text of a JSON string; `nil` for any other JSON value.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The value of a JSON boolean; `nil` for any other JSON value.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The value of a JSON number without a fraction; `nil` for any other JSON value.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The value of a JSON number; `nil` for any other JSON value.
    public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// The elements of a JSON array; `nil` for any other JSON value.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members of a JSON object; `nil` for any other JSON value.
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    /// Returns the member `name` of a JSON object, or `nil` if the object has no such member or the value isn't an
    /// object.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// Returns the element at `index` of a JSON array, counted from 0, or `nil` if there is no such element or the
    /// value isn't an array.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSONValue: Codable {
    /// Reads any JSON value.
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

    /// Encodes the value as JSON.
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
    /// Makes the JSON value `null`.
    public init(nilLiteral: ()) { self = .null }

    /// Makes a JSON boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes a JSON number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// Makes a JSON number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// Makes a JSON string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes a JSON array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Makes a JSON object. If two members have the same name, the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
