extension UnsafeBufferPointer<UInt8> {
    /// Whether a text can stand in JSON as it is: it has no control character, quotation mark or backslash. Eight bytes are looked at
    /// together: <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>.
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
        // The last eight, some of them perhaps once more.
        return bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self).isPlainInJSON
    }
}

extension UInt64 {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    fileprivate static var spaces: UInt64 { ones &* 0x20 }

    /// The same for a word of eight bytes.
    fileprivate var isPlainInJSON: Bool {
        let quote = self ^ (UInt64.ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = self ^ (UInt64.ones &* UInt64(UInt8(ascii: "\\")))
        // The top bit of a byte is set where it is less than a space, or one of the two; perhaps above such a byte, too.
        let found =
            (self &- UInt64.spaces) & ~self | (quote &- UInt64.ones) & ~quote | (backslash &- UInt64.ones) & ~backslash
        return found & (UInt64.ones &* 0x80) == 0
    }
}
