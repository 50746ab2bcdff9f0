import Time

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Any JSON value. Objects keep the order of their members, because two runs must send the same bytes, and because a
/// provider sends members in an order of its own.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    package subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    package var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    package var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    package var object: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// The approximate number of bytes that the value takes in memory.
    package var weight: Int {
        switch self {
        case .null, .bool, .integer, .number: 24
        case .string(let text): 24 + text.utf8.count
        case .array(let values): values.reduce(56) { $0 + $1.weight }
        case .object(let object): object.members.reduce(56) { $0 + 24 + $1.key.utf8.count + $1.value.weight }
        }
    }

    /// The value as an integer, even if it is written with an exponent or a zero fraction, such as `1e3`; `nil` for any
    /// other value.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The time, if the value is a whole number of seconds since 1970 (RFC 7519 section 2, NumericDate); `nil` for
    /// other values, and for times outside the years 1970 to 9999.
    package var numericDate: Instant? { integer.flatMap { Instant(seconds: $0) } }

    /// Whether the value is probably a time in milliseconds since 1970, because as a number of seconds it would be
    /// after the year 5138.
    package var isInMilliseconds: Bool { integer.map { $0 > 100_000_000_000 } ?? false }

    /// Returns a time as a JSON number of whole seconds since 1970, rounded down.
    package static func numericDate(_ instant: Instant) -> JSONValue { .integer(instant.seconds) }

    /// The value as a floating-point number; `nil` if it isn't a number.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    package var isNull: Bool { self == .null }

    /// The kind of the JSON value as part of a sentence, such as `a string`.
    package var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

extension CodingUserInfoKey {
    /// An option for encoders and decoders of stored rows. With this option, a `JSONValue` is stored as text, so that
    /// its members keep their order, and a number such as `1.0` doesn't become `1`.
    package static let jsonAsText = CodingUserInfoKey(rawValue: "jsonAsText")

    fileprivate static func isSet(_ key: CodingUserInfoKey?, in userInfo: [CodingUserInfoKey: Any]) -> Bool {
        key.map { userInfo[$0] as? Bool ?? false } ?? false
    }
}

extension JSONValue: Codable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if CodingUserInfoKey.isSet(.jsonAsText, in: decoder.userInfo) {
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let value = try? JSONValue(parsing: text, limits: .answer) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text isn't JSON")
            }
            self = value
            return
        }
        if let object = try? decoder.container(keyedBy: Name.self) {
            // Decoders lose the order, so members are sorted by name. The order is then at least always the same.
            let keys = object.allKeys.sorted { $0.stringValue < $1.stringValue }
            self = .object(JSONObject(try keys.map { ($0.stringValue, try object.decode(JSONValue.self, forKey: $0)) }))
            return
        }
        let value = try decoder.singleValueContainer()
        if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else {
            self = .array(try value.decode([JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        guard !CodingUserInfoKey.isSet(.jsonAsText, in: encoder.userInfo) else { return try container.encode(text) }
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let object):
            var keyed = encoder.container(keyedBy: Name.self)
            for (key, value) in object.members { try keyed.encode(value, forKey: Name(stringValue: key)) }
        }
    }
}
