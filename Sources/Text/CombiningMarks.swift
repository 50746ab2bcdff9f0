extension String {
    /// How many bytes a text may have without being looked at for marks.
    package static let shortLength = 256

    /// Whether marks that combine with what stands before them follow each other without end. Swift compares and hashes texts
    /// by their canonical form, whose cost grows with the square of such a run; 30 is what Unicode expects at most
    /// (<https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format>).
    ///
    /// Short texts are cheap whatever they hold.
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

    private static let markLimit = 30

    /// The text without the marks of such a run that follow its first 30: for texts that must be shown whatever they hold.
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

    /// All bytes are joined before one is looked at: the processor joins many at once.
    private var isASCII: Bool {
        utf8.withContiguousStorageIfAvailable { bytes in bytes.reduce(0) { $0 | $1 } < 0x80 }
            ?? utf8.allSatisfy { $0 < 0x80 }
    }
}

extension Unicode.Scalar {
    /// A few marks, such as U+0F73, have no combining class themselves: what they decompose into has.
    fileprivate var isMark: Bool {
        properties.canonicalCombiningClass != .notReordered || properties.generalCategory == .nonspacingMark
    }
}
