/// Patterns in which `*` stands for any characters.
package enum Glob {
    private static let star = UInt8(ascii: "*")

    /// Returns whether the text matches the pattern. Takes linear time: the parts between the stars are searched one
    /// after the other, each at its first occurrence.
    package static func matches(_ pattern: String, _ text: String) -> Bool {
        guard pattern.utf8.contains(star) else { return pattern == text }
        let parts = Array(pattern.utf8).split(separator: star, omittingEmptySubsequences: false)
        var rest = Array(text.utf8)[...]
        guard let first = parts.first, let last = parts.last, rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        guard rest.count >= last.count, rest.suffix(last.count).elementsEqual(last) else { return false }
        rest = rest.dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let end = TextSearch(exactly: part).end(in: rest) else { return false }
            rest = rest[end...]
        }
        return true
    }

    /// Returns whether any text matches both patterns. Takes time proportional to the product of their lengths, so they
    /// must be short.
    package static func overlap(_ left: String, _ right: String) -> Bool {
        guard left.utf8.contains(star) || right.utf8.contains(star) else { return left == right }
        let right = Array(right.utf8)
        // `row[j]` is whether any text matches both the first i bytes of `left` and the first j of `right`.
        var row = [Bool](repeating: false, count: right.count + 1)
        row[0] = true
        for j in right.indices where right[j] == star { row[j + 1] = row[j] }
        var next = row
        for byte in left.utf8 {
            next[0] = byte == star && row[0]
            for (j, other) in right.enumerated() {
                let isOpen = byte == star || other == star
                next[j + 1] = row[j] && (isOpen || byte == other) || isOpen && (row[j + 1] || next[j])
            }
            swap(&row, &next)
        }
        return row[right.count]
    }
}
