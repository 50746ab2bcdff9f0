import ArgumentParser

/// A size as people write it: `64MB`, `500kB`, `1GB`, `1MiB`, or bytes without a unit.
struct ByteCount: ExpressibleByArgument, Sendable {
    static let expectation = "a size such as 64MB, 1 MB to 1 TB"
    /// The allowed sizes.
    private static let range = 1_000_000...1_000_000_000_000
    private static let units: [(suffix: String, bytes: Int)] = [
        ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000),
        ("b", 1), ("", 1),
    ]

    let bytes: Int

    /// Reads an option's value. The error names the bounds.
    static func parse(_ argument: String) throws -> ByteCount {
        guard let count = ByteCount(argument: argument) else { throw ValidationError("expected \(expectation)") }
        return count
    }

    init?(argument: String) {
        let text = argument.lowercased()
        guard let unit = ByteCount.units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(digits) else {
            return nil
        }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
        guard !overflow, ByteCount.range.contains(bytes) else { return nil }
        self.bytes = bytes
    }
}
