extension UnsafeBufferPointer<UInt8> {
    /// Whether a text can stand in JSON as it is: it has no control character, quotation mark or backslash. Eight bytes are looked at
    /// together: <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>.
    package var isPlainInJSON: Bool {
        let bytes = UnsafeRawBufferPointer(self)
        let (ones, tops) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
        var place = 0
        while bytes.count - place >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            // The top bit of a byte is set where it is less than a space, or one of the two; perhaps above such a byte, too.
            let found = (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
            if found & tops != 0 { return false }
            place += 8
        }
        return bytes[place...].allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
