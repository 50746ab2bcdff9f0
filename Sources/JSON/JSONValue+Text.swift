extension JSONValue {
    /// Returns the value as compact JSON. Control characters, quotation marks and backslashes are escaped; slashes
    /// aren't.
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
            var isFirst = true
            object.forEach { key, value in
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                JSONValue.write(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // Most strings need no escaping and are copied whole.
        let isPlain = string.utf8.withContiguousStorageIfAvailable { text in
            guard text.isPlainInJSON else { return false }
            bytes.append(contentsOf: text)
            return true
        }
        if isPlain != true { writeEscaped(string, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a string with the shortest escapes that JSON allows. Longer escapes could make an object's member name
    /// exceed the limit on names when the JSON is read again.
    private static func writeEscaped(_ string: String, to bytes: inout [UInt8]) {
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
            case UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
            case 0x08: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "b")]
            case 0x0C: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "f")]
            case 0x0A: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case 0x0D: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            case 0x09: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
            case 0..<0x20: bytes += "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
    }

    /// Returns the value as JSON with line breaks and two spaces of indentation per level, for people and for committed
    /// files.
    package func indented(level: Int = 0) -> String {
        let pad = String(repeating: "  ", count: level + 1)
        let end = String(repeating: "  ", count: level)
        switch self {
        case .array(let values) where !values.isEmpty:
            return "[\n" + values.map { pad + $0.indented(level: level + 1) }.joined(separator: ",\n") + "\n\(end)]"
        case .object(let object) where !object.isEmpty:
            let lines = object.members.map { member in
                pad + JSONValue.string(member.key).text + ": " + member.value.indented(level: level + 1)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(end)}"
        default:
            return text
        }
    }
}
