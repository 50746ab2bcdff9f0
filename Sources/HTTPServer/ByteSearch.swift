import Platform

extension ArraySlice<UInt8> {
    /// Where the byte stands first. The C library looks at many bytes at once, where `firstIndex(of:)` looks at one after the other.
    package func firstPlace(of byte: UInt8) -> Int? {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else { return nil }
            return startIndex + (UnsafeRawPointer(found) - start)
        }
    }
}
