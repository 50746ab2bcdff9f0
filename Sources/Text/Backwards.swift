// Swift reads a string backwards by grapheme clusters, and looks for the beginning of a run of flags from each place
// again: a search from the end takes quadratic time. These read bytes and scalars.

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
