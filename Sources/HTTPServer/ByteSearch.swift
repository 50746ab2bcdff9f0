import Platform

extension ArraySlice<UInt8> {
    /// Returns the position of the first such byte. It uses `memchr`, which is faster than `firstIndex(of:)`.
    package func firstPlace(of byte: UInt8) -> Int? {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else { return nil }
            return startIndex + (UnsafeRawPointer(found) - start)
        }
    }

    /// Whether the bytes are the text's UTF-8.
    package func are(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        return withUnsafeBytes { bytes in
            guard let begin = bytes.baseAddress else { return true }
            let isSame = text.utf8.withContiguousStorageIfAvailable { text in
                text.baseAddress.map { memcmp(begin, $0, bytes.count) == 0 } ?? true
            }
            return isSame ?? text.utf8.elementsEqual(bytes)
        }
    }
}
