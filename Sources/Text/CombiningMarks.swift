extension String {
    /// A text of at most this many bytes is short, and isn't searched for long runs of combining marks.
    package static let shortLength = 64

    /// Whether the text has a very long run of combining marks. Swift compares and hashes texts in their canonical
    /// form, which takes quadratic time for such a run. Unicode expects 30 marks at most
    /// (<https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format>).
    ///
    /// It is `false` for short texts, which are never slow.
    package var hasEndlessMarks: Bool {
        guard utf8.count > String.shortLength, !isASCII else { return false }
        var run = 0
        for scalar in unicodeScalars {
            guard scalar.value >= 0x300, scalar.isMark else {
                run = 0
                continue
            }
            run += 1
            if run > String.markLimit { return true }
        }
        return false
    }

    fileprivate static let markLimit = 30

    /// The text with each very long run of combining marks cut to its first 30 marks. This is for texts that must be
    /// shown even if they contain such runs.
    package var withoutEndlessMarks: String {
        guard hasEndlessMarks else { return self }
        var kept = String.UnicodeScalarView()
        var run = 0
        for scalar in unicodeScalars {
            run = scalar.value >= 0x300 && scalar.isMark ? run + 1 : 0
            if run <= String.markLimit { kept.append(scalar) }
        }
        return String(kept)
    }

    private var isASCII: Bool {
        utf8.withContiguousStorageIfAvailable { bytes in bytes.reduce(0) { $0 | $1 } < 0x80 }
            ?? utf8.allSatisfy { $0 < 0x80 }
    }
}

extension Unicode.Scalar {
    /// Whether the Unicode scalar is a combining mark. A few marks, such as U+0F73, have no combining class themselves,
    /// but their decomposition has one.
    fileprivate var isMark: Bool {
        properties.canonicalCombiningClass != .notReordered || properties.generalCategory == .nonspacingMark
    }
}

extension [UInt8] {
    /// Whether a text in JSON has a very long run of combining marks, written as they are or as `\u0301`.
    package var hasEndlessMarksInJSON: Bool {
        if String(decoding: self, as: UTF8.self).hasEndlessMarks { return true }
        var run = 0
        var place = startIndex
        while let escape = self[place...].firstIndex(of: UInt8(ascii: "\\")) {
            var (value, end) = escapedUnit(at: escape)
            if let high = value, (0xD800..<0xDC00).contains(high), let low = escapedUnit(at: end).value {
                value = 0x10000 + ((high - 0xD800) << 10) + (low & 0x3FF)
                end += 6
            }
            let isMark = value.map { $0 >= 0x300 && Unicode.Scalar($0)?.isMark ?? false } ?? false
            // Marks that are written as they are may stand between escapes.
            let goesOn = self[place..<escape].allSatisfy { $0 >= 0x80 }
            run = isMark ? (goesOn ? run + 1 : 1) : 0
            if run > String.markLimit { return true }
            place = end
        }
        return false
    }

    /// Returns the UTF-16 code unit that an escape such as `\u0301` at a place stands for, and the place behind the
    /// escape; the unit is `nil` for another escape, or for none.
    private func escapedUnit(at place: Int) -> (value: UInt32?, end: Int) {
        let digits = self[Swift.min(place, endIndex)...].dropFirst(2).prefix(4)
        guard self[Swift.min(place, endIndex)...].starts(with: "\\u".utf8), digits.count == 4,
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return (nil, Swift.min(place + 2, endIndex)) }
        return (value, digits.endIndex)
    }
}
