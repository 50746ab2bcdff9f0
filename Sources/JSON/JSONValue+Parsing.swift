import CJansson
import Text

/// The reason why a text isn't valid JSON, or exceeds a limit on its size.
package struct JSONSyntaxError: Error, CustomStringConvertible, Sendable {
    /// The line of the mistake in the JSON text, counted from 1.
    package let line: Int
    /// The column of the mistake in the JSON text, in characters counted from 1.
    package let column: Int
    package let reason: String

    package var description: String { "line \(line), column \(column): \(reason)" }

    /// Makes an error about a JSON text. `offset` is the number of bytes up to the mistake.
    fileprivate init(_ reason: String, at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        self.reason = reason
        var line = 1
        var column = 0
        for byte in bytes.prefix(offset) {
            if byte == 0x0A {
                (line, column) = (line + 1, 0)
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.line = line
        self.column = max(1, column)
    }
}

// This file reads JSON with jansson: https://jansson.readthedocs.io/en/latest/apiref.html#decoding
//
// Quirks: an integer beyond 64 bits becomes an inexact number, as in JavaScript; a number beyond a double is refused. A
// name that contains U+0000 is refused, a string that contains it is accepted.

extension JSONValue {
    /// Parses a JSON text in UTF-8. A byte order mark before the text is skipped.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .request) throws(JSONSyntaxError) {
        self = try bytes.withUnsafeBufferPointer { text -> Result<JSONValue, JSONSyntaxError> in
            let mark = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            return JSONValue.read(UnsafeBufferPointer(rebasing: text[mark...]), limits)
        }.get()
    }

    package init(parsing text: String, limits: JSONLimits = .request) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    private static func read(
        _ text: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits
    ) -> Result<JSONValue, JSONSyntaxError> {
        var outline = JSONOutline(limits)
        if let excess = outline.excess(in: text) {
            return .failure(JSONSyntaxError(excess.reason, at: excess.offset + 1, in: text))
        }
        var error = json_error_t()
        if let result = load(text, limits, &error) { return result }
        guard understudy_json_is_overflow(&error) != 0 else { return .failure(syntaxError(error, in: text)) }
        // With an exponent, jansson reads a long integer as a floating-point number.
        let ends = JSONOutline.wideIntegers(in: text)
        var wide: [UInt8] = []
        wide.reserveCapacity(text.count + 2 * ends.count)
        var start = 0
        for end in ends {
            wide += text[start..<end]
            wide += [UInt8(ascii: "e"), UInt8(ascii: "0")]
            start = end
        }
        wide += text[start...]
        return wide.withUnsafeBufferPointer { wide in
            if let result = load(wide, limits, &error) { return result }
            return .failure(syntaxError(error, in: text, exponentsAfter: ends))
        }
    }

    /// Parses a JSON text with the library jansson. Returns `nil` if the text isn't valid JSON, with the reason in
    /// `error`.
    private static func load(
        _ text: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits, _ error: inout json_error_t
    ) -> Result<JSONValue, JSONSyntaxError>? {
        let flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | (limits.allowsDuplicates ? 0 : JSON_REJECT_DUPLICATES)
        let root = text.withMemoryRebound(to: CChar.self) { json_loadb($0.baseAddress, $0.count, Int(flags), &error) }
        guard let root else { return nil }
        defer { json_decref(root) }
        var hasEndlessMarks = false
        let value = JSONValue(root, &hasEndlessMarks)
        guard hasEndlessMarks else { return .success(value) }
        return .failure(JSONSyntaxError("more than 30 combining marks in a row", at: text.count, in: text))
    }

    private static func syntaxError(
        _ error: json_error_t, in text: UnsafeBufferPointer<UInt8>, exponentsAfter ends: [Int] = []
    ) -> JSONSyntaxError {
        var error = error
        var offset = Int(error.position)
        // The position in the original text is before those of the added exponents.
        for (number, end) in ends.enumerated() where end + 2 * (number + 1) <= Int(error.position) { offset -= 2 }
        let reason = withUnsafePointer(to: &error) { String(cString: understudy_json_error_text($0)) }
        return JSONSyntaxError(reason, at: min(max(0, offset), text.count), in: text)
    }

    /// Converts a value of the JSON library jansson. The caller has checked that `json` isn't nested too deeply. A text
    /// that has more combining marks in a row than people write becomes empty, because hashing or comparing it would
    /// take quadratic time; `hasEndlessMarks` is then set to `true`.
    private init(_ json: UnsafeMutablePointer<json_t>, _ hasEndlessMarks: inout Bool) {
        func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String {
            let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
            guard text.hasEndlessMarks else { return text }
            hasEndlessMarks = true
            return ""
        }
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [(String, JSONValue)] = []
            members.reserveCapacity(json_object_size(json))
            var place = json_object_iter(json)
            while let current = place {
                if let value = json_object_iter_value(current) {
                    let key = text(json_object_iter_key(current), json_object_iter_key_len(current))
                    members.append((key, JSONValue(value, &hasEndlessMarks)))
                }
                place = json_object_iter_next(json, current)
            }
            self = .object(JSONObject(members))
        case JSON_ARRAY:
            self = .array(
                (0..<json_array_size(json)).map { number in
                    json_array_get(json, number).map { JSONValue($0, &hasEndlessMarks) } ?? .null
                })
        case JSON_STRING: self = .string(text(json_string_value(json), json_string_length(json)))
        case JSON_INTEGER: self = .integer(Int64(json_integer_value(json)))
        case JSON_REAL: self = .number(json_real_value(json))
        case JSON_TRUE: self = .bool(true)
        case JSON_FALSE: self = .bool(false)
        default: self = .null
        }
    }
}
