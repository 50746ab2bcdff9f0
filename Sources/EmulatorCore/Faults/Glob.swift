import Text

/// A text pattern in which `*` stands for any characters. It is parsed once, and then compared with many texts.
package struct Glob: Sendable {
    /// The text pattern as it was written.
    package let text: String
    /// The text pattern in UTF-8, with one star in place of several in a row.
    private let bytes: [UInt8]
    /// The parts of the pattern before, between and after its stars; `nil` for a pattern without a star.
    private let parts: Parts?

    private struct Parts {
        let first: [UInt8]
        let middle: [[UInt8]]
        let last: [UInt8]
    }

    private static let star = UInt8(ascii: "*")

    package init(_ text: String) {
        self.text = text
        var bytes: [UInt8] = []
        for byte in text.utf8 where byte != Glob.star || bytes.last != Glob.star { bytes.append(byte) }
        self.bytes = bytes
        let pieces = bytes.split(separator: Glob.star, omittingEmptySubsequences: false)
        parts =
            pieces.count < 2
            ? nil
            : Parts(
                first: Array(pieces[0]), middle: pieces.dropFirst().dropLast().map { Array($0) },
                last: Array(pieces[pieces.count - 1]))
    }

    /// Whether the text pattern has a `*`.
    package var isPattern: Bool { parts != nil }

    /// The length of the text pattern in bytes, where several stars in a row count as one.
    var length: Int { bytes.count }

    /// Returns whether a text matches the pattern. This takes linear time, because the parts between the stars are
    /// searched one after the other, each at its first occurrence.
    package func matches(_ text: String) -> Bool { parts == nil ? self.text == text : matches(Array(text.utf8)) }

    private func matches(_ text: [UInt8]) -> Bool {
        guard let parts else { return bytes == text }
        guard text.count >= parts.first.count + parts.last.count, text.starts(with: parts.first),
            text.suffix(parts.last.count).elementsEqual(parts.last)
        else { return false }
        var rest = text[parts.first.count..<(text.count - parts.last.count)]
        for part in parts.middle {
            guard let offset = rest.offset(of: part) else { return false }
            rest = rest.dropFirst(offset + part.count)
        }
        return true
    }

    /// Returns whether some text matches both this pattern and `other`. If both have stars, this takes time
    /// proportional to the product of their lengths, so the patterns must be short.
    package func overlaps(_ other: Glob) -> Bool {
        guard isPattern else { return other.matches(bytes) }
        guard other.isPattern else { return matches(other.bytes) }
        // `row[j]` is whether any text matches both the first i bytes of this pattern and the first j of the other.
        var row = [Bool](repeating: false, count: other.bytes.count + 1)
        row[0] = true
        for j in other.bytes.indices where other.bytes[j] == Glob.star { row[j + 1] = row[j] }
        var next = row
        for byte in bytes {
            next[0] = byte == Glob.star && row[0]
            for (j, otherByte) in other.bytes.enumerated() {
                let isOpen = byte == Glob.star || otherByte == Glob.star
                next[j + 1] = row[j] && (isOpen || byte == otherByte) || isOpen && (row[j + 1] || next[j])
            }
            swap(&row, &next)
        }
        return row[other.bytes.count]
    }
}
