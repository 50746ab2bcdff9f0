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
