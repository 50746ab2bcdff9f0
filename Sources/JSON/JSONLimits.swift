/// Limits on the size of a JSON text. A text that exceeds one of them isn't parsed.
package struct JSONLimits: Sendable {
    /// The largest number of bytes that a JSON text may have.
    package var bytes: Int
    /// The largest depth to which arrays and objects in a JSON text may be nested. Each level needs memory on the
    /// stack.
    package var depth: Int
    /// The largest number of members that an object in a JSON text may have.
    package var members: Int
    /// The largest number of values of all kinds that a JSON text may have.
    package var values: Int
    /// The largest number of bytes that the name of an object's member may have, as it is written in the JSON text,
    /// with its quotation marks.
    package var name = 1_024
    /// Whether an object in a JSON text may have two members with the same name. In this case, the last one counts.
    package var allowsDuplicates: Bool

    /// The limits on JSON in requests to providers.
    package static let request = JSONLimits(
        bytes: 1 << 20, depth: 64, members: 1_000, values: 100_000, allowsDuplicates: true)
    /// The limits on JSON in requests to the control API. They allow fewer values than the limits on requests to
    /// providers, because a value that is validated needs several times as much memory.
    package static let control = JSONLimits(
        bytes: 1 << 20, depth: 64, members: 1_000, values: 25_000, allowsDuplicates: false)
    /// The limits on the JSON of seeds and other files.
    package static let file = JSONLimits(
        bytes: 64 << 20, depth: 64, members: .max, values: .max, allowsDuplicates: false)
    /// The limits on JSON that was written by this daemon, or received from a server to which the daemon sent a
    /// request.
    package static let answer = JSONLimits(
        bytes: 64 << 20, depth: 64, members: .max, values: .max, allowsDuplicates: true)
}

extension JSONLimits {
    /// Returns the reason why a JSON text exceeds one of the limits; `nil` if it exceeds none. The text isn't parsed.
    package func excess(in text: [UInt8]) -> String? {
        var outline = JSONOutline(self)
        return text.withUnsafeBufferPointer { outline.excess(in: $0) }?.reason
    }
}

/// Counts the values of a JSON text without parsing it, so that no memory is allocated for a text that exceeds a limit.
struct JSONOutline {
    private let limits: JSONLimits
    private var depth = 0
    private var values = 0
    /// A number for each nesting level of the JSON text. If the level is an object, it is the number of the object's
    /// members so far. If the level is an array, it is -1, because elements aren't counted.
    private var members: [Int]

    init(_ limits: JSONLimits) {
        self.limits = limits
        members = Array(repeating: 0, count: limits.depth + 1)
    }

    /// Returns the position at which the JSON text exceeds a limit, and the reason; `nil` if it exceeds none. The
    /// parser, not this function, reports brackets that don't match.
    mutating func excess(in text: UnsafeBufferPointer<UInt8>) -> (offset: Int, reason: String)? {
        guard text.count <= limits.bytes else {
            return (0, "\(text.count) bytes of JSON; at most \(limits.bytes) are read")
        }
        var place = 0
        while place < text.count {
            let byte = text[place]
            switch byte {
            case UInt8(ascii: "\""):
                let start = place
                place = JSONOutline.endOfString(in: text, from: place + 1)
                guard place - start > limits.name, JSONOutline.isName(endingAt: place, in: text) else { continue }
                return (place - 1, "a member's name of more than \(limits.name) bytes")
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limits.depth {
                    return (place, "arrays and objects nested deeper than \(limits.depth) levels")
                }
                members[depth] = byte == UInt8(ascii: "{") ? 1 : -1
                values += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth = max(0, depth - 1)
            case UInt8(ascii: ","):
                values += 1
                if depth > 0, members[depth] > 0 {
                    members[depth] += 1
                    if members[depth] > limits.members {
                        return (place, "an object of more than \(limits.members) members")
                    }
                }
            default: break
            }
            if values > limits.values { return (place, "more than \(limits.values) values") }
            place += 1
        }
        return nil
    }

    /// Returns the position after the quotation mark that ends the JSON string whose content begins at `start`.
    static func endOfString(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var place = start
        while place < text.count {
            if text[place] == UInt8(ascii: "\"") { return place + 1 }
            place += text[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return text.count
    }

    private static func isName(endingAt place: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        text[min(place, text.count)...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: ":")
    }

    /// Returns, for each integer in the JSON text that doesn't fit into `Int64`, the position of its end. Digits in
    /// strings are ignored.
    static func wideIntegers(in text: UnsafeBufferPointer<UInt8>) -> [Int] {
        var ends: [Int] = []
        var place = 0
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""): place = endOfString(in: text, from: place + 1)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = place
                place += 1
                var isInteger = true
                while place < text.count, isPartOfNumber(text[place]) {
                    if !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[place]) { isInteger = false }
                    place += 1
                }
                let digits = text[start..<place]
                if isInteger, digits.count > 18, Int64(String(decoding: digits, as: UTF8.self)) == nil {
                    ends.append(place)
                }
            default: place += 1
            }
        }
        return ends
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"),
            UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the text can stand in a JSON string without escaping, because it has no control character, quotation
    /// mark or backslash. Eight bytes are examined at a time:
    /// <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>.
    package var isPlainInJSON: Bool {
        let bytes = UnsafeRawBufferPointer(self)
        guard bytes.count >= 8 else {
            var word = UInt64.spaces
            for byte in bytes { word = word << 8 | UInt64(byte) }
            return word.isPlainInJSON
        }
        var place = 0
        while place < bytes.count - 8 {
            guard bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self).isPlainInJSON else { return false }
            place += 8
        }
        // The last eight bytes may overlap with bytes that were already examined.
        return bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self).isPlainInJSON
    }
}

extension UInt64 {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    fileprivate static var spaces: UInt64 { ones &* 0x20 }

    /// Whether none of the eight bytes in this integer has to be escaped in a JSON string.
    fileprivate var isPlainInJSON: Bool {
        let quote = self ^ (UInt64.ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = self ^ (UInt64.ones &* UInt64(UInt8(ascii: "\\")))
        // The top bit of a byte is set if the byte is less than a space, or is one of the two characters. It may also
        // be set in the byte above such a byte.
        let found =
            (self &- UInt64.spaces) & ~self | (quote &- UInt64.ones) & ~quote | (backslash &- UInt64.ones) & ~backslash
        return found & (UInt64.ones &* 0x80) == 0
    }
}
