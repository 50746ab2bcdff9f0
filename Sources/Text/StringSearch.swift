import Platform

// Swift searches strings by grapheme clusters, and looks for the beginning of a run of flags from each place again: a
// search from the end, or for a text of several characters, takes quadratic time. These functions compare bytes and
// scalars. Those that have a name of the standard library's replace it in every module that imports this one.

extension StringProtocol {
    /// Returns the place of the first occurrence of a text; `nil` for an empty text, too.
    package func firstRange(of text: some StringProtocol) -> Range<Index>? { firstRange(of: text, from: startIndex) }

    /// Whether a text occurs in this one. An empty text always does.
    package func contains(_ text: some StringProtocol) -> Bool { text.isEmpty || firstRange(of: text) != nil }

    /// Returns this text with each occurrence of a text replaced by another.
    package func replacing(_ text: some StringProtocol, with replacement: some StringProtocol) -> String {
        guard contains(text), !text.isEmpty else { return String(self) }
        var output = ""
        var rest = startIndex
        while let found = firstRange(of: text, from: rest) {
            output += self[rest..<found.lowerBound]
            output += replacement
            rest = found.upperBound
        }
        return output + self[rest...]
    }

    private func firstRange(of text: some StringProtocol, from start: Index) -> Range<Index>? {
        guard let found = self[start...].utf8.offset(of: text.utf8) else { return nil }
        let lower = utf8.index(start, offsetBy: found)
        return lower..<utf8.index(lower, offsetBy: text.utf8.count)
    }
}

extension Sequence where Element == UInt8 {
    /// Returns the number of bytes before the first occurrence of `sought`; `nil` if there is none, or if `sought` is
    /// empty. The time is proportional to the sum of both lengths.
    package func offset(of sought: some Sequence<UInt8>) -> Int? {
        withBytes { bytes in
            sought.withBytes { sought in
                guard let first = bytes.baseAddress, let wanted = sought.baseAddress, !sought.isEmpty else {
                    return nil
                }
                return understudy_find(first, bytes.count, wanted, sought.count).map { $0 - UnsafeRawPointer(first) }
            }
        }
    }

    fileprivate func withBytes<Result>(_ use: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withContiguousStorageIfAvailable(use) ?? Array(self).withUnsafeBufferPointer(use)
    }
}

extension StringProtocol where Self.UTF8View: BidirectionalCollection, Self.UnicodeScalarView: BidirectionalCollection {
    /// Returns the position of the last occurrence of an ASCII character.
    package func lastIndex(ofASCII character: Unicode.Scalar) -> Index? { utf8.lastIndex(of: UInt8(ascii: character)) }

    /// The text without white space at its beginning and its end.
    package var trimmed: String {
        let isInside = { (scalar: Unicode.Scalar) in !scalar.properties.isWhitespace }
        guard let first = unicodeScalars.firstIndex(where: isInside),
            let last = unicodeScalars.lastIndex(where: isInside)
        else { return "" }
        return String(self[first..<unicodeScalars.index(after: last)])
    }
}
