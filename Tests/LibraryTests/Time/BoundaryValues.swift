/// Numbers at which arithmetic on times may fail: the limits of Int64 and their neighbours, zero, powers of two that
/// are the limits of other types, and the limits of calendars, in seconds and in milliseconds.
enum BoundaryValues {
    static let all: [Int64] = [
        .min, .min + 1, .min / 1000, -(1 << 53), -(1 << 32), -(1 << 31), -62_135_596_800, -62_167_219_200, -1, 0, 1, 2,
        999, 1000, 1 << 31, 1 << 32, 1 << 53, 253_402_300_799, 253_402_300_800, 253_402_300_799_999,
        253_402_300_800_000, .max / 1000, .max / 1000 + 1, .max - 1, .max,
    ]
}
