/// A text to search for in other texts, byte by byte in UTF-8. A search takes time in proportion to the sum of both
/// lengths, by the algorithm of Knuth, Morris and Pratt; `String.contains` takes time in proportion to their product if
/// one isn't ASCII.
package struct TextSearch: Sendable {
    private let wanted: [UInt8]
    /// The length of the longest text that both begins and ends the first `i + 1` bytes of `wanted`.
    private let borders: [Int]

    /// Ignores case. Characters that Unicode can write in two ways are found only as they are written.
    package init(_ wanted: String) { self.init(exactly: wanted.lowercased().utf8) }

    init(exactly wanted: some Sequence<UInt8>) {
        let wanted = Array(wanted)
        var borders: [Int] = []
        borders.reserveCapacity(wanted.count)
        for place in wanted.indices {
            guard place > 0 else {
                borders.append(0)
                continue
            }
            var length = borders[place - 1]
            while length > 0, wanted[place] != wanted[length] { length = borders[length - 1] }
            borders.append(wanted[place] == wanted[length] ? length + 1 : 0)
        }
        self.wanted = wanted
        self.borders = borders
    }

    package func isFound(in text: String) -> Bool { end(in: text.lowercased().utf8) != nil }

    /// Returns where the first occurrence ends.
    func end<Bytes: Collection<UInt8>>(in bytes: Bytes) -> Bytes.Index? {
        guard !wanted.isEmpty else { return bytes.startIndex }
        var length = 0
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let byte = bytes[place]
            while length > 0, byte != wanted[length] { length = borders[length - 1] }
            if byte == wanted[length] { length += 1 }
            bytes.formIndex(after: &place)
            if length == wanted.count { return place }
        }
        return nil
    }
}
