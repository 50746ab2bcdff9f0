/// The encoding Base64url without padding (RFC 4648 §5). Only the canonical encoding, which JOSE demands, is decoded.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values = Base64.reversed(alphabet)

    package static func encode(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes, alphabet: alphabet, padded: false)
    }

    /// Decodes Base64url text. Returns `nil` for padding, whitespace, a character that isn't in the Base64url alphabet,
    /// an impossible length, or unused bits that are set.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Base64.decode(text.utf8, values: values)
    }

    package static func decode(_ digits: ArraySlice<UInt8>) -> [UInt8]? { Base64.decode(digits, values: values) }
}

/// The encoding Base64 with the standard alphabet (RFC 4648 §4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values = reversed(alphabet)

    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: alphabet, padded: true)
    }

    /// Decodes Base64 text with or without padding.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        if digits.count % 4 == 0 {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        return decode(digits, values: values)
    }

    fileprivate static func reversed(_ alphabet: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }

    fileprivate static func encode(_ bytes: [UInt8], alphabet: [UInt8], padded: Bool) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            bytes.withUnsafeBufferPointer { bytes in
                alphabet.withUnsafeBufferPointer { alphabet in write(bytes, to: text, alphabet, padded: padded) }
            }
        }
    }

    /// Writes the Base64 digits of bytes into a buffer, and returns the number of digits.
    private static func write(
        _ bytes: UnsafeBufferPointer<UInt8>, to text: UnsafeMutableBufferPointer<UInt8>,
        _ alphabet: UnsafeBufferPointer<UInt8>, padded: Bool
    ) -> Int {
        var length = 0
        func write(_ digit: UInt8) {
            text[length] = digit
            length += 1
        }
        for place in stride(from: 0, to: bytes.count, by: 3) {
            let rest = bytes.count - place
            let first = bytes[place]
            let second = rest > 1 ? bytes[place + 1] : 0
            let third = rest > 2 ? bytes[place + 2] : 0
            write(alphabet[Int(first >> 2)])
            write(alphabet[Int(first << 4 & 0x30 | second >> 4)])
            if rest > 1 { write(alphabet[Int(second << 2 & 0x3C | third >> 6)]) }
            if rest > 2 { write(alphabet[Int(third & 0x3F)]) }
        }
        while padded, length % 4 != 0 { write(UInt8(ascii: "=")) }
        return length
    }

    fileprivate static func decode(_ digits: some Collection<UInt8>, values: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value != 0xFF else { return nil }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        // A single digit has only six bits, less than a byte. Unused bits must be zero, so that two texts never decode
        // to the same bytes.
        guard bits < 6, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }
}

/// The encoding of bytes as hexadecimal digits in lower case.
package enum Hex {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (place, byte) in bytes.enumerated() {
                text[place * 2] = digit(byte >> 4)
                text[place * 2 + 1] = digit(byte & 0x0F)
            }
            return bytes.count * 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    /// Decodes hexadecimal digits in upper or lower case. Returns `nil` for an odd length, or a character that isn't a
    /// hexadecimal digit.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(value))
                high = nil
            } else {
                high = UInt8(value)
            }
        }
        return high == nil ? bytes : nil
    }
}

/// The checksum CRC-32 of IEEE 802.3, gzip and PNG.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }

    package static func checksum(_ bytes: [UInt8]) -> UInt32 {
        let table = CRC32.table
        var value = ~UInt32(0)
        for byte in bytes { value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ value >> 8 }
        return ~value
    }
}
