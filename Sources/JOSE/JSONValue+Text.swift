import FoundationEssentials

/// Why a text isn't JSON.
package struct JSONSyntaxError: Error, CustomStringConvertible, Sendable {
    package let description: String
}

extension JSONValue {
    /// Nesting deeper than this is refused: nobody writes it, and each level costs stack.
    package static let maximumDepth = 64

    /// Parses UTF-8 JSON.
    package init(parsing bytes: [UInt8]) throws(JSONSyntaxError) {
        let outline = JSONValue.outline(of: bytes)
        guard outline.depth <= JSONValue.maximumDepth else {
            throw JSONSyntaxError(description: "arrays and objects nested deeper than \(JSONValue.maximumDepth) levels")
        }
        // JSONDecoder takes it; nobody else does.
        guard !outline.hasTrailingComma else { throw JSONSyntaxError(description: "a comma before a closing bracket") }
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        } catch DecodingError.dataCorrupted(let context) {
            let reason = context.underlyingError.map { String(describing: $0) } ?? context.debugDescription
            throw JSONSyntaxError(description: JSONValue.readable(reason))
        } catch {
            throw JSONSyntaxError(description: "a value that JSON doesn't allow")
        }
    }

    package init(parsing text: String) throws(JSONSyntaxError) { try self.init(parsing: Array(text.utf8)) }

    /// The deepest nesting of brackets outside strings, and whether a comma stands before a closing one.
    private static func outline(of bytes: [UInt8]) -> (depth: Int, hasTrailingComma: Bool) {
        var depth = 0
        var deepest = 0
        var hasTrailingComma = false
        var inString = false
        var escaped = false
        var previous: UInt8 = 0
        for byte in bytes {
            if inString {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if previous == UInt8(ascii: ",") { hasTrailingComma = true }
            case UInt8(ascii: " "), 0x09, 0x0A, 0x0D: continue
            default: break
            }
            previous = byte
        }
        return (deepest, hasTrailingComma)
    }

    /// Foundation's errors are Swift cases printed raw; the reader wants the sentence inside.
    private static func readable(_ reason: String) -> String {
        guard let start = reason.firstRange(of: "NSDebugDescription=") else { return reason }
        return String(reason[start.upperBound...].prefix { $0 != "}" })
    }

    /// Compact JSON. Solidus isn't escaped; control characters, quotation mark and backslash are.
    package func serialized() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        write(to: &bytes)
        return bytes
    }

    package var text: String { String(decoding: serialized(), as: UTF8.self) }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += String(value).utf8
        case .number(let value): bytes += (value.isFinite ? String(value) : "null").utf8
        case .string(let value): JSONValue.write(value, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (place, value) in values.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (place, member) in object.members.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONValue.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // Most strings hold nothing to escape, and are copied whole.
        let isPlain = string.utf8.withContiguousStorageIfAvailable { text in
            guard text.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else {
                return false
            }
            bytes.append(contentsOf: text)
            return true
        }
        if isPlain != true { writeEscaped(string, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func writeEscaped(_ string: String, to bytes: inout [UInt8]) {
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
            case UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
            case 0x0A: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case 0x0D: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            case 0x09: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
            case 0..<0x20: bytes += "\\u00\(Hex.encode([byte]))".utf8
            default: bytes.append(byte)
            }
        }
    }

    /// JSON with two spaces a level, for people and for committed files.
    package func indented(level: Int = 0) -> String {
        let pad = String(repeating: "  ", count: level + 1)
        let end = String(repeating: "  ", count: level)
        switch self {
        case .array(let values) where !values.isEmpty:
            return "[\n" + values.map { pad + $0.indented(level: level + 1) }.joined(separator: ",\n") + "\n\(end)]"
        case .object(let object) where !object.members.isEmpty:
            let lines = object.members.map { member in
                pad + JSONValue.string(member.key).text + ": " + member.value.indented(level: level + 1)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(end)}"
        default:
            return text
        }
    }
}
