extension UnsafeBufferPointer<UInt8> {
    /// Whether the text needs no escaping in JSON: it has no control character, quotation mark or backslash. Eight
    /// bytes are examined at a time: <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>.
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

    /// Whether the eight bytes of the word need no escaping.
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
